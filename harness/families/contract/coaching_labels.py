"""Which failures coaching helps with: passed retries by the label of the first attempt (paper, Table 13).

Labels that only one first attempt earned are put together as `other`. A condition under which none of a row's failures was
retried is left blank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from harness.families.contract.published import MARK, numbers, source
from harness.families.contract.retries import MODES, Failure, Outcomes, Retries, read_retries
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table

_COLUMNS = (
    Column("model", "Model"),
    Column("label", "First label"),
    Column("n", "n"),
    Column("none", "No hint"),
    Column("correct", "Correct label"),
    Column("wrong", "Wrong label"),
    Column("difference", "Correct - wrong"),
    Column("source", "Source"),
)
_OTHER, _TOTAL = "other", "total"


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One block a model; none without retries."""
    retries = {group.name: read_retries(group) for group in evidence.groups if group.retries}
    if not retries:
        return []
    rows = [row for name, mine in retries.items() for row in _by_label(name, mine)]
    notes = ["passed retries by the label of the first attempt; labels seen once are other"]
    if published and evidence.shows(numbers()["retries"]["model"]):
        rows += _published()
        notes.append(source("Table 13"))
    title = f"Retries by first label, {evidence.family}"
    return [Table("coaching-labels", title, _COLUMNS, tuple(rows), tuple(notes))]


def _by_label(name: str, retries: Retries) -> Iterator[Row]:
    counted = Counter(retries.labels.values())
    shown = {label: label if n > 1 else _OTHER for label, n in counted.items()}
    for label in dict.fromkeys(shown[label] for label, _ in counted.most_common()):
        mine = [failure for failure, first in retries.labels.items() if shown[first] == label]
        yield _split(name, label, mine, retries.outcomes)
    yield _split(name, _TOTAL, list(retries.labels), retries.outcomes)


def _split(name: str, label: str, mine: Sequence[Failure], outcomes: Outcomes) -> Row:
    counts: dict[str, int | None] = {}
    for mode in MODES:
        tried = [outcomes[mode][failure] for failure in mine if failure in outcomes[mode]]
        counts[mode] = sum(tried) if tried else None
    correct, wrong = counts["correct"], counts["wrong"]
    difference = None if correct is None or wrong is None else correct - wrong
    return {"model": name, "label": label, "n": len(mine), **counts, "difference": difference, "source": "ours"}


def _published() -> Iterator[Row]:
    theirs = numbers()["retries"]
    for row in (*theirs["rows"], {"label": _TOTAL, **theirs["total"]}):
        counts = {key: row[key] for key in ("label", "n", "none", "correct", "wrong")}
        difference = row["correct"] - row["wrong"]
        yield {"model": f"{theirs['model']} ({MARK})", **counts, "difference": difference, "source": MARK}
