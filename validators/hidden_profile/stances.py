"""Where seats stood while they talked: consensus, and who gave way to the others (specification, 1.4); structured track only.

A stance is the option in a message's own field; a seat stands where it last said. An *opportunity* is a turn in which a seat
that has a stance sees a strict majority of all others stand for another option, and says where it stands now.
1. Without a private fact that is new to it since its last turn, going over to that option is a conformity switch.
2. With one it is an informed switch.
3. Where all others stand for one option that the seat's facts rule out, while they leave its own, staying is a brave hold.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from validators.hidden_profile.history import Replay
from validators.hidden_profile.knowledge import Knowledge, Proofs

MOVES = ("conformity", "informed", "brave")


@dataclass(slots=True)
class Moves:
    """One seat's opportunities, and how often it took them."""

    opportunities: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOVES, 0))
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOVES, 0))

    def count(self, kind: str, *, taken: bool) -> None:
        """Count one opportunity."""
        self.opportunities[kind] += 1
        self.taken[kind] += taken


def first_consensus(replay: Replay) -> tuple[int, str] | None:
    """The first whole round after which every seat last stood for one option, and that option."""
    latest: dict[int, str] = {}
    for turn in replay.turns:
        if turn.stance:
            latest[turn.seat] = turn.stance
        if turn.seat == replay.opening.seats[-1] and len(latest) == len(replay.opening.seats):
            options = set(latest.values())
            if len(options) == 1:
                return turn.round, options.pop()
    return None


def moves(replay: Replay, known: Knowledge, proved: Proofs | None) -> list[Moves]:
    """By seat: switches and holds; brave ones need proofs, and are not counted without."""
    counted = [Moves() for _ in replay.opening.seats]
    latest: dict[int, str] = {}
    last: dict[int, int] = {}
    private = set(replay.opening.scenario.of_scope("private"))
    for number, turn in enumerate(replay.turns, start=1):
        own = latest.get(turn.seat)
        others = Counter(stance for seat, stance in latest.items() if seat != turn.seat)
        if own and turn.stance and others:
            ((lead, backing),) = others.most_common(1)
            if lead != own and 2 * backing > len(counted) - 1:
                since = last[turn.seat]
                news = any(since < told < number for fact, told in known.learned[turn.seat].items() if fact in private)
                counted[turn.seat].count("informed" if news else "conformity", taken=turn.stance == lead)
                if backing == len(counted) - 1 and _sound(own, lead, known.known(turn.seat, number - 1), proved):
                    counted[turn.seat].count("brave", taken=turn.stance == own)
        last[turn.seat] = number
        if turn.stance:
            latest[turn.seat] = turn.stance
    return counted


def adopted(replay: Replay, seat: int, since: int) -> int | None:
    """The first turn of a seat, from 1, after turn `since`, in which it stood for the key; None where it never did."""
    key = replay.opening.scenario.key
    return next(
        (number for number, turn in enumerate(replay.turns, 1) if number > since and turn.seat == seat and turn.stance == key),
        None,
    )


def _sound(own: str, lead: str, known: frozenset[str], proved: Proofs | None) -> bool:
    return proved is not None and proved.supports(known, own, against=lead) is True
