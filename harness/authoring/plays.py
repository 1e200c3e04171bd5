"""Plays a task's own clients in this process and keeps all there is to know: log, verdict, and every byte exchanged.

One task's episodes are judged in one pytest session, so that a hundred verdicts cost as much as a few.
"""

from __future__ import annotations

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from harness.agent import Budget, Report
from harness.agents.scripted import NopAgent
from harness.agents.solutions import OWN, PLAN, SolutionAgent, players
from harness.authoring.findings import Place, definition, violation_lines
from harness.errors import TaskInvalid
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessPod
from harness.runtimes.judging import judge_in_process
from harness.taskfile import line_of
from validators.verdict import Verdict
from worlds.core.chance import noted
from worlds.core.events import Event, Requested, read_log
from worlds.core.levels import LEVEL
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse

LIMIT_S = 30.0
"""Seconds of processor time for one episode; the longest of ours takes less than two."""


class Endless(TaskInvalid):
    """Code of a task did not come to an end; the message begins with the line that was running.

    It is raised where the loop is. Worlds and clients that catch it do not hide it: it is raised again at the end of the block,
    so one loop costs its limit once and not in each episode. Only the main thread of a process can be interrupted like that.
    """


@contextmanager
def ending(folder: Path, episodes: int = 1) -> Iterator[None]:
    """Raise Endless where a task's code runs for longer than so many episodes may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = LIMIT_S * max(1, episodes)
    told: list[Endless] = []

    def interrupt(_: int, frame: FrameType | None) -> None:
        error = Endless(f"{_place(frame, folder)}: did not end in {seconds:g} s of processor time")
        told.append(error)
        raise error

    before = signal.signal(signal.SIGVTALRM, interrupt)
    # where the first interrupt was caught, what loops again is not waited for as long
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds / 100)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if told:
            raise told[0]


def _place(frame: FrameType | None, folder: Path) -> str:
    """`path:line` of the folder's code that is running, or has called what is."""
    while frame is not None and folder not in Path(frame.f_code.co_filename).parents:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else f"{folder / 'task.toml'}:1"


SOLVE, NOP = "solve", "nop"

MOST_REQUESTS = 5_000
"""A client that asks more often than any budget allows will not stop by itself."""


class Exchange(NamedTuple):
    """One request and its answer."""

    request: WireRequest
    response: WireResponse


@dataclass
class Play:
    """One episode."""

    player: str
    seed: int
    overrides: Mapping[str, OptionValue] = field(default_factory=dict)
    instruction: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    raised: str | None = None
    failure: Exception | None = None
    """What the world raised, where it failed by itself."""

    log: bytes = b""
    trace_hash: str = ""
    chance: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The streams of chance that were begun, by purpose: equal names are equal bytes."""

    verdict: Verdict | None = None

    @property
    def outcome(self) -> Verdict:
        """The verdict of an episode that was judged."""
        assert self.verdict is not None
        return self.verdict

    @cached_property
    def events(self) -> Sequence[Event]:
        """The log, read."""
        return read_log(self.log)

    def judged(self) -> Iterator[tuple[Requested, Exchange]]:
        """Each logged request with the exchange that it stands for; what the world does not log is passed over."""
        events = [event for event in self.events if isinstance(event, Requested)]
        for exchange in self.exchanges:
            if events and _is_event_of(events[0], exchange):
                yield events.pop(0), exchange


def play(
    task: Task,
    player: str,
    seed: int,
    overrides: Mapping[str, OptionValue] | None = None,
    altered: Callable[[Transport], Transport] | None = None,
) -> Play:
    """Play one episode; what the client raises is noted, what the world raises is raised.

    What a client sends goes through `altered` before it is noted. Raises Endless for what never ends.
    """
    played = Play(player, seed, overrides or {})
    recorded = _recorder(played.exchanges)
    transport = (lambda inner: altered(recorded(inner))) if altered else recorded
    agent = NopAgent() if player == NOP else SolutionAgent(player, transport=transport)
    report = Report(agent=agent.name)
    spec = EpisodeSpec("verify", f"{player}-{seed}", task, seed, overrides=played.overrides)
    with ending(task.path), noted() as played.chance:
        pod = InProcessPod(spec)
        played.instruction = pod.instruction
        agent.play(task, seed, pod, Budget(), report)
    played.log, played.failure = pod.finish(), pod.failure
    played.raised = report.failed
    played.trace_hash = json.loads(played.log.splitlines()[-1])["hash"]
    return played


def judge(task: Task, plays: Sequence[Play]) -> None:
    """Give every play its verdict, in one session; raises VerifierFailure where one gets none, and Endless."""
    with ending(task.path, len(plays)):
        judgements = judge_in_process(task, [played.log for played in plays])
    for played, judgement in zip(plays, judgements, strict=True):
        played.verdict = Verdict.model_validate_json(judgement.verdict)


def _recorder(exchanges: list[Exchange]) -> Callable[[Transport], Transport]:
    def wrap(inner: Transport) -> Transport:
        def send(request: WireRequest) -> WireResponse:
            if len(exchanges) >= MOST_REQUESTS:
                raise RuntimeError(f"the client made more than {MOST_REQUESTS} requests")
            exchanges.append(Exchange(request, inner(request)))
            return exchanges[-1].response

        return send

    return wrap


def _is_event_of(event: Requested, exchange: Exchange) -> bool:
    request, response = exchange
    return (event.method, event.status) == (request.method, response.status) and (event.target_sha256, event.body_sha256) == (
        hashlib.sha256(request.target).hexdigest(),
        hashlib.sha256(request.body).hexdigest(),
    )


@dataclass(frozen=True)
class TaskEvidence:
    """One task and everything that was played of it."""

    task: Task
    plays: Sequence[Play]
    made: Sequence[Play] = ()
    """What was made of the oracle's first episode: altered requests that were played, and altered logs that were not."""

    def of(self, player: str) -> list[Play]:
        """A player's episodes at default options, by seed."""
        return [played for played in self.plays if played.player == player and not played.overrides]

    def at(self, level: int) -> TaskEvidence:
        """What was played at a level, as the evidence of the task that it makes."""
        there = [replace(played, overrides={}) for played in self.plays if played.overrides.get(LEVEL) == level]
        return TaskEvidence(self.task.at(level), there)

    def made_as(self, kind: str) -> list[Play]:
        """Of what was made of the oracle's episode, that of one kind: what its name starts with."""
        return [played for played in self.made if played.player.partition(":")[0] == kind]

    @property
    def violations(self) -> list[str]:
        """The names of the wrong clients."""
        return [name for name in players(self.task) if name != SOLVE]

    @cached_property
    def lines(self) -> Mapping[str, Place]:
        """Where each wrong client is named."""
        return violation_lines(self.task)

    def place(self, player: str) -> Place:
        """Where a client is written."""
        if not (self.task.path / OWN).exists():
            return Place(self.task.path / PLAN, 1)
        if player == SOLVE:
            return definition(self.task.path / OWN, SOLVE)
        table = definition(self.task.path / "solution" / "violations.py", "VIOLATIONS")
        return self.lines.get(player, table)

    @property
    def tests(self) -> Place:
        """The hidden tests."""
        return Place(self.task.path / "tests" / "test_outcome.py", 1)

    @property
    def server(self) -> Place:
        """Where the world draws its instance."""
        return definition(self.task.world_folder / "server.py", "prepare")

    def setting(self, *keys: str) -> Place:
        """Where task.toml sets something of [metadata.parley]."""
        path = self.task.path / "task.toml"
        return Place(path, line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", *keys)))
