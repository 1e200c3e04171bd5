"""Plays a task's own clients in this process and keeps log, verdict and every byte exchanged.

The episodes of one task are judged in one pytest session, so 100 verdicts cost as much as a few.
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
from harness.errors import TaskInvalid, UsageError
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runs.plan import parse_seeds
from harness.runtimes.inprocess import InProcessPod
from harness.runtimes.judging import judge_in_process
from harness.taskfile import line_of
from parley.proof.findings import Place, ProvedClient, client_line, definition
from validators.verdict import Verdict
from worlds.core.chance import record_streams
from worlds.core.events import Event, Requested, read_log
from worlds.core.levels import LEVEL
from worlds.core.loading import SCENARIO
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse

LIMIT_S = 30.0
"""Timeout of one episode in seconds of processor time; the longest of ours takes less than 2."""


class EndlessLoop(TaskInvalid):
    """Error for code of a task that does not end; the message begins with the line that was running.

    The error is raised inside the loop. If a world or client catches it, it is raised again at the end of the block, so the
    time limit is spent only once, not in each episode. Only the main thread of a process can be interrupted like this.
    """


@contextmanager
def ending(folder: Path, episodes: int = 1) -> Iterator[None]:
    """Raise EndlessLoop if a task's code runs longer than the time limit of this many episodes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = LIMIT_S * max(1, episodes)
    told: list[EndlessLoop] = []

    def interrupt(_: int, frame: FrameType | None) -> None:
        error = EndlessLoop(f"{_place(frame, folder)}: did not end in {seconds:g} s of processor time")
        told.append(error)
        raise error

    before = signal.signal(signal.SIGVTALRM, interrupt)
    # if the code catches an interrupt, the next interrupts come sooner
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds / 100)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if told:
            raise told[0]


def _place(frame: FrameType | None, folder: Path) -> str:
    """Return `path:line` of the folder's code that is running or has called the running code."""
    while frame is not None and folder not in Path(frame.f_code.co_filename).parents:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else f"{folder / 'task.toml'}:1"


SOLVE, NOP = "solve", "nop"

MOST_REQUESTS = 5_000
"""Maximum number of requests; a client that exceeds it is beyond any budget and does not stop by itself."""


class Exchange(NamedTuple):
    """A request and its answer."""

    request: WireRequest
    response: WireResponse


@dataclass
class Play:
    """A played episode: its log, verdict and exchanges."""

    player: str
    seed: int
    overrides: Mapping[str, OptionValue] = field(default_factory=dict)
    instruction: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    raised: str | None = None
    failure: Exception | None = None
    """The exception that the world raised, if it failed by itself."""

    log: bytes = b""
    trace_hash: str = ""
    chance: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Names of the random streams that were started, by purpose; streams of the same name have the same bytes."""

    verdict: Verdict | None = None

    @property
    def outcome(self) -> Verdict:
        """The verdict of a judged episode."""
        assert self.verdict is not None
        return self.verdict

    @cached_property
    def events(self) -> Sequence[Event]:
        """The parsed log."""
        return read_log(self.log)

    def judged(self) -> Iterator[tuple[Requested, Exchange]]:
        """Yield each logged request with its exchange. Skips exchanges that the world does not log."""
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
    """Play one episode. Exceptions of the client are recorded; exceptions of the world propagate.

    `altered` transforms requests before they are recorded. Raises EndlessLoop if the episode does not terminate.
    """
    played = Play(player, seed, overrides or {})
    recorded = _recorder(played.exchanges)
    transport = (lambda inner: altered(recorded(inner))) if altered else recorded
    agent = NopAgent() if player == NOP else SolutionAgent(player, transport=transport)
    report = Report(agent=agent.name)
    spec = EpisodeSpec("verify", f"{player}-{seed}", task, seed, overrides=played.overrides)
    with ending(task.path), record_streams() as played.chance:
        pod = InProcessPod(spec)
        played.instruction = pod.instruction
        agent.play(task, seed, pod, Budget(), report)
    played.log, played.failure = pod.finish(), pod.failure
    played.raised = report.failed
    played.trace_hash = json.loads(played.log.splitlines()[-1])["hash"]
    return played


def judge(task: Task, plays: Sequence[Play]) -> None:
    """Judge every play, in one session. Raises VerifierFailure if a play gets no verdict, and EndlessLoop."""
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
    """A task and all its plays."""

    task: Task
    plays: Sequence[Play]
    made: Sequence[Play] = ()
    """Plays derived from the oracle's first episode: altered requests, which were played, and altered logs, which were not."""

    def of(self, player: str) -> list[Play]:
        """Return a player's episodes at default options, by seed."""
        return [played for played in self.plays if played.player == player and not played.overrides]

    def at(self, level: int) -> TaskEvidence:
        """Return the plays at a level, as evidence of the task at that level."""
        there = [replace(played, overrides={}) for played in self.plays if played.overrides.get(LEVEL) == level]
        return TaskEvidence(self.task.at(level), there)

    def made_as(self, kind: str) -> list[Play]:
        """Return the derived plays of one kind, which is the prefix of their names."""
        return [played for played in self.made if played.player.partition(":")[0] == kind]

    @property
    def violations(self) -> list[str]:
        """Names of the wrong clients."""
        return [name for name in players(self.task) if name != SOLVE]

    def place(self, player: str) -> Place:
        """Return where a client is defined."""
        if not (self.task.path / OWN).exists():
            return Place(self.task.path / PLAN, 1)
        if player == SOLVE:
            return definition(self.task.path / OWN, SOLVE)
        table = definition(self.task.path / "solution" / "violations.py", "VIOLATIONS")
        return client_line(self.task, player, table)

    @property
    def tests(self) -> Place:
        """Place of the hidden tests."""
        return Place(self.task.path / "tests" / "test_outcome.py", 1)

    @property
    def server(self) -> Place:
        """The place where the world draws its instance."""
        return definition(self.task.world_folder / "server.py", "prepare")

    def setting(self, *keys: str) -> Place:
        """Return where task.toml sets a key of [metadata.parley]."""
        path = self.task.path / "task.toml"
        return Place(path, line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", *keys)))


SPREAD = 10
"""Number of data-only tasks per family that a sample plays in a sandbox."""


@dataclass(frozen=True)
class Scope:
    """The episodes that `harness verify` plays of a task."""

    task: Task
    seeds: Sequence[int]
    thorough: bool = False
    """True if every client is played twice, and at each level on every seed."""

    sample: bool = False
    """True if sandboxes play only the oracle, nop and one violation, on the first seed."""

    sandboxed: bool = True
    """True if requested sandboxes play this task."""

    @property
    def sandbox_seeds(self) -> Sequence[int]:
        """The seeds that a sandbox plays."""
        return self.seeds[:1] if self.sample else self.seeds

    def in_sandbox(self, clients: Sequence[ProvedClient]) -> list[ProvedClient]:
        """Return the clients that sandboxes play, out of those that were played in process."""
        if not self.sample:
            return list(clients)
        wrong = list(dict.fromkeys(client.player for client in clients if client.player not in (SOLVE, NOP)))
        chosen = {SOLVE, NOP, *wrong[len(self.task.task_id) % max(1, len(wrong)) :][:1]}
        return [client for client in clients if client.player in chosen and client.seed in self.sandbox_seeds]

    def clients(self) -> list[tuple[str, int]]:
        """Return every client on every seed. Imports the folder's code."""
        return [(player, seed) for seed in self.seeds for player in (*players(self.task), NOP)]

    def leveled(self) -> list[tuple[int, str, int]]:
        """Return clients at levels above the first, with their seeds; if thorough, all clients at each level on every seed.

        Otherwise only the first seed is played: the oracle plays at each level, and every other client at only one level. The
        levels take turns over these clients, from the highest down.
        """
        levels = tuple(self.task.parley.levels)[::-1] if self.task.parley else ()
        others = [name for name in (*players(self.task), NOP) if name != SOLVE]
        if self.thorough:
            return [(level, player, seed) for level in levels for seed in self.seeds for player in (SOLVE, *others)]
        chosen = [(level, SOLVE) for level in levels]
        chosen += [(levels[turn % len(levels)], name) for turn, name in enumerate(others) if levels]
        return [(level, player, self.seeds[0]) for level, player in chosen]

    def replayed(self) -> list[tuple[str, int]]:
        """Return the clients to play twice: the oracle on every seed, the others on two each. If thorough, all clients."""
        others = [name for name in (*players(self.task), NOP) if name != SOLVE]
        count = len(self.seeds)
        chosen = {(name, self.seeds[(turn + step) % count]) for turn, name in enumerate(others) for step in (0, 1)}
        return [client for client in self.clients() if self.thorough or client[0] == SOLVE or client in chosen]


def spread(tasks: Sequence[Task]) -> set[str]:
    """Return the tasks that a sample plays in a sandbox: all tasks with their own code, and an even selection of the others."""
    chosen = {task.task_id for task in tasks if not is_data(task)}
    for family_name in {task.family for task in tasks}:
        data = [task.task_id for task in tasks if is_data(task) and task.family == family_name]
        chosen.update(data[:: max(1, len(data) // SPREAD)][:SPREAD])
    return chosen


def is_data(task: Task) -> bool:
    """Return True if a task's folder contains a scenario for its family's world, and no rules of its own."""
    return (task.world_folder / SCENARIO).is_file() and not (task.world_folder / "server.py").exists()


def seeds_of(task: Task, seeds: Sequence[int] | None) -> list[int]:
    """Return the seeds on which a task is checked: its own, limited to `seeds` if given, or 0 if that leaves none."""
    if task.parley is None:
        return list(seeds or [0])
    try:
        own = parse_seeds(task.parley.seeds)
    except UsageError:
        # not a valid range, which lint reports
        return list(seeds or [0])
    return own if seeds is None else [seed for seed in seeds if seed in own] or [0]
