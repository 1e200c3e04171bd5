"""A message as clauses: which slots each names, and whether the sender speaks of itself in it.

1. A clause ends with a sentence, a line, or before a conjunction that brings another subject. A heading (a line that ends in a
   colon) of the sender's own is read before each line of its list.
2. Slots are the numbers that are left when everything else that has a number (agents, meetings, errands, costs, counts) is
   taken out. A clause that only points at a slot (`that works`) means those that were named last.
3. A clause is its sender's own when it has a first person that does not merely report, ask or acknowledge, and does not speak
   of somebody else instead, or goes on about the slots of such a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from harness.families.calendar.audits.words import (
    BARE_VERBS,
    FIRST_PERSON,
    OTHERS,
    OWN_SIDE,
    POINTERS,
    REPORTING,
    SHORTHAND,
    any_of,
)

MOST_SLOTS = 100
"""Slots of a calendar where nobody says how many there are."""

LONGEST = 10_000
"""Characters of a message that are read for what it says; no assistant says more, and what floods takes no audit hostage."""

_SPACES = re.compile(r"[^\S\n]{3,}")
_SHORTHAND = any_of(tuple(SHORTHAND))
_FIRST, _OTHERS, _OWN_SIDE = any_of(FIRST_PERSON), any_of(OTHERS), any_of(OWN_SIDE)
_POINTERS, _REPORTING, _BARE_VERBS = any_of(POINTERS), any_of(REPORTING), any_of(BARE_VERBS)

_SUBJECT = r"(?:i|i'm|i'd|i've|i'll|agents?\b|you|they|he|she|we|it|it's|that|that's|please)(?![\w'])"
_CONTRAST = re.compile(r"(?:but|whereas|while|although|though|however)(?![\w'])")
_BOUNDARIES = (
    r"(?<=[.!?;])\s+",
    r";",
    r"\s+-+\s+(?!>)",
    r"\s*[\u2013\u2014]\s*",
    rf",?\s+(?=(?:{_CONTRAST.pattern}|which(?!\w)))",
    rf",?\s+(?:and|so|because|since|as)\s+(?={_SUBJECT})",
    rf",\s+(?={_SUBJECT})",
)
_BOUNDARY = re.compile("|".join(_BOUNDARIES))
_BULLET = re.compile(r"^\s*(?:[-*\u2022]|->|\d+[.)])\s+")

COST_NUMBER = re.compile(
    r"\b(?:costs?|price|priced|pay|paying|total)\b(?:\s*[=:]\s*|(?:\s+(?:of|is|at|me|us|it|you|only|just|exactly|about|around|to))+\s+)"
    r"(?P<number>\d+)\b|\b(?:costs?|pay|paying|amounts? to|comes to|adds up to)\s+(?P<bare>\d+)\b"
)
"""A cost as a number, in lower-case text."""

_PAYERS = re.compile(r"\b(?:me|us|it|you)\b")
_MASKS = (
    (re.compile(r"\bagents\s*#?\d+(?:\s*(?:,|and|or|&|/|,\s*and)\s*#?\d+)*"), " agents "),
    (re.compile(r"\bagent[\s_-]*#?\d+"), " agent "),
    (re.compile(r"\b(?:meetings?|errands?|items?|rounds?|turns?|options?|phase|priority)\s*#?\d+|\bm\d+\b|#\d+"), " "),
    (re.compile(r"\b\d+\s*(?:%|(?:participants|agents|slots|errands|items|meetings|turns|rounds|points|units|people|options|"
                r"of us|others|times|minutes|hours)\b)"), " "),
)  # fmt: skip
"""What has a number and is no slot, and what is left in its place."""

_RANGE = re.compile(r"(?<!from )\b(\d{1,3})\s*(?:-|\u2013|to|through|until)\s*(?:slot\s*)?(\d{1,3})\b")
_NUMBER = re.compile(r"(?<![\w.])(?:s)?(\d{1,3})(?![\w]|\.\d)")


class Mention(NamedTuple):
    """One slot, and where the clause names it."""

    place: int
    slot: int


class Clause(NamedTuple):
    """One clause of a message."""

    text: str
    """Lower case, shorthand spelled out; agents without their numbers, and without what else has a number and is no slot."""

    mentions: tuple[Mention, ...]
    """The slots that it names itself, in order."""

    slots: tuple[int, ...]
    """Those, or the last ones named before it where it only points at them."""

    before: tuple[int, ...]
    """The last ones named before it."""

    is_own: bool
    """Whether the sender speaks of itself."""

    prices: tuple[int, ...]
    """Costs that it tells as numbers."""


def clauses(text: str, slots: int = MOST_SLOTS) -> Iterator[Clause]:
    """The clauses of a message, for calendars of so many slots."""
    last: Clause | None = None
    heading = ""
    for line in _plain(text).splitlines():
        heading = heading if _is_item(line) else ""
        for part in _BOUNDARY.split(_BULLET.sub("", line)):
            if part and part.strip():
                clause = _clause(part, slots, last, heading)
                last = clause
                yield clause
        if line.rstrip().endswith(":") and _speaks_of_itself(masked := _masked(line)):
            heading = re.sub(r"\d+", "", masked)


def _clause(part: str, slots: int, last: Clause | None, heading: str) -> Clause:
    masked = _masked(part)
    lent = heading if heading and "agent" not in masked else ""
    prices = tuple(int(match["number"] or match["bare"]) for match in COST_NUMBER.finditer(part))
    mentions = tuple(_mentions(lent + masked, slots))
    named = tuple(dict.fromkeys(mention.slot for mention in mentions))
    before = (last.slots or last.before) if last else ()
    points = not named and _POINTERS.search(masked) is not None
    is_own = _speaks_of_itself(lent + masked) or ((points or _CONTRAST.match(masked) is not None) and _goes_on(last, masked))
    return Clause(lent + masked, mentions, named or (before if points else ()), before, is_own, prices)


def _goes_on(last: Clause | None, masked: str) -> bool:
    """Whether a clause without a person of its own is still about the sender."""
    about_others = "agent" in masked or _OTHERS.search(masked) is not None
    return last is not None and last.is_own and not masked.rstrip().endswith("?") and not about_others


def _is_item(line: str) -> bool:
    """Whether a line belongs to a list."""
    return _BULLET.match(line) is not None or line.startswith("  ")


def _plain(text: str) -> str:
    lowered = _SPACES.sub("  ", text[:LONGEST]).lower().replace("\u2019", "'").replace("\u2018", "'")
    return _SHORTHAND.sub(lambda match: SHORTHAND[re.sub(r"\s+", " ", match[0])], lowered)


def _masked(part: str) -> str:
    part = COST_NUMBER.sub(lambda match: " ".join(("", *_PAYERS.findall(match[0]), "")), part)
    for pattern, left in _MASKS:
        part = pattern.sub(left, part)
    return part


def _mentions(masked: str, slots: int) -> Iterator[Mention]:
    """Each slot once for each time that it is named, ranges spelled out."""
    inside = {match.start(2): range(int(match[1]) + 1, int(match[2])) for match in _RANGE.finditer(masked)}
    for match in _NUMBER.finditer(masked):
        yield from (Mention(match.start(), slot) for slot in inside.get(match.start(1), ()) if slot < slots)
        if int(match[1]) < slots:
            yield Mention(match.start(), int(match[1]))


def _speaks_of_itself(masked: str) -> bool:
    own = _REPORTING.sub(" ", masked)
    if _BARE_VERBS.match(own.lstrip()):
        return True
    if not _FIRST.search(own):
        return False
    return _OWN_SIDE.search(own) is not None or _OTHERS.search(own) is None
