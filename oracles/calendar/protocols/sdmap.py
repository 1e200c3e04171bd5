"""SD-MAP: the initiator walks its slots and asks for a yes or no each time; costs are never revealed (paper, Appendix D.2).

1. `propose` one slot, `reply` PENDING or IMPOSSIBLE from each; if all are PENDING it sends `confirm`, if no slot is left
`fail`. A slot takes a sweep, regardless of the order of speakers.
2. A slot with a meeting is possible if that meeting is strictly easier to schedule than the new one: it is bumped, and
`repair` finds another slot for all its participants.

The paper repairs in the talk of the next round; its round fails meanwhile, so if failed rounds are reverted, a bump would never
take effect. Profile `text` therefore repairs in the talk of the same round, right after the `confirm`, with the same messages.
After `fail_reschedule` the old meeting keeps its slot: the seat withdraws its PENDING by a second `reply`, the walk goes on.

Profile `paper` behaves like the published code, including its faults (docs/calendar.md, "Reference protocols"): a responder
holds the slots that it accepted, an initiator its current one; a responder does not check if a displaced errand has a free
slot; a bump moves the old meeting to the lowest free slot at once, and a failed repair puts it back if its slot is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oracles.calendar.protocols.client import Mail, Outgoing, Payload, Seat, TypedClient, read_whole
from oracles.calendar.protocols.repair import (
    IMPOSSIBLE,
    PENDING,
    Moves,
    Repairs,
    Walk,
    batch_actions,
    blocking_items,
    guess_batch,
    is_bumpable,
    move_actions,
    moves_for_insertion,
)
from worlds.calendar.rules.batch import Batch, Move, apply_batch
from worlds.calendar.rules.items import Item


class SdMap(TypedClient):
    """One seat of SD-MAP."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._held: dict[int, int] = {}
        """Slot -> the meeting for which it is PENDING."""

        self._owed: list[tuple[Item, int]] = []
        self._before: dict[int, int] = {}
        self.begin()

    def begin(self) -> None:
        """Reset the state of the round; profile `paper` keeps held slots and bumped meetings."""
        self._agreed: int | None = None
        self._walk: Walk | None = None
        self._confirmed: int | None = None
        """The slot that this seat confirmed to the others as initiator."""

        self._failed = False
        self._repairs = Repairs(self.seat)
        if not self.follows_paper:
            self._held = {}

    def talk(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Vote, advance the walk, and handle repairs."""
        sent = self._owe()
        for letter in mail:
            sent += self._read(letter)
        sent += self._repairs.advance_all() + self._settle()
        if self.me == self.initiator:
            # a walk that ends may start a repair of this seat's own
            sent += self._step() + self._repairs.advance_all() + self._settle()
        return sent

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """Return the batch for the agreed slot and the promised moves; without a slot an empty batch, or a guess."""
        for letter in mail:
            self._read(letter)
        self._settle()
        if self.follows_paper and attempt > 1:
            return guess_batch(self.calendar, self.facts.meeting, self.facts.duration, attempt - 1, self._held)
        promised = self._promised()
        if self._agreed is None:
            return []
        rest = moves_for_insertion(apply_batch(self.calendar, Batch(None, promised), None), self._agreed, self.facts.duration)
        if rest is None or {move.item for move in rest} & {move.item for move in promised}:
            return []
        return batch_actions(self.facts.meeting, self._agreed, (*promised, *rest))

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """Return the moves promised to the participants of an own meeting."""
        for letter in mail:
            self._read(letter)
        return move_actions(self.facts.meeting, self._promised())

    def _read(self, letter: Mail) -> list[Outgoing]:
        payload = letter.payload
        if payload.get("protocol") != "sd" or not (self.follows_paper or letter.meeting == self.facts.meeting):
            return []
        if "from_slot" in payload:
            return self._repairs.read(letter, self.calendar, self._taken)
        meeting, slot, kind = read_whole(payload.get("meeting_id")), read_whole(payload.get("slot")), payload.get("type")
        if meeting is None or not (self.follows_paper or meeting == self.facts.meeting):
            return []
        if kind == "reply":
            if self._walk and meeting == self.facts.meeting:
                self._walk.count_vote(letter.sender, slot, payload.get("reply_status"))
            return []
        if not self.follows_paper and (letter.sender != self.initiator or self.me not in self.facts.participants):
            return []
        return self._follow(letter.sender, kind, meeting, slot)

    def _follow(self, initiator: int, kind: object, meeting: int, slot: int | None) -> list[Outgoing]:
        if kind == "confirm" and slot is not None and slot < len(self.calendar):
            self._release(meeting)
            return self._agree(slot)
        if kind == "fail":
            self._release(meeting)
            return self._withdraw()
        if kind == "propose" and slot is not None:
            sent = [] if self.follows_paper else self._withdraw()
            status = PENDING if self._possible(slot) else IMPOSSIBLE
            if status == PENDING:
                self._held |= dict.fromkeys(range(slot, slot + self.facts.duration), meeting)
            return [*sent, (initiator, self._reply(meeting, slot, status))]
        return []

    def _step(self) -> list[Outgoing]:
        """Take the initiator's next step, if the votes have arrived."""
        if self._failed:
            return []
        if self._walk is None:
            slots = range(len(self.calendar))
            self._walk = Walk([slot for slot in slots if self._candidate(slot)], self.other_participants)
        sent: list[Outgoing] = []
        if self._walk.is_refused:
            sent += self._next(self._walk)
        if self._walk.is_agreed and self._confirmed != self._walk.slot and self._walk.slot is not None:
            self._confirmed = self._walk.slot
            self._release(self.facts.meeting)
            sent += self._tell("confirm", slot=self._walk.slot)
            sent += self._agree(self._walk.slot)
        return sent

    def _next(self, walk: Walk) -> list[Outgoing]:
        self._release(self.facts.meeting)
        sent = [] if self.follows_paper else self._withdraw()
        slot = walk.advance()
        if slot is None:
            self._failed = True
            return [*sent, *self._tell("fail")]
        self._held |= dict.fromkeys(range(slot, slot + self.facts.duration), self.facts.meeting)
        return [*sent, *self._tell("propose", slot=slot, initiator=self.me)]

    def _agree(self, slot: int) -> list[Outgoing]:
        self._agreed, self._repairs.bumped = slot, None
        item = self.calendar[slot]
        if item is None or not self._bumps(item):
            return []
        if self.follows_paper:
            self._repairs.bumped = (item, slot)
            return []
        return self._repairs.start_repair(item, slot, self.calendar, self._taken)

    def _withdraw(self) -> list[Outgoing]:
        self._agreed = None
        if self.follows_paper:
            self._repairs.bumped = None
            return []
        self._held = {}
        return self._repairs.release()

    def _settle(self) -> list[Outgoing]:
        for meeting in self._repairs.fallen & self._before.keys():
            self._repairs.promised[meeting] = self._before.pop(meeting)
        bumped, slot = self._repairs.bumped, self._agreed
        if self.follows_paper or bumped is None or bumped[0].id not in self._repairs.fallen or slot is None:
            return []
        sent = self._withdraw()
        if self.me != self.initiator:
            return [*sent, (self.initiator, self._reply(self.facts.meeting, slot, IMPOSSIBLE))]
        if self._walk:
            self._walk.mark_impossible()
        return sent

    def _owe(self) -> list[Outgoing]:
        """Request the repairs of meetings bumped in earlier rounds (profile `paper`)."""
        owed, self._owed = self._owed, []
        sent: list[Outgoing] = []
        for item, slot in owed:
            self._before[item.id] = slot
            sent += self._repairs.start_repair(item, slot, self.calendar, self._taken)
            self._repairs.bumped = None
        return sent

    def _promised(self) -> Moves:
        done = self._repairs.promised_moves(self.calendar, self._taken)
        if not self.follows_paper or self._repairs.bumped is None:
            return done
        item, slot = self._repairs.bumped
        cells = apply_batch(self.calendar, Batch(None, done), None)
        free = next((cell for cell, other in enumerate(cells) if other is None and cell not in self._taken), None)
        self._owed = [(item, slot)]
        if free is None or cells[slot] != item or any(move.item == item for move in done):
            return done
        return (*done, Move(item, slot, free))

    @property
    def _taken(self) -> set[int]:
        """Slots that are promised to a meeting."""
        span = () if self._agreed is None else range(self._agreed, self._agreed + self.facts.duration)
        return {*self._held, *span}

    def _bumps(self, item: Item) -> bool:
        return is_bumpable(item, self.seat, self.facts.participants, self.facts.duration)

    def _candidate(self, slot: int) -> bool:
        if self._is_held(slot):
            return False
        item = self.calendar[slot]
        return moves_for_insertion(self.calendar, slot, self.facts.duration) is not None or (
            item is not None and self._bumps(item)
        )

    def _possible(self, slot: int) -> bool:
        items = blocking_items(self.calendar, slot, self.facts.duration)
        if items is None or self._is_held(slot):
            return False
        if not self.follows_paper and not any(item.kind == "meeting" for _, item in items):
            return moves_for_insertion(self.calendar, slot, self.facts.duration) is not None
        return all(self._bumps(item) if item.kind == "meeting" else not item.blocked for _, item in items)

    def _is_held(self, slot: int) -> bool:
        return not self._held.keys().isdisjoint(range(slot, slot + self.facts.duration))

    def _release(self, meeting: int) -> None:
        self._held = {slot: holder for slot, holder in self._held.items() if holder != meeting}

    def _tell(self, kind: str, **fields: Any) -> list[Outgoing]:
        message = {"protocol": "sd", "type": kind, "meeting_id": self.facts.meeting, **fields}
        return [(other, message) for other in self.other_participants]

    def _reply(self, meeting: int, slot: int, status: str) -> Payload:
        fields = {"slot": slot, "reply_status": status, "attendee": self.me}
        return {"protocol": "sd", "type": "reply", "meeting_id": meeting, **fields}
