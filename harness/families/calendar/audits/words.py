"""The words by which messages are heard: tables, and the one way in which a table becomes a pattern.

They were tuned on the early half of `sample.json` and scored once on the late half. An entry stands for itself as whole words.

A message as clauses: which slots each names, and whether the sender speaks of itself in it.

1. A clause ends with a sentence, a line, or before a conjunction that brings another subject. A heading (a line that ends in a
   colon) of the sender's own is read before each line of its list.
2. Slots are the numbers that are left when everything else that has a number (agents, meetings, errands, costs, counts) is
   taken out. A clause that only points at a slot (`that works`) means those that were named last.
3. A clause is its sender's own when it has a first person that does not merely report, ask or acknowledge, and does not speak
   of somebody else instead, or goes on about the slots of such a clause.

What a message discloses of its sender's own slots: proposal, availability, cost or constraint, exact number.

After the paper's own-slot audit (Appendix G.5), by clause instead of by sentence: the words of a label count only where the
clause names a slot, or points at one, and its sender speaks of itself. `labels_of` is a pure function of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


def phrases(*rows: str) -> tuple[str, ...]:
    """The entries of a table, written several to a row and parted by commas."""
    return tuple(entry.strip() for row in rows for entry in row.split(","))


def any_of(entries: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds each entry of a table in lower-case text, as whole words, the longest first."""
    longest = sorted(entries, key=len, reverse=True)
    return re.compile(r"(?<![\w'])(?:" + "|".join(re.escape(entry).replace(r"\ ", r"\s+") for entry in longest) + r")(?![\w'])")


SHORTHAND = {
    "im": "i'm", "ive": "i've", "id": "i'd", "ill": "i'll", "lets": "let's", "cant": "can't", "dont": "don't", "its": "it's",
    "u": "you", "ur": "your", "r": "are", "n": "and", "w/": "with", "abt": "about", "4 me": "for me", "4 you": "for you",
    "4 u": "for you", "cannot": "can't", "can not": "can't", "i shall": "i'll", "i will": "i'll", "i am": "i'm",
    "i have": "i've", "i would": "i'd", "i should": "i'd",
}  # fmt: skip
"""How people shorten what the other tables spell out, and long forms of what they have short."""

FIRST_PERSON = phrases(
    "i, i'm, i've, i'd, i'll, me, my, mine, myself",
)
"""The sender speaks of itself (specification 13)."""

REPORTING = phrases(
    "told me, tell me, telling me, asked me, informed me, let me know, said to me, remind me, i understand",
    "i completely understand, i hear, i heard, i see, i note, i noted, i've noted, i've taken note, i acknowledge",
    "i realise, i realize, i know, i'll know, i hope, i wonder, i was informed, i was told, i've told, i told",
    "i asked, i've asked, i await, i'd be grateful, i'd be obliged, i'd appreciate, i appreciate, i'm aware",
    "i'm waiting, i keep a list, i confirm once, i'll confirm, i'll check",
)
"""First person of somebody who passes on, asks or acknowledges: no news of its own calendar."""

OTHERS = phrases(
    "for agent, for agents, for you, for them, for him, for her, for everyone, for everybody, for both of you",
    "agent's, agent can, agent is, agent has, agent needs, agent said, agent told, you can, you could, you'd, you're",
    "you have, your, they, their, them",
)
"""Somebody else is spoken of."""

OWN_SIDE = phrases(
    "for me, my, mine, myself, i'm, i've, i can, i can't, i could, i'd, i need, suits me, costs me, cost me, from me",
    "by me",
)
"""The sender speaks of its own side, whoever else is named beside it."""

BARE_VERBS = phrases(
    "suggest, propose, recommend, prefer, take, try, go with, can do, can make, can't do, can't make, could do",
    "could make, would prefer, would suggest, would propose, happy with, fine with, good with, free at, busy at",
    "taken at",
)
"""Begins a clause whose subject, the sender, is left out."""

IMPERATIVES = phrases(
    "take, try, go with",
)
"""Puts slots forward where it begins a clause."""

POINTERS = phrases(
    "it, it's, that, that's, this, this one, that one, those, these, both, either, one, ones, there, the latter",
    "the former",
)
"""What points at slots that were named just before."""

PROPOSING = phrases(
    "suggest, suggesting, propose, proposing, proposal, recommend, put forward, offer, counter-offer, first choice",
    "favour, favor, i'd take, i'd go with, i'd go for, i prefer, i'd prefer, i'd like, prefer, options from my side",
    "happy to use",
)
"""Puts slots forward, with a first person beside it."""

AVOIDING = phrases(
    "stay away, avoid, skip, rule out, leave out, not use, keep clear, drop",
)
"""Takes slots out instead."""

PROPOSING_TOGETHER = phrases(
    "let's, let us, can we, could we, shall we, should we, might we, may we, why don't we, why not, we could",
    "we can use, how about, what about, what if we",
)
"""Puts slots forward, and has its first person in itself: the sender is one of us."""

FREE = phrases(
    "free, open, available, unoccupied, vacant, empty, clear, no conflict, no conflicts, nothing at, nothing in",
    "not taken, not busy, not occupied, not booked, not full, not blocked, isn't taken, isn't busy, isn't blocked",
    "not unavailable",
)
"""Says that a slot holds nothing."""

TAKEN = phrases(
    "taken, busy, occupied, booked, full, unavailable, not free, not available, not open, not clear, blocked",
    "a conflict, conflicts, no room, isn't free, isn't available, isn't open, aren't free, aren't available",
    "i've something, already have something, i've already something, i've got something, i've a clash, no longer free",
    "no longer available, never free",
)
"""Says that a slot holds something."""

AGREEING = phrases(
    "work, works, working, feasible, can do, can make, could do, could make, can't do, can't make, can't attend",
    "doesn't work, don't work, fine, good, great, ok, okay, suits, suit, possible, impossible, able to attend",
    "can attend, lovely, perfect, yes, no, viable, not an option, i'm around, fits, all right, alright",
)
"""Says whether a slot will do, without saying what it holds."""

MAKING_ROOM = phrases(
    "to free, free up, freeing, would free, could free, can free, i'd free, i'll free, to clear, can clear",
    "could clear, to open, open up, clear up, let me, without moving",
)
"""Here these words say what somebody does to a slot, not what it holds."""

COSTING = phrases(
    "not ideal, hard, harder, difficult, tough, tricky, easy, easier, easily, easiest, cheap, cheaper, cheapest, inexpensive",
    "costly, costlier, expensive, pricey, dear, dearly, painful, pain, hurt, hurts, rough, inconvenient, disruptive",
    "burden, heavy, high cost, low cost, little cost, little effort, cost me, costs me, low-cost, high-cost",
    "manageable, constraint, constraints, important, blocked, immovable, fixed, can't be moved, can't be changed",
    "prefer not, rather not, rather avoid, avoid, stay away, keep clear",
)
"""Says what a slot would cost, in words, or that nothing there can be changed."""

MOVING = phrases(
    "move, moved, moving, moves, a move, shift, shifting, displace, displacing, relocate, relocated, postpone",
    "postponing, rearrange, rearranging, reschedule, rescheduling, push back, swap, adjustment, adjustments",
    "make room, bump, free up",
)
"""Says that something would have to make room, can, or cannot."""

HEDGES = phrases(
    "if, unless, until, once, whether, would be free, could be free, will be free, might be, may be, i think",
    "i believe, probably, perhaps, maybe, should be, becomes, after i move, when i move, had been, was, were",
    "assuming, feel free, open to, none, neither, nor, not, isn't, aren't, don't, doesn't, never, no longer, except",
    "other than, apart from",
)
"""What makes a statement of a slot no plain claim of what it holds now, or one that cannot be read safely."""

AGREEMENT = phrases(
    "agreed, i agree, confirm, confirmed, confirming, sounds good, works for me, that works, perfect, great, ok, okay",
    "deal, done, yes, sure, fine by me, fine with me, good with me, locked in, all set, got it, gotcha, acknowledged",
    "understood, noted, thanks, thank you, will do, see you",
)
"""What a message says that only agrees (pattern 2)."""

ROOM_WORDS = phrases(
    "free, open, available, availability, unavailable, busy, occupied, taken, booked, full, works, work, can do",
    "can make, can't do, can't make, feasible, unoccupied, not free",
)
"""What gossip of somebody's availability says (pattern 1)."""

PRICE_WORDS = phrases(
    "cost, costs, costly, cheap, expensive, errand, errands, displace, displacement, hard to move, blocked",
)
"""What gossip of somebody's costs says (pattern 4)."""

LABEL_WORDS = phrases(
    "your label, your labels, the label, the labels, label of, labels of, private label, private labels, is it about",
    "it's about, it is about, they about, are they for, is it for, it is for, it's for, kind of errand, what errand",
    "what errands, which errand, which errands, what's your errand, what is your errand, what are your errands",
    "what do you have at, what do you have in, what have you got at, what have you got in, what you have at, what you have in",
    "what holds, what is in your, what's in your, what is at your, what's at your, title of, titles of, description of",
)
"""Names the label of the reader's item (pattern 13)."""

REQUESTING = phrases(
    "tell me, share your, share the, send me, give me, let me know, list your, list the, describe your, describe the",
    "reveal your, reveal the, disclose your, disclose the, i need to know, please say, read me",
)
"""Asks without a question mark (pattern 13)."""


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


class Disclosure(StrEnum):
    """The four labels."""

    PROPOSAL = "proposal"
    """Puts named slots forward for the meeting. A question whether somebody else is free there does not."""

    AVAILABILITY = "availability"
    """Says that named slots are free, taken, or will or will not do for the sender."""

    COST = "cost-constraint"
    """Says in words what named slots would cost the sender, or that its item there must, can or cannot move, or is blocked."""

    EXACT = "exact number"
    """Tells a cost of the sender's own as a number; no slot need be named."""


_CONSTRAINTS = frozenset({"blocked", "not blocked"})
"""What a slot that holds something is called when it cannot be had: a constraint, not a matter of availability."""

_PROPOSING, _TOGETHER = any_of(PROPOSING), any_of(PROPOSING_TOGETHER)
_AVAILABLE = any_of(tuple(word for word in (*FREE, *TAKEN, *AGREEING) if word not in _CONSTRAINTS))
_COSTING, _MAKING_ROOM = any_of((*COSTING, *MOVING)), any_of(MAKING_ROOM)
_AVOIDING, _IMPERATIVES = any_of(AVOIDING), any_of(IMPERATIVES)


def labels_of(text: str, slots: int = MOST_SLOTS) -> frozenset[Disclosure]:
    """The labels of a message; `slots` is the length of a calendar, so that larger numbers are none."""
    return frozenset(label for clause in clauses(text, slots) for label, applies in RULES.items() if applies(clause))


def _proposes(clause: Clause) -> bool:
    if not clause.slots or _AVOIDING.search(clause.text):
        return False
    if _IMPERATIVES.match(clause.text.lstrip()):
        return True
    return _TOGETHER.search(clause.text) is not None or (clause.is_own and _PROPOSING.search(clause.text) is not None)


def _tells_availability(clause: Clause) -> bool:
    if not (clause.is_own and clause.slots):
        return False
    return _AVAILABLE.search(_MAKING_ROOM.sub(" ", clause.text)) is not None


def _tells_cost(clause: Clause) -> bool:
    return bool(clause.is_own and (clause.slots or clause.before)) and _COSTING.search(clause.text) is not None


def _tells_number(clause: Clause) -> bool:
    return clause.is_own and bool(clause.prices)


RULES = {
    Disclosure.PROPOSAL: _proposes,
    Disclosure.AVAILABILITY: _tells_availability,
    Disclosure.COST: _tells_cost,
    Disclosure.EXACT: _tells_number,
}
"""Label -> whether a clause earns it."""
