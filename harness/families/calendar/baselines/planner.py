"""The planner: all tell how inconvenient each slot would be, and the least sum wins, earlier meetings moved where it pays.

1. A slot is free, easy, awkward or hard for a seat, and counts 0, 1, 2 or 3 (`grammar.WEIGHTS`); the least sum over the
   participants wins, the lowest slot among equals.
2. A slot where one earlier meeting stands can be had too, if all its participants move that meeting to one other slot. Who has
   it says where it could go. Who decides asks its other participants, once, where the sum could become less than the best
   without, and counts what each of them says; who does not answer does not move.
3. The meeting is moved by its participants alone: in DECISION by those who take part in the new one, in VOLUNTARY by those who
   were asked and had said that they could. One that is told to move something which it had not offered does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.families.calendar.baselines.prose import (
    EASY,
    FREE,
    WEIGHTS,
    Action,
    Company,
    Degrees,
    Movable,
    MoveQuestion,
    MoveRequest,
    ProseSeat,
    SaidBy,
    Suits,
    choice,
    common,
    degree,
    movable,
    question,
    usable,
)
from oracles.calendar.protocols.client import schedule
from oracles.calendar.protocols.insertion import moving, price
from oracles.calendar.protocols.reading import Mail
from oracles.calendar.protocols.repair import relocation
from worlds.calendar.rules.items import Item


class Placement(NamedTuple):
    """One way to have the round's meeting; plans are compared by their sums, one without a shift first, then by slots."""

    weight: int
    shift: tuple[MoveRequest, ...]
    """The earlier meeting that has to go, or nothing."""

    slot: int


class PlannerSeat(ProseSeat):
    """Tells degrees, and weighs what it heard."""

    def begin(self) -> None:
        """Forget the round before."""
        super().begin()
        self._offers: dict[tuple[int, int, int], Degrees] = {}
        """Seat, meeting, where it stands -> where that seat could move it, and how inconvenient that is."""

        self._company: dict[int, set[int]] = {}
        """Meeting -> its participants, as far as they were told."""

        self._asked: set[MoveQuestion] = set()
        self._shift: MoveRequest | None = None
        """What was agreed to be moved."""

    def hear(self, heard: SaidBy) -> None:
        """Take in one sentence; what somebody outside says counts for the meeting that was asked about."""
        super().hear(heard)
        sender, sentence = heard
        if isinstance(sentence, Movable):
            told = self._offers.setdefault((sender, sentence.meeting, sentence.source), {})
            told.update(dict.fromkeys(sentence.targets, sentence.degree))
            self._company.setdefault(sentence.meeting, set()).add(sender)
        elif isinstance(sentence, Company):
            others = (agent for agent in sentence.agents if agent < self.seat.agents)
            self._company.setdefault(sentence.meeting, set()).update((sender, *others))
        elif isinstance(sentence, MoveRequest) and sender == self.initiator:
            self._shift = sentence

    def suits(self) -> list[Suits]:
        """The slots of each degree."""
        told = self._degrees()
        return [Suits(tuple(slot for slot in told if told[slot] == word), word) for word in WEIGHTS]

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The slot with the least sum."""
        sums = {slot: sum(WEIGHTS[told[slot]] for told in degrees) for slot in common(degrees)}
        return min(sums, key=lambda slot: (sums[slot], slot), default=None)

    def more(self) -> str:
        """Where the meetings could go that stand in the way."""
        return " ".join(self._offer(item, slot) for slot, item in self._meetings())

    def lead(self, left: int) -> list[Action]:
        """Ask outsiders where that could pay, else say the slot, and what has to be moved for it."""
        known = self._known()
        slot = self.best(list(known.values()))
        plain = [] if slot is None else [Placement(sum(WEIGHTS[told[slot]] for told in known.values()), (), slot)]
        self._note_own()
        hoped = [plan for plan in self._shifts(known, EASY) if not plain or plan.weight < plain[0].weight]
        if left > 0 and not self._asked and (asked := self._ask(hoped)):
            return asked
        plans = [*plain, *(plan for plan in self._shifts(known, None) if not plain or plan.weight < plain[0].weight)]
        return self._say(min(plans)) if plans else []

    def answer(self, heard: Sequence[SaidBy]) -> list[Action]:
        """Tell who asked where an own meeting could go."""
        sent: list[Action] = []
        for sender, sentence in heard:
            item = self._standing(sentence.meeting, sentence.source) if isinstance(sentence, MoveQuestion) else None
            if item is not None and isinstance(sentence, MoveQuestion):
                text = self._offer(item, sentence.source) or f"I cannot move {item.name}."
                sent += self.tell([sender], text)
                self._note(item, sentence.source)
        return sent

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """Move what this seat had offered to move, if it was asked to in the end."""
        shift = self._shift
        if shift is None or self._standing(shift.meeting, shift.source) is None:
            return []
        if shift.target not in self._offers.get((self.me, shift.meeting, shift.source), {}):
            return []
        moves = relocation(self.calendar, shift.source, shift.target, ())
        return moving(self.facts.meeting, moves) if moves else []

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[Action]:
        """The batch for the slot that was said, with the move of an own meeting where that is part of it."""
        shift, slot = self._shift, self.chosen()
        item = self._standing(shift.meeting, shift.source) if shift else None
        if shift is None or item is None or slot != shift.source:
            return super().decide(mail, attempt)
        moves = relocation(self.calendar, shift.source, shift.target, (slot,))
        return [*moving(self.facts.meeting, moves), schedule(self.facts.meeting, slot)] if moves else []

    def _degrees(self) -> Degrees:
        return {slot: degree(price(moves)) if moves else FREE for slot, moves in usable(self).items()}

    def _meetings(self) -> Iterator[tuple[int, Item]]:
        """Every earlier meeting on the own calendar that could be moved for this one: both take one slot."""
        if self.facts.duration == 1:
            for slot, item in enumerate(self.calendar):
                if item is not None and item.kind == "meeting" and item.duration == 1:
                    yield slot, item

    def _standing(self, meeting: int, source: int) -> Item | None:
        return next((item for slot, item in self._meetings() if item.id == meeting and slot == source), None)

    def _targets(self, item: Item, source: int) -> Degrees:
        """Where an own meeting could go, the slot kept that it leaves, and how inconvenient that is."""
        slots = (slot for slot in range(len(self.calendar)) if slot != source)
        room = {slot: relocation(self.calendar, source, slot, (source,)) for slot in slots}
        return {slot: degree(price(moves)) for slot, moves in room.items() if moves}

    def _offer(self, item: Item, source: int) -> str:
        """The sentences on an own meeting; "" where it cannot be moved."""
        targets = self._targets(item, source)
        words = dict.fromkeys(targets.values())
        told = [Movable(item.id, source, tuple(t for t in targets if targets[t] == word), word) for word in words]
        others = Company(item.id, tuple(agent for agent in item.participants if agent != self.me))
        return movable(told, others) if told else ""

    def _note(self, item: Item, source: int) -> None:
        self._offers[self.me, item.id, source] = self._targets(item, source)
        self._company.setdefault(item.id, set()).update(item.participants)

    def _note_own(self) -> None:
        for slot, item in self._meetings():
            self._note(item, slot)

    def _shifts(self, known: dict[int, Degrees], unasked: str | None) -> Iterator[Placement]:
        """Every plan that moves an earlier meeting; who is outside and has told nothing counts as `unasked`, or prevents it."""
        for meeting, source in sorted({(meeting, source) for _, meeting, source in self._offers}):
            people = self._company[meeting]
            staying = [told.get(source) for agent, told in known.items() if agent not in people]
            offers = [self._offers.get((agent, meeting, source)) for agent in sorted(people)]
            silent = [agent for agent, told in zip(sorted(people), offers, strict=True) if told is None]
            blind = unasked is None or not known.keys().isdisjoint(silent)
            if None in staying or (silent and blind) or len(known) < len(self.facts.participants):
                continue
            told = [one for one in offers if one is not None]
            waiting = WEIGHTS[unasked or FREE] * len(silent)
            stay = sum(WEIGHTS[word] for word in staying if word is not None)
            for target in common(told):
                weight = stay + waiting + sum(WEIGHTS[one[target]] for one in told)
                yield Placement(weight, (MoveRequest(meeting, source, target),), source)

    def _ask(self, hoped: Sequence[Placement]) -> list[Action]:
        """Ask everybody outside whose word is missing for a plan that could pay, about each meeting once."""
        sent: list[Action] = []
        for shift in sorted({one._replace(target=0) for plan in hoped for one in plan.shift}):
            asked = MoveQuestion(shift.meeting, shift.source)
            missing = [one for one in sorted(self._company[shift.meeting]) if (one, *asked) not in self._offers]
            told = self.tell(missing, question(asked)) if missing else []
            if told:
                self._asked.add(asked)
                sent += told
        return sent

    def _say(self, plan: Placement) -> list[Action]:
        if not plan.shift:
            return self.announce(plan.slot)
        (shift,) = plan.shift
        outside = sorted(self._company[shift.meeting] - {*self.facts.participants})
        text = choice(plan.slot, shift)
        sent = self.announce(plan.slot, text)
        if sent or not self.others:
            self._shift = shift
            sent += self.tell(outside, text)
        return sent
