"""DSM: the initiator offers plans, all answer with satisfaction levels, the best plan is announced (paper, Appendix D.3).

1. `proposals` go to all responders, and to third parties whose meetings a plan moves; the best own levels are offered first.
2. `scores` come back; third parties score only their own moves, and a plan that moves none of their items gets the top level.
3. `decision` names the best plan if it suits every scorer. Otherwise the next untried plans are offered: `welfare` until none
is left, `private` only while an offer has a higher utility than none (U > -beta), which its theta excludes after the first.
Then `fail` is sent, and every seat sends an empty batch.
4. Participants carry the plan out in DECISION and third parties in VOLUNTARY. Both commit together, so an earlier meeting that
makes room moves on all its calendars at once or not at all.

Messages are proposals{slots: plan ids, plans, round, participants}, scores{scores: {plan id: level}, round}, decision{slot,
plan_id, participants, displacements, reward} and fail{round}. `round` counts the offers of one meeting from 1, so an answer
names its offer. A parser returns None for anything that is no message of DSM.

Profile `paper` is the published client (docs/calendar.md, "Reference protocols"); its plans are scored `trusting`: a slot that
a plan clears counts as free, although another meeting or a blocked errand may be there, as the reference games show in chains
of two.

A satisfaction level is the cost of a plan for one seat on its own calendar, and the only information that DSM reveals. Moved
meetings are lifted, and placed where this calendar is free then; what is left in the way must be movable errands. The level is
0 for an infeasible plan and D - 1 for one that moves nothing; it decreases by one per unit of cost, to at least 1. A level s >
0 costs its scorer D - 1 - s points; if a plan is chosen, a scorer receives R = (D - 1 - s*) + max(0, min(A, L) - 1), and
nothing without a concession (Farhadi and Jennings 2021). Points are recorded and reported, but never influence a client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

from oracles.calendar.protocols.client import Mail, Outgoing, Payload, Seat, TypedClient, read_whole
from oracles.calendar.protocols.repair import (
    Moves,
    batch_actions,
    blocking_items,
    cost_of_moves,
    move_actions,
    moves_for_insertion,
)
from worlds.calendar.rules.batch import Move
from worlds.calendar.rules.items import Cells, Item, slot_of, with_item

LEVELS = 12
"""D: levels are 0..D-1 (paper, Appendix D.3)."""

BEST = LEVELS - 1


class Shift(NamedTuple):
    """One earlier meeting that a plan moves, on all its participants' calendars; slots are where it begins."""

    meeting: int
    source: int
    target: int
    participants: tuple[int, ...]


class DsmPlan(NamedTuple):
    """One candidate: the slot of the round's meeting, and the earlier meetings that make room."""

    id: int
    slot: int
    shifts: tuple[Shift, ...] = ()

    def outsiders(self, participants: Sequence[int]) -> set[int]:
        """Return the seats outside the round's meeting whose meetings are moved."""
        return {seat for shift in self.shifts for seat in shift.participants} - set(participants)


def satisfaction_level(moves: Moves | None) -> int:
    """Return the satisfaction level of a plan's moves; None means infeasible."""
    return 0 if moves is None else max(1, BEST - cost_of_moves(moves))


def required_moves(cells: Cells, plan: DsmPlan, me: int, duration: int, *, trusting: bool = False) -> Moves | None:
    """Return the moves of seat `me` in a plan, None if impossible; `duration` is 0 for a seat outside the meeting."""
    landings = [_landing(cells, shift) for shift in plan.shifts if me in shift.participants]
    shifted = [move for move in landings if move]
    lifted = cells
    for move in shifted:
        lifted = with_item(lifted, move.source, None, move.item.duration)
    cleared = {shift.source for shift in plan.shifts} if trusting else set()
    landed = _landed(lifted, [move for move in shifted if move.target not in cleared])
    if landed is None or len({move.item.name for move in shifted}) < len(landings):
        return None
    errands = moves_for_insertion(landed, plan.slot, duration) if duration else ()
    return None if errands is None else (*shifted, *errands)


def _landing(cells: Cells, shift: Shift) -> Move | None:
    """Return the move of a meeting, None if it does not begin where the plan says or would leave the calendar."""
    if slot_of(cells, shift.meeting) != shift.source:
        return None
    item = cells[shift.source]
    assert isinstance(item, Item)
    return Move(item, shift.source, shift.target) if 0 <= shift.target <= len(cells) - item.duration else None


def _landed(cells: Cells, moves: Sequence[Move]) -> Cells | None:
    """Return the calendar with meetings at their targets; None if one would overlap another item."""
    for move in moves:
        if any(cells[move.target : move.target + move.item.duration]):
            return None
        cells = with_item(cells, move.target, move.item, move.item.duration)
    return cells


BUDGET = 100
"""Initial points of every seat."""


@dataclass(frozen=True, slots=True)
class Reward:
    """Record of one scorer in one decision, as in the message."""

    selected_score: int
    availability: int
    """A: number of plans with a level above 0."""

    flexibility: int
    """Sum over levels s of count(s) (A + 1)^s; it grows with the number of plans and their levels; reported, not paid."""

    scoring_cost: int
    """Total points that its scores cost in all offers of the meeting."""

    reward: int
    """R."""

    def to_message(self) -> Mapping[str, int]:
        """Return the fields of the message."""
        return asdict(self)


def score_reward(scores: Sequence[int], selected: int) -> Reward:
    """Return the record for a seat's reported levels and its level of the chosen plan."""
    feasible = [score for score in scores if score > 0]
    available = len(feasible)
    flexibility = sum((available + 1) ** score for score in feasible)
    paid = 0 if selected in (0, BEST) else BEST - selected + max(0, min(available, len(scores)) - 1)
    return Reward(selected, available, flexibility, sum(BEST - score for score in feasible), paid)


def updated_budget(points: int, gained: int, paid: int) -> int:
    """Return a budget after one decision; it never falls below 0."""
    return max(0, points + gained - paid)


Chain = tuple[tuple[Item, Shift], ...]
"""Meetings that move, with their shifts; the last one moves to a free slot."""


def enumerate_plans(cells: Cells, duration: int, depth: int, targets: int) -> list[DsmPlan]:
    """Return every plan for a calendar, feasible or not; at most `depth` meetings per chain and `targets` chains per slot.

    A slot without a meeting is one plan, whose id is the slot. A meeting that begins there may move to a free slot of the
    initiator, or to another meeting's, which then moves in the same way; the ids are (slot + 1) * 1000 + place (Table 9).
    """
    suggested: list[DsmPlan] = []
    for slot in range(len(cells) - duration + 1):
        span = frozenset(range(slot, slot + duration))
        meetings = [item for _, item in blocking_items(cells, slot, duration) or [] if item.kind == "meeting"]
        if not meetings:
            suggested.append(DsmPlan(slot, slot))
        elif len(meetings) == 1:
            chains = sorted(_chains(cells, meetings[0], span, depth), key=_order)[:targets]
            suggested += [
                DsmPlan((slot + 1) * 1000 + place, slot, tuple(shift for _, shift in chain))
                for place, chain in enumerate(chains)
            ]
    return suggested


def _chains(cells: Cells, item: Item, taken: frozenset[int], depth: int) -> Iterator[Chain]:
    """Yield every chain that moves a meeting away, without using the `taken` cells."""
    source = cells.index(item)
    taken = taken.union(range(source, source + item.duration))
    for target in range(len(cells) - item.duration + 1):
        span = range(target, target + item.duration)
        there = blocking_items(cells, target, item.duration) or []
        if taken.intersection(span) or len(there) > 1:
            continue
        move = (item, Shift(item.id, source, target, item.participants))
        if not there:
            yield (move,)
        elif depth > 1 and there[0][1].kind == "meeting":
            for rest in _chains(cells, there[0][1], taken.union(span), depth - 1):
                yield (move, *rest)


def _order(chain: Chain) -> tuple[int, int, tuple[int, ...]]:
    return sum(item.cost for item, _ in chain), len(chain), tuple(shift.target for _, shift in chain)


def proposals_message(plans: Sequence[DsmPlan], offer: int, participants: Sequence[int]) -> Payload:
    """Return the message of one offer."""
    return {
        **_head("proposals"), "slots": [plan.id for plan in plans], "plans": [_plan(plan) for plan in plans],
        "round": offer, "participants": list(participants),
    }  # fmt: skip


def scores_message(levels: Mapping[int, int], offer: int) -> Payload:
    """Return the message with the levels of every plan of an offer."""
    return {**_head("scores"), "scores": {str(plan): level for plan, level in levels.items()}, "round": offer}


def decision_message(plan: DsmPlan, participants: Sequence[int], reward: Reward) -> Payload:
    """Return the message of the chosen plan, with its reader's own record."""
    return {
        **_head("decision"), "slot": plan.slot, "plan_id": plan.id, "participants": list(participants),
        "displacements": [_shift(shift) for shift in plan.shifts], "reward": reward.to_message(),
    }  # fmt: skip


def failure_message(offer: int) -> Payload:
    """Return the message that no slot was found."""
    return {**_head("fail"), "round": offer}


def read_type(payload: Payload) -> str:
    """Return the type of a DSM message; "" for anything else."""
    message_type = payload.get("type")
    return message_type if payload.get("protocol") == "dsm" and isinstance(message_type, str) else ""


def read_offer(payload: Payload) -> tuple[int, list[DsmPlan]] | None:
    """Parse the number of an offer and its plans."""
    offer, records = read_whole(payload.get("round")), payload.get("plans")
    if offer is None or not isinstance(records, list):
        return None
    return offer, [plan for one in records if isinstance(one, Mapping) and (plan := _read_plan(one, "id"))]


def read_scores(payload: Payload) -> tuple[int, dict[int, int]] | None:
    """Parse the number of the answered offer, and the levels by plan."""
    offer, levels = read_whole(payload.get("round")), payload.get("scores")
    if offer is None or not isinstance(levels, Mapping):
        return None
    read = [(_number(plan), read_whole(level)) for plan, level in levels.items()]
    return offer, {plan: level for plan, level in read if plan is not None and level is not None and level <= BEST}


def read_decision(payload: Payload) -> DsmPlan | None:
    """Parse the chosen plan."""
    return _read_plan(payload, "plan_id")


def read_reward(payload: Payload) -> tuple[int, int]:
    """Return the points that a decision's reader pays and receives; zeros if missing."""
    record = payload.get("reward")
    if not isinstance(record, Mapping):
        return 0, 0
    return read_whole(record.get("scoring_cost")) or 0, read_whole(record.get("reward")) or 0


def _head(type_: str) -> dict[str, Any]:
    return {"protocol": "dsm", "type": type_}


def _plan(plan: DsmPlan) -> Payload:
    return {
        "id": plan.id, "slot": plan.slot, "displacements": [_shift(shift) for shift in plan.shifts],
        "cleared_slots": [shift.source for shift in plan.shifts],
    }  # fmt: skip


def _shift(shift: Shift) -> Payload:
    return {
        "meeting_id": shift.meeting, "from_slot": shift.source, "to_slot": shift.target,
        "participants": list(shift.participants),
    }  # fmt: skip


def _read_plan(value: Payload, name: str) -> DsmPlan | None:
    number, slot, displaced = read_whole(value.get(name)), read_whole(value.get("slot")), value.get("displacements", [])
    if number is None or slot is None or not isinstance(displaced, list):
        return None
    shifts = [shift for one in displaced if isinstance(one, Mapping) and (shift := _read_shift(one))]
    return DsmPlan(number, slot, tuple(shifts)) if len(shifts) == len(displaced) else None


def _read_shift(value: Payload) -> Shift | None:
    meeting, source, target = (read_whole(value.get(name)) for name in ("meeting_id", "from_slot", "to_slot"))
    who = value.get("participants")
    if meeting is None or source is None or target is None or not isinstance(who, list):
        return None
    seats = [seat for one in who if (seat := read_whole(one)) is not None]
    return Shift(meeting, source, target, tuple(seats)) if len(seats) == len(who) else None


def _number(text: Any) -> int | None:
    # keys are text in JSON; 9 digits hold any plan id, and no number that is slow to read
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 9 else None


class Tally:
    """Offers and answers for one meeting; `own` are the initiator's levels by plan id.

    Feasible plans rank first, then those whose scores are in total nearest to the top level.
    """

    def __init__(self, me: int, participants: Sequence[int], own: Mapping[int, int]) -> None:
        self._me, self._participants, self._own = me, tuple(participants), own
        self._scores: dict[int, dict[int, int]] = {}
        self._waiting: set[int] = set()
        self.offers = 0
        self.plans: list[DsmPlan] = []
        """The open offer."""

    def start_offer(self, plans: Sequence[DsmPlan]) -> list[int]:
        """Start the next offer; return the seats that one of its plans concerns, ascending."""
        self.offers, self.plans = self.offers + 1, list(plans)
        self._waiting = {seat for plan in plans for seat in self.other_seats(plan)}
        return sorted(self._waiting)

    def record_answer(self, seat: int, offer: int, levels: Mapping[int, int]) -> None:
        """Record one answer; only a seat's first answer to the open offer counts, and an omitted plan is infeasible."""
        if offer == self.offers and seat in self._waiting:
            self._waiting.remove(seat)
            self._scores.setdefault(seat, {}).update({plan.id: levels.get(plan.id, 0) for plan in self.plans})

    def is_complete(self) -> bool:
        """Return True if all seats have answered."""
        return not self._waiting

    def best_plan(self) -> DsmPlan | None:
        """Return the best plan of the open offer, feasible or not; None for an empty offer."""
        return min(self.plans, key=self._rank, default=None)

    def is_feasible(self, plan: DsmPlan) -> bool:
        """Return True if a plan suits all its scorers."""
        return all(self._levels(plan))

    def other_seats(self, plan: DsmPlan) -> list[int]:
        """Return all other seats that a plan concerns, ascending."""
        return sorted({*self._participants, *plan.outsiders(self._participants)} - {self._me})

    def scorer_record(self, seat: int, plan: DsmPlan) -> Reward:
        """Return a scorer's record for the choice of a plan, based on all its scores for this meeting."""
        told = self._scores.get(seat, {})
        return score_reward(list(told.values()), told.get(plan.id, 0))

    def _levels(self, plan: DsmPlan) -> list[int]:
        told = [self._scores.get(seat, {}).get(plan.id, 0) for seat in self.other_seats(plan)]
        return [self._own.get(plan.id, 0), *told]

    def _rank(self, plan: DsmPlan) -> tuple[bool, int, int, int, int]:
        levels = self._levels(plan)
        return not all(levels), BEST * len(levels) - sum(levels), len(levels), plan.slot, plan.id


PRIVACY = 1.0
"""c: weight of the disclosure of one plan."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One operating point (paper, Table 9)."""

    smallest: int
    """L_min: minimum number of plans in an offer."""

    largest: int
    """L_max: maximum number of plans in an offer."""

    beta: float
    """Cost of a failed offer."""

    theta: float
    """Cost of each disclosed plan."""

    social: float
    """w: value of success beside the own level."""

    depth: int
    """Number of meetings that one plan may move in a chain."""

    targets: int
    """Number of chains considered for each slot."""

    exhaustive: bool
    """True if offers continue until one suits or none is left; otherwise only while their utility exceeds that of none."""


WELFARE = Preset(1, 12, beta=1.0, theta=0.0, social=1.0, depth=2, targets=4, exhaustive=True)
PRIVATE = Preset(1, 2, beta=0.25, theta=10.0, social=0.25, depth=1, targets=2, exhaustive=False)
PRIVATE_EXHAUSTIVE = Preset(1, 2, beta=0.25, theta=10.0, social=0.25, depth=1, targets=2, exhaustive=True)


def success_probability(cells: Cells, responders: int) -> float:
    """Return p, the estimated probability in .01...95 that a plan suits all responders; every occupied cell counts as busy."""
    busy = sum(item is not None for item in cells)
    free = min(max(1 - busy / len(cells), 0.05), 0.95)
    return float(min(max(free ** max(1, responders), 0.01), 0.95))


def utility(levels: Sequence[int], p: float, preset: Preset) -> float:
    """Return U(L) = q v + w q - theta c L - beta (1 - q) of offering L plans with these own levels (paper, Appendix D.3).

    q is the probability that one of them suits all, and v the mean of the levels.
    """
    size = len(levels)
    q = 1 - (1 - p) ** size
    own = sum(levels) / size / BEST
    return q * own + preset.social * q - preset.theta * PRIVACY * size - preset.beta * (1 - q)


def offer_size(levels: Sequence[int], p: float, preset: Preset) -> tuple[int, float]:
    """Return the best L for untried plans with these own levels, best first, and its U(L); the smallest L of a tie, or 0."""
    sizes = range(min(preset.smallest, len(levels)), min(preset.largest, len(levels)) + 1)
    worth = [(utility(levels[:size], p, preset), -size) for size in sizes if size]
    if not worth:
        return 0, -preset.beta
    best, negative = max(worth)
    return -negative, best


Actions = list[dict[str, Any]]


class Dsm(TypedClient):
    """One seat of DSM."""

    def __init__(self, seat: Seat, preset: Preset) -> None:
        super().__init__(seat)
        self.preset = preset
        self.points = BUDGET
        """The seat's budget of points; it is reported, but never used."""

        self.begin()

    def begin(self) -> None:
        """Reset the state of the round; an initiator makes its list of plans, best first."""
        self._agreed: DsmPlan | None = None
        self._closed = False
        self._own: dict[int, int] = {}
        self._untried: list[DsmPlan] = []
        if self._leads:
            candidates = enumerate_plans(self.calendar, self.facts.duration, self.preset.depth, self.preset.targets)
            self._own = {plan.id: self._level(plan) for plan in candidates}
            possible = [plan for plan in candidates if self._own[plan.id]]
            self._untried = sorted(possible, key=lambda plan: (-self._own[plan.id], plan.slot, plan.id))
        self._tally = Tally(self.me, self.facts.participants, self._own)

    def talk(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Offer and decide as initiator; otherwise score and listen."""
        sent = self._hear(mail)
        if self._leads and not self._closed and self._tally.is_complete():
            sent += self._go_on()
        return sent

    def decide(self, mail: Sequence[Mail], attempt: int) -> Actions:
        """Return the agreed plan's batch; without a plan an empty batch, or a guess."""
        self._hear(mail)
        if self.follows_paper:
            return self._guess(attempt)
        moves = self._needed(self._agreed) if self._agreed else None
        return [] if moves is None or self._agreed is None else batch_actions(self.facts.meeting, self._agreed.slot, moves)

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> Actions:
        """Return the moves of a third party in the agreed plan."""
        self._hear(mail)
        moves = self._needed(self._agreed) if self._agreed else None
        return move_actions(self.facts.meeting, moves or ())

    @property
    def _leads(self) -> bool:
        return self.me == self.initiator

    def _needed(self, plan: DsmPlan) -> Moves | None:
        duration = self.facts.duration if self.me in self.facts.participants else 0
        return required_moves(self.calendar, plan, self.me, duration, trusting=self.follows_paper)

    def _level(self, plan: DsmPlan) -> int:
        return satisfaction_level(self._needed(plan))

    def _hear(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Read the mail of this meeting; return the scores that it asks for."""
        sent: list[Outgoing] = []
        for letter in mail:
            kind = read_type(letter.payload) if letter.meeting == self.facts.meeting else ""
            if self._leads and kind == "scores" and (told := read_scores(letter.payload)):
                self._tally.record_answer(letter.sender, *told)
            elif not self._leads and letter.sender == self.initiator:
                sent += self._follow(kind, letter.payload)
        return sent

    def _follow(self, kind: str, payload: Payload) -> list[Outgoing]:
        if kind == "proposals" and (offer := read_offer(payload)):
            number, offered = offer
            return [(self.initiator, scores_message({plan.id: self._level(plan) for plan in offered}, number))]
        if kind == "decision" and (plan := read_decision(payload)):
            self._agreed = plan
            paid, given = read_reward(payload)
            self.points = updated_budget(self.points, gained=given, paid=paid)
        return []

    def _go_on(self) -> list[Outgoing]:
        """Announce a plan, make another offer, or give up, after all answers have arrived."""
        best = self._tally.best_plan()
        if best and (self.follows_paper or self._tally.is_feasible(best)):
            return self._announce(best)
        levels = [self._own[plan.id] for plan in self._untried]
        size, worth = offer_size(levels, success_probability(self.calendar, len(self.other_participants)), self.preset)
        if size and (not self._tally.offers or self.preset.exhaustive or worth > -self.preset.beta):
            return self._offer(size)
        self._closed = True
        return [] if self.follows_paper else [(seat, failure_message(self._tally.offers)) for seat in self.other_participants]

    def _offer(self, size: int) -> list[Outgoing]:
        offered, self._untried = self._untried[:size], self._untried[size:]
        asked = self._tally.start_offer(offered)
        message = proposals_message(offered, self._tally.offers, self.facts.participants)
        # a meeting of one has nobody to ask
        return [(seat, message) for seat in asked] or self._go_on()

    def _announce(self, plan: DsmPlan) -> list[Outgoing]:
        self._closed, self._agreed = True, plan
        records = {seat: self._tally.scorer_record(seat, plan) for seat in self._tally.other_seats(plan)}
        gained = sum(record.scoring_cost for record in records.values())
        self.points = updated_budget(self.points, gained=gained, paid=sum(record.reward for record in records.values()))
        return [(seat, decision_message(plan, self.facts.participants, record)) for seat, record in records.items()]

    def _guess(self, attempt: int) -> Actions:
        """Return the published client's batch: the announced slot if it has no blocked item, else a slot by number of attempt.

        The slots of the list have no blocked item. Earlier meetings may be there, which are then in the way.
        """
        if attempt == 1 and self._agreed is None:
            return []
        open_ = [slot for slot in range(len(self.calendar)) if self._open(slot)]
        plan = self._agreed
        if attempt > 1 or plan is None or plan.slot not in open_:
            if attempt > len(open_):
                return []
            plan = DsmPlan(open_[attempt - 1], open_[attempt - 1])
        return batch_actions(self.facts.meeting, plan.slot, self._needed(plan) or ())

    def _open(self, slot: int) -> bool:
        items = blocking_items(self.calendar, slot, self.facts.duration)
        return items is not None and not any(item.blocked for _, item in items)


dsm_welfare: Callable[[Seat], TypedClient] = partial(Dsm, preset=WELFARE)
dsm_private: Callable[[Seat], TypedClient] = partial(Dsm, preset=PRIVATE)
dsm_private_exhaustive: Callable[[Seat], TypedClient] = partial(Dsm, preset=PRIVATE_EXHAUSTIVE)
"""Factories of seats: the two operating points of the paper, and private with offers until a plan suits."""
