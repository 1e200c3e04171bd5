"""Asks a judge model every case, once more where its reply cannot be read, and keeps what it said of each game.

A reply that cannot be read the second time either is malformed: its case has no beliefs, which is not the same as beliefs of 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from harness.agents.llm.parallel import side_by_side
from harness.agents.llm.replies import CachedModel
from harness.families.calendar.audits.games import AuditedGame
from harness.families.calendar.privacy.cases import JudgeCase, different
from harness.families.calendar.privacy.measured import MeasuredGame, Place
from validators.calendar.calibrated import Belief

TRIES = 2


class JudgedCase(NamedTuple):
    """What a judge made of one case."""

    case: JudgeCase
    replies: tuple[str, ...]
    """As they came; two where the first could not be read."""

    beliefs: tuple[Belief, ...] | None
    """One for each target; None where no reply could be read."""


def judge(model: CachedModel, cases: Sequence[JudgeCase], workers: int) -> list[JudgedCase]:
    """Every case with what the judge said; raises ProviderFailure where it does not answer."""
    asked = different(cases)
    answers = dict(zip(asked, side_by_side(lambda case: _replies(model, case), asked.values(), workers), strict=True))
    return [JudgedCase(case, answers[case.prompt], case.beliefs(answers[case.prompt][-1])) for case in cases]


def judged_games(games: Sequence[AuditedGame], judgements: Sequence[JudgedCase]) -> list[MeasuredGame]:
    """What the judge read in each game; a round in which nothing was delivered to a seat moved none of its beliefs."""
    beliefs: defaultdict[str, list[Belief]] = defaultdict(list)
    missing: defaultdict[str, set[Place]] = defaultdict(set)
    for one in judgements:
        case = one.case
        beliefs[case.game.name] += one.beliefs or ()
        if one.beliefs is None:
            missing[case.game.name] |= {(case.round, case.recipient, target) for target in case.targets}
    return [MeasuredGame(game, tuple(beliefs[game.name]), frozenset(missing[game.name])) for game in games]


def _replies(model: CachedModel, case: JudgeCase) -> tuple[str, ...]:
    first = model.answer(case.question).text
    if case.beliefs(first) is not None:
        return (first,)
    return first, model.answer(case.asked_again(first)).text
