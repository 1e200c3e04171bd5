"""Which sessions were held as the paper held its own: only beside these do its numbers stand.

A session under other options answers another question: who is told how long the talk lasts, or hears all of it again, is not
who was measured. Condition, kind of deal and variant are columns of the tables, and the words of the prompts may be anybody's.
"""

from __future__ import annotations

from harness.agent import AgentIdentity
from harness.report.evidence import Evidence, Group
from worlds.hidden_profile.options import OPTIONS

PAPER = {name: option.default for name, option in OPTIONS.items()} | {"horizon": "untold"}
"""The options of the preset `hidden-paper`; where it says nothing, our defaults."""

_COLUMNS = {"condition", "deal", "variant"}
"""Options that tables keep apart by themselves."""

WITHOUT = "published numbers are left out: no session here follows the paper's protocol; harness run --preset hidden-paper"
"""Stands under tables that have published rows elsewhere."""


def any_as_the_paper(evidence: Evidence) -> bool:
    """Whether some of the sessions follow the paper's protocol."""
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
