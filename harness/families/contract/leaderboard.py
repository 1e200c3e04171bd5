"""The leaderboard (paper, Tables 3 and 10): one row a model and set-up, with an interval, and the reliability over k attempts.

1. Success rate is over graded episodes. Ungraded ones are counted beside it, with the rates if all had failed or succeeded.
2. pass^k is the mean over instances (task, seed) that have k graded attempts.
3. Complete rows come first and alone have a rank. A published row stands right under ours of the same model; those of models
   that nobody here ran follow at the end, where they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.caveats import ended_by
from harness.families.contract.labels import severity_score
from harness.families.contract.published import MARK, PublishedRow, leaderboard, numbers, source
from harness.report.causes import bounds_cells, bounds_columns
from harness.report.evidence import Evidence, Group, Status, plan_words, reliability, status, wanted_tasks
from harness.report.models import ModelEntry, known_models
from harness.report.statistics import METHOD, rate_interval
from harness.report.table import Column, Row, Table, Value

_COLUMNS = (
    Column("rank", "Rank"),
    Column("model", "Model"),
    Column("setup", "Set-up"),
    Column("size", "Size"),
    Column("kind", "Type / Provider"),
    Column("temperature", "Temp."),
    Column("episodes", "Eps"),
    Column("passed", "Pass"),
    Column("rate", "SR %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("k", "k"),
    Column("pass_k", "pass^k", "rate"),
    Column("severity", "Severity", "signed"),
    Column("ungraded", "Ungraded"),
    *bounds_columns("SR %"),
    Column("status", "Status"),
    Column("complete", "Complete", shown=False),
    Column("type", "Type", shown=False),
    Column("provider", "Provider", shown=False),
    Column("lineage", "Lineage", shown=False),
    Column("total_b", "Parameters, billions", shown=False),
    Column("recovered", "Recovered", shown=False),
    Column("source", "Source", shown=False),
)
_WORRYING = 0.05
"""The share of ungraded episodes from which on they are named under the table."""

_NAMED = 3
"""How many changed tasks are named."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """The leaderboard; none without first tries."""
    if not evidence.played:
        return []
    judged = sorted(((group, status(group, evidence)) for group in evidence.played), key=_place)
    rows = list(_rows(judged, published=published, every=evidence.breadth.every_published))
    beside = any(row["source"] == MARK for row in rows)
    notes = [*_method(evidence, judged), *_warnings(judged), *([source("Table 10")] if beside else [])]
    return [Table("leaderboard", f"Leaderboard, {evidence.family}", _COLUMNS, tuple(rows), tuple(notes))]


def success_rate(group: Group) -> float | None:
    """Successes over graded episodes; None where there are none."""
    return sum(result.success for result in group.graded) / len(group.graded) if group.graded else None


def _place(judged: tuple[Group, Status]) -> tuple[bool, float, str]:
    group, covered = judged
    rate = success_rate(group)
    return not covered.complete, -(rate if rate is not None else -1.0), group.name


def _rows(judged: list[tuple[Group, Status]], *, published: bool, every: bool) -> Iterator[Row]:
    left = list(leaderboard()) if published else []
    ranked = [success_rate(group) or 0.0 for group, covered in judged if covered.complete]
    for group, covered in judged:
        better = sum(rate > (success_rate(group) or 0.0) for rate in ranked)
        yield _ours(group, covered, better + 1 if covered.complete else None)
        same = [row for row in left if row.is_of(group.entry)]
        yield from map(_theirs, same)
        left = [row for row in left if row not in same]
    if every:
        yield from map(_theirs, sorted(left, key=lambda row: -row.passed))


def _ours(group: Group, covered: Status, rank: int | None) -> dict[str, Value]:
    entry, graded = group.entry, group.graded
    passed = sum(result.success for result in graded)
    return {
        "rank": rank,
        "model": group.title,
        "setup": ", ".join(group.setup.how) or None,
        "size": entry.size if entry else None,
        "kind": f"{entry.kind} / {entry.provider}" if entry else None,
        "type": entry.kind if entry else None,
        "provider": entry.provider if entry else None,
        **_lineage(entry),
        "temperature": _degrees(group),
        "episodes": len(graded),
        "passed": passed,
        "rate": success_rate(group),
        "interval": rate_interval([[result.success for result in attempts] for attempts in group.tasks.values()]),
        "k": group.attempts,
        "pass_k": reliability(group),
        "severity": severity_score(group),
        "recovered": sum(result.recovered for result in graded),
        "ungraded": len(group.ungraded),
        **bounds_cells(graded, group.ungraded, lambda one: float(one.success), lambda one: ""),
        "status": covered.text,
        "complete": covered.complete,
        "source": "ours",
    }


def _theirs(row: PublishedRow) -> dict[str, Value]:
    return {
        "model": row.model,
        "size": row.size,
        "kind": f"{row.kind} / {row.provider}",
        "type": row.kind,
        "provider": row.provider,
        **_lineage(next((entry for entry in known_models() if row.is_of(entry)), None)),
        "temperature": "0",
        "episodes": row.episodes,
        "passed": row.passed,
        "rate": row.percent / 100,
        "k": numbers()["attempts"],
        "status": MARK,
        "complete": True,
        "source": MARK,
    }


def _lineage(entry: ModelEntry | None) -> dict[str, Value]:
    """Which models a model is one of, and its size as a number: what a picture of scaling needs."""
    return {"lineage": entry.family if entry else None, "total_b": entry.total_b if entry else None}


def _degrees(group: Group) -> str | None:
    degrees = group.temperature
    return f"{degrees:g}" if isinstance(degrees, float) else degrees


def _method(evidence: Evidence, judged: list[tuple[Group, Status]]) -> Iterator[str]:
    yield METHOD
    yield from plan_words([group for group, _ in judged])
    if not any(wanted_tasks(evidence).values()):
        yield "these tasks are of no release and no registry here: complete means all that these runs planned"


def _warnings(judged: list[tuple[Group, Status]]) -> Iterator[str]:
    for group, covered in judged:
        if group.temperature not in (None, 0.0):
            yield f"{group.name}: not run at temperature 0 ({_degrees(group)})"
        if covered.changed:
            more = f" and {len(covered.changed) - _NAMED} more" if len(covered.changed) > _NAMED else ""
            yield f"{group.name}: played other versions of {', '.join(covered.changed[:_NAMED])}{more} than the release has"
        if len(group.ungraded) > _WORRYING * (len(group.graded) + len(group.ungraded)):
            lost = len(group.ungraded)
            many = "1 episode is" if lost == 1 else f"{lost} episodes are"
            yield f"{group.name}: {many} ungraded and not scored: {ended_by(group.ungraded)}"
