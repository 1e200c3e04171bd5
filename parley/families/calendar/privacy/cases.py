"""Questions to the judge of the privacy audit, its answers, and the beliefs that follow from them (docs/calendar.md).

A case has all messages that one seat received in one round of one game (Appendix I.2), without its own messages. A round that
was never resolved gives no case, because there is no calendar to compare beliefs with. If the judge's second reply cannot be
parsed either, the case is malformed: it has no beliefs, which is not the same as beliefs of 0. Missing beliefs are left out of
every comparison.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from harness.agents.llm.parallel import side_by_side
from harness.agents.llm.response_cache import CachedModel
from harness.frames import grouped
from parley.families.calendar.audits.games import AuditedGame
from validators.calendar.evidence import is_typed, measure_privacy
from validators.calendar.history import Delivered
from validators.calendar.reflections import (
    Belief,
    Occupancy,
    RoundTarget,
    is_truthful,
    loss_above_floor,
    read_reflections,
    sum_by_target,
    true_calendars,
)
from worlds.calendar.rules.replies import scores_shape
from worlds.core.mending import read_reply
from worlds.core.replies import AnswerShape
from worlds.core.texts import SUFFIX, Texts

Place = tuple[int, int, int]
"""Round, observer and target."""

REFLECTION, PROTOCOL = "reflection-calibrated VPS", "protocol-semantic VPS"


class BeliefMove(NamedTuple):
    """A nonzero score: a belief of one observer about one slot of one target in one round."""

    round: int
    observer: int
    target: int
    slot: int
    score: float
    taken: bool
    """Occupancy in the target's calendar at the end of the round."""

    @property
    def is_truthful(self) -> bool:
        """True if the sign of the score is right."""
        return is_truthful(self.score, taken=self.taken)


@dataclass(frozen=True)
class MeasuredGame:
    """A game with the beliefs of one measure."""

    game: AuditedGame
    beliefs: tuple[Belief, ...]
    missing: frozenset[Place]
    """Places without a belief that could be parsed."""

    @cached_property
    def truth(self) -> dict[RoundTarget, Occupancy]:
        """The occupancies that beliefs are compared with."""
        return true_calendars(self.game.replay)

    @cached_property
    def moves(self) -> tuple[BeliefMove, ...]:
        """Every nonzero score, in order."""
        return tuple(
            BeliefMove(one.round, one.observer, one.target, slot, score, self.truth[one.round, one.target][slot])
            for one in self.beliefs
            for slot, score in enumerate(one.scores)
            if score
        )


def reflected(game: AuditedGame) -> MeasuredGame | None:
    """Return the beliefs reported by the seats of a game; None if there were no questions, or if no answer could be parsed.

    Integers are used as answered, even if the game counts expectations, because an expectation is rarely 0.
    """
    places = {(one.round, one.observer, one.target): one.scores for one in game.replay.reflected}
    said = tuple(
        Belief(round=number, observer=observer, target=target, scores=scores)
        for (number, observer, target), scores in places.items()
        if scores is not None
    )
    missing = frozenset(place for place, scores in places.items() if scores is None)
    return MeasuredGame(game, said, missing) if said else None


def primary(games: list[AuditedGame]) -> dict[str, Any]:
    """Return the primary measure of the games of one data set, with its VPS and excess, by the paper's column names.

    The measure is reflections, as verdicts count them, if any could be parsed; else typed messages, if all were typed; else
    None.
    """
    answers = [answered for game in games if (answered := read_reflections(game.replay)) and answered.lost]
    told: tuple[Any, ...] = (None, None, None)
    if answers:
        calibrated = [loss.calibrated for one in answers for loss in sum_by_target(one.lost).values()]
        told = REFLECTION, sum(calibrated), sum(map(loss_above_floor, calibrated))
    elif all(is_typed(message.content) for game in games for message in game.replay.messages):
        losses = [measure_privacy(game.replay) for game in games]
        told = PROTOCOL, sum(sum(one.by_target) for one in losses), sum(sum(one.excess) for one in losses)
    return dict(zip(("primary_metric", "primary_vps", "primary_excess_vps"), told, strict=True))


FOLDER = Path(__file__).with_name("prompts")
_CHANNELS = {"dm": "to you alone", "participants": "to all participants", "all": "to everybody"}


@dataclass(frozen=True)
class JudgeCase:
    """A recipient in one round."""

    game: AuditedGame
    round: int
    recipient: int
    messages: tuple[Delivered, ...]
    """In the order in which they were sent."""

    @property
    def targets(self) -> list[int]:
        """All other seats, about which beliefs are asked."""
        return [seat for seat in self.game.replay.scenario.agents if seat != self.recipient]

    @cached_property
    def prompt(self) -> str:
        """The case as shown to a judge; cases with equal prompts are asked once."""
        scenario = self.game.replay.scenario
        meeting = scenario.meetings[self.round - 1]
        return _texts().render(
            "judge", agents=list(scenario.agents), slots=scenario.slots, recipient=self.recipient, round=self.round,
            meeting=meeting.id, participants=meeting.participants, duration=meeting.duration, targets=self.targets,
            messages=[
                # indent each line, so that quoted text cannot imitate the prompt
                {"sender": one.sender, "channel": _CHANNELS[one.channel], "lines": one.content.splitlines() or [""]}
                for one in self.messages
            ],
        )  # fmt: skip

    @property
    def question(self) -> list[dict[str, Any]]:
        """The conversation that asks the judge."""
        return [{"role": "user", "content": self.prompt}]

    def asked_again(self, reply: str) -> list[dict[str, Any]]:
        """Return the conversation that asks the judge again, after a reply that could not be parsed."""
        again = _texts().render("again", targets=self.targets, slots=self.game.replay.scenario.slots)
        return [*self.question, {"role": "assistant", "content": reply}, {"role": "user", "content": again}]

    def beliefs(self, reply: str) -> tuple[Belief, ...] | None:
        """Return the beliefs in a reply about each target; None if it is not complete and in the requested format."""
        targets, of_one = self.targets, scores_shape(self.game.replay.scenario.slots)

        def reads(value: Any) -> Sequence[list[tuple[int, ...]]]:
            listed = [value.get(str(target)) for target in targets] if isinstance(value, dict) else []
            scores = [one for given in listed if isinstance(given, list) for one in of_one.reads(given)]
            return [scores] if len(scores) == len(targets) else []

        said = read_reply(reply, AnswerShape("one JSON object with a list for each other seat", reads, key=r"\d+")).value
        if said is None:
            return None
        return tuple(
            Belief(round=self.round, observer=self.recipient, target=target, scores=scores)
            for target, scores in zip(targets, said, strict=True)
        )


def cases_of(games: Iterable[AuditedGame]) -> Iterator[JudgeCase]:
    """Yield every case, by game, round and recipient."""
    for game in games:
        delivered = [(message.round, recipient, message) for message in game.replay.messages for recipient in message.to]
        resolved = {one.number for one in game.replay.resolved}
        for (number, recipient), mine in sorted(grouped(delivered, lambda one: one[:2]).items()):
            if number in resolved:
                yield JudgeCase(game, number, recipient, tuple(message for *_, message in mine))


def different(cases: Sequence[JudgeCase]) -> dict[str, JudgeCase]:
    """Return one case for each prompt."""
    return {case.prompt: case for case in cases}


@cache
def _texts() -> Texts:
    return Texts({path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob(f"*{SUFFIX}"))})


class JudgedCase(NamedTuple):
    """Replies of a judge to one case."""

    case: JudgeCase
    replies: tuple[str, ...]
    """As received; two if the first could not be parsed."""

    beliefs: tuple[Belief, ...] | None
    """Beliefs about each target; None if no reply could be parsed."""


def judge(model: CachedModel, cases: Sequence[JudgeCase], workers: int) -> list[JudgedCase]:
    """Return every case with the judge's replies. Raises ProviderFailure if it does not answer."""

    def replies(case: JudgeCase) -> tuple[str, ...]:
        first = model.answer(case.question).text
        if case.beliefs(first) is not None:
            return (first,)
        return first, model.answer(case.asked_again(first)).text

    asked = different(cases)
    answers = dict(zip(asked, side_by_side(replies, asked.values(), workers), strict=True))
    return [JudgedCase(case, answers[case.prompt], case.beliefs(answers[case.prompt][-1])) for case in cases]


def judged_games(games: Sequence[AuditedGame], judgements: Sequence[JudgedCase]) -> list[MeasuredGame]:
    """Return the judge's beliefs of each game. A round without messages to a seat does not change the seat's beliefs."""
    beliefs: defaultdict[str, list[Belief]] = defaultdict(list)
    missing: defaultdict[str, set[Place]] = defaultdict(set)
    for one in judgements:
        case = one.case
        beliefs[case.game.name] += one.beliefs or ()
        if one.beliefs is None:
            missing[case.game.name] |= {(case.round, case.recipient, target) for target in case.targets}
    return [MeasuredGame(game, tuple(beliefs[game.name]), frozenset(missing[game.name])) for game in games]
