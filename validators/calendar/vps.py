"""Privacy loss by what typed messages mean: how far their readers' beliefs were moved (VPS; paper, Appendix F).

1. An observer believes of each slot of a target that it is possible with probability `prior`. Evidence e of strength a moves
   that: b <- (1 - a) b + a e. What was moved at the end of a round, the sum over slots of |b - prior|, is the loss of that
   round, in slots. Beliefs begin anew in each round.
2. `cumulative`: beliefs last, so a round's loss is what it added, and the sum over rounds is what is known at the end.
   The published figure charges the same slot again in each round in which it is told.
3. Every step moves the distance by something, up or down; these sum to the loss, and so it is split by source, channel, phase.
4. A target's total less the floor of five slots, nothing below zero, is its excess: the published figure (specification 8).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from validators.calendar.evidence import MessageEvidence, Update, evidence
from validators.calendar.history import Replay

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
