"""Why meetings failed (paper, Figure 5): of all meetings of a player's games, how many were scheduled, how many failed why."""

from __future__ import annotations

from collections import Counter

from harness.families.calendar.held import block_of
from harness.report.evidence import Evidence, Group
from harness.report.table import Column, Row, Table
from worlds.calendar.labels import LETTERS, Label


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """One row a player, those with models first; none without graded games."""
    rows = [_row(group) for group in sorted(evidence.played, key=block_of) if group.graded]
    reasons = [Column(label, f"{LETTERS.get(label, '')} {label}".strip(), "tally") for label in Label]
    columns = (Column("player", "Player"), Column("meetings", "Meetings"), *reasons)
    return [Table("failures", "Meetings by outcome, calendar", columns, tuple(rows))] if rows else []


def _row(group: Group) -> Row:
    counted: Counter[str] = Counter()
    for result in group.graded:
        counted.update(result.metrics.get("labels", {}))
    total = sum(counted.values())
    shares: dict[str, tuple[int, float]] = {
        label: (counted[label], counted[label] / total) for label in Label if counted[label]
    }
    return {"player": group.name, "meetings": total, **shares}
