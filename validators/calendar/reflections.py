"""Reflection-calibrated VPS: privacy loss measured by what observers say they came to believe (paper, Appendix F.3).

docs/calendar.md ("Reflection-calibrated VPS") defines the losses, the truth that they are compared with, and what becomes of
replies that cannot be read. A belief may come from the observer or from a judge who read the messages delivered to it; the
arithmetic is the same. A seat without any readable belief about it has no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import Field

from validators.calendar.evidence import FLOOR
from validators.calendar.history import Reflected, Replay
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.measures import BeliefMeasures, ReflectionMeasures, TakenMeasures
from worlds.calendar.rules.replies import STRONGEST
from worlds.core.models import Strict

Score = Annotated[float, Field(ge=-STRONGEST, le=STRONGEST, allow_inf_nan=False)]
Occupancy = tuple[bool, ...]
"""For each slot, True if it is taken."""

RoundTarget = tuple[int, int]
"""Round and target."""


class Belief(Strict):
    """One observer's belief about one target's calendar in one round."""

    round: int
    observer: int
    target: int
    scores: tuple[Score, ...]
    """Score of each slot; integers unless they are expectations over a model's tokens."""


class BeliefLoss(NamedTuple):
    """Loss of a target through beliefs, in slots, before the floor."""

    raw: float
    calibrated: float


def occupancy(cells: Cells) -> Occupancy:
    """Return for each slot whether it is taken by an errand, blocked or not, or by a meeting."""
    return tuple(item is not None for item in cells)


def true_calendars(replay: Replay) -> dict[RoundTarget, Occupancy]:
    """Return every calendar at the end of every resolved round."""
    return {
        (resolved.number, target): occupancy(cells)
        for resolved in replay.resolved
        for target, cells in enumerate(resolved.calendars)
    }


def raw_loss(scores: Sequence[float]) -> float:
    """Return the total strength of a belief, in slots."""
    return sum(map(abs, scores)) / STRONGEST


def calibrated_loss(scores: Sequence[float], taken: Occupancy) -> float:
    """Return the part of a belief that agrees with the truth, in slots; raises ValueError if lengths differ."""
    return (
        sum(abs(score) for score, is_taken in zip(scores, taken, strict=True) if is_truthful(score, taken=is_taken)) / STRONGEST
    )


def is_truthful(score: float, *, taken: bool) -> bool:
    """Return True if a score agrees with the truth about its slot; a score of 0 does not."""
    return score > 0 if taken else score < 0


def compute_losses(beliefs: Iterable[Belief], truth: Mapping[RoundTarget, Occupancy]) -> dict[RoundTarget, BeliefLoss]:
    """Return the loss of each target in each round, over its observers; a target without any belief has no entry.

    `truth` has every target's calendar at the end of each round; raises KeyError for a belief about another.
    """
    lost: dict[RoundTarget, BeliefLoss] = {}
    for belief in beliefs:
        place = (belief.round, belief.target)
        raw, calibrated = lost.get(place, BeliefLoss(0.0, 0.0))
        lost[place] = BeliefLoss(raw + raw_loss(belief.scores), calibrated + calibrated_loss(belief.scores, truth[place]))
    return lost


def sum_by_target(lost: Mapping[RoundTarget, BeliefLoss]) -> dict[int, BeliefLoss]:
    """Return the loss of each target in the whole game."""
    totals: dict[int, BeliefLoss] = {}
    for (_, target), (raw, calibrated) in lost.items():
        before = totals.get(target, BeliefLoss(0.0, 0.0))
        totals[target] = BeliefLoss(before.raw + raw, before.calibrated + calibrated)
    return totals


def loss_above_floor(total: float) -> float:
    """Return a target's calibrated total above the floor of five slots; 0 below it."""
    return max(0.0, total - FLOOR)


NOT_ASKED = "declined"
DIGITS = 9


@dataclass(frozen=True)
class Reflections:
    """The answers of a game, and the loss of each seat."""

    answers: tuple[Reflected, ...]
    truth: dict[RoundTarget, Occupancy]
    weighs: bool
    """True if answers could be expectations."""

    lost: dict[RoundTarget, BeliefLoss]
    """Loss by round and target, for targets with a readable answer."""

    def seat_fields(self, seat: int) -> dict[str, float | int | None]:
        """Return the fields of a seat's measures: what others believed of it, and how well it answered itself."""
        mine = sum_by_target(self.lost).get(seat)
        asked = [one for one in self.answers if one.observer == seat and one.no_reply != NOT_ASKED]
        read = sum(one.scores is not None for one in asked)
        return {
            "raw_reflection_vps": mine and round(mine.raw, DIGITS),
            "reflection_vps": mine and round(mine.calibrated, DIGITS),
            "excess_reflection_vps": mine and round(loss_above_floor(mine.calibrated), DIGITS),
            "beliefs": read if asked else None,
            "unreadable": len(asked) - read if asked else None,
            "weighed": sum(one.expected is not None for one in asked) if asked and self.weighs else None,
        }

    def round_loss(self, number: int, seat: int) -> float | None:
        """Return the calibrated loss of a seat in a round, before the floor, in slots; None if it was not measured."""
        mine = self.lost.get((number, seat))
        return mine and round(mine.calibrated, DIGITS)


def read_beliefs(replay: Replay) -> list[Belief]:
    """Return every readable answer of a game as a belief, with expectations if they are known."""
    return [
        Belief(round=one.round, observer=one.observer, target=one.target, scores=scores)
        for one in replay.reflected
        if (scores := _counted(one)) is not None
    ]


def read_reflections(replay: Replay) -> Reflections | None:
    """Return the answers of a game; None if the settings ask for none."""
    if not replay.settings.asks_beliefs:
        return None
    known = true_calendars(replay)
    return Reflections(
        replay.reflected, known, replay.settings.reflection == "expected", compute_losses(read_beliefs(replay), known)
    )


def reflection_record(answers: Reflections) -> ReflectionMeasures:
    """Return the record of every answer, and of the calendars that they are compared with."""
    rounds = {one.round for one in answers.answers}
    calendars = [
        TakenMeasures(round=number, seat=seat, taken=tuple(slot for slot, is_taken in enumerate(taken) if is_taken))
        for (number, seat), taken in answers.truth.items()
        if number in rounds
    ]
    return ReflectionMeasures(
        floor=FLOOR, beliefs=tuple(_row(answers, one) for one in answers.answers), calendars=tuple(calendars)
    )


def _counted(one: Reflected) -> tuple[float, ...] | None:
    return one.scores if one.expected is None else one.expected


def _row(answers: Reflections, one: Reflected) -> BeliefMeasures:
    raw = calibrated = None
    if (scores := _counted(one)) is not None:
        raw = round(raw_loss(scores), DIGITS)
        calibrated = round(calibrated_loss(scores, answers.truth[one.round, one.target]), DIGITS)
    return BeliefMeasures(
        round=one.round, observer=one.observer, target=one.target, scores=one.scores, how=one.how, no_reply=one.no_reply,
        expected=one.expected, raw=raw, calibrated=calibrated,
    )  # fmt: skip
