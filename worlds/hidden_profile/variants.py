"""Instruction variants (paper, Tables A1 and A2): one sentence more in the rules and in every turn of talk, never in a vote.

The first five are a scale of agreeableness. Wordings are our own. Two concern one seat only.
"""

from __future__ import annotations

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

EXPERT = "Everybody knows that you are the one to ask about {topic}."
"""expert_roles: the sentence of a seat whose own facts touch an option."""


def sentence(variant: str, seat: int, topic: str = "") -> str:
    """What a variant adds for a seat; empty for nothing."""
    if variant == "expert_roles":
        return EXPERT.format(topic=topic) if topic else ""
    return ONE_SEAT[variant] if variant in ONE_SEAT and seat == 0 else VARIANTS[variant]
