"""Tables of the effect of coaching and of toggles on the pass rate.

The table of coaching has the pass rate of retries by condition, with paired tests (paper, Table 4). Two conditions are compared
on the failures that were retried under both: the difference of their pass rates there, and McNemar's exact test on the
failures in which only one of them passed (`gained` and `lost`).

The conditions of a retry are no hint (`none`), the label earned (`correct`) or another label (`wrong`). A retry is identified
by its first attempt (run, task, seed, attempt), so that the same failure can be followed through the conditions. If a failure
was retried twice under one condition, the first one read counts.

The table by label has passed retries by the label of the first attempt (paper, Table 13). Labels with only one first attempt
are combined as `other`. A condition under which none of a row's failures was retried is left blank.

The table of toggles compares mutations, handles and mitigations, each off against on (paper, Appendices A, H and J). Two groups
make a row if they differ in one toggle and in nothing else that affects an episode; the prompt may differ, because handles add
a tool. Episodes are paired by task, seed and attempt; p is McNemar's exact test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.records import HintMode
from harness.statistics import exact_paired
from parley.families.contract.published import MARK, numbers, source
from parley.reports.evidence import Evidence, Group
from parley.reports.table import Column, Row, Table, titled

MODES: tuple[HintMode, ...] = ("none", "wrong", "correct")


class Failure(NamedTuple):
    """The first attempt that is retried."""

    run: str
    task_id: str
    seed: int
    attempt: int


Outcomes = dict[HintMode, dict[Failure, bool]]
"""Success of each retry, by condition."""


class Retries(NamedTuple):
    """Retries of one group."""

    outcomes: Outcomes
    labels: dict[Failure, str]
    """Label of each first attempt."""

    ungraded: Counter[HintMode]
    repeated: int
    """Number of retries left out because their failure had been retried under the same condition before."""


def read_retries(group: Group) -> Retries:
    """Return the retries of a group by condition."""
    outcomes: Outcomes = {mode: {} for mode in MODES}
    labels: dict[Failure, str] = {}
    ungraded: Counter[HintMode] = Counter()
    repeated = 0
    for result in group.retries:
        hint = result.hint
        if hint is None or result.status == "ungraded":
            ungraded.update([hint.mode] if hint else ())
            continue
        failure = Failure(hint.retry_of, result.task_id, result.seed, result.attempt)
        repeated += failure in outcomes[hint.mode]
        outcomes[hint.mode].setdefault(failure, result.success)
        labels[failure] = hint.first_label
    return Retries(outcomes, labels, ungraded, repeated)


_TOLD = {"none": "no hint", "wrong": "wrong label", "correct": "correct label"}
_COLUMNS = (
    *titled(model="Model", condition="Retry condition", passed="Pass", n="of"),
    Column("rate", "Pass %", "percent"),
    Column("difference", "Diff. to none, pp", "points"),
    *titled(pairs="Pairs", gained="Gained", lost="Lost"),
    Column("p", "p", "p"),
    *titled(ungraded="Ungraded", source="Source"),
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return a table with one block per model; none without retries."""
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
    """Return the comparison of two conditions, on the failures that were retried under both."""
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


_BY_LABEL_COLUMNS = (
    *titled(model="Model", label="First label", n="n", none="No hint", correct="Correct label", wrong="Wrong label"),
    *titled(difference="Correct - wrong", source="Source"),
)
_OTHER, _TOTAL = "other", "total"


def label_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return a table with one block per model; none without retries."""
    retries = {group.name: read_retries(group) for group in evidence.groups if group.retries}
    if not retries:
        return []
    rows = [row for name, mine in retries.items() for row in _by_label(name, mine)]
    notes = ["passed retries by the label of the first attempt; labels seen once are other"]
    if published and evidence.shows(numbers()["retries"]["model"]):
        rows += _published_by_label()
        notes.append(source("Table 13"))
    title = f"Retries by first label, {evidence.family}"
    return [Table("coaching-labels", title, _BY_LABEL_COLUMNS, tuple(rows), tuple(notes))]


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


def _published_by_label() -> Iterator[Row]:
    theirs = numbers()["retries"]
    for row in (*theirs["rows"], {"label": _TOTAL, **theirs["total"]}):
        counts = {key: row[key] for key in ("label", "n", "none", "correct", "wrong")}
        difference = row["correct"] - row["wrong"]
        yield {"model": f"{theirs['model']} ({MARK})", **counts, "difference": difference, "source": MARK}


_TOGGLES = ("mutate=", "handles=", "mitigate=")
_TOGGLE_COLUMNS = (
    *titled(model="Model", toggle="Toggle", rest="Set-up", pairs="Pairs"),
    *titled("percent", off="Off %", on="On %"),
    Column("difference", "Diff., pp", "points"),
    *titled(gained="Gained", lost="Lost"),
    Column("p", "p", "p"),
)


def toggle_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper has no such table
    """Return one row per toggle and model; no table if no two groups differ in a single toggle."""
    rows = [row for on in evidence.played for row in _rows(on, evidence.played)]
    note = "episodes are paired by task, seed and attempt; p is McNemar's exact test, two-sided"
    return [Table("toggles", f"Toggles of the path, {evidence.family}", _TOGGLE_COLUMNS, tuple(rows), (note,))] if rows else []


def _rows(on: Group, groups: list[Group]) -> Iterator[Row]:
    for toggle in (word for word in on.setup.how if word.startswith(_TOGGLES)):
        rest = tuple(word for word in on.setup.how if word != toggle)
        off = next((group for group in groups if _who(group) == _who(on) and group.setup.how == rest), None)
        if off is None:
            continue
        mine, base = _outcomes(on), _outcomes(off)
        both = [episode for episode in mine if episode in base]
        if both:
            shares = {name: sum(them[e] for e in both) / len(both) for name, them in (("off", base), ("on", mine))}
            yield {"model": on.title, "toggle": toggle, "rest": ", ".join(rest) or None, **shares, **compared(mine, base)}


def _who(group: Group) -> tuple[str, str | None]:
    return group.setup.agent, group.setup.model


def _outcomes(group: Group) -> dict[Failure, bool]:
    return {Failure("", result.task_id, result.seed, result.attempt): result.success for result in group.graded}
