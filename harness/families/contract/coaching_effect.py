"""Does a failed model do better when told why it failed? Pass rate by condition, with paired tests (paper, Table 4).

Two conditions are compared on the failures that were retried under both: the difference of their pass rates there, and
McNemar's exact test on the failures in which only one of them passed (`gained` and `lost`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.families.contract.published import MARK, numbers, source
from harness.families.contract.retries import MODES, Failure, Retries, read_retries
from harness.report.evidence import Evidence
from harness.report.statistics import exact_paired
from harness.report.table import Column, Row, Table

_TOLD = {"none": "no hint", "wrong": "wrong label", "correct": "correct label"}
_COLUMNS = (
    Column("model", "Model"),
    Column("condition", "Retry condition"),
    Column("passed", "Pass"),
    Column("n", "of"),
    Column("rate", "Pass %", "percent"),
    Column("difference", "Diff. to none, pp", "points"),
    Column("pairs", "Pairs"),
    Column("gained", "Gained"),
    Column("lost", "Lost"),
    Column("p", "p", "p"),
    Column("ungraded", "Ungraded"),
    Column("source", "Source"),
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One block a model; none without retries."""
    retries = {group.name: read_retries(group) for group in evidence.groups if group.retries}
    if not retries:
        return []
    rows = [row for name, mine in retries.items() for row in _conditions(name, mine)]
    notes = ["differences and p (McNemar, exact, two-sided) are over the failures retried under both conditions"]
    notes += [note for name, mine in retries.items() for note in _warnings(name, mine)]
    if published and evidence.shows(numbers()["retries"]["model"]):
        rows += _published()
        notes.append(source("Table 4"))
    return [Table("coaching", f"Retries by what they were told, {evidence.family}", _COLUMNS, tuple(rows), tuple(notes))]


def _conditions(name: str, retries: Retries) -> Iterator[Row]:
    base = retries.outcomes["none"]
    for mode in MODES:
        mine, ungraded = retries.outcomes[mode], retries.ungraded[mode]
        if mine or ungraded:
            counts = {"passed": sum(mine.values()), "n": len(mine), "rate": sum(mine.values()) / len(mine) if mine else None}
            against = compared(mine, base) if mode != "none" else {}
            yield {"model": name, "condition": _TOLD[mode], **counts, **against, "ungraded": ungraded, "source": "ours"}
    correct, wrong = retries.outcomes["correct"], retries.outcomes["wrong"]
    if correct and wrong:
        yield {"model": name, "condition": "correct - wrong", **compared(correct, wrong), "source": "ours"}


def compared(mine: Mapping[Failure, bool], base: Mapping[Failure, bool]) -> Row:
    """One condition against another, on the failures that were retried under both."""
    pairs = [failure for failure in mine if failure in base]
    if not pairs:
        return {"pairs": 0}
    gained = sum(mine[failure] and not base[failure] for failure in pairs)
    lost = sum(base[failure] and not mine[failure] for failure in pairs)
    difference = (gained - lost) / len(pairs)
    return {"pairs": len(pairs), "difference": difference, "gained": gained, "lost": lost, "p": exact_paired(gained, lost)}


def _warnings(name: str, retries: Retries) -> Iterator[str]:
    tried = [set(retries.outcomes[mode]) for mode in MODES if retries.outcomes[mode]]
    if any(failures != tried[0] for failures in tried):
        yield f"{name}: the conditions were not tried on the same failures"
    if retries.repeated:
        yield f"{name}: {retries.repeated} retries repeat a failure under the same condition; the first one read counts"


def _published() -> Iterator[Row]:
    theirs = numbers()["retries"]
    total, n = theirs["total"], theirs["total"]["n"]
    model = f"{theirs['model']} ({MARK})"
    for mode in MODES:
        difference = None if mode == "none" else (total[mode] - total["none"]) / n
        counts = {"passed": total[mode], "n": n, "rate": total[mode] / n, "difference": difference}
        yield {"model": model, "condition": _TOLD[mode], **counts, "source": MARK}
    difference = (total["correct"] - total["wrong"]) / n
    yield {"model": model, "condition": "correct - wrong", "difference": difference, "source": MARK}
