"""What does a toggle of the path do? Mutations, handles and mitigations, each off against on (paper, Appendices A, H and J).

Two groups make a row when they differ in one toggle and in nothing else that shapes an episode; the prompt may differ, since
handles bring a tool of their own. Episodes are paired by task, seed and attempt; p is McNemar's exact test.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.families.contract.coaching_effect import Failure, compared
from harness.report.evidence import Evidence, Group
from harness.report.table import Column, Row, Table

_TOGGLES = ("mutate=", "handles=", "mitigate=")
_COLUMNS = (
    Column("model", "Model"),
    Column("toggle", "Toggle"),
    Column("rest", "Set-up"),
    Column("pairs", "Pairs"),
    Column("off", "Off %", "percent"),
    Column("on", "On %", "percent"),
    Column("difference", "Diff., pp", "points"),
    Column("gained", "Gained"),
    Column("lost", "Lost"),
    Column("p", "p", "p"),
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper has no such table
    """One row a toggle and model; none where no two groups differ in a toggle alone."""
    rows = [row for on in evidence.played for row in _rows(on, evidence.played)]
    note = "episodes are paired by task, seed and attempt; p is McNemar's exact test, two-sided"
    return [Table("toggles", f"Toggles of the path, {evidence.family}", _COLUMNS, tuple(rows), (note,))] if rows else []


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
