"""The tables of the hidden-profile family, by the name that `--table` takes.

The paper's numbers are shown only beside sessions that follow its protocol, because sessions with other options measure
something else, for example if players are told how long the talk lasts, or read all of it again. Condition, kind of deal and
variant may differ, because they are columns of the tables, and so may the wording of the prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.agent import AgentIdentity
from parley.families.hidden_profile import accuracy, guessers, process
from parley.reports import components
from parley.reports.evidence import Evidence, Group, Maker, make
from parley.reports.table import Table
from worlds.hidden_profile.options import OPTIONS

PAPER = {name: option.default for name, option in OPTIONS.items()} | {"horizon": "untold", "stakes": "paper"}
"""The options of the preset `hidden-paper`, with our defaults for the others."""

_COLUMNS = {"condition", "deal", "variant"}
"""Options that tables keep apart by themselves."""

WITHOUT = (
    "published numbers are left out: no session follows the paper's protocol; harness run --preset hidden-paper follows it"
)
"""Note under tables that could have published rows."""


def any_as_the_paper(evidence: Evidence) -> bool:
    """Return True if some of the sessions follow the paper's protocol."""
    return any(_is_the_papers(group) for group in evidence.played)


def _is_the_papers(group: Group) -> bool:
    """Return True if a group follows the paper's protocol. All its sessions have the same options, so the first is checked."""
    told = next((result.options for result in group.graded), None)
    if told is None or any(told.get(name, value) != value for name, value in PAPER.items() if name not in _COLUMNS):
        return False
    return all(_plays_alone(plan.agent) for plan in group.plans)


def _plays_alone(agent: AgentIdentity) -> bool:
    """Return True if one player plays all seats, with the plain rules and the provider's own temperature."""
    asked = agent.requested or {}
    told_more = agent.variant is not None or agent.seat_variants
    return not told_more and not agent.seats and agent.team is None and asked.get("temperature") is None


TABLES: dict[str, tuple[Maker, ...]] = {
    "accuracy": (accuracy.tables,),
    "tasks": (accuracy.profile_tables,),
    "variants": (accuracy.variant_tables,),
    "process": (process.tables,),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {
    "guessers": (guessers.tables,),
    "rules": (accuracy.rule_tables,),
    "structures": (accuracy.structure_tables,),
    "components": (components.tables,),
}
"""Tables made only when named: `guessers` describes tasks rather than players and takes half a second per task, `structures`
plays every deal of each deck, and `components` helps to plan the next run."""

NEEDS = {
    "components": components.NEEDED,
    "accuracy": ("graded sessions", "harness run hidden-profile --set condition=hidden,full"),
    "variants": ("a run with an instruction variant", "harness run hidden-profile --set variant=none,asymmetry"),
    "rules": ("a run of the natural edition", "harness run --preset hidden-natural --model MODEL"),
    "structures": ("a run with a structure", "harness run hidden-profile --set structure=none,round_robin"),
    "guessers": ("tasks that the registry knows", "harness --tasks FOLDER report RUN"),
}
"""For each table, what it needs and the command that provides it."""

_HAVE_PUBLISHED = {"accuracy", "process", "variants"}
"""Names of the tables that may have published rows."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """Return the wanted tables, or every table that is not empty. Raises UsageError for a named one that is empty.

    The paper's numbers are shown beside sessions of its own protocol only.
    """
    beside = published and any_as_the_paper(evidence)
    made = make(TABLES, NEEDS, evidence, wanted, published=beside, by_name=BY_NAME)
    return made if beside or not published else [_without(table) for table in made]


def _without(table: Table) -> Table:
    """Return the table with a note about the missing published rows, if it could have some."""
    return replace(table, notes=(*table.notes, WITHOUT)) if table.name in _HAVE_PUBLISHED else table
