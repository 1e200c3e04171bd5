"""Placeholders of each text of a game in texts/, with a description and an example.

They cover everything that a seat may know and nothing else: there are none for other calendars, other labels or tiers.
"""

from __future__ import annotations

from worlds.core.texts import Placeholder, Placeholders

_GAME = {
    "agents": Placeholder("the numbers of all agents", [0, 1, 2]),
    "slots": Placeholder("how many slots a calendar has", 12),
    "rounds": Placeholder("how many rounds there are", 9),
    "channels": Placeholder("the open ways to talk: dm, participants, all; none where there is no talk", ["dm", "all"]),
    "turn_cap": Placeholder("how many turns of talk a round has at most", 15),
    "message_cap": Placeholder("how many messages one agent may send in the whole game, 0 for any number", 20),
    "turn_messages": Placeholder("how many messages one agent may send in one turn", 20),
    "turn_characters": Placeholder("how many characters one agent may send to one reader in one turn", 4000),
    "decision_retries": Placeholder("how often a refused decision may be sent again", 3),
    "justification": Placeholder("required or free: whether a move must say why", "required"),
    "failed_rounds": Placeholder("undo or keep: what failed rounds leave behind", "undo"),
    "outsiders": Placeholder("on_mail or stay: when an agent outside the meeting speaks", "on_mail"),
    "blocked_attempts": Placeholder("retry or doom: whether touching a blocked item fails the round", "retry"),
    "exhausted": Placeholder("others_commit or rollback: what a seat without a decision stops", "others_commit"),
    "voluntary": Placeholder("staged or immediate: when voluntary moves take hold", "staged"),
    "outcomes": Placeholder("untold or told: whether participants are told what became of a round", "told"),
}

_MAIL = {
    "mail": Placeholder("what arrived, as lists of sender, channel, meeting and words", [(1, "dm", 4, "Is slot 3 free?")]),
}
_MEETING = {"meeting": Placeholder("the number of the round's meeting", 4)}
_TURN = {"turn": Placeholder("which turn of talk of the round this is, from 1", 15)}
_OPENING = {
    "round": Placeholder("which round this is, from 1", 4),
    "spent": Placeholder("what the reader's person has paid so far", 6),
    "results": Placeholder(
        "what became of earlier rounds that the reader has not been told yet, a line each; empty where outcomes are untold",
        ["Round 3, meeting M2: scheduled at slot 5."],
    ),
}

_ABOUT = {
    **_MEETING,
    "participants": Placeholder("the numbers of who takes part in it", [0, 1]),
    "duration": Placeholder("how many slots it takes", 1),
    "label": Placeholder("what it is about, empty for who takes no part", "dentist"),
}

_SEEN = {
    **_GAME, **_ABOUT, **_MAIL,
    "seat": Placeholder("the number of the agent who reads this, from 0", 0),
    "calendar": Placeholder("the reader's own calendar, one line a slot", "Slot 0: [FREE]"),
}  # fmt: skip

PLACEHOLDERS: Placeholders = {
    "instruction.md.j2": {
        "agents": Placeholder("how many agents there are", 3),
        "meetings": Placeholder("how many meetings arrive", 9),
        "slots": _GAME["slots"],
    },
    "system.md.j2": {
        **_GAME,
        "seat": _SEEN["seat"],
        "other": Placeholder("the number of another agent, for examples", 1),
        "costs": Placeholder("the costs that there are, ascending; empty where there is no scale of them", [1, 5]),
    },
    "_about.md.j2": {**_GAME, **_ABOUT},
    "_mail.md.j2": {**_GAME, **_MAIL},
    "_turns_left.md.j2": {**_GAME, **_TURN},
    "_results.md.j2": {**_GAME, "results": _OPENING["results"]},
    "round_start.md.j2": {
        **_SEEN,
        **_OPENING,
        **_TURN,
    },
    "turn.md.j2": {**_GAME, **_MEETING, **_MAIL, **_TURN},
    "activation.md.j2": {**_SEEN, **_TURN, "round": _OPENING["round"]},
    "voluntary.md.j2": _SEEN,
    "decision.md.j2": {**_SEEN, **_OPENING},
    "reflection.md.j2": {
        **_GAME,
        "seat": _SEEN["seat"],
        "target": Placeholder("the number of the agent whose calendar is asked about", 1),
        "round": _OPENING["round"],
    },
    "retry.md.j2": {
        **_GAME,
        "attempt": Placeholder("how many batches have been refused in this phase", 1),
        "attempts": Placeholder("how many may be sent", 4),
        "why": Placeholder("what is wrong with the last one, reason by reason", ["slot 3 is taken"]),
        "schedule": Placeholder("whether a batch must hold a schedule action", True),
    },
}
"""Placeholders by file. The other files include those whose names begin with _."""
