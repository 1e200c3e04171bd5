"""DSM: the initiator offers plans, all answer with satisfaction levels, the best plan is announced (paper, Appendix D.3).

1. `proposals` go to all responders and to third parties whose meetings a plan moves; the best own levels are offered first.
2. `scores` come back; third parties look at their own moves alone, and a plan that moves nothing of theirs suits them fully.
3. `decision` names the plan that ranks first, if it suits everybody. If none does the next untried plans are offered: `welfare`
   until none is left, `private` only while an offer is worth more than none (U > -beta), which its theta rules out after the
   first. Then `fail` goes out, and everybody sends an empty batch.
4. Participants carry the plan out in DECISION and third parties in VOLUNTARY; both commit together, so an earlier meeting that
   makes room moves on all its calendars at once or nowhere.

Profile `paper` does what the published client does, as the reference games show: one offer, whose best plan is announced even
if it suits nobody; who cannot follow guesses, as `_guess` says; and plans are scored `trusting` (see dsm_scoring).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from oracles.calendar.protocols import dsm_messages as messages
from oracles.calendar.protocols.client import Outgoing, Payload, Seat, TypedClient
from oracles.calendar.protocols.dsm_chains import plans
from oracles.calendar.protocols.dsm_offers import PRIVATE, PRIVATE_EXHAUSTIVE, WELFARE, Preset, chance, offer_size
from oracles.calendar.protocols.dsm_points import BUDGET, settled
from oracles.calendar.protocols.dsm_scoring import DsmPlan, level, needed
from oracles.calendar.protocols.dsm_tally import Tally
from oracles.calendar.protocols.insertion import Moves, batch, in_the_way, moving
from oracles.calendar.protocols.reading import Mail

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
