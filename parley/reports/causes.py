"""Table of the causes that ended or disturbed episodes, for any family, and the columns beside a headline figure.

Causes are named as in `harness.causes.CAUSES`. No figure counts ungraded episodes; the bounds of a figure show how much they
could change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from harness.causes import CAUSES, FORFEITS
from harness.headline import ended_by, setup_caveat, ungraded_by
from harness.records import Result
from parley.caveats import bounds_of
from parley.reports.evidence import Evidence, Group
from parley.reports.table import Column, Row, Table, table_of, titled

NAME = "causes"
NEEDED = ("episodes that a cause ended or disturbed", "harness run")
_COLUMNS = (
    *titled(player="Player", setup="Set-up", what="What it did", seat="Seat", cause="Cause", message="Meaning"),
    *titled(responsible="Responsible", graded="Graded", episodes="Eps", count="Turns or times"),
)


def tables(evidence: Evidence) -> list[Table]:
    """Return one table, or none if no episode was disturbed or stopped."""
    rows = (row for group in evidence.groups for row in _rows(group))
    return table_of(NAME, f"What ended and disturbed episodes, {evidence.family}", _COLUMNS, rows)


def bounds_columns(title: str) -> tuple[Column, ...]:
    """Return the columns beside the headline figure called `title`."""
    return (
        Column("bounds", f"{title} if ungraded failed..succeeded", "interval"),
        *titled(ungraded_by="Ungraded by", caveat="Caveat"),
        Column("ended_by", "Ended by", shown=False),
    )


def bounds_cells(
    graded: Sequence[Result],
    ungraded: Sequence[Result],
    value: Callable[[Result], float],
    stratum: Callable[[Result], Hashable],
) -> Row:
    """Return the cells of `bounds_columns` for a mean of `value` over strata."""
    bounds = bounds_of(graded, ungraded, value, stratum)
    return cells_of((bounds.failed, bounds.succeeded) if bounds else None, graded, ungraded)


def cells_of(bounds: tuple[float, float] | None, graded: Sequence[Result], ungraded: Sequence[Result]) -> Row:
    """Return the cells of `bounds_columns` from known bounds."""
    every = [*graded, *ungraded]
    return {
        "bounds": bounds,
        "ungraded_by": ungraded_by(ungraded) or None,
        "caveat": setup_caveat(every) or None,
        "ended_by": ended_by(one for one in every if not one.success) or None,
    }


def _rows(group: Group) -> Iterator[Row]:
    results = [*group.graded, *group.ungraded, *group.retries]
    who = {"player": group.title, "setup": ", ".join(group.setup.how) or None}
    ended = Counter(one.ended_by for one in results if one.ended_by and one.stopped and not one.success)
    times = Counter[str]()
    disturbed = Counter(name for one in results for name in one.disturbed)
    for one in results:
        times.update(one.disturbed)
    for what, counts in (("ended", ended), ("disturbed", disturbed)):
        for name, episodes in counts.most_common():
            row = CAUSES[name]
            graded = "yes" if row.is_graded else "no"
            told = {"cause": name, "message": row.message, "responsible": row.responsible, "graded": graded}
            yield {**who, "what": what, **told, "episodes": episodes, "count": times[name] if what == "disturbed" else None}
    forfeits = [one for result in results for one in result.forfeits]
    turns = Counter[tuple[int, str]]()
    for given_up in forfeits:
        turns[given_up.seat, given_up.cause] += given_up.count
    games = Counter((given_up.seat, given_up.cause) for given_up in forfeits)
    for (seat, cause), count in sorted(turns.items()):
        told = {"seat": str(seat), "cause": cause, "message": FORFEITS.get(cause, cause), "graded": "yes"}
        yield {**who, "what": "forfeited", **told, "episodes": games[seat, cause], "count": count}
