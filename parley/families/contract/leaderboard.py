"""Tables by model: the leaderboard, labels of failures, and tasks outside the suite (docs/reports.md).

The leaderboard (paper, Tables 3 and 10) has a row per model and set-up; complete rows come first and only they have a rank. The
table of labels has the primary labels over a model's failed episodes (paper, Figures 9 and 10); a label from outside the
taxonomy counts as OTHER, as in the paper. Tasks outside the published suite have their own table, because rows of the
leaderboard are complete and comparable only with respect to the suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from harness.frames import grouped
from harness.headline import ended_by
from parley.families.contract.published import MARK, PublishedRow, leaderboard, numbers, source, suite
from parley.reports.causes import bounds_cells, bounds_columns
from parley.reports.evidence import Evidence, Group, Status, pass_k, plan_words, status, wanted_tasks
from parley.reports.models import ModelEntry, known_models
from parley.reports.table import Column, Row, Table, Value, row_of, table_of, titled
from parley.statistics import METHOD, Interval, rate_interval
from worlds.contract.labels import LABELS, Axis, Label

_FIRST = (*titled(axis="Axis", label="Label"), Column("severity", "Severity", "signed"))
_PAPER = Column("severity_published", f"Severity ({MARK})", "signed")
_AXES = tuple(Axis)


def label_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return tables of failures by label, and by axis with the severity score; no tables without graded first tries."""
    groups = [group for group in evidence.played if group.graded]
    if not groups:
        return []
    theirs = published and evidence.shows(numbers()["labels"]["model"])
    note = "severity score: mean signed severity of the primary label over graded episodes, +1 for a success"
    scores = table_of("severity", f"Failures by axis, {evidence.family}", _SCORES, groups, (note,))
    return [_distribution(groups, evidence.family, published=theirs), *scores]


def severity_score(group: Group) -> float | None:
    """Return the mean signed severity over graded episodes; None if no episode has one."""
    weights = [result.severity for result in group.graded if result.severity is not None]
    return sum(weights) / len(weights) if weights else None


def _distribution(groups: Sequence[Group], family: str, *, published: bool) -> Table:
    theirs = numbers()["labels"]
    beside = f"{theirs['model']} ({MARK})"
    columns = [*_FIRST, *(Column(group.name, group.name, "tally") for group in groups)]
    notes = ["counts and shares of failed episodes, by primary label"]
    if published:
        columns = [*columns, Column(beside, beside, "tally"), _PAPER]
        notes.append(f"{source('Appendix P and Table 7')}; it prints two labels of {theirs['failures']} failures, 8 weights")
    rows = tuple(_label_rows(groups, theirs["counts"] if published else {}, beside))
    return Table("labels", f"Labels of failed episodes, {family}", tuple(columns), rows, tuple(notes))


def _label_rows(groups: Sequence[Group], printed: dict[str, int], beside: str) -> Iterator[Row]:
    counted = {group.name: counted_labels(group) for group in groups}
    for label in sorted(Label, key=lambda label: _AXES.index(LABELS[label].axis)):
        if label not in printed and not any(label in counts for counts in counted.values()):
            continue
        row: dict[str, Value] = {"axis": LABELS[label].axis, "label": label, "severity": LABELS[label].severity}
        row |= {name: _share(counts[label], counts) for name, counts in counted.items()}
        if label in printed:
            row[beside] = (printed[label], printed[label] / numbers()["labels"]["failures"])
        yield {**row, "severity_published": numbers()["severity"].get(label)}


def _of_axis(axis: Axis) -> Callable[[Group], tuple[int, float]]:
    def counted(group: Group) -> tuple[int, float]:
        counts = counted_labels(group)
        return _share(sum(counts[label] for label in Label if LABELS[label].axis is axis), counts)

    return counted


_SCORES = (
    Column("model", "Model", of=lambda group: group.name),
    Column("episodes", "Eps", of=lambda group: len(group.graded)),
    Column("failed", "Failed", of=lambda group: counted_labels(group).total()),
    Column("validity", "Validity", "tally", of=_of_axis(Axis.VALIDITY)),
    Column("integrity", "Integrity", "tally", of=_of_axis(Axis.INTEGRITY)),
    Column("meta", "Other", "tally", of=_of_axis(Axis.META)),
    Column("recovered", "Recov.", of=lambda group: sum(result.recovered for result in group.graded)),
    Column("score", "Severity score", "signed", of=severity_score),
)


def counted_labels(group: Group) -> Counter[Label]:
    """Return the counts of primary labels of a group's failed episodes."""
    known = set(Label)
    earned = [result.failure_label for result in group.graded if not result.success]
    return Counter(Label(label) if label in known else Label.OTHER for label in earned)


def _share(count: int, counts: Counter[Label]) -> tuple[int, float]:
    return count, count / counts.total() if counts else 0.0


_COLUMNS = (
    *titled(rank="Rank", model="Model", setup="Set-up", size="Size", kind="Type / Provider", temperature="Temp."),
    *titled(episodes="Eps", passed="Pass"),
    Column("rate", "SR %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("k", "k"),
    Column("pass_k", "pass^k", "rate"),
    Column("severity", "Severity", "signed"),
    Column("ungraded", "Ungraded"),
    *bounds_columns("SR %"),
    Column("status", "Status"),
    *titled(complete="Complete", type="Type", provider="Provider", lineage="Lineage", shown=False),
    *titled(total_b="Parameters, billions", recovered="Recovered", source="Source", shown=False),
)
_WORRYING = 0.05
"""The share of ungraded episodes above which a note under the table names the causes."""

_NAMED = 3
"""Maximum number of changed tasks that are named."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return the leaderboard; none without first tries."""
    if not evidence.played:
        return []
    judged = sorted(((group, status(group, evidence)) for group in evidence.played), key=_place)
    rows = list(_rows(judged, published=published, every=evidence.breadth.every_published))
    beside = any(row["source"] == MARK for row in rows)
    notes = [*_method(evidence, judged), *_warnings(judged), *([source("Table 10")] if beside else [])]
    return [Table("leaderboard", f"Leaderboard, {evidence.family}", _COLUMNS, tuple(rows), tuple(notes))]


def success_rate(group: Group) -> float | None:
    """Return the share of successes among graded episodes; None if there are none."""
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
        **(_model(entry.kind, entry.provider, entry) if entry else {}),
        "temperature": _degrees(group),
        "episodes": len(graded),
        "passed": passed,
        "rate": success_rate(group),
        "interval": rate_interval([[result.success for result in attempts] for attempts in group.tasks.values()]),
        "k": group.attempts,
        "pass_k": pass_k(group.cells.values(), group.attempts),
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
        **_model(row.kind, row.provider, next((entry for entry in known_models() if row.is_of(entry)), None)),
        "temperature": "0",
        "episodes": row.episodes,
        "passed": row.passed,
        "rate": row.percent / 100,
        "k": numbers()["attempts"],
        "status": MARK,
        "complete": True,
        "source": MARK,
    }


def _model(kind: str, provider: str, entry: ModelEntry | None) -> dict[str, Value]:
    """Return the cells of a model, with its lineage and its size as a number for charts of scaling."""
    lineage = {"lineage": entry.family, "total_b": entry.total_b} if entry else {}
    return {"kind": f"{kind} / {provider}", "type": kind, "provider": provider, **lineage}


def _degrees(group: Group) -> str | None:
    degrees = group.temperature
    return f"{degrees:g}" if isinstance(degrees, float) else degrees


def _method(evidence: Evidence, judged: list[tuple[Group, Status]]) -> Iterator[str]:
    yield METHOD
    yield from plan_words([group for group, _ in judged])
    if not any(wanted_tasks(evidence).values()):
        yield "these tasks belong to no release or registry here; complete means all tasks that these runs planned"


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


def _over_seeds(group: Group) -> Interval | None:
    """Return the interval of one task's rate, with attempts clustered by seed."""
    seeds = grouped(group.graded, lambda result: result.seed).values()
    return rate_interval([[one.success for one in mine] for mine in seeds])


def _labels(group: Group) -> str | None:
    return ", ".join(f"{count} {label}" for label, count in counted_labels(group).most_common()) or None


_LOCAL_COLUMNS = (
    Column("model", "Model", of=lambda group: group.name),
    Column("task", "Task"),
    Column("episodes", "Eps", of=lambda group: len(group.graded)),
    Column("passed", "Pass", of=lambda group: sum(result.success for result in group.graded)),
    Column("rate", "SR %", "percent", of=success_rate),
    Column("interval", "95 %", "interval", of=_over_seeds),
    Column("ungraded", "Ungraded", of=lambda group: len(group.ungraded)),
    Column("labels", "Labels of failures", of=_labels),
)


def local_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - nobody published these
    """Return one row per model and task; no table if only the suite was played."""
    local = (
        (group, task)
        for group in evidence.split(suite())[1].played
        for task in dict.fromkeys(result.task_id for result in (*group.graded, *group.ungraded))
    )
    rows = ({**row_of(_LOCAL_COLUMNS, group.only((task,))), "task": task} for group, task in local)
    notes = (
        "these tasks count in no rank and in no mean over tasks; a leaderboard row is complete without them",
        "intervals are over the seeds of a task",
    )
    return table_of("local", f"Tasks outside the suite, {evidence.family}", _LOCAL_COLUMNS, rows, notes)
