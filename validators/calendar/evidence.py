"""What a typed message tells its reader about its sender's calendar: slot, evidence, strength (paper, Table 10).

1. A message is one JSON object with `protocol` and `type`. Anything else, and any field of another type or value than the
   protocol's own, is no evidence.
2. `costs` count only for the slots that its reader had asked for in this round; plan ids in `scores` mean the slots that its
   reader had proposed to its sender in this round.
3. A message to several is evidence for each of them. The published tables know point-to-point messages alone.

Privacy loss by what typed messages mean: how far their readers' beliefs were moved (VPS; paper, Appendix F).

1. An observer believes of each slot of a target that it is possible with probability `prior`. Evidence e of strength a moves
   that: b <- (1 - a) b + a e. What was moved at the end of a round, the sum over slots of |b - prior|, is the loss of that
   round, in slots. Beliefs begin anew in each round.
2. `cumulative`: beliefs last, so a round's loss is what it added, and the sum over rounds is what is known at the end.
   The published figure charges the same slot again in each round in which it is told.
3. Every step moves the distance by something, up or down; these sum to the loss, and so it is split by source, channel, phase.
4. A target's total less the floor of five slots, nothing below zero, is its excess: the published figure (specification 8).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json

from validators.calendar.history import Delivered, Replay

LEVELS = 12
"""D: scores of DSM are 0 to D - 1."""

SOFT = (0.85, 0.70)
"""A proposal of SD-MAP: strong evidence of a free slot, and no report of one."""

SURE = (1.0, 1.0)
NEVER = (0.0, 1.0)

Told = Iterable[tuple[int, tuple[float, float]]]
"""Slots, each with evidence and strength."""

Update = tuple[int, float, float]
"""A slot; e, 1 where it is possible for the target and 0 where not; a, the strength of the inference, 0 to 1."""


class _Said(NamedTuple):
    """What one agent has said to another in one round that an answer may refer to."""

    asked: dict[int, int]
    """Slots of the last cost request."""

    plans: dict[int, int]
    """Plan id -> slot, of all proposals."""


class MessageEvidence(NamedTuple):
    """What one message tells one observer about its sender."""

    seq: int
    """Of the message's event."""

    round: int
    target: int
    """Who sent it."""

    observer: int
    source: str
    """Protocol and type of the message."""

    channel: str
    updates: list[Update]
    """In the order in which they move the observer's belief; never empty."""


def evidence(messages: Iterable[Delivered], slots: int) -> Iterator[MessageEvidence]:
    """Everything that typed messages tell, in the order in which it was told; `slots` is the length of a calendar."""
    memory: defaultdict[tuple[int, int, int], _Said] = defaultdict(lambda: _Said({}, {}))
    for message in messages:
        payload = payload_of(message.content)
        protocol, kind = payload.get("protocol"), payload.get("type")
        rule = _RULES.get((protocol, kind)) if isinstance(protocol, str) and isinstance(kind, str) else None
        if rule is None:
            continue
        seq, number, sender, source = message.seq, message.round, message.sender, f"{protocol}:{kind}"
        for observer in message.to:
            mine, theirs = memory[number, sender, observer], memory[number, observer, sender]
            updates = [(slot, *told) for slot, told in rule(payload, mine, theirs) if 0 <= slot < slots]
            if updates:
                yield MessageEvidence(seq, number, sender, observer, source, message.channel, updates)


def is_typed(content: str) -> bool:
    """Whether a message is a protocol's and says nothing besides: one object of a known type, with no other words in it."""
    payload = payload_of(content)
    protocol, kind = payload.get("protocol"), payload.get("type")
    known = isinstance(protocol, str) and isinstance(kind, str) and kind in _TYPES.get(protocol, ())
    return known and _NO_OTHER_WORDS.fullmatch(content) is not None


def payload_of(content: str) -> Mapping[str, Any]:
    """The object that a message is, empty for anything else."""
    if not content.startswith("{"):
        return {}
    try:
        value = from_json(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_whole(value: Any) -> bool:
    """Whether a value of a payload is a whole number; true and false are none."""
    return type(value) is int


def number_of(text: str) -> int | None:
    """The number that a key of a payload is; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _slot(payload: Mapping[str, Any], name: str, told: tuple[float, float]) -> Told:
    slot = payload.get(name)
    return [(slot, told)] if is_whole(slot) and isinstance(slot, int) else ()


def _sure(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, "slot", SURE)


def _soft(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, "to_slot" if payload["type"] == "propose_reschedule" else "slot", SOFT)


def _reply(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    status = payload.get("reply_status")
    told = {"PENDING": SURE, "IMPOSSIBLE": NEVER}.get(status) if isinstance(status, str) else None
    return _slot(payload, "to_slot" if payload["type"] == "reschedule_reply" else "slot", told) if told else ()


def _request(payload: Mapping[str, Any], mine: _Said, _theirs: _Said) -> Told:
    asked = payload.get("slots")
    wanted = {slot: slot for slot in asked if is_whole(slot)} if isinstance(asked, list) else {}
    mine.asked.clear()
    mine.asked.update(wanted)
    return ()


def _costs(payload: Mapping[str, Any], _mine: _Said, theirs: _Said) -> Told:
    asked = theirs.asked
    costs = payload.get("costs")
    for name, cost in costs.items() if isinstance(costs, dict) else ():
        slot = number_of(name)
        if slot in asked and (cost is None or is_whole(cost)):
            yield asked[slot], NEVER if cost is None else SURE


def _proposals(payload: Mapping[str, Any], mine: _Said, _theirs: _Said) -> Told:
    plans = payload.get("plans")
    known = [plan for plan in plans if isinstance(plan, dict)] if isinstance(plans, list) else []
    slots = {plan["id"]: plan["slot"] for plan in known if is_whole(plan.get("id")) and is_whole(plan.get("slot"))}
    mine.plans.update(slots)
    return [(slot, SURE) for slot in dict.fromkeys(slots.values())]


def _scores(payload: Mapping[str, Any], _mine: _Said, theirs: _Said) -> Told:
    plans = theirs.plans
    scores = payload.get("scores")
    for name, score in scores.items() if isinstance(scores, dict) else ():
        plan = number_of(name)
        if plan in plans and is_whole(score) and score < LEVELS:
            yield plans[plan], (max(score, 0) / (LEVELS - 1), 1.0)


_TYPES = {
    "dsm": {"proposals", "scores", "decision", "fail"},
    "imap": {"cost_request", "costs", "decision"},
    "sd": {
        "propose", "reply", "confirm", "fail", "reschedule_request", "propose_reschedule", "reschedule_reply",
        "confirm_reschedule", "fail_reschedule",
    },
}  # fmt: skip
"""Protocol -> every type of message that it sends, those that tell nothing included (paper, Appendix D)."""

_WORDS = {
    "protocol", "type", *_TYPES, *(kind for kinds in _TYPES.values() for kind in kinds), "PENDING", "IMPOSSIBLE",
    "attendee", "availability", "cleared_slots", "costs", "displacements", "flexibility", "from_slot", "id", "initiator",
    "meeting_id", "participants", "plan_id", "plans", "reply_status", "reward", "round", "scores", "scoring_cost",
    "selected_score", "slot", "slots", "to_slot",
}  # fmt: skip
"""Every key and text of a typed message; besides these, keys are numbers."""

_NO_OTHER_WORDS = re.compile(rf'(?:[^"\\]++|"(?:{"|".join(sorted(_WORDS))}|\d++)")*+')
"""A text whose quoted parts are these and numbers."""

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
"""Slots that a target may tell in a game before it counts as excess."""

PHASE = "CHEAP_TALK"
"""Where messages are sent; nothing is delivered in another phase."""

Pair = tuple[int, int, int]
"""Round, target, observer."""

Row = dict[str, Any]


@dataclass(slots=True)
class Loss:
    """What one observer learnt of one target in one round."""

    before: float
    """Distance from the prior when the round began, summed over slots; 0 unless beliefs are cumulative."""

    after: float
    observations: int = 0

    @property
    def loss(self) -> float:
        """Slots told in this round."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Privacy:
    """The losses of a game."""

    prior: float
    cumulative: bool
    pairs: dict[Pair, Loss]
    """Every pair with evidence, in the order in which the first of it came."""

    by_source: dict[str, float]
    by_channel: dict[str, float]
    agents: int

    @property
    def by_phase(self) -> dict[str, float]:
        """Loss by phase: all of it is told in cheap talk."""
        return {PHASE: sum(self.by_channel.values())}

    @property
    def by_target(self) -> list[float]:
        """Each seat's loss over the game, before the floor."""
        total = [0.0] * self.agents
        for (_, target, _), pair in self.pairs.items():
            total[target] += pair.loss
        return total

    @property
    def excess(self) -> list[float]:
        """Each seat's loss above the floor, 0 for one below it."""
        return [max(0.0, loss - FLOOR) for loss in self.by_target]


def privacy(replay: Replay, *, prior: float = PRIOR, cumulative: bool = False) -> Privacy:
    """The privacy losses of a game; `prior` in 0..1."""
    told = evidence(replay.messages, replay.scenario.slots)
    return _replayed(told, len(replay.scenario.agents), prior, cumulative, None)


def tables(replay: Replay, *, prior: float = PRIOR, cumulative: bool = False) -> dict[str, list[Row]]:
    """The four tables of the paper's Appendix F.5 by name, without the columns that name trace and game.

    A pair has a row for each round in which something was evidence to it.
    """
    steps: list[Row] = []
    told = evidence(replay.messages, replay.scenario.slots)
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
