"""Where seats stood while they talked: consensus, and who gave way to the others (specification, 1.4).

A stance is the option in the field of a message on the structured track, or the answer to a poll after a round, which nobody
hears of; a seat stands where it last said. An *opportunity* is a stance of a seat that had one before, while a strict majority
of all others stands for another option.
1. Without a private fact that is new to it since its last stance, going over to that option is a conformity switch.
2. With one it is an informed switch.
3. Where all others stand for one option that the seat's facts rule out, while they leave its own, staying is a brave hold.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

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
    stances = list(replay.stances)
    people = len(replay.opening.seats)
    for last in range(people, len(replay.turns) + 1, people):
        while stances and stances[0].turn <= last:
            stance = stances.pop(0)
            latest[stance.seat] = stance.option
        if len(latest) == people and len(set(latest.values())) == 1:
            return replay.turns[last - 1].round, latest[0]
    return None


def moves(replay: Replay, known: Knowledge, proved: Proofs | None) -> list[Moves]:
    """By seat: switches and holds; brave ones need proofs, and are not counted without."""
    counted = [Moves() for _ in replay.opening.seats]
    latest: dict[int, str] = {}
    since: dict[int, int] = {}
    private = set(replay.opening.scenario.of_scope("private"))
    for turn, together in groupby(replay.stances, key=attrgetter("turn")):
        stood = dict(latest)
        for stance in together:
            seat, own = stance.seat, stood.get(stance.seat)
            others = Counter(option for other, option in stood.items() if other != seat)
            if own and others:
                ((lead, backing),) = others.most_common(1)
                if lead != own and 2 * backing > len(counted) - 1:
                    learned = known.learned[seat].items()
                    news = any(since[seat] < told <= stance.heard for fact, told in learned if fact in private)
                    counted[seat].count("informed" if news else "conformity", taken=stance.option == lead)
                    if backing == len(counted) - 1 and _sound(own, lead, known.known(seat, stance.heard), proved):
                        counted[seat].count("brave", taken=stance.option == own)
            latest[seat], since[seat] = stance.option, turn
    return counted


def adopted(replay: Replay, seat: int, since: int) -> int | None:
    """The first turn by which a seat that had heard turn `since` stood for the key; None where it never did."""
    key = replay.opening.scenario.key
    return next((one.turn for one in replay.stances if one.heard >= since and (one.seat, one.option) == (seat, key)), None)


def _sound(own: str, lead: str, known: frozenset[str], proved: Proofs | None) -> bool:
    return proved is not None and proved.supports(known, own, against=lead) is True
