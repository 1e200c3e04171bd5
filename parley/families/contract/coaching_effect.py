"""Tables of the effect of coaching (paper, Tables 4 and 13) and of toggles (Appendices A, H and J) on the pass rate.

Two conditions are compared on the failures that were retried under both. A retry is identified by its first attempt (run, task,
seed, attempt), so that retries of the same failure are compared. If a failure was retried several times under a condition, only
the first retry read counts. Two groups make a row of toggles if they differ in one toggle and in nothing else that affects an
episode; the prompt may differ, because handles add a tool. p is that of McNemar's exact test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from harness.frames import grouped
from harness.records import HintMode
from parley.families.contract.published import MARK, numbers, source
from parley.reports.evidence import Evidence, Group
from parley.reports.table import Column, Row, Table, table_of, titled
from parley.statistics import exact_paired

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
_BETWEEN = "correct - wrong"
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
    retries = _by_model(evidence)
    rows = [row for name, mine in retries.items() for row in _conditions(name, mine)]
    notes = ["differences and p (McNemar, exact, two-sided) are over the failures retried under both conditions"]
    notes += [note for name, mine in retries.items() for note in _warnings(name, mine)]
    if rows and published and evidence.shows(numbers()["retries"]["model"]):
        rows += _published()
        notes.append(source("Table 4"))
    return table_of("coaching", f"Retries by what they were told, {evidence.family}", _COLUMNS, rows, notes)


def _by_model(evidence: Evidence) -> dict[str, Retries]:
    return {group.name: read_retries(group) for group in evidence.groups if group.retries}


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
        yield {"model": name, "condition": _BETWEEN, **compared(correct, wrong), "source": "ours"}


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
    base: Row = {"model": f"{theirs['model']} ({MARK})", "source": MARK}
    for mode in MODES:
        difference = None if mode == "none" else (total[mode] - total["none"]) / n
        counts = {"passed": total[mode], "n": n, "rate": total[mode] / n, "difference": difference}
        yield {**base, "condition": _TOLD[mode], **counts}
    yield {**base, "condition": _BETWEEN, "difference": (total["correct"] - total["wrong"]) / n}


_BY_LABEL_COLUMNS = (
    *titled(model="Model", label="First label", n="n", none="No hint", correct="Correct label", wrong="Wrong label"),
    *titled(difference="Correct - wrong", source="Source"),
)
_OTHER, _TOTAL = "other", "total"


def label_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return a table with one block per model; none without retries."""
    rows = [row for name, mine in _by_model(evidence).items() for row in _by_label(name, mine)]
    notes = ["passed retries by the label of the first attempt; labels seen once are other"]
    if rows and published and evidence.shows(numbers()["retries"]["model"]):
        theirs = numbers()["retries"]
        printed = (*theirs["rows"], {"label": _TOTAL, **theirs["total"]})
        rows += [_labelled(f"{theirs['model']} ({MARK})", one["label"], one["n"], one, MARK) for one in printed]
        notes.append(source("Table 13"))
    return table_of("coaching-labels", f"Retries by first label, {evidence.family}", _BY_LABEL_COLUMNS, rows, notes)


def _by_label(name: str, retries: Retries) -> Iterator[Row]:
    counted = Counter(retries.labels.values())
    shown = {label: label if n > 1 else _OTHER for label, n in counted.items()}
    by_label = grouped(retries.labels, lambda failure: shown[retries.labels[failure]])
    for label in (*dict.fromkeys(shown[label] for label, _ in counted.most_common()), _TOTAL):
        mine = by_label.get(label, list(retries.labels))
        tried = {mode: [them[failure] for failure in mine if failure in them] for mode, them in retries.outcomes.items()}
        yield _labelled(name, label, len(mine), {mode: sum(them) if them else None for mode, them in tried.items()}, "ours")


def _labelled(model: str, label: str, n: int, passed: Mapping[str, Any], origin: str) -> Row:
    counts: dict[str, Any] = {mode: passed[mode] for mode in MODES}
    difference = None if None in (counts["correct"], counts["wrong"]) else counts["correct"] - counts["wrong"]
    return {"model": model, "label": label, "n": n, **counts, "difference": difference, "source": origin}


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
    rows = (row for on in evidence.played for row in _rows(on, evidence.played))
    note = "episodes are paired by task, seed and attempt; p is McNemar's exact test, two-sided"
    return table_of("toggles", f"Toggles of the path, {evidence.family}", _TOGGLE_COLUMNS, rows, (note,))


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
