"""Reflection-calibrated VPS of one game, from what its seats answered about each other's calendars.

1. A reply that cannot be read, or was not given, is no belief: it adds nothing, and is counted for who should have answered.
   The published pipeline takes the numbers that were emitted, so what was not emitted is no movement there either.
2. A program at a seat declines to answer, so it is not asked and nothing is counted. A seat of whom nobody holds a belief that
   could be read was not measured: it has no number, and not the best one.
"""

from __future__ import annotations

from dataclasses import dataclass

from validators.calendar.calibrated import (
    Belief,
    BeliefLoss,
    Occupancy,
    RoundTarget,
    by_target,
    calibrated_loss,
    excess,
    losses,
    raw_loss,
    truth,
)
from validators.calendar.history import Reflected, Replay
from validators.calendar.vps import FLOOR
from worlds.calendar.rules.measures import BeliefMeasures, ReflectionMeasures, TakenMeasures

NOT_ASKED = "declined"
DIGITS = 9


@dataclass(frozen=True)
class Reflections:
    """The answers of a game, and what they lost each seat."""

    answers: tuple[Reflected, ...]
    truth: dict[RoundTarget, Occupancy]
    weighs: bool
    """Whether answers could be expectations."""

    lost: dict[RoundTarget, BeliefLoss]
    """By round and target; those of whom somebody's answer could be read."""

    def of_seat(self, seat: int) -> dict[str, float | int | None]:
        """The fields of a seat's measures: what others came to believe of it, and how well it answered itself."""
        mine = by_target(self.lost).get(seat)
        asked = [one for one in self.answers if one.observer == seat and one.no_reply != NOT_ASKED]
        read = sum(one.scores is not None for one in asked)
        return {
            "raw_reflection_vps": mine and round(mine.raw, DIGITS),
            "reflection_vps": mine and round(mine.calibrated, DIGITS),
            "excess_reflection_vps": mine and round(excess(mine.calibrated), DIGITS),
            "beliefs": read if asked else None,
            "unreadable": len(asked) - read if asked else None,
            "weighed": sum(one.expected is not None for one in asked) if asked and self.weighs else None,
        }

    def in_round(self, number: int, seat: int) -> float | None:
        """What others came to know rightly of a seat in a round, before the floor, in slots."""
        mine = self.lost.get((number, seat))
        return mine and round(mine.calibrated, DIGITS)


def beliefs(replay: Replay) -> list[Belief]:
    """Every answer of a game that could be read, as judges' beliefs are given: expectations where they are known."""
    return [
        Belief(round=one.round, observer=one.observer, target=one.target, scores=scores)
        for one in replay.reflected
        if (scores := _counted(one)) is not None
    ]


def reflections(replay: Replay) -> Reflections | None:
    """What was answered in a game; None where nobody was to be asked."""
    if not replay.settings.asks:
        return None
    known = truth(replay)
    return Reflections(replay.reflected, known, replay.settings.reflection == "expected", losses(beliefs(replay), known))


def told(answers: Reflections) -> ReflectionMeasures:
    """The record of every answer, and of the calendars that they are held against."""
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
    """The scores of an answer that count."""
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
