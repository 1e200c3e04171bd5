"""Agent that replays a recorded run: the replies at seats, and the tool calls in other tasks, in order.

1. An episode is replayed from the one with the same task, seed and attempt. The other side answers anew, and its answers are
ignored, so with the same world and options the trace is the same.
2. A call that was not executed, because it was invalid or too late, is not executed now. A budget that ended the episode
ends it again at the same place.
3. Only a model's actions are recorded call by call; a script is played again by its own name.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.agent import AgentIdentity, Budget, Report
from harness.agents.llm.interface import Interface, Mistake
from harness.agents.seats.game import SeatedGame
from harness.agents.seats.replay import ReplaySeat, check_recording, read_recording
from harness.agents.trajectory import scripted_trajectory
from harness.archive import read_recorded
from harness.errors import UsageError, quoted
from harness.limits import RECORD_BYTES, RESULT_BYTES
from harness.pod import Pod
from harness.records import Key, Result, RunFolder
from harness.registry import Task

NOT_RUN = "not run"
"""Text in the conversation and in the record for a call that was not executed."""


class ReplayAgent:
    """Agent that replays the episodes of one run."""

    name = "replay"
    only_computes = False

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

    def identity(self) -> AgentIdentity:
        """Return the identity with the name and the replayed run."""
        plan = self._folder.read_plan() or {}
        return AgentIdentity.model_validate({"name": self.name, "replay_of": plan.get("run") or self._folder.path.name})

    def check(self) -> None:
        """Raise UsageError for a folder without a run."""
        if not self._folder.is_planned:
            raise UsageError(f"{self._folder.path} holds no run to replay", hint="harness run --agent replay:runs/RUN")

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Replay the episode of this task, seed and attempt; raises UsageError if the run has none."""
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
        """Replay the recorded messages at each seat."""
        game, known = SeatedGame(pod, budget, report), read_recording(str(folder))[1]
        for row in game.session()["seats"]:
            game.seats[row["seat"]] = ReplaySeat(row["seat"], str(folder))
        game.play(lambda turns: stops and not any(turn.id in known for turn in turns))
        report.seats = [holder.result() for holder in game.seats.values()]

    def _called(self, folder: Path, result: Result, task: Task, pod: Pod, budget: Budget, report: Report) -> None:
        """Repeat every recorded tool call."""
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
        raise UsageError(f"{where}: {result.agent} played {result.task_id}, and no model's calls are recorded", hint=hint)
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
        raise UsageError(f"{folder}/trajectory.json cannot be read as one of ours: {type(error).__name__}") from None
