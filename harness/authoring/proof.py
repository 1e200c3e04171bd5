"""`harness verify`: everything that must hold of a task before its numbers mean something.

For each task, in process: lint, drift, the oracle succeeds, nop earns nothing, each violation earns exactly its label, the
cells of Proposition 1, nothing leaks, seeds differ, budgets and knob ends suffice, equal play gives equal traces, and whatever
its family claims besides (a certificate check by check).
1. All episodes of a task are judged in one pytest session.
2. With several workers a task is proved in one process and replayed in another one, whose PYTHONHASHSEED differs; this process
   is the first worker. With one worker all happens here, in order.
3. Given sandboxed runtimes, the same clients then play in each, and must leave the same traces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.agents.solutions import players, violation_names
from harness.authoring import checks
from harness.authoring.families import claims
from harness.authoring.findings import Place, placed
from harness.authoring.lint import lint_task, lint_worlds
from harness.authoring.plays import NOP, SOLVE, Play, judge, play
from harness.authoring.report import Check, Report, TaskProof, failed, listed, passed, proof
from harness.authoring.sandboxed import Expected, prove_in
from harness.authoring.sync import blamed, drift
from harness.authoring.workers import Crew, Job
from harness.errors import UsageError, VerifierFailure
from harness.plan import parse_seeds
from harness.registry import Task
from harness.runtimes.base import Runtime
from worlds.core.errors import ManifestError, ParleyError
from worlds.core.loading import SCENARIO
from worlds.core.manifest import OptionValue

Progress = Callable[[TaskProof], None]
Traces = dict[tuple[str, int], str]
"""(player, seed) -> trace hash."""

SPREAD = 10
"""Of tasks that are data alone, how many of a family a sample plays in a sandbox."""

_CLAIMS = (
    checks.oracle_checks, checks.nop_checks, checks.violation_checks, checks.cell_checks, checks.leak_checks,
    checks.seed_checks, checks.budget_checks, checks.knob_checks,
)  # fmt: skip


@dataclass(frozen=True)
class _Proved:
    """What one process found out about a task."""

    checks: list[Check]
    traces: Traces
    seconds: float


@dataclass(frozen=True)
class Scope:
    """Which episodes of a task belong to its proof."""

    task: Task
    seeds: Sequence[int]
    thorough: bool = False
    sample: bool = False
    """Whether a sandbox plays only the oracle, nop and one violation, on the first seed."""

    sandboxed: bool = True
    """Whether a sandbox, where one is asked for, plays this task at all."""

    @property
    def sandbox_seeds(self) -> Sequence[int]:
        """Of the seeds, those that a sandbox plays."""
        return self.seeds[:1] if self.sample else self.seeds

    def in_sandbox(self) -> list[tuple[str, int]]:
        """Of the clients, those that a sandbox plays."""
        if not self.sample:
            return self.clients()
        wrong = [name for name in players(self.task) if name != SOLVE]
        chosen = {SOLVE, NOP, *wrong[len(self.task.task_id) % max(1, len(wrong)) :][:1]}
        return [client for client in self.clients() if client[0] in chosen and client[1] in self.sandbox_seeds]

    def clients(self) -> list[tuple[str, int]]:
        """Every client on every seed."""
        return [(player, seed) for seed in self.seeds for player in (*players(self.task), NOP)]

    def replayed(self) -> list[tuple[str, int]]:
        """What is played twice: the oracle on every seed, every other client on two of them in turn; thorough, all."""
        others = [name for name in (*players(self.task), NOP) if name != SOLVE]
        count = len(self.seeds)
        chosen = {(name, self.seeds[(turn + step) % count]) for turn, name in enumerate(others) for step in (0, 1)}
        return [client for client in self.clients() if self.thorough or client[0] == SOLVE or client in chosen]


def verify(
    tasks: Sequence[Task],
    seeds: Sequence[int] | None = None,
    *,
    runtimes: Sequence[Runtime] = (),
    workers: int = 2,
    thorough: bool = False,
    sample: bool = False,
    progress: Progress = lambda proved: None,
) -> Report:
    """Prove tasks, on their own seeds, or on those of `seeds` that they have; `runtimes` add the same clients in sandboxes.

    With `sample` these are only oracle, nop and one violation of each task, on its first seed; of tasks that are data alone,
    and so share all their code, only an even spread of ten of each family.
    `progress` hears of each task when it is finished, in this thread. Findings never raise; an interrupt does.
    """
    started = time.perf_counter()
    # A sandbox mounts a task by its path, whatever the working directory.
    absolute = [replace(task, path=task.path.resolve()) for task in tasks]
    spread = _spread(absolute) if sample else {task.task_id for task in absolute}
    scopes = [Scope(task, seeds_of(task, seeds), thorough, sample, task.task_id in spread) for task in absolute]
    shared = tuple(lint_worlds())
    proofs: dict[str, TaskProof] = {}
    for scope, proved, replayed in _in_process(scopes, workers):
        proofs[scope.task.task_id] = _finished(scope, proved, replayed, runtimes, workers)
        progress(proofs[scope.task.task_id])
    ok = not shared and all(proved.ok for proved in proofs.values())
    ordered = tuple(proofs[task.task_id] for task in tasks)
    return Report(ok=ok, seconds=round(time.perf_counter() - started, 3), tasks=ordered, shared=shared)


def _spread(tasks: Sequence[Task]) -> set[str]:
    """The tasks that a sample plays in a sandbox: all that have code of their own, and a spread of the others."""
    chosen = {task.task_id for task in tasks if not is_data(task)}
    for family_name in {task.family for task in tasks}:
        data = [task.task_id for task in tasks if is_data(task) and task.family == family_name]
        chosen.update(data[:: max(1, len(data) // SPREAD)][:SPREAD])
    return chosen


def is_data(task: Task) -> bool:
    """Whether a task's folder holds a scenario for its family's world, and no rules of its own."""
    return (task.world_folder / SCENARIO).is_file() and not (task.world_folder / "server.py").exists()


def seeds_of(task: Task, seeds: Sequence[int] | None) -> list[int]:
    """The seeds to prove a task on: its own, of `seeds` those that it has, and 0 where that leaves none."""
    if task.parley is None:
        return list(seeds or [0])
    try:
        own = parse_seeds(task.parley.seeds)
    except UsageError:
        # no range, which lint reports
        return list(seeds or [0])
    return own if seeds is None else [seed for seed in seeds if seed in own] or [0]


def _in_process(scopes: Sequence[Scope], workers: int) -> Iterator[tuple[Scope, _Proved, Traces]]:
    """Each task proved and replayed, as soon as both are done."""
    proved: dict[int, _Proved] = {}
    replayed: dict[int, Traces] = {}
    places = _places(scopes, workers)
    # A task's replay goes to the worker after the one that proves it.
    jobs: list[Job[tuple[int, dict[int, Any]]]]
    jobs = [(places[number], (number, proved), _prove, (scope,)) for number, scope in enumerate(scopes)]
    jobs += [(places[number] + 1, (number, replayed), _replay, (scope,)) for number, scope in enumerate(scopes)]
    with Crew(workers) as crew:
        for (number, shelf), result in crew.run(jobs):
            shelf[number] = result
            if number in proved and number in replayed:
                yield scopes[number], proved.pop(number), replayed.pop(number)


def _places(scopes: Sequence[Scope], workers: int) -> list[int]:
    """The worker of each task: those with most clients are given out first, each to the worker with least to do."""
    weights = [1 + len(violation_names(scope.task)) for scope in scopes]
    loads, places = [0] * max(1, workers), [0] * len(scopes)
    for number in sorted(range(len(scopes)), key=lambda number: -weights[number]):
        places[number] = loads.index(min(loads))
        loads[places[number]] += weights[number]
    return places


def _finished(scope: Scope, proved: _Proved, replayed: Traces, runtimes: Sequence[Runtime], workers: int) -> TaskProof:
    task = scope.task
    found = [*proved.checks, *_determinism(scope, proved.traces, replayed)]
    started = time.perf_counter()
    for runtime in runtimes if scope.sandboxed else ():
        found += prove_in(runtime, task, scope.sandbox_seeds, _expected(scope, proved.traces), workers)
    if task.parley is None and not runtimes:
        found.append(
            failed("runtime", None, Place(task.path / "task.toml", 1), "a foreign Harbor task is proved with --runtime docker")
        )
    return proof(task.task_id, proved.seconds + time.perf_counter() - started, found)


def _prove(scope: Scope) -> _Proved:
    """All claims about one task, in this process."""
    started, task = time.perf_counter(), scope.task
    if task.parley is None:
        return _Proved([], {}, 0.0)
    found = [listed("lint", lint_task(task)), _drift(task), *claims(task)]
    try:
        plays = [*(play(task, *client) for client in scope.clients()), *_settings(task)]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a task's own code may raise anything, and that is a finding
        return _Proved([*found, _unplayable(task, error)], {}, time.perf_counter() - started)
    try:
        judge(task, plays)
        evidence = checks.Evidence(task, plays)
        found += [check for claim in _CLAIMS for check in claim(evidence)]
    except VerifierFailure as error:
        found.append(failed("judge", None, Place(task.path / "tests" / "test_outcome.py", 1), str(error)))
    traces = {(played.player, played.seed): played.trace_hash for played in plays if not played.overrides}
    return _Proved(found, traces, time.perf_counter() - started)


def _replay(scope: Scope) -> Traces:
    """The traces of the same clients on the same seeds, once more."""
    try:
        return {client: play(scope.task, *client).trace_hash for client in scope.replayed()} if scope.task.parley else {}
    except (Exception, SystemExit):  # noqa: BLE001 - what raises here and not in the proof shows as a trace that differs
        return {}


def _settings(task: Task) -> list[Play]:
    """The oracle on seed 0 with one knob at one end, or one option at another of its values, all else at default."""
    assert task.parley is not None
    ends: list[tuple[str, OptionValue]]
    ends = [(name, value) for name, knob in task.parley.knobs.items() for value in (knob.min, knob.max)]
    for name, option in task.parley.options.items():
        values = (False, True) if option.type == "bool" else option.values
        ends += [(name, value) for value in values if value != option.default]
    return [play(task, SOLVE, 0, {name: value}) for name, value in ends]


def _determinism(scope: Scope, traces: Traces, replayed: Traces) -> Iterator[Check]:
    """Equal play gives equal traces: one check a seed."""
    if not traces:
        return
    at = checks.Evidence(scope.task, []).server
    for seed in scope.seeds:
        twice = [client for client in scope.replayed() if client[1] == seed]
        differing = [client[0] for client in twice if replayed.get(client) != traces[client]]
        if differing:
            yield failed("determinism", seed, at, f"{', '.join(differing)}: the same client left two different traces")
        else:
            yield passed("determinism", seed, f"{len(twice)} clients twice")


def _drift(task: Task) -> Check:
    try:
        return listed("drift", drift(task.path))
    except ParleyError as error:
        at, what = placed(str(error), Place(task.path / "task.toml", 1))
        return failed("drift", None, at, what)


def _unplayable(task: Task, error: BaseException) -> Check:
    """A world or a solution that cannot even be loaded."""
    what = str(error) if isinstance(error, ParleyError) else f"{type(error).__name__}: {error}"
    otherwise = Place(task.path / "task.toml", 1) if isinstance(error, ManifestError) else blamed(error, task.world_folder)
    at, what = placed(what, otherwise)
    return failed("load", None, at, what.removeprefix(f"{at.path}: "))


def _expected(scope: Scope, traces: Traces) -> Mapping[tuple[str, int], Expected]:
    """What each client must earn in a sandbox, and the trace it must leave."""
    if scope.task.parley is None or not traces:
        return {}
    labels = {NOP: "OTHER", **{name: label for name, (label, _) in players(scope.task).items()}}
    return {client: Expected(labels[client[0]], traces[client]) for client in scope.in_sandbox()}
