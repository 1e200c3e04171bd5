"""Options, budgets and costs that all calendar tasks share (rulings, row X1)."""

from __future__ import annotations

from worlds.core.manifest import Budgets, Option

CHANNELS = ("dm", "participants", "all", "dm+participants", "dm+all", "participants+all", "dm+participants+all", "none")

OPTIONS = {
    "profile": Option(default="text", values=("text", "paper"), doc="rules of the paper's text, or of its released code"),
    "channels": Option(
        default="dm",
        values=CHANNELS,
        doc="ways to talk: direct messages, the meeting's group, all agents; none: no talk",
    ),
    "turn_cap": Option(type="int", default=0, min=0, max=100, doc="sweeps of talk in a round; 0: the profile's, 15 or 4"),
    "message_cap": Option(type="int", default=0, min=0, doc="messages that a seat may send in the whole game; 0: any number"),
    "decision_retries": Option(type="int", default=3, min=0, max=20, doc="how often a refused decision may be sent again"),
    "failed_rounds": Option(default="profile", values=("profile", "undo", "keep"), doc="what failed rounds leave behind"),
    "outsiders": Option(
        default="profile", values=("profile", "on_mail", "stay"), doc="when an agent outside the meeting speaks"
    ),
    "blocked_attempts": Option(
        default="profile", values=("profile", "retry", "doom"), doc="whether touching a blocked item fails the round"
    ),
    "exhausted": Option(
        default="profile", values=("profile", "others_commit", "rollback"), doc="what a seat without a decision stops"
    ),
    "voluntary": Option(default="profile", values=("profile", "staged", "immediate"), doc="when voluntary moves take hold"),
    "justification": Option(default="profile", values=("profile", "required", "free"), doc="whether moves must say why"),
    "outcomes": Option(
        default="untold", values=("untold", "told"), doc="whether participants are told what became of the round before"
    ),
    "reflection": Option(
        default="none",
        values=("none", "asked", "expected"),
        quiet=True,
        doc="whether all are asked after each round how beliefs of other calendars changed; expected: by token probabilities",
    ),
    "strict_replies": Option(type="bool", default=False, doc="whether broken JSON is no reply, not mended"),
    "sd_model": Option(default="", doc="SD-MAP's weight of each seat, joined by colons, e.g. 1:1:2:1:1; empty: 1 each"),
}

BUDGETS = Budgets(steps=200, virtual_seconds=1_000_000)
COSTS = {"request": 1, "sweep": 60, "decision": 60}
