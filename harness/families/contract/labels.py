"""Why episodes failed: primary labels over a model's failed episodes (paper, Figures 9 and 10), and how severely.

The severity score is the signed severity of the primary label, success +1, averaged over graded episodes. A label from
outside the taxonomy counts as OTHER, which the paper keeps for just that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from harness.families.contract.published import MARK, numbers, source
from harness.report.evidence import Evidence, Group
from harness.report.table import Column, Row, Table, Value
from worlds.contract.labels import LABELS, Axis, Label

_FIRST = (Column("axis", "Axis"), Column("label", "Label"), Column("severity", "Severity", "signed"))
_PAPER = Column("severity_published", f"Severity ({MARK})", "signed")
_AXES = tuple(Axis)
_SCORES = (
    Column("model", "Model"),
    Column("episodes", "Eps"),
    Column("failed", "Failed"),
    Column("validity", "Validity", "tally"),
    Column("integrity", "Integrity", "tally"),
    Column("meta", "Other", "tally"),
    Column("recovered", "Recov."),
    Column("score", "Severity score", "signed"),
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """The distribution over labels, then over axes with the severity score; none without graded first tries."""
    groups = [group for group in evidence.played if group.graded]
    if not groups:
        return []
    theirs = published and evidence.shows(numbers()["labels"]["model"])
    return [_distribution(groups, evidence.family, published=theirs), _scores(groups, evidence.family)]


def severity_score(group: Group) -> float | None:
    """The mean signed severity over graded episodes; None where no episode has one."""
    weights = [result.severity for result in group.graded if result.severity is not None]
    return sum(weights) / len(weights) if weights else None


def _distribution(groups: Sequence[Group], family: str, *, published: bool) -> Table:
    theirs = numbers()["labels"]
    beside = f"{theirs['model']} ({MARK})"
    columns = [*_FIRST, *(Column(group.name, group.name, "tally") for group in groups)]
    notes = ["counts and shares of failed episodes, by primary label"]
    if published:
        columns = [*columns, Column(beside, beside, "tally"), _PAPER]
        notes.append(f"{source('Appendix P and Table 7')}; printed are two labels of {theirs['failures']} failures, 8 weights")
    rows = tuple(_rows(groups, theirs["counts"] if published else {}, beside))
    return Table("labels", f"Labels of failed episodes, {family}", tuple(columns), rows, tuple(notes))


def _rows(groups: Sequence[Group], printed: dict[str, int], beside: str) -> Iterator[Row]:
    counted = {group.name: counted_labels(group) for group in groups}
    for label in sorted(Label, key=lambda label: _AXES.index(LABELS[label].axis)):
        if label not in printed and not any(label in counts for counts in counted.values()):
            continue
        row: dict[str, Value] = {"axis": LABELS[label].axis, "label": label, "severity": LABELS[label].severity}
        row |= {name: _share(counts[label], counts) for name, counts in counted.items()}
        if label in printed:
            row[beside] = (printed[label], printed[label] / numbers()["labels"]["failures"])
        yield {**row, "severity_published": numbers()["severity"].get(label)}


def _scores(groups: Sequence[Group], family: str) -> Table:
    rows = [_score(group, counted_labels(group)) for group in groups]
    notes = ("severity score: mean signed severity of the primary label over graded episodes, +1 for a success",)
    return Table("severity", f"Failures by axis, {family}", _SCORES, tuple(rows), notes)


def _score(group: Group, counts: Counter[Label]) -> Row:
    by_axis = {axis: sum(counts[label] for label in Label if LABELS[label].axis is axis) for axis in Axis}
    return {
        "model": group.name,
        "episodes": len(group.graded),
        "failed": counts.total(),
        **{axis.value: _share(count, counts) for axis, count in by_axis.items()},
        "recovered": sum(result.recovered for result in group.graded),
        "score": severity_score(group),
    }


def counted_labels(group: Group) -> Counter[Label]:
    """The primary labels of a group's failed episodes."""
    known = set(Label)
    earned = [result.failure_label for result in group.graded if not result.success]
    return Counter(Label(label) if label in known else Label.OTHER for label in earned)


def _share(count: int, counts: Counter[Label]) -> tuple[int, float]:
    return count, count / counts.total() if counts else 0.0
