"""All claims about one task, proved in this process: its code is imported, its clients play, its hidden tests judge.

`prove` and `replay` are the two halves; they want two processes whose PYTHONHASHSEED differs. `settled` puts them together.
A task that may not run here is proved the same way by the same functions, in a sandbox (`harness.authoring.prover`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from harness.agents.solutions import players
from harness.authoring import checks
from harness.authoring.families import claims
from harness.authoring.findings import Place, placed
from harness.authoring.lint import lint_task
from harness.authoring.plays import NOP, SOLVE, Play, judge, play
from harness.authoring.report import Check, Proved, ProvedClient, failed, listed, passed
from harness.authoring.scope import Scope
from harness.authoring.sync import blamed, drift, instructed
from harness.errors import VerifierFailure
from harness.registry import Task
from worlds.core.errors import ManifestError, ParleyError
from worlds.core.manifest import OptionValue

Traces = dict[tuple[str, int], str]
"""(player, seed) -> trace hash."""

_CLAIMS = (
    checks.oracle_checks, checks.nop_checks, checks.violation_checks, checks.cell_checks, checks.leak_checks,
    checks.seed_checks, checks.budget_checks, checks.knob_checks,
)  # fmt: skip


@dataclass(frozen=True)
class Claimed:
    """What the first half found out."""

    checks: list[Check]
    traces: Traces
    seconds: float


def prove(scope: Scope) -> Claimed:
    """All claims about one task but that it plays alike twice."""
    started, task = time.perf_counter(), scope.task
    if task.parley is None:
        return Claimed([], {}, 0.0)
    told = [listed("lint", lint_task(task)), _drift(task), *claims(task)]
    try:
        plays = [*(play(task, *client) for client in scope.clients()), *_settings(task)]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a task's own code may raise anything, and that is a finding
        return Claimed([*told, _unplayable(task, error)], {}, time.perf_counter() - started)
    try:
        judge(task, plays)
        evidence = checks.Evidence(task, plays)
        told += [check for claim in _CLAIMS for check in claim(evidence)]
    except VerifierFailure as error:
        told.append(failed("judge", None, Place(task.path / "tests" / "test_outcome.py", 1), str(error)))
    traces = {(played.player, played.seed): played.trace_hash for played in plays if not played.overrides}
    return Claimed(told, traces, time.perf_counter() - started)


def replay(scope: Scope) -> Traces:
    """The traces of the same clients on the same seeds, once more."""
    try:
        return {client: play(scope.task, *client).trace_hash for client in scope.replayed()} if scope.task.parley else {}
    except (Exception, SystemExit):  # noqa: BLE001 - what raises here and not in the proof shows as a trace that differs
        return {}


def settled(scope: Scope, claimed: Claimed, replayed: Traces) -> Proved:
    """Both halves together: every check, and what each client earned and left."""
    checks = (*claimed.checks, *_determinism(scope, claimed.traces, replayed))
    labels = {NOP: "OTHER", **{n: label for n, (label, _) in players(scope.task).items()}} if claimed.traces else {}
    clients = (ProvedClient(player=p, seed=s, label=labels[p], trace_hash=trace) for (p, s), trace in claimed.traces.items())
    return Proved(task_id=scope.task.task_id, checks=checks, clients=tuple(clients), seconds=claimed.seconds)


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
        return listed("drift", drift(task.path, partial(instructed, admitted=task.admitted)))
    except ParleyError as error:
        at, what = placed(str(error), Place(task.path / "task.toml", 1))
        return failed("drift", None, at, what)


def _unplayable(task: Task, error: BaseException) -> Check:
    """A world or a solution that cannot even be loaded."""
    what = str(error) if isinstance(error, ParleyError) else f"{type(error).__name__}: {error}"
    otherwise = Place(task.path / "task.toml", 1) if isinstance(error, ManifestError) else blamed(error, task.world_folder)
    at, what = placed(what, otherwise)
    return failed("load", None, at, what.removeprefix(f"{at.path}: "))
