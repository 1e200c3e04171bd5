"""Why meetings failed (paper, Figure 5): of all meetings of a player's games, how many were scheduled, how many failed why.

A failed meeting counts for the players whose seats lost it, as the verdict's faults name them. In the rows of the others at the
table it counts as failed by others, so a player answers for its own seats alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from harness.families.calendar.held import block_of, name_of
from harness.records import Result
from harness.report.evidence import Evidence, Group
from harness.report.table import Column, Row, Table
from worlds.calendar.labels import LETTERS, Label

OTHERS = "others"
_NOTE = (
    "a failed meeting counts for the players whose seats lost it (docs/calendar.md, Whose failure it is), so one that two "
    "players lost counts for both; by others: lost by other players of the line-up alone"
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """One row for each player of each line-up, those with models first; none without graded games."""
    groups = [group for group in sorted(evidence.played, key=block_of) if group.graded]
    rows = [row for group in groups for row in _rows(group)]
    reasons = [Column(label, f"{LETTERS.get(label, '')} {label}".strip(), "tally") for label in Label]
    columns = (
        Column("player", "Player"), Column("seats_of", "Seats of"), Column("meetings", "Meetings"), *reasons,
        Column(OTHERS, "By others", "tally"),
    )  # fmt: skip
    return [Table("failures", "Meetings by outcome, calendar", columns, tuple(rows), (_NOTE,))] if rows else []


def _rows(group: Group) -> Iterator[Row]:
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in group.graded:
        for player, outcome in _outcomes(result):
            counted[player][outcome] += 1
    for player, outcomes in counted.items():
        total = sum(outcomes.values())
        shares = {name: (outcomes[name], outcomes[name] / total) for name in (*Label, OTHERS) if outcomes[name]}
        yield {"player": group.name, "seats_of": player if len(counted) > 1 else None, "meetings": total, **shares}


def _outcomes(result: Result) -> Iterator[tuple[str, str]]:
    """Each meeting once for each player at the table: how it ended, or that others lost it."""
    players = {one.seat: name_of(one) for one in result.seats}
    names, named = sorted(set(players.values())) or [""], Counter[str]()
    for row in result.metrics.get("rounds", ()):
        if lost_by := {players.get(fault["seat"], "") for fault in row.get("faults", ())}:
            named[row["label"]] += 1
            yield from ((player, row["label"] if player in lost_by else OTHERS) for player in names)
    # meetings that were scheduled or that no seat lost, and all meetings of verdicts that name no seats
    for label, count in (Counter(result.metrics.get("labels", {})) - named).items():
        yield from ((player, label) for player in names for _ in range(count))
