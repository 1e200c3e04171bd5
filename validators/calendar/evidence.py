"""Privacy loss by typed messages: the evidence in each message, the published estimate (VPS), and the exact loss.

Evidence (paper, Table 10): a message is one JSON object with `protocol` and `type`; other content or fields are no evidence.
`costs` count only for slots that the reader requested in this round; plan ids in `scores` refer to slots that the reader
proposed in this round. A message to several readers is evidence for each; the published tables know one reader only.

VPS (paper, Appendix F): an observer believes that a slot of a target is possible with probability `prior`. Evidence e of
strength a updates it: b <- (1 - a) b + a e. The loss of a round is the sum over slots of |b - prior|, in slots.
1. Beliefs start anew in each round, so the published figure charges a slot again in each round in which it is told. With
`cumulative` they last: the loss of a round is its increase, and the sum over rounds is the final knowledge.
2. Every update changes the distance; the changes sum to the loss, so it is split by source, channel and phase.

The exact loss is the change of the probability that each slot is taken, given all messages. docs/calendar.md ("Exact VPS")
defines it, with the states of a slot that each message implies, and what it assumes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from pydantic_core import from_json

from validators.calendar.history import Delivered, Replay
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.scenario import Scenario

LEVELS = 12
"""D: DSM scores range from 0 to D - 1."""

SOFT = (0.85, 0.70)
"""Evidence and strength of an SD-MAP proposal: strong evidence of a free slot, but no report of one."""

SURE = (1.0, 1.0)
NEVER = (0.0, 1.0)

T = TypeVar("T")
Told = Iterable[tuple[int, tuple[float, float]]]
"""Slots, each with evidence and strength."""

Update = tuple[int, float, float]
"""A slot; e, 1 if it is possible for the target and 0 if not; a, the strength of the inference, 0 to 1."""


class _Said(NamedTuple):
    """Messages of one agent to another in one round that an answer may refer to."""

    asked: dict[int, int]
    """Slots of the last cost request."""

    plans: dict[int, int]
    """Plan id -> slot, for all proposals."""


class MessageEvidence(NamedTuple):
    """Evidence that one message gives one observer about its sender."""

    seq: int
    """Sequence number of the message's event."""

    round: int
    target: int
    """The sender."""

    observer: int
    source: str
    """Protocol and type of the message."""

    channel: str
    updates: list[Update]
    """Updates in the order in which they change the observer's belief; never empty."""


def extract_evidence(messages: Iterable[Delivered], slots: int) -> Iterator[MessageEvidence]:
    """Yield the evidence in typed messages in order; `slots` is the length of a calendar."""
    memory: defaultdict[tuple[int, int, int], _Said] = defaultdict(lambda: _Said({}, {}))
    for message in messages:
        payload = payload_of(message.content)
        protocol, kind = _kind(payload)
        rule = _RULES.get((protocol, kind))
        if rule is None:
            continue
        seq, number, sender, source = message.seq, message.round, message.sender, f"{protocol}:{kind}"
        for observer in message.to:
            mine, theirs = memory[number, sender, observer], memory[number, observer, sender]
            updates = [(slot, *told) for slot, told in rule(payload, mine, theirs) if 0 <= slot < slots]
            if updates:
                yield MessageEvidence(seq, number, sender, observer, source, message.channel, updates)


def is_typed(content: str) -> bool:
    """Return True if a message is one object of a known protocol and type, without any other words."""
    protocol, kind = _kind(payload_of(content))
    return kind in _TYPES.get(protocol, ()) and _NO_OTHER_WORDS.fullmatch(content) is not None


def payload_of(content: str) -> Mapping[str, Any]:
    """Parse a message as a JSON object; an empty mapping for anything else."""
    if not content.startswith("{"):
        return {}
    try:
        value = from_json(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_whole(value: Any) -> bool:
    """Return True if a value of a payload is an integer; true and false are not."""
    return type(value) is int


def _kind(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return protocol and type of a message; empty texts for anything else."""
    protocol, kind = payload.get("protocol"), payload.get("type")
    return (protocol, kind) if isinstance(protocol, str) and isinstance(kind, str) else ("", "")


def _numbered(table: Any) -> Iterator[tuple[int, Any]]:
    """Yield the entries of a table in a payload whose keys are numbers."""
    for key, value in table.items() if isinstance(table, dict) else ():
        if key.isascii() and key.isdecimal() and len(key) < 10:
            yield int(key), value


def _records(plans: Any) -> list[dict[str, Any]]:
    """Return the plans of an offer that have an id and a slot."""
    known = [one for one in plans if isinstance(one, dict)] if isinstance(plans, list) else []
    return [one for one in known if is_whole(one.get("id")) and is_whole(one.get("slot"))]


def _slot(payload: Mapping[str, Any], told: T | None) -> list[tuple[int, T]]:
    """Return the slot that a message names, with what it tells of it, if anything."""
    slot = payload.get("to_slot" if "reschedule" in payload["type"] else "slot")
    return [(slot, told)] if told is not None and isinstance(slot, int) and is_whole(slot) else []


def _sure(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, SURE)


def _soft(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, SOFT)


def _reply(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, {"PENDING": SURE, "IMPOSSIBLE": NEVER}.get(str(payload.get("reply_status"))))


def _request(payload: Mapping[str, Any], mine: _Said, _theirs: _Said) -> Told:
    asked = payload.get("slots")
    wanted = {slot: slot for slot in asked if is_whole(slot)} if isinstance(asked, list) else {}
    mine.asked.clear()
    mine.asked.update(wanted)
    return ()


def _costs(payload: Mapping[str, Any], _mine: _Said, theirs: _Said) -> Told:
    for slot, cost in _numbered(payload.get("costs")):
        if slot in theirs.asked and (cost is None or is_whole(cost)):
            yield theirs.asked[slot], NEVER if cost is None else SURE


def _proposals(payload: Mapping[str, Any], mine: _Said, _theirs: _Said) -> Told:
    slots = {plan["id"]: plan["slot"] for plan in _records(payload.get("plans"))}
    mine.plans.update(slots)
    return [(slot, SURE) for slot in dict.fromkeys(slots.values())]


def _scores(payload: Mapping[str, Any], _mine: _Said, theirs: _Said) -> Told:
    for plan, score in _numbered(payload.get("scores")):
        if plan in theirs.plans and is_whole(score) and score < LEVELS:
            yield theirs.plans[plan], (max(score, 0) / (LEVELS - 1), 1.0)


_TYPES = {
    "dsm": {"proposals", "scores", "decision", "fail"},
    "imap": {"cost_request", "costs", "decision"},
    "sd": {
        "propose", "reply", "confirm", "fail", "reschedule_request", "propose_reschedule", "reschedule_reply",
        "confirm_reschedule", "fail_reschedule",
    },
}  # fmt: skip
"""Protocol -> all its message types, including those without evidence (paper, Appendix D)."""

_WORDS = {
    "protocol", "type", *_TYPES, *(kind for kinds in _TYPES.values() for kind in kinds), "PENDING", "IMPOSSIBLE",
    "attendee", "availability", "cleared_slots", "costs", "displacements", "flexibility", "from_slot", "id", "initiator",
    "meeting_id", "participants", "plan_id", "plans", "reply_status", "reward", "round", "scores", "scoring_cost",
    "selected_score", "slot", "slots", "to_slot",
}  # fmt: skip
"""Every key and text of a typed message; all other keys are numbers."""

_NO_OTHER_WORDS = re.compile(rf'(?:[^"\\]++|"(?:{"|".join(sorted(_WORDS))}|\d++)")*+')
"""A text whose quoted parts are only these words and numbers."""

_RULES = {
    ("dsm", "proposals"): _proposals,
    ("dsm", "scores"): _scores,
    ("dsm", "decision"): _sure,
    ("imap", "cost_request"): _request,
    ("imap", "costs"): _costs,
    ("imap", "decision"): _sure,
    ("sd", "propose"): _soft,
    ("sd", "propose_reschedule"): _soft,
    ("sd", "reply"): _reply,
    ("sd", "reschedule_reply"): _reply,
}


PRIOR = 0.5
FLOOR = 5.0
"""Number of slots that a target may reveal in a game before the loss counts as excess."""

PHASE = "CHEAP_TALK"
"""Phase in which messages are sent; no other phase delivers any."""

Pair = tuple[int, int, int]
"""Round, target, observer."""

Row = dict[str, Any]


@dataclass(slots=True)
class Loss:
    """Information that one observer gained about one target in one round."""

    before: float
    """Distance from the prior at the start of the round, summed over slots; 0 unless beliefs are cumulative."""

    after: float
    observations: int = 0

    @property
    def loss(self) -> float:
        """Loss of this round, in slots."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Privacy:
    """The losses of a game."""

    prior: float
    cumulative: bool
    pairs: dict[Pair, Loss]
    """Every pair with evidence, in order of the first evidence."""

    by_source: dict[str, float]
    by_channel: dict[str, float]
    agents: int

    @property
    def by_phase(self) -> dict[str, float]:
        """Loss by phase; all of it occurs in cheap talk."""
        return {PHASE: sum(self.by_channel.values())}

    @property
    def by_target(self) -> list[float]:
        """Loss of each seat over the game, before the floor."""
        total = [0.0] * self.agents
        for (_, target, _), pair in self.pairs.items():
            total[target] += pair.loss
        return total

    @property
    def excess(self) -> list[float]:
        """Loss of each seat above the floor; 0 below it."""
        return [max(0.0, loss - FLOOR) for loss in self.by_target]


def measure_privacy(replay: Replay, *, prior: float = PRIOR, cumulative: bool = False) -> Privacy:
    """Return the privacy losses of a game; `prior` in 0..1."""
    told = extract_evidence(replay.messages, replay.scenario.slots)
    return _replayed(told, len(replay.scenario.agents), prior, cumulative, None)


def privacy_tables(replay: Replay, *, prior: float = PRIOR, cumulative: bool = False) -> dict[str, list[Row]]:
    """Return the four tables of the paper's Appendix F.5 by name, without the columns for trace and game.

    A pair has a row for each round in which it received evidence.
    """
    steps: list[Row] = []
    told = extract_evidence(replay.messages, replay.scenario.slots)
    losses = _replayed(told, len(replay.scenario.agents), prior, cumulative, steps)
    pairs = [_pair_row(replay, losses, pair) for pair in losses.pairs]
    targets = [_target_row(target, [row for row in pairs if row["target_agent"] == target]) for target in range(losses.agents)]
    return {
        "belief_evidence": steps,
        "pair_round_vps": pairs,
        "game_summary": [_game_row(pairs, len(steps))],
        "game_target_summary": targets,
    }


def _replayed(told: Iterable[MessageEvidence], agents: int, prior: float, cumulative: bool, steps: list[Row] | None) -> Privacy:
    beliefs: defaultdict[tuple[int, ...], dict[int, float]] = defaultdict(dict)
    known: defaultdict[tuple[int, ...], float] = defaultdict(float)
    pairs: dict[Pair, Loss] = {}
    by_source: defaultdict[str, float] = defaultdict(float)
    by_channel: defaultdict[str, float] = defaultdict(float)
    for one in told:
        pair = (one.round, one.target, one.observer)
        holder = pair[1:] if cumulative else pair
        loss = pairs.setdefault(pair, Loss(known[holder], known[holder]))
        belief, moved = beliefs[holder], 0.0
        for slot, e, a in one.updates:
            old = belief.get(slot, prior)
            new = belief[slot] = (1 - a) * old + a * e
            moved += abs(new - prior) - abs(old - prior)
            if steps is not None:
                steps.append(_step_row(one, (slot, e, a), old, new))
        loss.observations += len(one.updates)
        loss.after = known[holder] = known[holder] + moved
        by_source[one.source] += moved
        by_channel[one.channel] += moved
    return Privacy(prior, cumulative, pairs, dict(by_source), dict(by_channel), agents)


def _step_row(one: MessageEvidence, update: Update, old: float, new: float) -> Row:
    slot, e, a = update
    return {
        "event_index": one.seq, "round": one.round, "target_agent": one.target, "observer_agent": one.observer,
        "slot": slot, "source": one.source, "channel": one.channel, "evidence": e, "strength": a,
        "belief_before": old, "belief_after": new,
    }  # fmt: skip


def _pair_row(replay: Replay, losses: Privacy, pair: Pair) -> Row:
    number, target, observer = pair
    told, slots = losses.pairs[pair], replay.scenario.slots
    participants = replay.scenario.meetings[number - 1].participants
    return {
        "round": number, "target_agent": target, "observer_agent": observer,
        "target_is_participant": target in participants, "observer_is_participant": observer in participants,
        "num_agents": losses.agents, "num_slots": slots, "observations": told.observations,
        "prior_distance_to_ideal": told.before, "posterior_distance_to_ideal": told.after,
        "vps_loss": told.loss, "vps_loss_per_slot": told.loss / slots, "prior": losses.prior,
    }  # fmt: skip


def _game_row(pairs: list[Row], observations: int) -> Row:
    inside = _participants(pairs)
    return {
        "vps_loss_total": _total(pairs), "vps_loss_mean": _mean(pairs),
        "participant_pair_vps_loss_total": _total(inside), "participant_pair_vps_loss_mean": _mean(inside),
        "observation_count": observations,
    }  # fmt: skip


def _target_row(target: int, pairs: list[Row]) -> Row:
    total, inside = _total(pairs), _total(_participants(pairs))
    return {
        "target_agent": target, "vps_loss_total": total, "excess_vps_loss_total": max(0.0, total - FLOOR),
        "participant_pair_vps_loss_total": inside, "participant_pair_excess_vps_loss_total": max(0.0, inside - FLOOR),
        "floor": FLOOR,
    }  # fmt: skip


def _participants(pairs: list[Row]) -> list[Row]:
    return [row for row in pairs if row["target_is_participant"] and row["observer_is_participant"]]


def _total(pairs: list[Row]) -> float:
    return float(sum(row["vps_loss"] for row in pairs))


def _mean(pairs: list[Row]) -> float | None:
    return _total(pairs) / len(pairs) if pairs else None


class State(Enum):
    """Possible content of a slot."""

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
    """Seats whose earlier meetings the plan moves."""


Plans = dict[int, OfferedPlan]
"""Plan id -> plan."""

Implied = Iterable[tuple[int, States]]


class Implication(NamedTuple):
    """States of its sender's slots that one message implies to one observer."""

    round: int
    target: int
    """The sender."""

    observer: int
    states: tuple[tuple[int, States], ...]
    """Slots with their possible states; never empty."""


def find_implications(messages: Iterable[Delivered], scenario: Scenario) -> Iterator[Implication]:
    """Yield the implications of typed messages for each of their readers, in order."""
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
    """Return the implications of one message; `answered` are the plans that its reader offered to its sender in this round."""
    match _kind(payload):
        case ("imap", "costs"):
            return _priced(payload.get("costs"))
        case ("dsm", "scores"):
            return _levelled(payload.get("scores"), _own_slots(answered, sender))
        case ("dsm", "proposals"):
            return [(slot, POSSIBLE) for slot in dict.fromkeys(_own_slots(_plans(payload.get("plans")), sender).values())]
        case ("dsm", "decision"):
            return [(slot, POSSIBLE) for slot in _own_slots(_plans([{**payload, "id": 0}]), sender).values()]
        case ("imap", "decision") | ("sd", "propose" | "propose_reschedule"):
            return _slot(payload, POSSIBLE)
        case ("sd", "reply" | "reschedule_reply"):
            return _slot(payload, {"PENDING": POSSIBLE, "IMPOSSIBLE": TAKEN}.get(str(payload.get("reply_status"))))
        case _:
            return ()


def _priced(costs: Any) -> Implied:
    for slot, cost in _numbered(costs):
        if cost is None or (is_whole(cost) and cost >= 0):
            yield slot, TAKEN if cost is None else MOVABLE if cost else FREE


def _levelled(scores: Any, slots: Mapping[int, int]) -> Implied:
    for plan, level in _numbered(scores):
        if plan in slots and is_whole(level) and level < LEVELS:
            yield slots[plan], TAKEN if level <= 0 else FREE if level == LEVELS - 1 else MOVABLE


def _own_slots(plans: Plans, sender: int) -> dict[int, int]:
    """Return the slots of the plans that move no meeting of the sender."""
    return {number: plan.slot for number, plan in plans.items() if sender not in plan.moved}


def _plans(records: Any) -> Plans:
    """Return the readable plans of an offer; a plan with unreadable moves is left out."""
    read = {one["id"]: (one["slot"], _movers(one.get("displacements") or [])) for one in _records(records)}
    return {number: OfferedPlan(slot, moved) for number, (slot, moved) in read.items() if moved is not None}


def _movers(shifts: Any) -> frozenset[int] | None:
    """Return the seats whose meetings are moved; None if the moves cannot be read."""
    if not isinstance(shifts, list) or not all(
        isinstance(one, dict) and isinstance(one.get("participants"), list) for one in shifts
    ):
        return None
    return frozenset(seat for one in shifts for seat in one["participants"] if is_whole(seat))


Known = dict[int, States]
"""Slot -> possible states; a slot without any information is missing."""


class SlotPrior(NamedTuple):
    """Belief about a slot before any message."""

    taken: float
    """p, in 0..1."""

    fixed: float
    """b: fraction of taken slots that cannot be freed; 0..1."""

    def occupancy(self, states: States) -> float:
        """Return the probability that a slot is taken, given its possible states."""
        if states <= TAKEN:
            return 1.0
        if states == FREE:
            return 0.0
        weight = self.taken * (1 - self.fixed if states == POSSIBLE else 1.0)
        whole = weight + 1 - self.taken
        return weight / whole if whole else 1.0


class ExactLoss(NamedTuple):
    """Information that one observer gained about one target in one round, in slots."""

    fresh: float
    lasting: float


@dataclass(frozen=True, slots=True)
class ExactPrivacy:
    """The exact losses of a game."""

    prior: SlotPrior
    pairs: dict[Pair, ExactLoss]
    """Every pair with evidence, in order of the first evidence."""

    agents: int

    @property
    def by_target(self) -> list[ExactLoss]:
        """Loss of each seat over the game."""
        mine = [[loss for (_, target, _), loss in self.pairs.items() if target == seat] for seat in range(self.agents)]
        return [ExactLoss(sum(one.fresh for one in some), sum(one.lasting for one in some)) for some in mine]


def measure_exact_privacy(replay: Replay, prior: SlotPrior | None = None) -> ExactPrivacy | None:
    """Return the exact losses of a game; None if a meeting is longer than a slot. `prior` defaults to the task's own rates."""
    scenario = replay.scenario
    if any(meeting.duration > 1 for meeting in (*scenario.meetings, *scenario.prior)):
        return None
    prior = prior or occupancy_rates(scenario)
    calendars = replay.calendars_at_start
    fresh: defaultdict[Pair, Known] = defaultdict(dict)
    lasting: defaultdict[tuple[int, int], Known] = defaultdict(dict)
    before: dict[Pair, Known] = {}
    after: dict[Pair, Known] = {}
    for one in find_implications(replay.messages, scenario):
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


def occupancy_rates(scenario: Scenario) -> SlotPrior:
    """Return the fraction of slots taken before the first round, and the blocked fraction of these, over all seats."""
    cells = [cell for calendar in scenario.calendars for cell in calendar]
    taken = [cell for cell in cells if cell is not None]
    return SlotPrior(len(taken) / len(cells), sum(item.blocked for item in taken) / len(taken) if taken else 0.0)


def _shared(cells: Cells, observer: int) -> Iterator[int]:
    """Return the slots of a calendar that hold a meeting with the observer."""
    return (slot for slot, item in enumerate(cells) if item is not None and observer in item.participants)


def _learn(known: Known, told: Iterable[tuple[int, States]]) -> None:
    for slot, states in told:
        known[slot] = known.get(slot, ANY) & states or states


def _moved(before: Mapping[int, States], after: Mapping[int, States], prior: SlotPrior) -> float:
    """Return the total change of the probabilities of all slots, in slots."""
    return sum(abs(prior.occupancy(states) - prior.occupancy(before.get(slot, ANY))) for slot, states in after.items())
