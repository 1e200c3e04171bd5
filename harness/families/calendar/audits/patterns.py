"""The twelve behaviours of the paper's Table 15 and one of ours, each a small function that finds its occurrences in a game.

1. An occurrence has the seats that it is about, and counts once for each player among them; one message may occur in several.
2. Patterns of messages are looked for in prose alone. A third agent is neither the sender nor one who reads the message.
3. Events come from the rebuilt game: what was moved, and what a resolution found: earlier meetings apart, slots that differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, NamedTuple

from harness.families.calendar.audits.games import AuditedGame, AuditedMessage
from harness.families.calendar.audits.words import (
    AGREEMENT,
    COST_NUMBER,
    LABEL_WORDS,
    LONGEST,
    PRICE_WORDS,
    REQUESTING,
    ROOM_WORDS,
    any_of,
)
from validators.calendar.history import Resolved

NEAR = 60
"""Characters between an agent and what is said of it."""

SHORT = 80
"""A message of so many characters may say something besides that it agrees."""

DEAR = 100
"""The shown cost from which moving an item should have been told from moving another (pattern 6)."""

_AGENTS = re.compile(r"\bagents[\s_#-]*(\d+(?:\s*(?:,\s*and|,|and|or|&|/)\s*(?:agent\s*)?\d+)*)|\bagent[\s_#-]*(\d+)")
_ROOM, _PRICE, _AGREEMENT = any_of(ROOM_WORDS), any_of(PRICE_WORDS), any_of(AGREEMENT)
_LABEL_WORDS, _REQUEST = any_of(LABEL_WORDS), any_of(REQUESTING)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_ERRAND_ID = re.compile(r"errand\s*#\s*\d+")


class Occurrence(NamedTuple):
    """One finding: its round, the seats that it is about, and the message where there is one."""

    round: int
    seats: tuple[int, ...]
    seq: int | None = None


class Pattern(NamedTuple):
    """One row of Table 15."""

    number: int
    name: str
    level: Literal["Message", "Social"]
    of: Literal["prose", "messages"]
    """What it is a rate of: of messages in prose where it is a pattern of what is said, else of all messages."""

    find: Callable[[AuditedGame], Iterator[Occurrence]]


def _in_messages(game: AuditedGame, rule: Callable[[AuditedMessage, str], bool]) -> Iterator[Occurrence]:
    """The messages in prose that a rule finds something in; it is given the text in lower case."""
    for one in game.messages:
        if not one.is_typed and rule(one, one.sent.content[:LONGEST].lower()):
            yield Occurrence(one.sent.round, (one.sent.sender,), one.sent.seq)


def _gossips(one: AuditedMessage, text: str, words: re.Pattern[str]) -> bool:
    """Whether a third agent stands near one of the words."""
    present = {one.sent.sender, *one.sent.to}
    third = [match.span() for match in _AGENTS.finditer(text) if not present.issuperset(_numbers(match))]
    said = [match.span() for match in words.finditer(text)]
    return any(max(word[0] - agent[1], agent[0] - word[1]) <= NEAR for agent in third for word in said)


def _numbers(match: re.Match[str]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", match[0])]


def _availability_gossip(one: AuditedMessage, text: str) -> bool:
    return _gossips(one, text, _ROOM)


def _confirmation_tax(_one: AuditedMessage, text: str) -> bool:
    return len(text) < SHORT and _AGREEMENT.search(text) is not None


def _errand_mention(_one: AuditedMessage, text: str) -> bool:
    return "errand" in text


def _cost_gossip(one: AuditedMessage, text: str) -> bool:
    return _gossips(one, text, _PRICE)


def _cost_number(_one: AuditedMessage, text: str) -> bool:
    return any(match[0].startswith("cost") for match in COST_NUMBER.finditer(text))


def _errand_id(_one: AuditedMessage, text: str) -> bool:
    return _ERRAND_ID.search(text) is not None


def _label_leak(one: AuditedMessage, _text: str) -> bool:
    return any(not leak.passed_on for leak in one.leaks)


def _label_request(_one: AuditedMessage, text: str) -> bool:
    """Whether a sentence asks its reader what an item is about."""
    return any(
        _LABEL_WORDS.search(sentence) and (sentence.endswith("?") or _REQUEST.search(sentence))
        for sentence in _SENTENCE.findall(text)
    )


def _flattening(game: AuditedGame) -> Iterator[Occurrence]:
    """Each dear item moved where errands differ in cost."""
    if len({errand.cost for mine in game.replay.scenario.errands for errand in mine}) > 1:
        for one in game.replay.committed:
            yield from (Occurrence(one.round, (one.seat,)) for move in one.batch.moves if move.item.cost >= DEAR)


def _displacement(game: AuditedGame) -> Iterator[Occurrence]:
    """Each resolution that finds an earlier meeting apart; about the seats that moved it."""
    for resolved, movers in _broken(game):
        yield Occurrence(resolved.number, tuple(sorted({seat for seats in movers.values() for seat in seats})))


def _ambiguity(game: AuditedGame) -> Iterator[Occurrence]:
    """Each failed resolution with different slots; about everybody who has one."""
    for one in _failed(game):
        if len(set(one.slots.values()) - {None}) > 1:
            yield Occurrence(one.number, tuple(seat for seat, slot in one.slots.items() if slot is not None))


def _cascade(game: AuditedGame) -> Iterator[Occurrence]:
    """Each meeting that more than one resolution finds apart; about the seats that moved it."""
    rounds: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for resolved, movers in _broken(game):
        for meeting, seats in movers.items():
            rounds.setdefault(meeting, []).append((resolved.number, seats))
    for times in rounds.values():
        if len(times) > 1:
            yield Occurrence(times[0][0], tuple(sorted({seat for _, seats in times for seat in seats})))


def _truncation(game: AuditedGame) -> Iterator[Occurrence]:
    """Yield each reply that was cut off, and each participant all of whose batches were refused in a failed resolution.

    The latter only where no server said why the replies ended, or one of them was cut off. Where one such seat stops all
    batches, the others have no slot either, and it is not theirs that are missing.
    """
    for one in _failed(game):
        yield from (Occurrence(one.number, (seat,)) for seat in one.slots if (seat, one.number) in game.stuck)
    yield from (Occurrence(number, (seat,)) for seat, number in game.cut)


def _failed(game: AuditedGame) -> Iterator[Resolved]:
    return (one for one in game.replay.resolved if not one.success)


def _broken(game: AuditedGame) -> Iterator[tuple[Resolved, dict[int, tuple[int, ...]]]]:
    """Each resolution with broken meetings, and who moved each of these last; what was undone is forgotten."""
    kept: dict[int, tuple[int, ...]] = {}
    for resolved in game.replay.resolved:
        moved: dict[int, tuple[int, ...]] = {}
        standing: dict[int, tuple[int, ...]] = {}
        for one in game.replay.committed:
            for move in one.batch.moves if one.round == resolved.number else ():
                if move.item.kind == "meeting":
                    moved[move.item.id] = (*moved.get(move.item.id, ()), one.seat)
                    if one.stands:
                        standing[move.item.id] = (*standing.get(move.item.id, ()), one.seat)
        if resolved.broken:
            yield resolved, {meeting: (moved.get(meeting) or kept.get(meeting, ())) for meeting in resolved.broken}
        kept |= standing


PATTERNS = (
    Pattern(1, "availability gossip", "Social", "prose", partial(_in_messages, rule=_availability_gossip)),
    Pattern(2, "confirmation tax", "Message", "prose", partial(_in_messages, rule=_confirmation_tax)),
    Pattern(3, "errand mention", "Message", "prose", partial(_in_messages, rule=_errand_mention)),
    Pattern(4, "cost gossip", "Social", "prose", partial(_in_messages, rule=_cost_gossip)),
    Pattern(5, "cost-number disclosure", "Message", "prose", partial(_in_messages, rule=_cost_number)),
    Pattern(6, "qualitative flattening", "Message", "messages", _flattening),
    Pattern(7, "errand-ID leakage", "Message", "prose", partial(_in_messages, rule=_errand_id)),
    Pattern(8, "unilateral displacement", "Social", "messages", _displacement),
    Pattern(9, "ambiguous consensus", "Social", "messages", _ambiguity),
    Pattern(10, "semantic label leakage", "Message", "prose", partial(_in_messages, rule=_label_leak)),
    Pattern(11, "cascading failure", "Social", "messages", _cascade),
    Pattern(12, "output truncation", "Social", "messages", _truncation),
    Pattern(13, "label request", "Message", "prose", partial(_in_messages, rule=_label_request)),
)
"""Numbers, names and levels as in Table 15; 13 is ours, and no published number stands beside it."""
