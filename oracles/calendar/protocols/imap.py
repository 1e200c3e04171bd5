"""IMAP: all responders tell the initiator the cost of every slot, and the cheapest sum wins (paper, Appendix D.1).

1. The initiator sends `cost_request` with all slots; each responder answers `costs`, an integer or null per slot.
2. The initiator takes the least total among the slots that are possible for all, the lowest slot of a tie, and sends
`decision`.
3. All participants schedule the meeting there and move its errands to the lowest free slots. Meetings are never moved.

Without an agreement (no common slot, or the talk was cut off) profile `text` sends an empty batch: the round then fails without
a cost, while a guess could only cost. Profile `paper` sends the empty batch first, and on each refusal guesses a slot by its
own calendar, as the published client does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oracles.calendar.protocols.client import Mail, Outgoing, Payload, Seat, TypedClient, read_whole
from oracles.calendar.protocols.repair import batch_actions, cost_of_moves, guess_batch, moves_for_insertion

Costs = dict[int, int]
"""Possible slots, with the cost of each for one seat."""


_SLOT = re.compile(r"[0-9]{1,4}\Z")


class Imap(TypedClient):
    """One seat of IMAP."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self.begin()

    def begin(self) -> None:
        """Reset the state of the round."""
        self._asked = False
        self._told: dict[int, Costs] = {}
        self._agreed: int | None = None

    def talk(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Return the messages that the mail requires: request, costs or decision."""
        if self.me not in self.facts.participants:
            return []
        sent = self._open()
        for letter in mail:
            sent += self._answer(letter)
        return sent + self._close()

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """Return the batch for the agreed slot; without one an empty batch, or a guess."""
        for letter in mail:
            self._answer(letter)
        meeting, duration = self.facts.meeting, self.facts.duration
        if self.follows_paper and attempt > 1:
            return guess_batch(self.calendar, meeting, duration, attempt - 1)
        moves = None if self._agreed is None else moves_for_insertion(self.calendar, self._agreed, duration)
        return [] if moves is None or self._agreed is None else batch_actions(meeting, self._agreed, moves)

    def _open(self) -> list[Outgoing]:
        if self._asked or self.me != self.initiator:
            return []
        self._asked = True
        return [
            (other, self._message("cost_request", slots=list(range(len(self.calendar))))) for other in self.other_participants
        ]

    def _answer(self, letter: Mail) -> list[Outgoing]:
        payload = letter.payload
        if payload.get("protocol") != "imap" or payload.get("meeting_id") != self.facts.meeting:
            return []
        kind = payload.get("type")
        if kind == "costs" and self.me == self.initiator and letter.sender in self.other_participants:
            self._told[letter.sender] = _costs(payload.get("costs"))
        elif letter.sender == self.initiator and kind == "cost_request":
            return [(letter.sender, self._message("costs", costs=self._vector(payload.get("slots"))))]
        elif letter.sender == self.initiator and kind == "decision":
            self._agreed = read_whole(payload.get("slot"))
        return []

    def _close(self) -> list[Outgoing]:
        if self.me != self.initiator or self._agreed is not None or len(self._told) < len(self.other_participants):
            return []
        vectors = [self._own(range(len(self.calendar))), *self._told.values()]
        totals = {slot: sum(vector[slot] for vector in vectors) for slot in set.intersection(*map(set, vectors))}
        if not totals:
            return []
        self._agreed = min(totals, key=lambda slot: (totals[slot], slot))
        return [(other, self._message("decision", slot=self._agreed)) for other in self.other_participants]

    def _vector(self, slots: Any) -> dict[str, int | None]:
        given = map(read_whole, slots) if isinstance(slots, list) else ()
        asked = [slot for slot in given if slot is not None and slot < len(self.calendar)]
        mine = self._own(asked)
        return {str(slot): mine.get(slot) for slot in asked}

    def _own(self, slots: Iterable[int]) -> Costs:
        insertions = ((slot, moves_for_insertion(self.calendar, slot, self.facts.duration)) for slot in slots)
        return {slot: cost_of_moves(moves) for slot, moves in insertions if moves is not None}

    def _message(self, kind: str, **fields: Any) -> Payload:
        return {"protocol": "imap", "type": kind, "meeting_id": self.facts.meeting, **fields}


def _costs(told: Any) -> Costs:
    """Parse a vector of costs; a slot with an invalid cost is impossible."""
    if not isinstance(told, Mapping):
        return {}
    return {int(slot): cost for slot, given in told.items() if _SLOT.match(slot) and (cost := read_whole(given)) is not None}
