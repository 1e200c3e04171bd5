"""All claims about one task, proved in this process: its code is imported, its clients play, its hidden tests judge.

`prove` and `replay` are the two halves; they want two processes whose PYTHONHASHSEED differs. `settled` puts them together.
A task that may not run here is proved the same way by the same functions, in a sandbox (`harness.authoring.prover`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from harness.agents.solutions import players
from harness.authoring import checks, families, instances, refusals, rules, templates
from harness.authoring.endless import Endless, ending
from harness.authoring.evidence import TaskEvidence
from harness.authoring.findings import Finding, Place, placed
from harness.authoring.lint import lint_task
from harness.authoring.plays import NOP, SOLVE, Play, judge, play
from harness.authoring.report import ProofCheck, Proved, ProvedClient, failed, listed, passed
from harness.authoring.scope import Scope
from harness.authoring.sync import blamed, drift, instructed
from harness.errors import VerifierFailure
from harness.registry import Task
from harness.taskfile import line_of
from validators.verdict import Verdict
from worlds.core.errors import ManifestError, ParleyError
from worlds.core.levels import LEVEL
from worlds.core.manifest import STANDARD, OptionValue

_SETTINGS = (checks.oracle_checks, checks.nop_checks, checks.budget_checks)
"""Claims that a level breaks by what it changes; it is the place to go to."""

_CLIENTS = (checks.violation_checks, families.checks)
"""Claims that a client breaks which counts on a value of the first level."""


def level_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """The claims about each level."""
    for level in evidence.task.parley.levels if evidence.task.parley else ():
        there, table = evidence.at(level), evidence.setting("levels", str(level))
        if there.plays:
            yield from (_of(level, check, table) for claim in _SETTINGS for check in claim(there))
            yield from (_of(level, check, None) for claim in _CLIENTS for check in claim(there))


def _of(level: int, check: ProofCheck, at: Place | None) -> ProofCheck:
    """A check that says at which level it was made, found at `at` where that is the place to go to."""
    name = f"level:{level}:{check.name}"
    where = f"at level {level}" + (f", seed {check.seed}" if check.seed is not None else "")
    findings = tuple(_moved(finding, at).model_copy(update={"rule": name}) for finding in check.findings)
    findings = tuple(one.model_copy(update={"message": f"{where}: {one.message}"}) for one in findings)
    return check.model_copy(update={"name": name, "findings": findings})


def _moved(finding: Finding, at: Place | None) -> Finding:
    return at.finding(finding.rule, finding.message) if at else finding


Traces = dict[tuple[str, int], str]
"""(player, seed) -> trace hash."""

_CLAIMS = (
    checks.oracle_checks, checks.nop_checks, checks.violation_checks, families.checks, checks.leak_checks,
    instances.seed_checks, instances.result_checks, instances.secret_checks, instances.draw_checks, checks.budget_checks,
    checks.knob_checks, refusals.gives_up_checks, refusals.recovers_checks, refusals.submission_checks, refusals.twice_checks,
    refusals.artifact_checks,
    refusals.tampered_checks, refusals.left_out_checks, refusals.hidden_test_checks, level_checks,
)  # fmt: skip


@dataclass(frozen=True)
class Claimed:
    """What the first half found out."""

    checks: list[ProofCheck]
    traces: Traces
    seconds: float


def prove(scope: Scope) -> Claimed:
    """All claims about one task but that it plays alike twice."""
    started, task = time.perf_counter(), scope.task
    if task.parley is None:
        return Claimed([], {}, 0.0)
    if task.family not in templates.families():
        return Claimed([_unknown_family(task)], {}, time.perf_counter() - started)
    told = [listed("lint", lint_task(task)), _drift(task), *rules.rule_checks(task), *families.claims(task)]
    solvable = families.unsolvable(task) is None
    try:
        plays = [play(task, *client) for client in episodes(scope) if solvable or client[0] == NOP]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a task's own code may raise anything, and that is a finding
        return Claimed([*told, _unplayable(task, error)], {}, time.perf_counter() - started)
    try:
        judge(task, plays)
        evidence = TaskEvidence(task, plays, made_of(task, plays) if solvable else ())
        told += all_claims(evidence) if solvable else checks.nop_checks(evidence)
        told += refusals.disturbed_checks(task, plays) if solvable else ()
    except (VerifierFailure, Endless) as error:
        told.append(failed("judge", None, *placed(str(error), Place(task.path / "tests" / "test_outcome.py", 1))))
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


def all_claims(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Every claim over episodes that were played and judged."""
    yield from (check for claim in _CLAIMS for check in claim(evidence))


def made_of(task: Task, plays: Sequence[Play], known: Sequence[Play] = ()) -> list[Play]:
    """Return what is made of the oracle's first episode, altered requests and altered logs, each with its verdict.

    A log that is among `known` under its name has the verdict that it has there.
    """
    if task.is_seated:
        return []
    verdicts = {(played.player, played.log): played.verdict for played in known}
    made = refusals.made_of(task, plays)
    _judge_others(task, made, verdicts)
    controls = refusals.controls(task, plays, made)
    _judge_others(task, controls, verdicts)
    return [*made, *controls]


def _judge_others(task: Task, made: Sequence[Play], verdicts: Mapping[tuple[str, bytes], Verdict | None]) -> None:
    for played in made:
        played.verdict = verdicts.get((played.player, played.log))
    judge(task, [played for played in made if played.verdict is None])


def episodes(scope: Scope) -> list[tuple[str, int, Mapping[str, OptionValue]]]:
    """All that is played for a proof: player, seed, and what differs from the task's defaults.

    The last are the oracle on seed 0 with one knob at one end, or one option at another of its values, and all at each level.
    """
    ours = scope.task.parley
    assert ours is not None
    ends: list[tuple[str, OptionValue]]
    ends = [(name, value) for name, knob in ours.knobs.items() for value in (knob.min, knob.max)]
    for name, option in ours.declared.items():
        if name in STANDARD:
            # of the path and of how an episode ends: nothing that a task could get wrong
            continue
        values = (False, True) if option.type == "bool" else option.values
        ends += [(name, value) for value in values if value != option.default and value not in option.floor]
    return [
        *((player, seed, {}) for player, seed in scope.clients()), *((SOLVE, 0, {name: value}) for name, value in ends),
        *((player, seed, {LEVEL: level}) for level, player, seed in scope.leveled()),
    ]  # fmt: skip


def _determinism(scope: Scope, traces: Traces, replayed: Traces) -> Iterator[ProofCheck]:
    """Equal play gives equal traces: one check a seed."""
    if not traces:
        return
    at = TaskEvidence(scope.task, []).server
    for seed in scope.seeds:
        twice = [client for client in scope.replayed() if client[1] == seed and client in traces]
        differing = [client[0] for client in twice if replayed.get(client) != traces[client]]
        if differing:
            yield failed("determinism", seed, at, f"{', '.join(differing)}: the same client left two different traces")
        else:
            yield passed("determinism", seed, f"{len(twice)} clients twice")


def _unknown_family(task: Task) -> ProofCheck:
    path = task.path / "task.toml"
    line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "family"))
    known = ", ".join(templates.families())
    return failed("family", None, Place(path, line), f"no family is called {task.family!r}; there are {known}")


def _drift(task: Task) -> ProofCheck:
    try:
        with ending(task.path):
            return listed("drift", drift(task.path, partial(instructed, admitted=task.admitted)))
    except ParleyError as error:
        at, what = placed(str(error), Place(task.path / "task.toml", 1))
        return failed("drift", None, at, what)


def _unplayable(task: Task, error: BaseException) -> ProofCheck:
    """A world or a solution that cannot even be loaded."""
    what = str(error) if isinstance(error, ParleyError) else f"{type(error).__name__}: {error}"
    otherwise = Place(task.path / "task.toml", 1) if isinstance(error, ManifestError) else blamed(error, task.world_folder)
    at, what = placed(what, otherwise)
    return failed("load", None, at, what.removeprefix(f"{at.path}: "))
