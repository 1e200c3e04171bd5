"""Options, budgets and costs that all hidden-profile tasks share (rulings, row X1).

An instruction variant (paper, Tables A1 and A2) adds one sentence to the rules and to every turn of talk, never to a vote. The
first five are a scale of agreeableness. The wording is our own. Two variants concern one seat only.
"""

from __future__ import annotations

from collections.abc import Mapping

from worlds.core.manifest import Budgets, Option

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
"""Variant -> sentence for every seat."""

ONE_SEAT: dict[str, str] = {
    "devils_advocate": "You are the devil's advocate: argue against whatever the others lean to.",
    "secretary": "You are the secretary: keep a running list of what has been said to be true, and repeat it when you speak.",
}
"""Variant -> sentence for the first seat only."""

EXPERT = "Everybody knows whom to ask about what: {experts}."
"""Sentence of expert_roles, the same for all seats (specification, 1.5: told publicly)."""


def variant_sentence(variant: str, seat: int, topics: Mapping[int, str]) -> str:
    """Return the sentence of a variant for a seat, or ""; `topics` maps seats to the main topic of their own facts."""
    if variant == "expert_roles":
        experts = ", ".join(f"Person {one + 1} about {topic}" for one, topic in sorted(topics.items()))
        return EXPERT.format(experts=experts) if experts else ""
    return ONE_SEAT[variant] if variant in ONE_SEAT and seat == 0 else VARIANTS[variant]


STRUCTURES: dict[str, str] = {
    "none": "",
    "information_first": "The first {exchanging} rounds are for facts alone; what you would choose comes after them.",
    "round_robin": (
        "You begin with a round robin: in your turn, say one fact that nobody has said yet, without an opinion, or reply PASS. "
        "When all have passed in one round, the talk is free."
    ),
    "others_know": "Before you speak, think of what the others might know that the group has not heard, and ask for it.",
    "board": (
        "Person 1 keeps the board, which all see in every turn: Person 1 ends each message with a line BOARD: and, below it, "
        "every fact that has been said so far. A new board replaces the old one."
    ),
}
"""Structure of the talk -> sentence for every seat, after the small-group literature. Three have rules for rounds, too."""


COLLECTED = "The round robin is over: the talk is free."
"""Sentence of round_robin once all seats have passed in one round."""

OPTIONS = {
    "condition": Option(
        default="hidden",
        values=("hidden", "full", "shared_only"),
        floor=("shared_only",),
        doc="what a person holds: the shared facts and their own, everything, or the shared facts alone",
    ),
    "deal": Option(
        default="mixed",
        values=("mixed", "hidden", "manifest"),
        doc="whether what all share speaks for a wrong option, for the right one, or one of each in a pair of seeds",
    ),
    "size": Option(
        type="int", default=0, min=0, max=8, doc="how many people a deck is dealt to, where it can be; 0: as many as it is for"
    ),
    "rules": Option(
        default="told",
        values=("told", "untold"),
        quiet=True,
        doc="whether the brief tells what rules an option out, or leaves it to common sense; some decks have such a brief",
    ),
    "rounds": Option(type="int", default=15, min=0, max=50, doc="rounds of talk between the two votes"),
    "talk": Option(
        default="turns",
        values=("turns", "chat"),
        quiet=True,
        doc="rounds of talk, one person after the other, or a free chat of some minutes, which harness host holds",
    ),
    "structure": Option(
        default="none",
        values=tuple(STRUCTURES),
        quiet=True,
        doc="a protocol of the talk: facts before choices, one new fact a turn, asking what others know, or a shared board",
    ),
    "minutes": Option(type="int", default=15, min=1, max=240, quiet=True, doc="how long the chat is open; people are told it"),
    "variant": Option(default="none", values=tuple(VARIANTS), doc="one sentence more in the rules and in each turn of talk"),
    "track": Option(
        default="free",
        values=("free", "structured"),
        doc="messages are prose, or prose with the points that it rests on and a stance",
    ),
    "first_vote": Option(
        default="ephemeral",
        values=("ephemeral", "kept"),
        doc="whether a person's first vote only measures, or stays in their conversation and binds them",
    ),
    "heard": Option(
        default="last",
        values=("last", "all"),
        doc="what a turn of talk repeats: the latest message of each other person, or everything that was said",
    ),
    "horizon": Option(default="told", values=("told", "untold"), doc="whether people know how many rounds there are"),
    "exchange_decide": Option(
        type="bool",
        default=False,
        doc="whether one half of the rounds is for what people know, the other for the choice",
    ),
    "reveal_all": Option(
        type="bool", default=False, doc="whether everybody's own points are read out, in their words, before the first round"
    ),
    "vote_view": Option(default="all", values=("all", "last_round"), doc="what of the talk the second vote repeats"),
    "remind_pre_vote": Option(
        type="bool", default=False, doc="whether the first round repeats to each person their own first vote"
    ),
    "early_stop": Option(
        type="bool", default=False, doc="whether talk ends once all lean alike for two rounds and cite nothing new"
    ),
    "stance_poll": Option(
        type="bool",
        default=False,
        doc="whether after each round everybody is asked alone where they stand; it stays in nobody's conversation",
    ),
    "stakes": Option(
        default="untold",
        values=("untold", "told", "paper"),
        doc="whether the rules say what a right choice earns; paper: in tasks after the paper's crafted and adapted ones",
    ),
    "revote": Option(
        default="once",
        values=("once", "same"),
        quiet=True,
        doc="how a vote without option is asked for again: once, with the reason, or in the same words up to 20 times",
    ),
}

BUDGETS = Budgets(steps=200, virtual_seconds=1_000_000)
COSTS = {"request": 1, "turn": 10, "vote": 10}
