"""Instruction variants (paper, Tables A1 and A2): one sentence more in the rules and in every turn of talk, never in a vote.

The first five are a scale of agreeableness. Wordings are our own. Two concern one seat only.
"""

from __future__ import annotations

from collections.abc import Mapping

VARIANTS: dict[str, str] = {
    "none": "",
    "very_cooperative": "Work together as one team, and try to end in agreement.",
    "cooperative": "Work together, and say what you really think; you need not agree in the end.",
    "constructive": "Debate: test the reasons and the assumptions behind what is said, your own too.",
    "conflictual": "Winning the argument matters: attack weak points and get the better of the others.",
    "very_conflictual": "Give in to nobody: refuse every compromise, oppose every claim, and dominate the discussion.",
    "think_aloud": "Reason step by step before you come to a conclusion.",
    "asymmetry": "The others may know things that you do not know.",
    "disclose_first": "Before you give any opinion, say everything you know.",
    "devils_advocate": "",
    "expert_roles": "",
    "secretary": "",
}
"""Variant -> the sentence that every seat is given."""

ONE_SEAT: dict[str, str] = {
    "devils_advocate": "You are the devil's advocate: argue against whatever the others lean to.",
    "secretary": "You are the secretary: keep a running list of what has been said to be true, and repeat it when you speak.",
}
"""Variant -> the sentence that the first seat is given, and no other."""

EXPERT = "Everybody knows whom to ask about what: {experts}."
"""expert_roles: the sentence of every seat, the same for all (specification, 1.5: told publicly)."""


def sentence(variant: str, seat: int, topics: Mapping[int, str]) -> str:
    """What a variant adds for a seat, empty for nothing; `topics`: what a seat's own facts touch most, where they touch any."""
    if variant == "expert_roles":
        experts = ", ".join(f"Person {one + 1} about {topic}" for one, topic in sorted(topics.items()))
        return EXPERT.format(experts=experts) if experts else ""
    return ONE_SEAT[variant] if variant in ONE_SEAT and seat == 0 else VARIANTS[variant]
