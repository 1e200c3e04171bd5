"""SD-MAP repairs: moving an earlier meeting out of the way, for all its participants to one new slot (Appendix D.2).

1. A seat that agreed to the slot of an easier meeting has bumped it. It sends `reschedule_request` to that meeting's initiator,
who may be outside the new one; a seat that is this initiator starts at once.
2. The initiator walks its possible slots: `propose_reschedule` to all participants of the old meeting, `reschedule_reply` from
each; if all are PENDING it sends `confirm_reschedule`, if no slot is left `fail_reschedule`.
3. Seats with a confirmation move the meeting with the round's decisions: participants of the new meeting in DECISION, all
others in VOLUNTARY. Other seats move nothing.
4. After `fail_reschedule` the old meeting keeps its slot, so the seat withdraws its consent to the new one's (profile `text`).
A seat whose new meeting went elsewhere sends `fail_reschedule` to the old meeting's initiator, who forwards it.
Only meetings of one slot bump and are bumped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oracles.calendar.protocols.client import Mail, Outgoing, Payload, Seat, read_whole, reschedule_action, schedule_action
from worlds.calendar.rules.batch import Batch, Move, apply_batch
from worlds.calendar.rules.items import Cells, Item, slot_of, with_item

Moves = tuple[Move, ...]


def blocking_items(cells: Cells, slot: int, duration: int) -> list[tuple[int, Item]] | None:
    """Return the items in a span, each with the first of its slots there; None if the span leaves the calendar."""
    if slot < 0 or slot + duration > len(cells):
        return None
    obstacles: list[tuple[int, Item]] = []
    for cell in range(slot, slot + duration):
        item = cells[cell]
        if item is not None and (not obstacles or obstacles[-1][1] != item):
            obstacles.append((cell, item))
    return obstacles


def moves_for_insertion(cells: Cells, slot: int, duration: int, keep: Collection[int] = ()) -> Moves | None:
    """Return the moves that make room for a span, () if it is free; None if there is no room.

    An errand moves to the lowest free slot outside the span; blocked errands and meetings stay. `keep`: free slots that must
    stay free of errands.
    """
    items = blocking_items(cells, slot, duration)
    if items is None or any(item.kind == "meeting" or item.blocked for _, item in items):
        return None
    if not items:
        return ()
    span = range(slot, slot + duration)
    places = (cell for cell, item in enumerate(cells) if item is None and cell not in span and cell not in keep)
    moves = tuple(Move(item, source, target) for (source, item), target in zip(items, places, strict=False))
    return moves if len(moves) == len(items) else None


def cost_of_moves(moves: Moves) -> int:
    """Return the cost of moves for their owner, on the shown scale."""
    return sum(move.item.cost for move in moves)


def batch_actions(meeting: int, slot: int, moves: Sequence[Move]) -> list[dict[str, Any]]:
    """Return the actions that make room for a meeting and schedule it."""
    return [*move_actions(meeting, moves), schedule_action(meeting, slot)]


def move_actions(meeting: int, moves: Sequence[Move]) -> list[dict[str, Any]]:
    """Return the actions that make room for a meeting."""
    return [reschedule_action(move.item, move.source, move.target, meeting) for move in moves]


def guess_batch(cells: Cells, meeting: int, duration: int, rank: int, without: Collection[int] = ()) -> list[dict[str, Any]]:
    """Return the batch for the `rank`-th slot, from 0, that is possible on this calendar; empty if there is none.

    The published clients do this without an agreement, the n-th retry at rank n; profile `text` never does. `without`: slots
    that are no candidates.
    """
    slots = [slot for slot in range(len(cells)) if slot not in without]
    possible = [(slot, moves) for slot in slots if (moves := moves_for_insertion(cells, slot, duration)) is not None]
    return batch_actions(meeting, *possible[rank]) if rank < len(possible) else []


PENDING = "PENDING"
IMPOSSIBLE = "IMPOSSIBLE"


class Walk:
    """An initiator's vote over slots, one at a time: the slots left to try, and the votes on the current one."""

    def __init__(self, pool: Iterable[int], voters: Iterable[int]) -> None:
        self._pool, self._voters = list(pool), frozenset(voters)
        self._votes: dict[int, bool] = {}
        self.slot: int | None = None
        """The current slot; None before the first one and after the last."""

    def count_vote(self, sender: int, slot: int | None, status: object) -> None:
        """Count one vote; ignore a vote on another slot, or by another seat than the voters."""
        if slot == self.slot and sender in self._voters:
            self._votes[sender] = status == PENDING

    def mark_impossible(self) -> None:
        """Mark the current slot as impossible for the initiator itself."""
        self._votes = dict.fromkeys((-1, *self._voters), False)

    @property
    def is_agreed(self) -> bool:
        """True if all voters accept the current slot."""
        return self.slot is not None and len(self._votes) == len(self._voters) and all(self._votes.values())

    @property
    def is_refused(self) -> bool:
        """True if all voted and at least one is against; also true before the first slot."""
        return self.slot is None or (len(self._votes) >= len(self._voters) and not all(self._votes.values()))

    def advance(self) -> int | None:
        """Put the next slot to the vote; None if there is none left."""
        self.slot = self._pool.pop(0) if self._pool else None
        self._votes = {}
        return self.slot


def difficulty(participants: Iterable[int], me: int, sigma: Mapping[int, float]) -> float:
    """Return the difficulty of scheduling a meeting: the total weight of its other participants, 1 each by default."""
    return sum(sigma.get(agent, 1) for agent in participants if agent != me)


def is_bumpable(item: Item | None, seat: Seat, participants: Collection[int], duration: int) -> bool:
    """Return True if an existing meeting is strictly easier to schedule than a new one of these participants."""
    if item is None or item.kind != "meeting" or item.duration > 1 or duration > 1:
        return False
    mine, sigma = seat.number, seat.sigma
    return difficulty(item.participants, mine, sigma) < difficulty(participants, mine, sigma)


def moves_for_relocation(cells: Cells, source: int, target: int, keep: Collection[int]) -> Moves | None:
    """Return the moves that take the one-slot item at `source` to `target`, displacing an errand; None if there is no room.

    Returns () if it is there already. `keep`: slots that are promised to other items.
    """
    item = cells[source]
    if item is None or item.duration > 1 or target in keep:
        return None
    if target == source:
        return ()
    room = moves_for_insertion(with_item(cells, source, None), target, 1, keep)
    return None if room is None else (*room, Move(item, source, target))


@dataclass
class Led:
    """One repair that this seat leads."""

    item: Item
    source: int
    """Slot of the meeting when it was bumped."""

    walk: Walk
    is_over: bool = False

    def build_message(self, kind: str, target: int | None, **fields: Any) -> Payload:
        """Return one message of this repair."""
        return _message(kind, self.item.id, self.source, target, **fields)


class Repairs:
    """The repairs of one round that one seat requests, leads or takes part in."""

    def __init__(self, seat: Seat) -> None:
        self._me = seat.number
        self.bumped: tuple[Item, int] | None = None
        """The meeting that the agreed slot displaces on the own calendar, and that slot."""

        self._led: dict[int, Led] = {}
        self._asked: dict[int, int] = {}
        self.promised: dict[int, int] = {}
        """Meeting -> the slot agreed by all its participants."""

        self.fallen: set[int] = set()
        """Meetings whose repair has failed."""

    def start_repair(self, item: Item, slot: int, cells: Cells, keep: Collection[int]) -> list[Outgoing]:
        """Request a repair, or start one."""
        self.bumped = (item, slot)
        first = min(item.participants)
        if first != self._me:
            return [(first, _message("reschedule_request", item.id, slot))]
        self._lead(item, slot, cells, keep)
        return []

    def release(self) -> list[Outgoing]:
        """Give up the agreed slot and cancel the repair of the meeting there."""
        if self.bumped is None:
            return []
        (item, slot), self.bumped = self.bumped, None
        self.promised.pop(item.id, None)
        first = min(item.participants)
        if first == self._me:
            return self._call_off(item.id)
        return [] if item.id in self.fallen else [(first, _message("fail_reschedule", item.id, slot))]

    def read(self, letter: Mail, cells: Cells, keep: Collection[int]) -> list[Outgoing]:
        """Read one message about a meeting on the own calendar; ignore anything else."""
        payload = letter.payload
        number, source, target = (read_whole(payload.get(name)) for name in ("meeting_id", "from_slot", "to_slot"))
        here = None if number is None else slot_of(cells, number)
        item = None if here is None else cells[here]
        if here is None or item is None or source is None or letter.sender not in item.participants:
            return []
        if item.participants[0] == self._me:
            return self._conduct(letter, Led(item, source, Walk((), ())), target, cells, keep)
        return self._follow(letter, item, here, source, target, cells, keep)

    def advance_all(self) -> list[Outgoing]:
        """Advance every repair that this seat leads whose votes have arrived."""
        return [message for led in self._led.values() if not led.is_over for message in self._step(led)]

    def promised_moves(self, cells: Cells, keep: Collection[int]) -> Moves:
        """Return the promised moves of this seat, as far as its calendar has room for them."""
        done: Moves = ()
        for meeting, target in sorted(self.promised.items()):
            here = slot_of(cells, meeting)
            moves = None if here is None else moves_for_relocation(cells, here, target, keep)
            if moves is not None and not {move.item for move in moves} & {move.item for move in done}:
                cells, done = apply_batch(cells, Batch(None, moves), None), (*done, *moves)
        return done

    def _lead(self, item: Item, source: int, cells: Cells, keep: Collection[int]) -> None:
        here = slot_of(cells, item.id)
        if item.id in self._led or here is None:
            return
        pool = [
            slot for slot in range(len(cells)) if slot != source and moves_for_relocation(cells, here, slot, keep) is not None
        ]
        self._led[item.id] = Led(item, source, Walk(pool, set(item.participants) - {self._me}))

    def _conduct(self, letter: Mail, led: Led, target: int | None, cells: Cells, keep: Collection[int]) -> list[Outgoing]:
        kind, number = letter.payload.get("type"), led.item.id
        if kind == "reschedule_request":
            self._lead(led.item, led.source, cells, keep)
        elif kind == "reschedule_reply" and number in self._led:
            self._led[number].walk.count_vote(letter.sender, target, letter.payload.get("reply_status"))
        elif kind == "fail_reschedule":
            return self._call_off(number)
        return []

    def _follow(
        self, letter: Mail, item: Item, here: int, source: int, target: int | None, cells: Cells, keep: Collection[int]
    ) -> list[Outgoing]:
        kind, first = letter.payload.get("type"), item.participants[0]
        if letter.sender != first:
            return []
        if kind == "propose_reschedule" and target is not None:
            possible = moves_for_relocation(cells, here, target, keep) is not None
            if possible:
                self._asked[item.id] = target
            status = PENDING if possible else IMPOSSIBLE
            reply = _message("reschedule_reply", item.id, source, target, reply_status=status, attendee=self._me)
            return [(first, reply)]
        if kind == "confirm_reschedule" and target is not None and self._asked.get(item.id) == target:
            self.promised[item.id] = target
        elif kind == "fail_reschedule":
            self._fall(item.id)
        return []

    def _step(self, led: Led) -> list[Outgoing]:
        walk, sent = led.walk, []
        if walk.is_refused:
            target = walk.advance()
            if target is None:
                return self._call_off(led.item.id)
            sent = self._tell(led, "propose_reschedule", target, initiator=self._me)
        if walk.is_agreed and walk.slot is not None:
            led.is_over = True
            self.promised[led.item.id] = walk.slot
            sent = [*sent, *self._tell(led, "confirm_reschedule", walk.slot)]
        return sent

    def _call_off(self, meeting: int) -> list[Outgoing]:
        led = self._led.get(meeting)
        if led is None or meeting in self.fallen:
            return []
        led.is_over = True
        self._fall(meeting)
        return self._tell(led, "fail_reschedule", led.walk.slot)

    def _fall(self, meeting: int) -> None:
        self.promised.pop(meeting, None)
        self.fallen.add(meeting)

    def _tell(self, led: Led, kind: str, target: int | None, **fields: Any) -> list[Outgoing]:
        others = [agent for agent in led.item.participants if agent != self._me]
        return [(agent, led.build_message(kind, target, **fields)) for agent in others]


def _message(kind: str, meeting: int, source: int, target: int | None = None, **fields: Any) -> Payload:
    moved = {} if target is None else {"to_slot": target}
    return {"protocol": "sd", "type": kind, "meeting_id": meeting, "from_slot": source, **moved, **fields}
