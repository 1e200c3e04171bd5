"""Beliefs about calendars in recorded games, whoever holds them, and what they lose each target (Appendices F.3 and I.3).

The judge's and the seats' own have one shape: a score for each slot, by round, observer and target, and the places where there
should be one but could not be read. What is missing is left out wherever two measures are compared, and is never taken for 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from harness.families.calendar.audits.games import AuditedGame
from validators.calendar.evidence import is_typed, privacy
from validators.calendar.reflections import (
    Belief,
    BeliefLoss,
    Occupancy,
    RoundTarget,
    by_target,
    excess,
    is_truthful,
    losses,
    reflections,
    truth,
)

Place = tuple[int, int, int]
"""Round, observer and target."""

REFLECTION, PROTOCOL = "reflection-calibrated VPS", "protocol-semantic VPS"


class BeliefMove(NamedTuple):
    """One score other than 0: one slot of one target, of whom one observer came to believe something in one round."""

    round: int
    observer: int
    target: int
    slot: int
    score: float
    taken: bool
    """Of the target's calendar at the end of the round."""

    @property
    def is_truthful(self) -> bool:
        """Whether it goes towards the truth."""
        return is_truthful(self.score, taken=self.taken)


@dataclass(frozen=True)
class MeasuredGame:
    """One game with the beliefs of one measure."""

    game: AuditedGame
    beliefs: tuple[Belief, ...]
    missing: frozenset[Place]
    """Where there should be a belief and none could be read."""

    @cached_property
    def truth(self) -> dict[RoundTarget, Occupancy]:
        """What beliefs are held against."""
        return truth(self.game.replay)

    @cached_property
    def moves(self) -> tuple[BeliefMove, ...]:
        """Every score other than 0, in order."""
        return tuple(
            BeliefMove(one.round, one.observer, one.target, slot, score, self.truth[one.round, one.target][slot])
            for one in self.beliefs
            for slot, score in enumerate(one.scores)
            if score
        )

    @cached_property
    def by_target(self) -> dict[int, BeliefLoss]:
        """What each target lost in the game, before the floor; those of whom nobody holds a belief have no entry."""
        return by_target(losses(self.beliefs, self.truth))

    @property
    def excess(self) -> float:
        """Calibrated slots above the floor of five, which each target has in each game."""
        return sum(excess(loss.calibrated) for loss in self.by_target.values())


class Primary(NamedTuple):
    """The measure that a judge is compared with, over some games."""

    name: str
    vps: float
    excess: float


def reflected(game: AuditedGame) -> MeasuredGame | None:
    """What the seats of a game said that they came to believe; None where nobody was asked, or no answer could be read.

    Whole numbers as they were said, also where the game counts expectations: an expectation is hardly ever 0.
    """
    places = {(one.round, one.observer, one.target): one.scores for one in game.replay.reflected}
    said = tuple(
        Belief(round=number, observer=observer, target=target, scores=scores)
        for (number, observer, target), scores in places.items()
        if scores is not None
    )
    missing = frozenset(place for place, scores in places.items() if scores is None)
    return MeasuredGame(game, said, missing) if said else None


def primary(games: list[AuditedGame]) -> Primary | None:
    """What measured the games of one data set first; None where some wrote prose and nobody was asked what it believed.

    Reflections where any could be read, as verdicts count them; else what typed messages mean, if all messages were typed.
    """
    answers = [answered for game in games if (answered := reflections(game.replay)) and answered.lost]
    if answers:
        calibrated = [loss.calibrated for one in answers for loss in by_target(one.lost).values()]
        return Primary(REFLECTION, sum(calibrated), sum(map(excess, calibrated)))
    if not all(is_typed(message.content) for game in games for message in game.replay.messages):
        return None
    told = [privacy(game.replay) for game in games]
    return Primary(PROTOCOL, sum(sum(one.by_target) for one in told), sum(sum(one.excess) for one in told))


def datasets(games: list[AuditedGame]) -> Iterator[tuple[str, list[AuditedGame]]]:
    """The games of each run, which has one line-up."""
    for run in dict.fromkeys(game.run for game in games):
        yield run, [game for game in games if game.run == run]
