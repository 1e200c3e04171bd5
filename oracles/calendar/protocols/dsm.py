"""DSM: the initiator offers plans, all answer with satisfaction levels, the best plan is announced (paper, Appendix D.3).

1. `proposals` go to all responders and to third parties whose meetings a plan moves; the best own levels are offered first.
2. `scores` come back; third parties look at their own moves alone, and a plan that moves nothing of theirs suits them fully.
3. `decision` names the plan that ranks first, if it suits everybody. If none does the next untried plans are offered: `welfare`
   until none is left, `private` only while an offer is worth more than none (U > -beta), which its theta rules out after the
   first. Then `fail` goes out, and everybody sends an empty batch.
4. Participants carry the plan out in DECISION and third parties in VOLUNTARY; both commit together, so an earlier meeting that
   makes room moves on all its calendars at once or nowhere.

Profile `paper` does what the published client does, as the reference games show: one offer, whose best plan is announced even
if it suits nobody; who cannot follow guesses, as `_guess` says; and plans are scored `trusting` (see `dsm_scoring`).

How many plans to offer at once: the size that maximises expected utility (paper, Appendix D.3). U(L) = q v + w q - theta c L -
beta (1 - q), where q = 1 - (1 - p)^L is the chance that one of L plans suits everybody, v the mean own level of the L best, and
p a guess from the own calendar alone: everybody is as busy as I am. More offers find a plan sooner and tell more; theta against
beta is the dial between the two.

The initiator's sheet for one meeting: what was offered, who has answered, and which plan is best. A plan is scored by everybody
whom it touches: the participants, and third parties with a meeting that it moves. Plans rank by how far their scorers are from
the best level, all together; one that suits everybody goes before any that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from oracles.calendar.protocols import dsm_messages as messages
from oracles.calendar.protocols.client import Mail, Outgoing, Payload, Seat, TypedClient
from oracles.calendar.protocols.dsm_scoring import BEST, BUDGET, DsmPlan, Reward, level, needed, plans, reward, settled
from oracles.calendar.protocols.repair import Moves, batch, in_the_way, moving
from worlds.calendar.rules.items import Cells


class Tally:
    """Offers and answers; `own` are the initiator's levels by plan id."""

    def __init__(self, me: int, participants: Sequence[int], own: Mapping[int, int]) -> None:
        self._me, self._participants, self._own = me, tuple(participants), own
        self._scores: dict[int, dict[int, int]] = {}
        self._waiting: set[int] = set()
        self.offers = 0
        self.plans: list[DsmPlan] = []
        """The offer that is open."""

    def open(self, plans: Sequence[DsmPlan]) -> list[int]:
        """Begin the next offer; returns who is asked, ascending: everybody whom one of its plans touches."""
        self.offers, self.plans = self.offers + 1, list(plans)
        self._waiting = {seat for plan in plans for seat in self.readers(plan)}
        return sorted(self._waiting)

    def hear(self, seat: int, offer: int, levels: Mapping[int, int]) -> None:
        """One answer; only the first one to the open offer counts, and a plan that it leaves out is infeasible."""
        if offer == self.offers and seat in self._waiting:
            self._waiting.remove(seat)
            self._scores.setdefault(seat, {}).update({plan.id: levels.get(plan.id, 0) for plan in self.plans})

    def complete(self) -> bool:
        """Return whether everybody has answered."""
        return not self._waiting

    def best(self) -> DsmPlan | None:
        """The plan of the open offer that ranks first, feasible or not; None for an empty offer."""
        return min(self.plans, key=self._rank, default=None)

    def feasible(self, plan: DsmPlan) -> bool:
        """Return whether a plan suits all its scorers."""
        return all(self._levels(plan))

    def readers(self, plan: DsmPlan) -> list[int]:
        """Everybody else whom a plan touches, ascending."""
        return sorted({*self._participants, *plan.outsiders(self._participants)} - {self._me})

    def record(self, seat: int, plan: DsmPlan) -> Reward:
        """Return what the choice of a plan means for a scorer, by all that it told about this meeting."""
        told = self._scores.get(seat, {})
        return reward(list(told.values()), told.get(plan.id, 0))

    def _levels(self, plan: DsmPlan) -> list[int]:
        told = [self._scores.get(seat, {}).get(plan.id, 0) for seat in self.readers(plan)]
        return [self._own.get(plan.id, 0), *told]

    def _rank(self, plan: DsmPlan) -> tuple[bool, int, int, int, int]:
        levels = self._levels(plan)
        return not all(levels), BEST * len(levels) - sum(levels), len(levels), plan.slot, plan.id


PRIVACY = 1.0
"""c: what the disclosure of one plan counts for."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One operating point (paper, Table 9)."""

    smallest: int
    """L_min: plans in an offer."""

    largest: int
    """L_max."""

    beta: float
    """What a failed offer costs."""

    theta: float
    """What each disclosed plan costs."""

    social: float
    """w: what success is worth beside the own level."""

    depth: int
    """Meetings that one plan may move, one for the other."""

    targets: int
    """Chains considered for each slot."""

    exhaustive: bool
    """Whether offers go on until one suits or none is left; if not, only while an offer is worth more than none."""


WELFARE = Preset(1, 12, beta=1.0, theta=0.0, social=1.0, depth=2, targets=4, exhaustive=True)
PRIVATE = Preset(1, 2, beta=0.25, theta=10.0, social=0.25, depth=1, targets=2, exhaustive=False)
PRIVATE_EXHAUSTIVE = Preset(1, 2, beta=0.25, theta=10.0, social=0.25, depth=1, targets=2, exhaustive=True)


def chance(cells: Cells, responders: int) -> float:
    """p: the guessed chance that a plan suits all responders, in .01...95; every occupied cell counts as busy."""
    busy = sum(item is not None for item in cells)
    free = min(max(1 - busy / len(cells), 0.05), 0.95)
    return float(min(max(free ** max(1, responders), 0.01), 0.95))


def utility(levels: Sequence[int], p: float, preset: Preset) -> float:
    """U(L) of offering plans that have these own levels."""
    size = len(levels)
    q = 1 - (1 - p) ** size
    own = sum(levels) / size / BEST
    return q * own + preset.social * q - preset.theta * PRIVACY * size - preset.beta * (1 - q)


def offer_size(levels: Sequence[int], p: float, preset: Preset) -> tuple[int, float]:
    """The best L for untried plans with these own levels, best first, and its U(L); the smallest L on ties, 0 for no plans."""
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
        """The seat's budget; reported, never looked at."""

        self.begin()

    def begin(self) -> None:
        """Forget the round before; an initiator makes its list of plans, best first."""
        self._agreed: DsmPlan | None = None
        self._closed = False
        self._own: dict[int, int] = {}
        self._untried: list[DsmPlan] = []
        if self._leads:
            candidates = plans(self.calendar, self.facts.duration, self.preset.depth, self.preset.targets)
            self._own = {plan.id: self._level(plan) for plan in candidates}
            possible = [plan for plan in candidates if self._own[plan.id]]
            self._untried = sorted(possible, key=lambda plan: (-self._own[plan.id], plan.slot, plan.id))
        self._tally = Tally(self.me, self.facts.participants, self._own)

    def talk(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Offer and decide as initiator; score and listen as anybody else."""
        sent = self._hear(mail)
        if self._leads and not self._closed and self._tally.complete():
            sent += self._go_on()
        return sent

    def decide(self, mail: Sequence[Mail], attempt: int) -> Actions:
        """The agreed plan; without one an empty batch, or a guess."""
        self._hear(mail)
        if self.paper:
            return self._guess(attempt)
        moves = self._needed(self._agreed) if self._agreed else None
        return [] if moves is None or self._agreed is None else batch(self.facts.meeting, self._agreed.slot, moves)

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> Actions:
        """A third party's part of the agreed plan."""
        self._hear(mail)
        moves = self._needed(self._agreed) if self._agreed else None
        return moving(self.facts.meeting, moves or ())

    @property
    def _leads(self) -> bool:
        return self.me == self.initiator

    def _needed(self, plan: DsmPlan) -> Moves | None:
        duration = self.facts.duration if self.me in self.facts.participants else 0
        return needed(self.calendar, plan, self.me, duration, trusting=self.paper)

    def _level(self, plan: DsmPlan) -> int:
        return level(self._needed(plan))

    def _hear(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Take the mail of this meeting in; returns the scores that it asks for."""
        sent: list[Outgoing] = []
        for letter in mail:
            kind = messages.kind(letter.payload) if letter.meeting == self.facts.meeting else ""
            if self._leads and kind == "scores" and (told := messages.read_scores(letter.payload)):
                self._tally.hear(letter.sender, *told)
            elif not self._leads and letter.sender == self.initiator:
                sent += self._follow(kind, letter.payload)
        return sent

    def _follow(self, kind: str, payload: Payload) -> list[Outgoing]:
        if kind == "proposals" and (offer := messages.read_offer(payload)):
            number, offered = offer
            return [(self.initiator, messages.scores({plan.id: self._level(plan) for plan in offered}, number))]
        if kind == "decision" and (plan := messages.read_decision(payload)):
            self._agreed = plan
            paid, given = messages.read_reward(payload)
            self.points = settled(self.points, gained=given, paid=paid)
        return []

    def _go_on(self) -> list[Outgoing]:
        """With all answers in: announce, offer more, or give up."""
        best = self._tally.best()
        if best and (self.paper or self._tally.feasible(best)):
            return self._announce(best)
        levels = [self._own[plan.id] for plan in self._untried]
        size, worth = offer_size(levels, chance(self.calendar, len(self.others)), self.preset)
        if size and (not self._tally.offers or self.preset.exhaustive or worth > -self.preset.beta):
            return self._offer(size)
        self._closed = True
        return [] if self.paper else [(seat, messages.fail(self._tally.offers)) for seat in self.others]

    def _offer(self, size: int) -> list[Outgoing]:
        offered, self._untried = self._untried[:size], self._untried[size:]
        asked = self._tally.open(offered)
        message = messages.proposals(offered, self._tally.offers, self.facts.participants)
        # a meeting of one has nobody to ask
        return [(seat, message) for seat in asked] or self._go_on()

    def _announce(self, plan: DsmPlan) -> list[Outgoing]:
        self._closed, self._agreed = True, plan
        records = {seat: self._tally.record(seat, plan) for seat in self._tally.readers(plan)}
        gained = sum(record.scoring_cost for record in records.values())
        self.points = settled(self.points, gained=gained, paid=sum(record.reward for record in records.values()))
        return [(seat, messages.decision(plan, self.facts.participants, record)) for seat, record in records.items()]

    def _guess(self, attempt: int) -> Actions:
        """The published client's batch: the announced slot once unless something blocked is there, else one by its attempt.

        The slots of the list have nothing blocked. Earlier meetings may stand there, which are then in the way.
        """
        if attempt == 1 and self._agreed is None:
            return []
        open_ = [slot for slot in range(len(self.calendar)) if self._open(slot)]
        plan = self._agreed
        if attempt > 1 or plan is None or plan.slot not in open_:
            if attempt > len(open_):
                return []
            plan = DsmPlan(open_[attempt - 1], open_[attempt - 1])
        return batch(self.facts.meeting, plan.slot, self._needed(plan) or ())

    def _open(self, slot: int) -> bool:
        items = in_the_way(self.calendar, slot, self.facts.duration)
        return items is not None and not any(item.blocked for _, item in items)


dsm_welfare: Callable[[Seat], TypedClient] = partial(Dsm, preset=WELFARE)
dsm_private: Callable[[Seat], TypedClient] = partial(Dsm, preset=PRIVATE)
dsm_private_exhaustive: Callable[[Seat], TypedClient] = partial(Dsm, preset=PRIVATE_EXHAUSTIVE)
"""What makes a seat: the two operating points of the paper, and private with sub-rounds until a plan suits."""
