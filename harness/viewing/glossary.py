"""The words of the pages, in a line each: every label of every family, from where the family defines it, and a few terms.

A label on a page leads here. One that no family of this harness has leads nowhere, since what it means is not known here.
"""

from __future__ import annotations

from functools import cache

from harness.modules import families, family_part_or_none
from worlds.core.models import Strict

GLOSSARY = "glossary.html"

_TERMS = (
    ("run", "Some tasks played by one agent or model, at one or more seeds, a number of attempts each."),
    ("episode", "One attempt at one task at one seed."),
    ("seed", "The number that a task's texts, tokens and times are drawn from. Two seeds of a task are two variants of it."),
    ("world", "The server of one task. It answers the agent, keeps the time, and logs what it was asked."),
    ("virtual time", "The time of the world's own clock. Requests and waits move it, and thinking does not."),
    ("contract", "What a world demands of a request: which bytes, in which window of time, after which step."),
    ("artifact", "Something that a world hands out under a contract, such as a token or a link."),
    ("verdict", "What a validator made of the world's log after the episode: success, or the label of what went wrong."),
    ("hidden tests", "The checks behind a verdict, which the agent never saw. An episode succeeds where all of them pass."),
    ("resolution", "The end of a round or session, when the rules look at what all seats decided; it can fail a game."),
    ("fault", "What one seat did that lost a round or session, where the rules say it; its turn is marked."),
    ("oracle", "A scripted control, no model: it plays each task as it should be played, and must succeed."),
    ("nop", "A scripted control, no model: it does nothing, and must fail."),
    ("violation:*", "Scripted controls, no models: each breaks the one rule that it is named after, and must earn its label."),
)


class Meaning(Strict):
    """A word and what it means; `anchor` is where it stands on the page."""

    word: str
    meaning: str
    anchor: str


class LabelsOf(Strict):
    """The labels of one family."""

    family: str
    labels: tuple[Meaning, ...]


class GlossaryPage(Strict):
    """All of them."""

    terms: tuple[Meaning, ...]
    families: tuple[LabelsOf, ...]


@cache
def glossary() -> GlossaryPage:
    """The page."""
    terms = (Meaning(word=word, meaning=told, anchor=_anchor("term", word.rstrip(":*"))) for word, told in _TERMS)
    return GlossaryPage(terms=tuple(terms), families=tuple(_labels(family) for family in families()))


def label_anchor(label: str, family: str) -> str:
    """Where a label of a family stands on the page; empty for one that is not there."""
    known = (one.anchor for of in glossary().families if of.family == family for one in of.labels if one.word == label)
    return next(known, "")


def is_control(player: str) -> bool:
    """Whether a player is one of the scripted controls."""
    return player in {"oracle", "nop"} or player.startswith("violation:")


def _labels(family: str) -> LabelsOf:
    part = family_part_or_none(family, "meanings")
    meanings: dict[str, str] = part.MEANINGS if part else {}
    made = (Meaning(word=word, meaning=told, anchor=_anchor(family, word)) for word, told in meanings.items())
    return LabelsOf(family=family, labels=tuple(made))


def _anchor(kind: str, word: str) -> str:
    return f"{kind}-{word.replace(' ', '-')}"
