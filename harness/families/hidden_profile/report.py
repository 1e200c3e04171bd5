"""The tables of the hidden-profile family, by the name that `--table` takes.

Which sessions were held as the paper held its own: only beside these do its numbers stand. A session under other options
answers another question: who is told how long the talk lasts, or hears all of it again, is not who was measured. Condition,
kind of deal and variant are columns of the tables, and the words of the prompts may be anybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.agent import AgentIdentity
from harness.families.hidden_profile import accuracy, guessers, process
from harness.report import components
from harness.report.evidence import Evidence, Group, Maker, by_name, make
from harness.report.table import Table
from worlds.hidden_profile.options import OPTIONS

PAPER = {name: option.default for name, option in OPTIONS.items()} | {"horizon": "untold"}
"""The options of the preset `hidden-paper`; where it says nothing, our defaults."""

_COLUMNS = {"condition", "deal", "variant"}
"""Options that tables keep apart by themselves."""

WITHOUT = "published numbers are left out: no session here follows the paper's protocol; harness run --preset hidden-paper"
"""Stands under tables that have published rows elsewhere."""


def any_as_the_paper(evidence: Evidence) -> bool:
    """Return whether some of the sessions follow the paper's protocol."""
    return any(_is_the_papers(group) for group in evidence.played)


def _is_the_papers(group: Group) -> bool:
    """One group has one set-up: its options are those of any session, and its players those of any plan."""
    told = next((result.options for result in group.graded), None)
    if told is None or any(told.get(name, value) != value for name, value in PAPER.items() if name not in _COLUMNS):
        return False
    return all(_plays_alone(plan.agent) for plan in group.plans)


def _plays_alone(agent: AgentIdentity) -> bool:
    """Whether one player holds all seats, is told its rules and no more, and is asked at the provider's own temperature."""
    asked = agent.requested or {}
    told_more = agent.variant is not None or agent.seat_variants
    return not told_more and not agent.seats and agent.team is None and asked.get("temperature") is None


TABLES: dict[str, tuple[Maker, ...]] = {
    "accuracy": (accuracy.tables,),
    "tasks": (accuracy.profile_tables,),
    "variants": (accuracy.variant_tables,),
    "process": (process.tables,),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {"guessers": (guessers.tables,), "components": (components.tables,)}
"""Made only where they are asked for by name: the first says more of tasks than of who played them and takes half a second a
task, the second is for planning the next run."""

NEEDS = {
    "components": components.NEEDED,
    "accuracy": ("graded sessions", "harness run hidden-profile --set condition=hidden,full"),
    "variants": ("a run with an instruction variant", "harness run hidden-profile --set variant=none,asymmetry"),
    "guessers": ("tasks that the registry knows", "harness --tasks FOLDER report RUN"),
}
"""What a table lacks where it is empty, and the command that makes it."""

_HAVE_PUBLISHED = {"accuracy", "process", "variants"}
"""Tables with rows of the paper's, by their names in a document."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """The wanted tables, all that have something to say where none are named; raises UsageError for an empty one.

    The paper's numbers stand beside sessions of its own protocol alone.
    """
    beside = published and any_as_the_paper(evidence)
    named = by_name(BY_NAME, wanted)
    made = make({**TABLES, **named}, NEEDS, evidence, wanted, published=beside)
    return made if beside or not published else [_without(table) for table in made]


def _without(table: Table) -> Table:
    """A table with a word on why the paper's rows are not in it, where it would have some."""
    return replace(table, notes=(*table.notes, WITHOUT)) if table.name in _HAVE_PUBLISHED else table
