"""Templates as HTML: every value is spelled out where browsers would obey or hide it, then escaped, by the environment itself.

No template can forget either: `finalize` sees each expression, and escaping is on for all files. A page says by `root` how far
up the root of the site is, so that the same page works on a server and from a disk.

The words of the pages, in a line each: every label of every family, from where the family defines it, and a few terms. A label
on a page leads here. One that no family of this harness has leads nowhere, since what it means is not known here.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.modules import families, family_part_or_none
from harness.printable import printable
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
    """Return where a label of a family stands on the page; empty for one that is not there."""
    known = (one.anchor for of in glossary().families if of.family == family for one in of.labels if one.word == label)
    return next(known, "")


def is_control(player: str) -> bool:
    """Return whether a player is one of the scripted controls."""
    return player in {"oracle", "nop"} or player.startswith("violation:")


def _labels(family: str) -> LabelsOf:
    part = family_part_or_none(family, "meanings")
    meanings: dict[str, str] = part.MEANINGS if part else {}
    made = (Meaning(word=word, meaning=told, anchor=_anchor(family, word)) for word, told in meanings.items())
    return LabelsOf(family=family, labels=tuple(made))


def _anchor(kind: str, word: str) -> str:
    return f"{kind}-{word.replace(' ', '-')}"


HERE = Path(__file__).parent
PALETTE = 8
"""Colours that seats take in turn; the style sheet has one class for each."""

POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'"
"""What a page may load and where its form may go: this site alone, no style or script in the page itself."""

_NAME = re.compile(r"((?<=\bfield )[\w.\[\]-]+|(?<=\bheader )[A-Z][\w-]*|(?<=\bparameter )[\w.-]+|\b\w*[^\W_]_[^\W_]\w*)")
"""What stands in a rule in the letters of the interface."""

_BREAKS = re.compile(r"(?<=[:_=/])(?=\w)")
"""Where a long name may go on in the next line."""


def render(template: str, page: object, *, depth: int, is_bundle: bool) -> bytes:
    """One page as HTML; `depth` is the number of folders that it lies below the root of the site."""
    made = _environment().get_template(f"{template}.html.j2")
    return made.render(page=page, root="../" * depth, is_bundle=is_bundle, policy=POLICY).encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_number,
        percent=_percent,
        dollars=_dollars,
        seconds=_seconds,
        colour=lambda seat: f"seat-{seat % PALETTE}",
        pieces=_pieces,
        label_anchor=label_anchor,
        parts=_BREAKS.split,
    )
    return environment


def _pieces(rule: str) -> list[tuple[str, bool]]:
    """A rule in pieces, and whether each is a name of the interface: of a field, a header, a parameter, a test."""
    return [(piece, number % 2 == 1) for number, piece in enumerate(_NAME.split(rule)) if piece]


def _shown(value: Any) -> Any:
    """A value as it is put into a page, before it is escaped."""
    if isinstance(value, Markup):
        return value
    return printable(value) if isinstance(value, str) else "" if value is None else value


def _number(value: Any) -> str:
    """A cell of a table, as `harness show` prints it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:g}"
    return str(value)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _dollars(cost: float | None) -> str:
    return "-" if cost is None else f"${cost:,.2f}" if cost >= 0.1 else f"${cost:.4f}"


def _seconds(value: float) -> str:
    return f"{value:,.6g} s"
