"""An episode as an environment: `reset` opens it, `submit` plays it turn by turn, `verdict` returns the hidden tests' verdict.

1. Nothing blocks and no background work runs, so one thread can hold thousands of open episodes. An object plays one episode at
   a time and must not be shared between threads.
2. The world, prompts, event log, hash and judgement are the same as in `harness run` for the same answers. Of the harness's
   budgets, only the number of turns per seat applies; there is no wall-clock limit.
3. If a run would leave the episode ungraded, an error is raised: by `reset` if the world cannot be opened, by `verdict` if
   there is no judgement.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from harness.agent import Budget, Report
from harness.agents.llm.agent import ToolConversation, ToolFormat
from harness.agents.llm.completion import Completion, read_message
from harness.agents.llm.interface import Interface
from harness.agents.seats.game import SeatedGame
from harness.agents.seats.holders import Forfeit, PolicySeat, SeatReply, TalkingSeat
from harness.agents.seats.lineup import check_playable, seat_players
from harness.agents.trajectory import Trajectory, scripted_trajectory
from harness.attribution import EpisodeState
from harness.episode import seen_by_agent
from harness.errors import BoundaryError, RuntimeFailure, UsageError, VerifierFailure
from harness.options import options_of
from harness.outcome import Outcome, outcome_of
from harness.pod import NO_POLICY, EpisodeSpec, Judgement, Pod
from harness.records import Key
from harness.registry import Survey, Task, select, survey, tasks_root
from harness.runtimes.inprocess import InProcessPod, InProcessRuntime
from harness.runtimes.judging import judge_all, judge_together
from parley.training.verdict import EpisodeVerdict, verdict_of
from worlds.core.chance import PUBLISHED_KEY
from worlds.core.manifest import OptionValue
from worlds.core.turns import NO_REPLY_CAUSES, OpenTurn


@dataclass(frozen=True)
class SeatTurn:
    """A request for one seat's answer. Turns that are open together may be answered in any order."""

    id: str
    seat: int
    """Seat number, from 0. A single-agent task has only seat 0."""

    text: str
    """The text that is new since this seat's last turn."""

    messages: Sequence[dict[str, Any]]
    """The whole prompt of the seat's model, including this turn, as chat messages in OpenAI's format."""

    tools: Sequence[dict[str, Any]] = ()
    """The tools that the model may call, in OpenAI's schema. Empty in games, which are text only."""

    phase: str = "act"
    """The phase of the game; `act` for tasks that are not games."""

    round: int = 0
    attempt: int = 1
    """2 or more if the previous answer was rejected; the text gives the reason."""

    ephemeral: bool = False
    """True if the turn is only a measurement: later turns show neither the question nor its answer in their `messages`."""


def tasks_named(*names: str) -> list[Task]:
    """Return the tasks that match the ids, globs, families or paths, in order, or all tasks if no name is given.

    Raises UnknownTask.
    """
    known = _known(tasks_root())
    return select(known.tasks, names, known.refused)


def task_named(name: str) -> Task:
    """Return the task with this id or path, or the first task that matches the name. Raises UnknownTask."""
    return tasks_named(name)[0]


@lru_cache(maxsize=4)
def _known(root: Path) -> Survey:
    return survey(root)


NAME = "episode"
"""Name in the record for the caller, who submits the answers."""


class DrivenConversation:
    """Single-agent task in which the caller submits tool calls."""

    seats = 1

    def __init__(
        self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, *, protocol: str, handles: bool
    ) -> None:
        interface, speech = Interface("tool", handles=handles), ToolFormat(protocol)
        # tool calls are passed as data, so no server can fail to parse them
        speech.has_called = True
        name = f"{task.task_id}-s{seed}"
        trajectory = Trajectory(name, f"{name}-{NAME}", NAME, tools=interface.tools, extra={"interface": interface.name})
        report.interface, report.prompt_digest = interface.name, interface.prompt_digest(protocol)
        self._talk = ToolConversation(interface, speech, task, pod, budget, report, trajectory)
        self._told = 0
        self.turns = self._next()

    def submit(self, turn: str, said: Completion) -> None:
        """Execute the model's tool calls and open the next turn."""
        self._told = len(self._talk.messages) + 1
        over = self._talk.hear(said)
        self.turns = () if over else self._next()

    def forfeit(self, turn: str, cause: str) -> None:
        """Raise UsageError, because only turns of games can be forfeited."""
        raise UsageError("only turns of games can be forfeited", hint=f"episode.stop({cause!r})")

    def stop(self, cause: str) -> None:
        """End the conversation because a budget that the caller counts is exhausted."""
        self._talk.stop(cause)
        self.turns = ()

    def save(self) -> None:
        """Save the trajectory in the report."""
        self._talk.save()

    def _next(self) -> tuple[SeatTurn, ...]:
        """Return the next turn, or an empty tuple if a budget is exhausted."""
        cause = self._talk.used_up(NAME, lambda line: None)
        if cause is not None:
            self._talk.stop(cause)
            return ()
        messages = tuple(self._talk.messages)
        text = "\n\n".join(str(message["content"]) for message in messages[self._told :] if message["role"] != "system")
        return (SeatTurn(str(self._talk.turns + 1), 0, text, messages, self._talk.offered),)


class DrivenTable:
    """Game in which the caller answers for every seat that is not played by a policy."""

    def __init__(self, task: Task, pod: Pod, budget: Budget, report: Report, policies: Mapping[int, str]) -> None:
        """Start the game. `policies` maps seats to the names of the family's players for them."""
        self._report, self._instruction = report, pod.instruction
        report.interface = "seats"
        self._game = SeatedGame(pod, budget, report)
        session, known = self._game.session(), seat_players(task.family)
        for row in session["seats"]:
            seat, name = row["seat"], policies.get(row["seat"])
            self._game.seats[seat] = (
                PolicySeat(seat, name, known[name](task, seat, session))
                if name
                else SubmittedSeat(seat, NAME, str(row["system"]))
            )
        self.seats = len(self._game.seats)
        self._open: dict[str, OpenTurn] = {}
        self._left: Sequence[OpenTurn] = self._game.open()
        self.turns: tuple[SeatTurn, ...] = ()
        self._offer()

    def submit(self, turn: str, said: Completion) -> None:
        """Submit a seat's answer."""
        self._answer(turn, SeatReply(said.text, said))

    def forfeit(self, turn: str, cause: str) -> None:
        """Forfeit the seat's turn; the game continues."""
        if cause not in NO_REPLY_CAUSES:
            raise UsageError(f"unknown cause {cause!r} of a forfeit; known: {', '.join(sorted(NO_REPLY_CAUSES))}")
        self._answer(turn, Forfeit(cause, "by the driver of the episode"))

    def stop(self, cause: str) -> None:
        """End the game because a budget that the caller counts is exhausted."""
        self._game.stop(cause)
        self.turns = ()

    def save(self) -> None:
        """Save the seats and the trajectory in the report."""
        self._report.seats = [seat.result() for seat in self._game.seats.values()]
        did = f"{self.seats} seats, {self._report.tool_calls} turns"
        self._report.trajectory = scripted_trajectory(NAME, self._instruction, did)

    def _answer(self, turn: str, reply: SeatReply | Forfeit) -> None:
        self._left = self._game.answer(self._open.pop(turn), reply)
        self.turns = tuple(one for one in self.turns if one.id != turn)
        if not self.turns:
            self._offer()

    def _offer(self) -> None:
        """Offer the turns that are open together, checking budgets before each round like the loop of `harness run`."""
        while not self.turns and self._left and not self._game.is_stopped(self._left):
            asked = []
            for turn in self._left:
                holder = self._game.seats[turn.seat]
                if isinstance(holder, SubmittedSeat):
                    self._open[turn.id] = turn
                    asked.append(holder.asked(turn))
                else:
                    self._left = self._game.answer(turn, holder.ask(turn))
            self.turns = tuple(asked)


Driven = DrivenConversation | DrivenTable
"""Episode whose answers are submitted. `turns` are the open turns, of which there are none once the episode is over."""


class SubmittedSeat(TalkingSeat):
    """Seat whose answers the caller submits. It is recorded as a policy named `episode`."""

    kind = "policy"

    def asked(self, turn: OpenTurn) -> SeatTurn:
        """Return the turn together with the conversation before it."""
        return SeatTurn(
            turn.id, self.seat, turn.text, self.before(turn), (), turn.phase, turn.round, turn.attempt, turn.ephemeral
        )

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Raise AssertionError, since answers to this seat are submitted, never requested."""
        raise AssertionError("answers to this seat are submitted, not requested")


def check_policies(task: Task, policies: Mapping[int, str]) -> None:
    """Raise UsageError for an unknown policy of the task's family or an unknown seat of the task."""
    known, seats = seat_players(task.family), task.parley.seats if task.is_seated and task.parley else 0
    for seat, name in policies.items():
        if not 0 <= seat < seats:
            raise UsageError(f"{task.task_id} has no seat {seat} for {name!r}", hint=f"harness show {task.task_id}")
        if name not in known:
            raise UsageError(f"{task.task_id} has no seat player {name!r}; it has {', '.join(known)}")
    if policies:
        check_playable(task)


TURNS = Budget().turns
"""Maximum number of answers for one seat, as in `harness run`."""


class DrivenEpisode:
    """An environment that plays one episode at a time."""

    def __init__(
        self,
        *,
        options: Mapping[str, OptionValue | str] | None = None,
        policies: Mapping[int, str] | None = None,
        turns: int = TURNS,
        protocol: Literal["tools", "text"] = "tools",
        key: str = PUBLISHED_KEY,
    ) -> None:
        """Configure the episodes.

        `options` are the world's options, as for `--set`. `policies` maps seats of a game to the players that answer for them
        instead of the caller. `turns` is the maximum number of answers for one seat.

        `protocol` is how a single-agent task is played: by tool calls, or by fenced JSON in the text of an answer. `key` is the
        key of the edition.
        """
        self._options, self._budget = dict(options or {}), Budget(wall_s=math.inf, turns=turns)
        self._policies = dict(policies or {})
        self._protocol, self._key = protocol, key
        self._spec: EpisodeSpec | None = None
        self._playing = EpisodeState(Report(agent=NAME), Key(task_id="none", family="none", seed=0, attempt=1))
        self._pod: Pod | None = None
        self._driven: Driven | None = None
        self._began, self._answers, self._seats = 0.0, 0, 0
        self._verdict: EpisodeVerdict | BoundaryError | None = None
        self._outcome: Outcome | None = None

    @property
    def task(self) -> Task:
        """The task being played."""
        return self._known().task

    @property
    def turns(self) -> tuple[SeatTurn, ...]:
        """The open turns."""
        return self._driven.turns if self._driven else ()

    @property
    def done(self) -> bool:
        """True if the episode is over and so has a verdict."""
        return self._spec is not None and self._driven is None

    @property
    def seats(self) -> int:
        """Number of seats in the episode."""
        return self._seats

    def reset(self, task: Task | str, seed: int = 0) -> tuple[SeatTurn, ...]:
        """Open an episode, discarding the previous one, and return the open turns.

        Raises UnknownTask, UsageError for a task or an option that cannot be played in this process, and the error of a world
        that cannot be opened.
        """
        task = task_named(task) if isinstance(task, str) else task
        if why := InProcessRuntime().refuses(task):
            raise UsageError(why, hint="harness.trust.admitted(task), if you have read its code")
        options = options_of(task, self._options)
        if options.get("talk") == "chat":
            raise UsageError("an Episode does not support free discussion (talk=chat)", hint="talk=turns, or harness host")
        check_policies(task, self._policies)
        if not task.is_seated and task.parley is not None and "tool" not in task.parley.interfaces:
            raise UsageError(f"{task.task_id} has no tool interface", hint=f"harness show {task.task_id}")
        key = Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1)
        spec = EpisodeSpec(NAME, key.name, task, seed, self._key, options)
        playing = EpisodeState(Report(agent=NAME), key, syscalls=NO_POLICY)
        with playing.phase("open"):
            pod = InProcessPod(spec)
        playing.opened = True
        self._spec, self._playing, self._pod, self._driven = spec, playing, pod, None
        self._verdict = self._outcome = None
        self._began, self._answers, self._seats = time.perf_counter(), 0, task.parley.seats if task.parley else 1
        with self._moving():
            self._driven = self._begun(seen_by_agent(pod, spec), spec)
            self._seats = self._driven.seats
        return self.turns

    def submit(
        self, turn: str, text: str | None = "", tool_calls: Sequence[Mapping[str, Any]] = (), *, finish_reason: str = "stop"
    ) -> tuple[SeatTurn, ...]:
        """Submit a model's answer to an open turn, verbatim, and return the turns that are open afterwards.

        `tool_calls` have the format of a chat completion, or {"name", "arguments"}; games accept none. Set `finish_reason` to
        `length` for a truncated answer. Raises UsageError if the turn is not open.
        """
        driven, self._answers = self._open(turn), self._answers + 1
        said = read_message({"content": text or "", "tool_calls": [_call(one) for one in tool_calls]}, self._answers)
        with self._moving():
            driven.submit(turn, replace(said, finish_reason=finish_reason))
        return self.turns

    def forfeit(self, turn: str, cause: str = "declined") -> tuple[SeatTurn, ...]:
        """Forfeit an open turn of a game. Raises UsageError if that is not possible."""
        driven = self._open(turn)
        with self._moving():
            driven.forfeit(turn, cause)
        return self.turns

    def stop(self, cause: str = "tokens") -> None:
        """End the episode as an exhausted budget would: wall, tokens, cost, turns or context."""
        if self._driven is None:
            raise UsageError("no episode is open", hint="episode.reset(task, seed)")
        with self._moving():
            self._driven.stop(cause)

    def verdict(self) -> EpisodeVerdict:
        """Return the verdict of the episode, which is judged once.

        Raises UsageError before the episode is over, and BoundaryError if `harness run` would leave it ungraded.
        """
        if (case := self.unjudged) is not None:
            try:
                self.settle(judge_together(*case))
            except VerifierFailure as failure:
                self.settle(failure)
        if self._verdict is None:
            raise UsageError("the episode is not over, so it has no verdict", hint='episode.stop("tokens") ends it')
        if isinstance(self._verdict, BoundaryError):
            raise self._verdict
        return self._verdict

    def outcome(self) -> Outcome:
        """Return the episode's result and files as a run's folder stores them. Raises the same errors as `verdict`."""
        self.verdict()
        assert self._outcome is not None, "an episode with a verdict has an outcome"
        return self._outcome

    @property
    def unjudged(self) -> tuple[Task, bytes] | None:
        """The task and the event log of a finished episode that is not judged yet, or None."""
        return (self.task, self._playing.log) if self.done and self._outcome is None else None

    def settle(self, judgement: Judgement | VerifierFailure | None) -> None:
        """Store the judgement of `unjudged` and derive the verdict. Pass None if a world failure left nothing to judge."""
        playing, spec = self._playing, self._known()
        if isinstance(judgement, Judgement):
            playing.judgement = judgement
        elif judgement is not None:
            playing.blame(judgement.name, str(judgement))
        self._outcome = outcome_of(spec, InProcessRuntime.name, playing)
        if playing.graded:
            self._verdict = verdict_of(spec.task, self._outcome, self._seats)
        else:
            failure = VerifierFailure if playing.cause == "verifier" else RuntimeFailure
            self._verdict = failure(playing.error or "the episode was not graded")

    def _begun(self, pod: Pod, spec: EpisodeSpec) -> Driven:
        if spec.task.is_seated:
            return DrivenTable(spec.task, pod, self._budget, self._playing.report, self._policies)
        handles = bool(spec.overrides.get("handles"))
        return DrivenConversation(
            spec.leveled, spec.seed, pod, self._budget, self._playing.report, protocol=self._protocol, handles=handles
        )

    def _known(self) -> EpisodeSpec:
        if self._spec is None:
            raise UsageError("no episode was opened", hint="episode.reset(task, seed)")
        return self._spec

    def _open(self, turn: str) -> Driven:
        names = [one.id for one in self.turns]
        if self._driven is None or turn not in names:
            raise UsageError(f"turn {turn!r} is not open; open turns: {', '.join(names) or 'none'}", hint="episode.turns")
        return self._driven

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Record failures and their cause while the episode advances, and finish the episode if it is over."""
        playing = self._playing
        with playing.guarded(interrupts=False), playing.own_failure():
            yield
        if playing.cause is not None or not self.turns:
            self._finish()

    def _finish(self) -> None:
        """Save the report, take the event log and release the world."""
        playing, pod, driven = self._playing, self._pod, self._driven
        self._pod = self._driven = None
        playing.seconds |= {"agent": time.perf_counter() - self._began}
        with playing.guarded(interrupts=False), playing.phase("finish"):
            if driven is not None:
                driven.save()
            playing.log = pod.finish() if pod is not None else b""
        playing.seconds["total"] = sum(playing.seconds.values())
        if playing.cause not in {None, "agent"}:
            self.settle(None)


def judged(episodes: Iterable[DrivenEpisode]) -> list[EpisodeVerdict]:
    """Return the verdicts of finished episodes. Episodes with the same tests are judged together.

    Raises the same errors as `verdict`.
    """
    everyone = list(episodes)
    waiting = [(one, case) for one in everyone if (case := one.unjudged) is not None]
    for (one, _), judgement in zip(waiting, judge_all([case for _, case in waiting]), strict=True):
        one.settle(judgement)
    return [one.verdict() for one in everyone]


def _call(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call in OpenAI's format."""
    function = asked.get("function", asked)
    arguments = function.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": asked.get("id") or "", "type": "function", "function": {"name": function["name"], "arguments": text}}
