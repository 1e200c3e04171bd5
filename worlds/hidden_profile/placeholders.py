"""Placeholders of each text of a session in texts/, with a description and an example.

They cover everything that a seat may know and nothing else: there are none for another seat's facts, the key or any vote.
"""

from __future__ import annotations

from worlds.core.texts import Placeholder, Placeholders

_SESSION = {
    "people": Placeholder("how many people there are", 4),
    "options": Placeholder(
        "the options as pairs of id and label, in the order shown", (("attic", "The attic"), ("boat", "A boat"))
    ),
    "rounds": Placeholder("how many rounds of talk there are", 15),
    "structure": Placeholder("the structure of the talk by name", "none"),
    "talk": Placeholder("turns or chat: whether people talk in rounds or freely", "turns"),
    "minutes": Placeholder("how many minutes a chat is open", 15),
    "track": Placeholder("free or structured", "structured"),
    "horizon": Placeholder("told or untold: whether people are to know the number of rounds", "told"),
    "heard": Placeholder("last or all: what of the talk a turn repeats", "last"),
    "vote_view": Placeholder("all or last_round: what of the talk the second vote repeats", "all"),
    "exchange_decide": Placeholder("whether some rounds are for facts and the others for the choice", True),
    "exchanging": Placeholder("how many rounds are for facts alone", 8),
    "reveal_all": Placeholder("whether everybody's own points were read out before the first round", False),
    "stakes": Placeholder("whether people are told that a right choice is paid for", True),
    "variant": Placeholder("the instruction variant by name", "none"),
    "board": Placeholder("what the scribe has written on the board, empty without a board", ""),
    "extra": Placeholder("the sentences that variant and structure add for this person, empty for none", "Think step by step."),
}

_PERSON = {**_SESSION, "person": Placeholder("the number of the person who reads this, from 1", 1)}

_SAID = Placeholder("what was said, oldest first, as pairs of a person's number and the message", ((2, "The boat leaks."),))

PLACEHOLDERS: Placeholders = {
    "instruction.md.j2": {
        "title": Placeholder("the title of the task", "The way home"),
        "people": _SESSION["people"],
        "rounds": _SESSION["rounds"],
        "talk": _SESSION["talk"],
        "minutes": _SESSION["minutes"],
    },
    "system.md.j2": {
        **_PERSON,
        "brief": Placeholder("what everybody is told of the matter", "One of two ways is open."),
        "facts": Placeholder("what this person knows, in the order shown", ("The boat is red.",)),
    },
    "_ballot.md.j2": _SESSION,
    "_board.md.j2": _SESSION,
    "pre_vote.md.j2": _PERSON,
    "turn.md.j2": {
        **_PERSON,
        "number": Placeholder("which round of talk this is, from 1", 2),
        "said": _SAID,
        "reminder": Placeholder("this person's own first vote, where the session repeats it; else empty", ""),
    },
    "chat.md.j2": {**_PERSON, "said": _SAID},
    "poll.md.j2": {**_PERSON, "said": _SAID},
    "post_vote.md.j2": {**_PERSON, "said": _SAID},
    "again.md.j2": {
        **_SESSION,
        "given": Placeholder("what stood in a vote where the option belongs, empty for nothing", "the cellar"),
    },
}
"""Placeholders by file. Texts that ask for a vote include `_ballot`."""
