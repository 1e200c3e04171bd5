"""Checks of what every task must reject, derived from its oracle: giving up, recovering, wrong results, forged logs.

These clients and logs are generated for every folder, from the oracle's first episode. If that episode fails, there are none,
and the oracle's own check reports the failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.registry import Task
from parley.proof import request_mutants, tampering
from parley.proof.findings import Place, ProofCheck, definition, failed, handler_place, passed, raised_in
from parley.proof.instances import submission
from parley.proof.lint import labels_of
from parley.proof.plays import SOLVE, Play, TaskEvidence
from parley.rules import TABLE, stated_rules
from worlds.core.parts import import_part

_OTHER = "OTHER"
_LOGS = (tampering.CUT, tampering.SPENT, tampering.FORGED)


def made_of(task: Task, plays: Sequence[Play]) -> list[Play]:
    """Return every altered client and log of the oracle's first episode, to be judged in one session."""
    oracles = [played for played in plays if played.player == SOLVE and not played.overrides]
    if not oracles or b'"kind":"goal"' not in oracles[0].log:
        return []
    oracle = oracles[0]
    other = submission(oracles[1]) if len(oracles) > 1 else None
    logs = [
        *tampering.cut(oracle.log), *tampering.spent(oracle.log), *tampering.dropped(oracle.log),
        *tampering.forged(oracle.log), tampering.broken(oracle.log, *_a_violation(plays)),
    ]  # fmt: skip
    return [
        *(Play(name, oracle.seed, log=log) for name, log in logs),
        *request_mutants.submissions(task, oracle, other),
        *(made for field in request_mutants.fields(oracle) for made in request_mutants.twice(task, oracle, field)),
        *(_artifacts_taken(task, oracle, oracles[1]) if len(oracles) > 1 else ()),
    ]


def _artifacts_taken(task: Task, oracle: Play, other: Play) -> Iterator[Play]:
    """Yield clients that sent a variant of an issued value and may have succeeded, if the world reads that value at all."""
    for artifact in request_mutants.artifacts(oracle, other):
        variants = [name for name in request_mutants.VARIANTS if name != request_mutants.UNREAD]
        made = [request_mutants.with_variant(task, oracle, artifact, variant) for variant in variants]
        made += [request_mutants.with_older(task, oracle, artifact)] if artifact.issued is not None else []
        taken = [played for played in made if played is not None and _may_succeed(played)]
        unread = request_mutants.with_variant(task, oracle, artifact, request_mutants.UNREAD) if taken else None
        if unread is not None and not _may_succeed(unread):
            yield from taken


def disturbed_checks(task: Task, plays: Sequence[Play]) -> Iterator[ProofCheck]:
    """Yield checks that the world does not fail if one of the oracle's requests is duplicated, omitted or sent late."""
    oracle = next((played for played in plays if played.player == SOLVE and not played.overrides), None)
    if oracle is None or task.is_seated:
        return
    count, failed_once = 0, set[Place]()
    for number, played in request_mutants.disturbed(task, oracle):
        count += 1
        if played.failure is None:
            continue
        sent = oracle.exchanges[number].request
        at = raised_in(played.failure, task.world_folder / "server.py")
        told = f"the world fails when {sent.method} {sent.path.decode('latin-1')} is {played.player}: {played.failure!r:.200}"
        if at not in failed_once:
            yield failed(played.player, oracle.seed, at, told)
        failed_once.add(at)
    if not failed_once:
        yield passed("disturbed", oracle.seed, f"{count} clients")


def controls(task: Task, plays: Sequence[Play], made: Sequence[Play]) -> list[Play]:
    """Return control clients for accepted alterations. They test whether the world reads the altered field at all."""
    taken = [played.player for played in made if played.outcome.reward]
    if not taken:
        return []
    steps = [name.partition(":")[2] for name in taken if name.startswith(f"{tampering.DROPPED}:")]
    oracle = next(played for played in plays if played.player == SOLVE and not played.overrides)
    read = {str(field): field for field in request_mutants.fields(oracle)}
    names = dict.fromkeys(
        name.partition(":")[2].partition(",")[0] for name in taken if name.startswith(f"{request_mutants.TWICE}:")
    )
    return [
        *(request_mutants.otherwise(task, oracle, read[name]) for name in names),
        *(request_mutants.left_out(task, oracle, step) for step in steps),
    ]


def gives_up_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that an oracle that stops after any of its requests earns nothing, and the label OTHER."""
    cut = evidence.made_as(tampering.CUT)
    for played in cut:
        verdict = played.outcome
        judged = verdict.success or verdict.violations
        if (verdict.failure_label, verdict.reward, verdict.recovered) != (_OTHER, 0, False) or judged:
            told = f"a client that stops after {_after(played)} requests must earn OTHER and 0{_earned(played)}"
            yield failed("gives-up", played.seed, evidence.tests, told)
            return
    if cut:
        yield passed("gives-up", cut[0].seed, f"after each of {len(cut)} requests")


def recovers_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that a goal after a broken rule earns that rule's label and no reward, and is marked as recovered."""
    for played in evidence.made_as(tampering.BROKEN):
        verdict, label = played.outcome, _after(played)
        if (verdict.failure_label, verdict.reward, verdict.recovered) == (label, 0, True):
            yield passed("recovers", played.seed, label)
        else:
            ended = f"{_earned(played)}, recovered {verdict.recovered}"
            told = f"a goal after {label} must earn {label} and 0, and count as recovered{ended}"
            yield failed("recovers", played.seed, evidence.tests, told)


def submission_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that each wrong result is rejected as a broken rule, with a label."""
    for played in evidence.made_as(request_mutants.SUBMITTED):
        verdict = played.outcome
        if verdict.reward or not verdict.violations or verdict.failure_label not in labels_of(evidence.task.family):
            place = handler_place(evidence.task, "POST", "/submission")
            told = f"a wrong result ({_after(played)}) must break a rule and earn its label{_earned(played)}"
            yield failed(played.player, played.seed, place, told)
        else:
            yield passed(played.player, played.seed, verdict.failure_label)


def artifact_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that issued values are compared byte for byte. An older value may be accepted only if a rule names it."""
    named = {name for rule in stated_rules(evidence.task.path) for name in rule.proofs}
    kinds = [
        kind
        for kind in (*request_mutants.VARIANTS, request_mutants.OLDER)
        if kind not in named or kind != request_mutants.OLDER
    ]
    taken = [(kind, played) for kind in kinds for played in evidence.made_as(kind) if played.outcome.reward]
    for kind, played in taken:
        told = f"{_after(played)}: a value that is {kind} must not succeed"
        if kind == request_mutants.OLDER:
            told += f', unless the instruction says so (quoted in {TABLE} with "{request_mutants.OLDER}")'
        yield failed(kind, played.seed, Place(evidence.server.path, 1), told)
    if evidence.made and not taken:
        yield passed("artifacts", evidence.made[0].seed)


def twice_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that a field that the world reads is rejected if it is sent twice, with a right and a wrong value."""
    unread = {_after(played) for played in evidence.made_as(request_mutants.OTHERWISE) if played.outcome.reward}
    doubled = evidence.made_as(request_mutants.TWICE)
    told = "{after}: this must not succeed; combine both values (RFC 9110 section 5.3), or reject a repeated field"
    wrong = [played for played in doubled if played.outcome.reward and _after(played).partition(",")[0] not in unread]
    yield from _none_taken("twice", doubled, wrong, Place(evidence.server.path, 1), told, f"{len(doubled)} ways")


def tampered_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that the hidden tests reject logs that this world cannot have written."""
    logs = [played for kind in _LOGS for played in evidence.made_as(kind)]
    taken = [played for played in logs if played.outcome.reward]
    told = "a log that cannot be genuine passes the hidden tests: {player}"
    yield from _none_taken("tampered", logs, taken, evidence.tests, told, f"{len(logs)} logs")


def left_out_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that the hidden tests reject logs without a step that the world requires."""
    free = {_after(played) for played in evidence.made_as(request_mutants.LEFT_OUT) if played.outcome.reward}
    logs = evidence.made_as(tampering.DROPPED)
    taken = [played for played in logs if played.outcome.reward and _after(played) not in free]
    told = "a log without {after} passes the hidden tests, but the world requires that step"
    yield from _none_taken("left-out", logs, taken, evidence.tests, told, f"{len(logs)} steps, {len(free)} not required")


def _none_taken(
    name: str, made: Sequence[Play], taken: Sequence[Play], at: Place, told: str, detail: str
) -> Iterator[ProofCheck]:
    """Yield a failed check for each play that was accepted as a success, or else one passed check if any was made."""
    for played in taken:
        yield failed(name, played.seed, at, told.format(after=_after(played), player=played.player))
    if made and not taken:
        yield passed(name, made[0].seed, detail)


def hidden_test_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that each hidden test has failed at least once, and that the tests of the family are included."""
    # tests did not run on a log that cannot be read
    judged = [one for one in (*evidence.plays, *evidence.made) if one.outcome.failure_detail.get("reason") != "unreadable"]
    ran = {check.name for played in evidence.of(SOLVE) for check in played.outcome.checks}
    refusing = {check.name for played in judged for check in played.outcome.checks if not check.ok}
    # tests that a family gives all its tasks, each with its module
    module = import_part("validators", evidence.task.family, "claims")
    claims = {name: module.__name__ for name in vars(module) if name.startswith("test_")} if module else {}
    for name in sorted(claims.keys() - ran):
        told = f"{name} is not among the hidden tests; write: from {claims[name]} import {name}"
        yield failed("hidden-tests", None, evidence.tests, told)
    idle = sorted(ran - refusing) if evidence.made else []
    for name in idle:
        told = f"{name} has rejected none of {len(judged)} episodes; assert something that fails for a wrong episode"
        yield failed("hidden-tests", None, definition(evidence.tests.path, name), told)
    if not idle and claims.keys() <= ran and evidence.made:
        yield passed("hidden-tests", None, f"{len(ran)} tests, {len(judged)} episodes")


def _a_violation(plays: Sequence[Play]) -> tuple[str, dict[str, Any]]:
    """Return the label and detail of the first violation by any client of the task."""
    for played in plays:
        for event, _ in played.judged():
            if event.kind == "violation" and event.label:
                return event.label, event.detail
    return "WRONG_VALUE", {}


def _may_succeed(played: Play) -> bool:
    """Return True if a log has the goal and no violation, so that only the hidden tests can reject it."""
    return b'"kind":"goal"' in played.log and b'"kind":"violation"' not in played.log


def _after(played: Play) -> str:
    return played.player.partition(":")[2]


def _earned(played: Play) -> str:
    return f", not {played.outcome.failure_label} and {played.outcome.reward:g}"
