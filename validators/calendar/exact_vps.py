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

What a typed message implies of its sender's slots by the rules of its protocol: which states each may be in.

A slot is free, holds an errand that can move, or holds what stays (a blocked errand, a meeting). Table 10 says how far a
message nudges a belief that a slot is possible; this keeps possible and free apart, and reads prices and levels:

| message | the sender's slot |
|---|---|
| IMAP `costs`: null; 0; a price | taken; free; an errand that can move |
| DSM `scores`: 0; 11; any level between | taken; free; an errand that can move |
| SD-MAP `reply`, `reschedule_reply`: IMPOSSIBLE; PENDING | taken; free or an errand that can move |
| what a sender proposes or decides: IMAP, DSM, SD-MAP | free or an errand that can move |

1. A seat that follows its protocol is assumed, and one slot a meeting: a longer one is about several slots at once.
2. A plan of DSM that moves a meeting of the sender's is no news of its slot: what stands there is lifted first. Nor are levels
   of a seat outside the meeting, which are about its own meetings alone.
3. Only slots that a message is about count. That a protocol would have named others before them is not inferred.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from validators.calendar.evidence import LEVELS, Pair, is_whole, number_of, payload_of
from validators.calendar.history import Delivered, Replay
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.scenario import Scenario


class State(Enum):
    """What a slot may be."""

    FREE = "free"
    MOVABLE = "movable"
    """An errand that can move."""

    FIXED = "fixed"
    """A blocked errand, or a meeting."""


States = frozenset[State]

ANY: States = frozenset(State)
FREE: States = frozenset({State.FREE})
MOVABLE: States = frozenset({State.MOVABLE})
TAKEN: States = frozenset({State.MOVABLE, State.FIXED})
POSSIBLE: States = frozenset({State.FREE, State.MOVABLE})


class OfferedPlan(NamedTuple):
    """One plan of an offer."""

    slot: int
    moved: frozenset[int]
    """Who has an earlier meeting moved by it."""


Plans = dict[int, OfferedPlan]
"""By the id of the plan."""

Implied = Iterable[tuple[int, States]]


class Implication(NamedTuple):
    """What one message implies to one observer of its sender's calendar."""

    round: int
    target: int
    """Who sent it."""

    observer: int
    states: tuple[tuple[int, States], ...]
    """Slots with what each may be; never empty."""


def implications(messages: Iterable[Delivered], scenario: Scenario) -> Iterator[Implication]:
    """Everything that typed messages imply to each of their readers, in the order in which it was told."""
    offered: defaultdict[tuple[int, int, int], Plans] = defaultdict(dict)
    for message in messages:
        payload, sender = payload_of(message.content), message.sender
        inside = sender in scenario.meeting(message.meeting).participants
        for observer in message.to:
            if _kind(payload) == ("dsm", "proposals"):
                offered[message.round, sender, observer] |= _plans(payload.get("plans"))
            answered = offered[message.round, observer, sender] if inside else {}
            states = tuple((slot, told) for slot, told in _read(payload, sender, answered) if 0 <= slot < scenario.slots)
            if states:
                yield Implication(message.round, sender, observer, states)


def _read(payload: Mapping[str, Any], sender: int, answered: Plans) -> Implied:
    """One message; `answered` are the plans that its reader had offered to its sender in this round."""
    match _kind(payload):
        case ("imap", "costs"):
            return _priced(payload.get("costs"))
        case ("dsm", "scores"):
            return _levelled(payload.get("scores"), _own_slots(answered, sender))
        case ("dsm", "proposals"):
            return [(slot, POSSIBLE) for slot in dict.fromkeys(_own_slots(_plans(payload.get("plans")), sender).values())]
        case ("dsm", "decision"):
            return [(slot, POSSIBLE) for slot in _own_slots(_plans([{**payload, "id": 0}]), sender).values()]
        case ("imap", "decision") | ("sd", "propose"):
            return _named(payload, "slot", POSSIBLE)
        case ("sd", "propose_reschedule"):
            return _named(payload, "to_slot", POSSIBLE)
        case ("sd", "reply" | "reschedule_reply" as kind):
            told = {"PENDING": POSSIBLE, "IMPOSSIBLE": TAKEN}.get(str(payload.get("reply_status")))
            return _named(payload, "slot" if kind == "reply" else "to_slot", told)
        case _:
            return ()


def _kind(payload: Mapping[str, Any]) -> tuple[Any, Any]:
    return payload.get("protocol"), payload.get("type")


def _named(payload: Mapping[str, Any], name: str, told: States | None) -> Implied:
    slot = payload.get(name)
    return [(slot, told)] if told is not None and isinstance(slot, int) and is_whole(slot) else ()


def _priced(costs: Any) -> Implied:
    for name, cost in costs.items() if isinstance(costs, dict) else ():
        slot = number_of(name)
        if slot is not None and (cost is None or (is_whole(cost) and cost >= 0)):
            yield slot, TAKEN if cost is None else MOVABLE if cost else FREE


def _levelled(scores: Any, slots: Mapping[int, int]) -> Implied:
    for name, level in scores.items() if isinstance(scores, dict) else ():
        plan = number_of(name)
        if plan is not None and plan in slots and is_whole(level) and level < LEVELS:
            yield slots[plan], TAKEN if level <= 0 else FREE if level == LEVELS - 1 else MOVABLE


def _own_slots(plans: Plans, sender: int) -> dict[int, int]:
    """The slots of the plans that move no meeting of the sender's."""
    return {number: plan.slot for number, plan in plans.items() if sender not in plan.moved}


def _plans(records: Any) -> Plans:
    """What can be read of an offer; a plan whose moves cannot be read is left out."""
    known = [one for one in records if isinstance(one, dict)] if isinstance(records, list) else []
    read = {
        one["id"]: (one["slot"], _movers(one.get("displacements") or []))
        for one in known
        if is_whole(one.get("id")) and is_whole(one.get("slot"))
    }
    return {number: OfferedPlan(slot, moved) for number, (slot, moved) in read.items() if moved is not None}


def _movers(shifts: Any) -> frozenset[int] | None:
    """Everybody who has a meeting moved; None where that cannot be read."""
    if not isinstance(shifts, list) or not all(
        isinstance(one, dict) and isinstance(one.get("participants"), list) for one in shifts
    ):
        return None
    return frozenset(seat for one in shifts for seat in one["participants"] if is_whole(seat))


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
