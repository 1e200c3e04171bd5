"""Replay of recorded runs and episodes: the replies at the seats of games, and the tool calls of other tasks, in order.

1. A turn is identified by its id (barrier, seat, attempt), so each reply is given at the same place, whatever the other seats
say now. A recorded forfeit is repeated with its cause. A turn that the recording does not contain is forfeited as `budget`.
2. A call that was not executed, because it was invalid or too late, is not executed now. A budget that ended the episode ends
it again at the same place. Only a model's actions are recorded call by call; to replay a script, run it again by its name.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.interface import Interface, Mistake
from harness.agents.seats.game import SeatedGame
from harness.agents.seats.holders import Forfeit, SeatHolder, SeatReply
from harness.agents.trajectory import Trajectory, scripted_trajectory
from harness.errors import UsageError, quoted
from harness.limits import RECORD_BYTES, RESULT_BYTES
from harness.live_agent import Agent
from harness.pod import Pod
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from parley.places import read_recorded
from worlds.core.errors import LogError
from worlds.core.events import Opened, Turned, read_log
from worlds.core.turns import OpenTurn

NOT_RUN = "not run"
"""Text in the conversation and in the record for a call that was not executed."""


class ReplaySeat(SeatHolder):
    """Seat that is played from an episode's log."""

    kind = "replay"

    def __init__(self, seat: int, folder: str, trajectory: Trajectory | None = None) -> None:
        super().__init__(seat, folder, trajectory)
        self._turns = read_recording(folder)[1]

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the recorded reply to this turn."""
        recorded = self._turns.get(turn.id)
        if recorded is None:
            return Forfeit("budget", "the recording has no such turn")
        return Forfeit(recorded.no_reply, "as recorded") if recorded.no_reply else SeatReply(recorded.reply)


def check_recording(folder: str, task_id: str) -> None:
    """Raise UsageError for a folder without an episode of this task."""
    recorded = read_recording(folder)[0]
    if recorded != task_id:
        raise UsageError(f"{folder} is an episode of {recorded}, so it cannot be replayed at {task_id}")


@lru_cache(maxsize=8)
def read_recording(folder: str) -> tuple[str, Mapping[str, Turned]]:
    """Return the task and the turns by id of a recorded episode; raises UsageError for a folder without one."""
    try:
        events = read_log(read_recorded(Path(folder), "events.jsonl", RECORD_BYTES))
    except (OSError, LogError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        hint = "--seat 0=replay:RUN/episodes/FAMILY/TASK/s0-a1"
        raise UsageError(f"{folder}/events.jsonl is not a recorded episode: {why}", hint=hint) from None
    opened, turns = events[0], {event.turn: event for event in events if isinstance(event, Turned)}
    assert isinstance(opened, Opened), "a valid log starts with the opening of the episode"
    return opened.task_id, turns


class ReplayAgent(Agent):
    """Agent that replays the episodes of one run."""

    name = "replay"

    def __init__(self, run: str, *, handles: bool = False) -> None:
        self._folder, self._handles = RunFolder(Path(run)), handles

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if the recorded interface needs `main`; raises UsageError if the run has no calls for the task."""
        path = self._folder.path
        finished = self._folder.files.finished()
        recorded = [path / Path(name).parent for name in finished if name.startswith(f"episodes/{task.family}/{task.task_id}/")]
        if not recorded:
            raise UsageError(f"{path} has no episode of {task.task_id}", hint=f"harness show {quoted(path)}")
        if task.is_seated:
            check_recording(str(recorded[0]), task.task_id)
            return False
        first = self._result(recorded[0])
        return Interface(_interface(first, path), handles=self._handles).needs_main(runtime)

    def check(self) -> None:
        """Raise UsageError for a folder without a run."""
        if not self._folder.is_planned:
            raise UsageError(f"{self._folder.path} holds no run to replay", hint="harness run --agent replay:runs/RUN")

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Replay the episode of this task, seed and attempt; raises UsageError if the run has no such episode."""
        folder = self._folder.episode(Key(task_id=task.task_id, family=task.family, seed=seed, attempt=attempt))
        result = self._result(folder)
        report.interface = result.interface
        if task.is_seated:
            self._replied(folder, pod, budget, report, stops=result.stopped_by is not None)
        else:
            self._called(folder, result, task, pod, budget, report)
        if result.stopped_by is not None:
            report.stopped_by = result.stopped_by
            pod.stop(result.stopped_by)
        report.trajectory = scripted_trajectory(self.name, pod.instruction, f"played {folder} again, {report.tool_calls} acts")

    def _replied(self, folder: Path, pod: Pod, budget: Budget, report: Report, *, stops: bool) -> None:
        game, known = SeatedGame(pod, budget, report), read_recording(str(folder))[1]
        for row in game.session()["seats"]:
            game.seats[row["seat"]] = ReplaySeat(row["seat"], str(folder))
        game.play(lambda turns: stops and not any(turn.id in known for turn in turns))
        report.seats = [holder.result() for holder in game.seats.values()]

    def _called(self, folder: Path, result: Result, task: Task, pod: Pod, budget: Budget, report: Report) -> None:
        hands = Interface(_interface(result, folder), handles=self._handles).hands(task, pod)
        ends = time.monotonic() + budget.seconds(game=False)
        for tool, arguments in _calls(folder):
            report.tool_calls += 1
            try:
                done = hands.act(tool, arguments, max(0.1, ends - time.monotonic())).done
                report.log.append(f"{tool}: made again")
            except Mistake as mistake:
                report.log.append(f"{tool}: {mistake}")
                continue
            if done:
                return

    def _result(self, folder: Path) -> Result:
        try:
            return Result.model_validate_json(read_recorded(folder, "result.json", RESULT_BYTES))
        except (OSError, ValueError):
            raise UsageError(f"{folder} holds no episode to replay", hint=f"harness show {quoted(self._folder.path)}") from None


def _interface(result: Result, where: Path) -> str:
    """Return the interface of the recorded calls; raises UsageError for an episode without any."""
    if result.model is None or result.interface is None:
        hint = f"harness run {result.task_id} --agent {result.agent}"
        raise UsageError(f"{where}: {result.agent} played {result.task_id}, so no model calls are recorded", hint=hint)
    return result.interface


def _calls(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the executed tool calls of a trajectory; raises UsageError if the file is invalid."""
    try:
        trajectory = json.loads(read_recorded(folder, "trajectory.json", RECORD_BYTES))
        for step in trajectory["steps"]:
            told = {seen.get("source_call_id"): seen["content"] for seen in step.get("observation", {}).get("results", ())}
            for made in step.get("tool_calls", ()):
                if not str(told.get(made["tool_call_id"], NOT_RUN)).startswith(NOT_RUN):
                    yield made["function_name"], made["arguments"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{folder}/trajectory.json is not a valid trajectory: {type(error).__name__}") from None
