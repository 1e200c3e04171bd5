"""Trial of a mutant in a fork of this process: finds a check of any task that passed before the change and fails now.

1. Only the episodes that run a changed line are replayed, and only those that differ are judged again. If the change is in the
   judging code, nothing is replayed and everything is judged.
2. The oracle is played first. The first verdict that fails a check by itself, or else the first failed check, ends the trial.
Episodes derived from the oracle's are made only if the clients do not detect the mutant.
3. The `Ground` of a task is its result without changes, computed once per task in a fork, because that imports the worlds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from pathlib import Path

from harness.errors import TaskInvalid
from harness.registry import Task
from parley.proof import instances
from parley.proof.claims import all_claims, episodes, made_of
from parley.proof.mutants.copies import allow
from parley.proof.mutants.operators import UNSEEDED, SourceMutant
from parley.proof.mutants.targets import JUDGES, MutatedFile, plant
from parley.proof.mutants.units import traced
from parley.proof.plays import NOP, SOLVE, Play, Scope, TaskEvidence, judge, play
from worlds.core.manifest import OptionValue

Client = tuple[str, int, tuple[tuple[str, OptionValue], ...]]
"""Player, seed, and the settings that differ from the defaults."""


@dataclass
class Ground:
    """Result of a task without changes, with the lines that each episode runs."""

    task: Task
    plays: dict[Client, Play] = field(default_factory=dict)
    ran: dict[str, dict[int, int]] = field(default_factory=dict)
    """Episodes that run each line, by file and line: bit `n` for episode `n`."""

    judged: dict[str, set[int]] = field(default_factory=dict)
    """Lines that judging runs, by file."""

    made: list[Play] = field(default_factory=list)
    """Plays derived from the oracle's first episode: altered requests and altered logs."""

    remade: dict[str, set[int]] = field(default_factory=dict)
    """Lines that run when these plays are made and judged, by file."""

    wrong: str = ""
    """The first check that fails without any change."""

    cpu_s: float = 0.0

    def seeds(self) -> list[int]:
        """Return the seeds that were played, in order."""
        return sorted({seed for _, seed, _ in self.plays})

    def reached(self, file: str, lines: Iterable[int]) -> set[Client]:
        """Return the episodes that run any of these lines."""
        by_line = self.ran.get(file, {})
        bits = reduce(or_, (by_line.get(line, 0) for line in lines), 0)
        return {client for number, client in enumerate(self.plays) if bits >> number & 1}


def surveyed(task: Task, seeds: Sequence[int], files: Collection[str]) -> Ground:
    """Play and judge an unchanged task, recording which lines of `files` run in which episode. Imports the task's code."""
    began, ground = time.process_time(), Ground(task)
    for number, (player, seed, settings) in enumerate(episodes(Scope(task, seeds))):
        with traced(files) as lines:
            ground.plays[player, seed, tuple(settings.items())] = play(task, player, seed, settings)
        for file, line in lines:
            by_line = ground.ran.setdefault(file, {})
            by_line[line] = by_line.get(line, 0) | 1 << number
    plays = list(ground.plays.values())
    with traced(files) as lines:
        judge(task, plays)
    for file, line in lines:
        ground.judged.setdefault(file, set()).add(line)
    with traced(files) as lines:
        ground.made = made_of(task, plays)
    for file, line in lines:
        ground.remade.setdefault(file, set()).add(line)
    failing = [check for check in all_claims(TaskEvidence(task, plays, ground.made)) if not check.ok]
    ground.wrong = f"{failing[0].name}: {failing[0].detail}" if failing else ""
    ground.cpu_s = time.process_time() - began
    return ground


def standing(grounds: Iterable[Ground]) -> list[Ground]:
    """Return all grounds. Raises TaskInvalid if a check of one fails without changes."""
    listed = list(grounds)
    for ground in listed:
        if ground.wrong:
            raise TaskInvalid(
                f"{ground.task.path}/task.toml:1: fails its checks without any mutant ({ground.wrong})",
                hint=f"harness verify {ground.task.task_id}",
            )
    return listed


Stages = Sequence[slice]
"""Slices of a task's seeds that are tried one after the other."""

STAGES: Stages = (slice(0, 1), slice(1, 3), slice(3, None))

_OF_SEEDS = (instances.draw_checks, instances.secret_checks, instances.result_checks, instances.seed_checks)
"""Checks that fail for random values without a seed. They read episodes and need no verdict."""

AT_ONCE = 8
"""Number of episodes that are played and judged as a batch, since starting the judge costs more than judging."""


def tried(mutant: SourceMutant, target: MutatedFile, grounds: Sequence[Ground], scratch: Path, stages: Stages = STAGES) -> str:
    """Return the task and the check that detected the mutant, or an empty string if it survived."""
    changed = plant(mutant, target, scratch)
    trials = [Trial(changed or ground.task, ground, mutant, target) for ground in grounds]
    # first the oracle of each task, then every task, stage by stage
    checks: list[tuple[Trial, Callable[[], str]]] = []
    for trial in trials:
        checks += [(trial, trial.oracle_fails), *([(trial, trial.seeds_alike)] if mutant.operator == UNSEEDED else [])]
    checks += [(trial, partial(trial.noticed, trial.ground.seeds()[stage])) for stage in stages for trial in trials]
    for trial, check in checks:
        allow(10 + 10 * trial.ground.cpu_s)
        try:
            noticed = check()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a mutant may raise anything, and is then detected
            noticed = first_line(error)
        if noticed:
            return f"{trial.ground.task.task_id} {noticed}"
    return ""


def reaching(mutant: SourceMutant, target: MutatedFile, grounds: Sequence[Ground]) -> list[Ground]:
    """Return the tasks whose checks run a changed line, quickest first."""
    able = [g for g in grounds if target.task is None or target.task.task_id == g.task.task_id]
    replayed = [g for g in able if _replayed(mutant, target, g)]
    others = [g for g in able if any(_covered(mutant, target, ran) for ran in (g.judged, g.remade)) and g not in replayed]
    return sorted([*replayed, *others], key=lambda g: g.cpu_s)


def first_line(error: BaseException) -> str:
    """Return an exception in the form of a failed check, as one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def broken_by_verdict(now: Play, known: Play) -> str:
    """Return the check that fails because of this verdict alone, or an empty string if checks also need other episodes."""
    if now.player == SOLVE:
        return "" if now.outcome.success else "oracle"
    if now.player == NOP:
        return "nop" if now.outcome.reward else ""
    return "" if now.outcome.failure_label == known.outcome.failure_label else f"violation:{now.player}"


class Trial:
    """The effect of a mutant on the checks of one task."""

    def __init__(self, task: Task, ground: Ground, mutant: SourceMutant, target: MutatedFile) -> None:
        self.ground = ground
        self._task = task
        self._again = _replayed(mutant, target, ground)
        self._all_judged = _covered(mutant, target, ground.judged)
        self._plays: list[Play] = []
        self._made: Sequence[Play] | None = None if _covered(mutant, target, ground.remade) else ground.made
        """Plays derived from the oracle's first episode; None until they are made again, on the first seeds."""

        self._differs = False
        self._judging = target.kind != "server"
        """True if the mutant may change how an unchanged log is judged."""

        self._known: dict[Client, Play] = {}
        """The oracle's first episode, once it was played."""

    def oracle_fails(self) -> str:
        """Return the failed check if the oracle does not succeed on the first seed, or an empty string."""
        client = (SOLVE, self.ground.seeds()[0], ())
        if client not in self._again and not self._all_judged:
            return ""
        now = self._played(client, self.ground.plays[client])
        if self._all_judged or now.verdict is None:
            self._differs = True
            judge(self._task, [now])
        self._known[client] = now
        return "" if now.outcome.reward else "oracle"

    def seeds_alike(self) -> str:
        """Return the check that fails because two of the oracle's seeds give the same instance, or an empty string."""
        clients = [client for client in self.ground.plays if client[0] == SOLVE and not client[2]]
        evidence = TaskEvidence(self._task, [self._played(client, self.ground.plays[client]) for client in clients])
        return next((check.name for claim in _OF_SEEDS for check in claim(evidence) if not check.ok), "")

    def noticed(self, seeds: Sequence[int]) -> str:
        """Return the first check that fails on these seeds and those before them, or an empty string."""
        clients = [client for client in self.ground.plays if client[1] in seeds]
        for start in range(0, len(clients), AT_ONCE):
            if told := self._broken(clients[start : start + AT_ONCE]):
                return told
        # checks compare seeds, so unchanged episodes of new seeds may still detect the mutant
        told = self._failing(self._made or ()) if self._differs else ""
        if told or self._made is not None:
            return told
        self._made, self._differs = made_of(self._task, self._plays, () if self._judging else self.ground.made), True
        return self._failing(self._made)

    def _broken(self, clients: Sequence[Client]) -> str:
        """Play and judge these clients. Return the first check that fails because of a single verdict, or an empty string."""
        judged: list[tuple[Play, Play]] = []
        for client in clients:
            known = self.ground.plays[client]
            now = self._known.pop(client, None) or self._played(client, known)
            if now.instruction != known.instruction and client == (SOLVE, 0, ()):
                return "drift"
            if self._all_judged or now.verdict is None:
                judged.append((now, known))
            self._plays.append(now)
        if judged:
            self._differs = True
            judge(self._task, [now for now, _ in judged])
        return next((told for now, known in judged if (told := broken_by_verdict(now, known))), "")

    def _failing(self, made: Sequence[Play]) -> str:
        evidence = TaskEvidence(self._task, self._plays, made)
        return next((check.name for check in all_claims(evidence) if not check.ok), "")

    def _played(self, client: Client, known: Play) -> Play:
        """Return the episode under the mutant, with its old verdict if nothing about it changed."""
        if client not in self._again:
            return copy(known)
        player, seed, settings = client
        now = play(self._task, player, seed, dict(settings))
        alike = (now.log, now.exchanges, now.instruction, now.raised, now.chance) == (
            known.log, known.exchanges, known.instruction, known.raised, known.chance,
        )  # fmt: skip
        return copy(known) if alike else now


def _replayed(mutant: SourceMutant, target: MutatedFile, ground: Ground) -> set[Client]:
    file = str(target.file)
    if target.kind in JUDGES or file not in ground.ran:
        return set()
    return set(ground.plays) if mutant.at_import else ground.reached(file, range(mutant.first, mutant.last + 1))


def _covered(mutant: SourceMutant, target: MutatedFile, lines: Mapping[str, set[int]]) -> bool:
    """Return True if `lines` include a line of the mutant, or any line of its file if the mutant runs on import."""
    ran = lines.get(str(target.file), set())
    return bool(ran) and (mutant.at_import or any(line in ran for line in range(mutant.first, mutant.last + 1)))
