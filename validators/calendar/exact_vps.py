"""Exact privacy loss of typed messages: how far each slot's chance of being taken moves, given all that was told.

1. Prior: a slot of the target is taken with probability p, independently of all others; a taken one holds what stays (a blocked
   errand) with probability b, else an errand that can move. Both are the task's own rates over all seats before the first
   round, as its generator fixes them.
2. Messages leave a slot a set of states (`implied`). The posterior is Bayes' on what all of them together leave; only the last
   counts where they exclude each other, since the calendar has changed between them.
3. Loss of a round is the sum over slots of |posterior - prior|. `fresh`: the prior at the beginning of every round is p.
   `lasting`: it is what the observer had been told by then, so what it knows already and what is still so costs nothing.
4. A slot where target and observer meet each other is no secret between them: nothing told of it is a loss.

Games with a meeting longer than one slot have no exact loss: what is told there is of several slots at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from validators.calendar.history import Replay
from validators.calendar.implied import ANY, FREE, POSSIBLE, TAKEN, States, implications
from validators.calendar.vps import Pair
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.scenario import Scenario

Known = dict[int, States]
"""Slot -> what it may be; a slot of which nothing is known is missing."""


class SlotPrior(NamedTuple):
    """What is believed of a slot before anything is told."""

    taken: float
    """p, in 0..1."""

    fixed: float
    """b: of taken slots, the share that cannot be freed; 0..1."""

    def occupancy(self, states: States) -> float:
        """The chance that a slot is taken, given the states that it may be in."""
        if states <= TAKEN:
            return 1.0
        if states == FREE:
            return 0.0
        weight = self.taken * (1 - self.fixed if states == POSSIBLE else 1.0)
        whole = weight + 1 - self.taken
        return weight / whole if whole else 1.0


class ExactLoss(NamedTuple):
    """What one observer learnt of one target in one round, in slots."""

    fresh: float
    lasting: float


@dataclass(frozen=True, slots=True)
class ExactPrivacy:
    """The exact losses of a game."""

    prior: SlotPrior
    pairs: dict[Pair, ExactLoss]
    """Every pair that was told anything, in the order in which the first of it came."""

    agents: int

    @property
    def by_target(self) -> list[ExactLoss]:
        """Each seat's losses over the game."""
        mine = [[loss for (_, target, _), loss in self.pairs.items() if target == seat] for seat in range(self.agents)]
        return [ExactLoss(sum(one.fresh for one in some), sum(one.lasting for one in some)) for some in mine]


def exact_privacy(replay: Replay, prior: SlotPrior | None = None) -> ExactPrivacy | None:
    """The exact losses of a game, under the task's own rates unless told; None where a meeting is longer than a slot."""
    scenario = replay.scenario
    if any(meeting.duration > 1 for meeting in (*scenario.meetings, *scenario.prior)):
        return None
    prior = prior or rates(scenario)
    calendars = replay.beginnings
    fresh: defaultdict[Pair, Known] = defaultdict(dict)
    lasting: defaultdict[tuple[int, int], Known] = defaultdict(dict)
    before: dict[Pair, Known] = {}
    after: dict[Pair, Known] = {}
    for one in implications(replay.messages, scenario):
        pair, holder = (one.round, one.target, one.observer), (one.target, one.observer)
        shared = frozenset(_shared(calendars[one.round][one.target], one.observer))
        if pair not in before:
            lasting[holder] |= dict.fromkeys(shared, TAKEN)
            before[pair] = dict(lasting[holder])
        secret = [(slot, states) for slot, states in one.states if slot not in shared]
        for known in (fresh[pair], lasting[holder]):
            _learn(known, secret)
        # the last message of the round says what was known at its end
        after[pair] = dict(lasting[holder])
    losses = {pair: ExactLoss(_moved({}, fresh[pair], prior), _moved(before[pair], after[pair], prior)) for pair in before}
    return ExactPrivacy(prior, losses, len(scenario.agents))


def rates(scenario: Scenario) -> SlotPrior:
    """The share of slots that are taken before the first round, and of these that are blocked, over all seats."""
    cells = [cell for calendar in scenario.calendars for cell in calendar]
    taken = [cell for cell in cells if cell is not None]
    return SlotPrior(len(taken) / len(cells), sum(item.blocked for item in taken) / len(taken) if taken else 0.0)


def _shared(cells: Cells, observer: int) -> Iterator[int]:
    """The slots of a calendar in which the observer has the same meeting."""
    return (slot for slot, item in enumerate(cells) if item is not None and observer in item.participants)


def _learn(known: Known, told: Iterable[tuple[int, States]]) -> None:
    for slot, states in told:
        known[slot] = known.get(slot, ANY) & states or states


def _moved(before: Mapping[int, States], after: Mapping[int, States], prior: SlotPrior) -> float:
    """How far the chances of all slots moved, in slots."""
    return sum(abs(prior.occupancy(states) - prior.occupancy(before.get(slot, ANY))) for slot, states in after.items())
