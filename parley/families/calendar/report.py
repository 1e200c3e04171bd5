"""The tables of the calendar family, by the name that `--table` takes.

If no table is named, runs without models get a short report: the paper's other tables are about models, and are made for
protocols only on request.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.families.calendar import outcomes, ratings, round_tables, seat_tables
from parley.families.calendar.seat_rows import block_of
from parley.reports import components
from parley.reports.evidence import Evidence, Maker, make
from parley.reports.table import Table

SHORT: dict[str, tuple[Maker, ...]] = {
    "outcomes": (outcomes.tables,),
    "seats": (seat_tables.tables,),
    "failures": (outcomes.failure_tables,),
}
TABLES: dict[str, tuple[Maker, ...]] = {
    **SHORT,
    "ties": (seat_tables.tie_tables,),
    "regret": (seat_tables.regret_tables,),
    "communication": (seat_tables.communication_tables,),
    "first-speaker": (round_tables.tables,),
    "volume": (round_tables.volume_tables,),
    "moves": (round_tables.move_tables,),
    "spending": (seat_tables.spending_tables,),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {"ratings": (ratings.tables,), "components": (components.tables,)}
"""Tables made only when named: `ratings` takes a while for its 200 orders of games, and `components` helps to plan a run."""

_ROUNDS = ("verdicts that say what each seat did in each round", "harness run calendar, with this version")
NEEDS = {
    "components": components.NEEDED,
    "ties": ("seats with a certificate's optimum", "harness run calendar"),
    "regret": ("seats with all their meetings scheduled", "harness run calendar"),
    "communication": ("seats with a certificate's optimum", "harness run calendar"),
    "first-speaker": _ROUNDS,
    "volume": _ROUNDS,
    "moves": _ROUNDS,
    "spending": ("seats held by models", "harness run calendar --model NAME"),
    "ratings": ("games that two models or more played together", "harness run calendar --model A --seat 1=B"),
}
"""For each table, what it needs and the command that provides it."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """Return the wanted tables, or every table that is not empty. Raises UsageError for a named one that is empty."""
    has_models = any(block_of(group) == "model" for group in evidence.groups)
    known = TABLES if wanted or has_models else SHORT
    return make(known, NEEDS, evidence, wanted, published=published, by_name=BY_NAME)
