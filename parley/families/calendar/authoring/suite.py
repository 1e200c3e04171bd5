"""Suites of generated calendar tasks, and the measure of difficulty that selects them (docs/calendar.md).

A candidate is drawn at random, its schedules are counted, and it is certified. It is refused if it has no schedule, if all its
schedules cost the same, or if no schedule is best on both scales (agents minimize the costs that they are shown, and are scored
on the other scale). In the suite `prior`, every optimum moves a prior meeting with the help of an agent outside the round's
meeting: no game without such help comes within MARGIN of the optimum, and none reaches it at shown costs. Both suites have each
density equally often at every seat, and 20 blocked errands per task, so that tasks differ in difficulty by the overlap of their
calendars, not by their fill.

Difficulty is on an absolute scale: s = (F / total)^(1 / meetings) is the share of slots that is open to one meeting on average
(specification 5.5). Without the root a task would count as harder merely for having more meetings. Only blocked errands close
slots, so without them s = 1. The thresholds do not depend on other candidates, so `hard` means the same in every suite; they
divide 6,000 canonical candidates into 34 % easy, 31 % medium and 35 % hard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, cycle
from typing import Any, Literal

from harness.errors import UsageError
from oracles.calendar import counting
from oracles.calendar.certificate import certify, outsider_saving
from oracles.calendar.problem import build_problem
from parley.families.calendar.authoring.generator import Edition, Parameters, draft, labelled, parameters
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.scenario import Scenario
from worlds.core.chance import PUBLISHED_KEY, Stream

Level = Literal["easy", "medium", "hard"]
LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")

EASY_FROM = Fraction(43, 100)
HARD_BELOW = Fraction(36, 100)
"""Thresholds of s; for five meetings they mean F / total of at least 0.0147, and below 0.0060."""

BY_HAND = "harness generate calendar with --blocked N, or with --label LEVEL to set the difficulty by hand"


@dataclass(frozen=True)
class Openness:
    """Counts of schedules, from which the share of open slots is computed."""

    feasible: int
    total: int
    meetings: int

    @property
    def level(self) -> Level:
        """Difficulty level by the thresholds."""
        if self._reaches(EASY_FROM):
            return "easy"
        return "medium" if self._reaches(HARD_BELOW) else "hard"

    def _reaches(self, share: Fraction) -> bool:
        """Return True if s >= share, computed with integers so that it is the same on every machine."""
        return self.feasible * int(share.denominator**self.meetings) >= self.total * int(share.numerator**self.meetings)


def openness(scenario: Scenario) -> Openness:
    """Count the schedules. Raises UsageError for a task that is too large."""
    problem = build_problem(scenario)
    counted = counting.count_feasible(problem)
    if counted is None:
        raise UsageError("the task is too large for its feasible schedules to be counted", hint=BY_HAND)
    return Openness(counted, counting.count_total(problem), len(scenario.meetings))


def pressure(scenario: Scenario, certificate: Certificate) -> dict[str, float | None]:
    """Return the effect of costs on the difficulty of a task that has a schedule, in scored units.

    `per_seat` is the optimum for each participant of each meeting (the published score of older files, where it is called
    slot). `lookahead` is the loss by taking the cheapest open slot for one meeting after the other; None if that gets stuck.
    """
    seats = sum(len(meeting.participants) for meeting in scenario.meetings)
    optimum, myopic = certificate.optimum, certificate.myopic
    assert optimum is not None, "a task without a schedule has no pressure"
    lost = None if myopic is None or myopic.cost is None else myopic.cost - optimum
    return {"per_seat": round(optimum / seats, 3), "lookahead": lost}


def check_pool(pool: Sequence[Openness]) -> None:
    """Raise UsageError with the reason if candidates do not differ in difficulty."""
    if all(one.feasible == one.total for one in pool):
        raise UsageError(
            "no errand is blocked, so every schedule is possible and all tasks would be equally easy; "
            "--blocked must be 1 or more",
            hint=BY_HAND,
        )
    if len(pool) > 1 and len({(one.feasible, one.total) for one in pool}) == 1:
        share = pool[0].feasible / (pool[0].total or 1)
        raise UsageError(
            f"all {len(pool)} candidates have the same F / total, {share:.3g}, and so the same difficulty", hint=BY_HAND
        )


CANONICAL = "canonical"
DENSITIES = (0.6, 0.8, 1.0)
PER_LEVEL = 15
SETTINGS: dict[str, dict[str, Any]] = {"uniform": {}, "varied": {"pref_level": 3, "balanced": True}}
BLOCKED = 6
"""Number at density 1; 2 and 4 at 0.6 and 0.8."""

PATIENCE = 2000
"""Maximum number of candidates for one task."""

POOL = 10
"""Number of candidates that are checked for different shares of possible schedules before tasks are made."""


@dataclass(frozen=True)
class Made:
    """A task of a suite."""

    name: str
    scenario: Scenario
    difficulty: Level
    certificate: Certificate


@dataclass
class CandidateTally:
    """Counts of candidates, by the reason for which they were refused."""

    refused: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    doing: str = ""
    """Current computation, for progress messages."""


@dataclass
class _Drawing:
    """Draws candidates of one edition, each with the next seed."""

    edition: Edition
    tally: CandidateTally
    seeds: Iterator[int]

    def first_fit(
        self, name: str, like: Parameters, only: Level | None, label: Level | None = None,
        screen: Callable[[Scenario], str] = lambda scenario: "",
    ) -> Made:  # fmt: skip
        """Return the first acceptable candidate of the difficulty `only`, or of any; `label` replaces the computed one.

        `screen` returns why a candidate is refused before it is counted and certified, or "". Raises UsageError if no
        candidate is acceptable.
        """
        tally = self.tally
        for _ in range(PATIENCE):
            chosen = _seeded(like, next(self.seeds))
            scenario = draft(chosen, self.edition)
            tally.drawn += 1
            tally.doing = f"{name}: proving candidate {tally.drawn}, of {like.num_meetings} meetings"
            if why := screen(scenario):
                tally.refused[why] += 1
                continue
            level = label or openness(scenario).level
            certificate = certify(scenario) if only in (None, level) else None
            why = refusal(certificate) if certificate else "of another difficulty"
            if certificate and not why:
                return Made(name, labelled(scenario, self.edition.chance(chosen.seed)), level, certificate)
            tally.refused[why] += 1
        refused = ", ".join(f"{number} {why}" for why, number in tally.refused.items())
        raise UsageError(
            f"{name}: none of {PATIENCE} candidates was accepted; refused: {refused}",
            hint="harness generate calendar with other parameters, or another --seed",
        )


def _suite(name: str, seed: int, key: str, tally: CandidateTally | None) -> _Drawing:
    # the name contains any other seed, so that two suites do not overwrite each other's folders
    return _Drawing(Edition(f"{name}{f'-{seed}' if seed else ''}", key), tally or CandidateTally(), count())


def canonical(*, seed: int = 0, key: str = PUBLISHED_KEY, tally: CandidateTally | None = None) -> Iterator[Made]:
    """Yield the 90 tasks (paper, section 4.1), 15 easy, medium and hard each by setting; another seed gives another 90."""
    tally = tally or CandidateTally()
    for setting, costs in SETTINGS.items():
        drawing, number = _suite(f"{CANONICAL}-{setting}", seed, key, tally), count(1)
        for level in LEVELS:
            for densities in design(drawing.edition.chance(seed)(f"densities {level}"), PER_LEVEL):
                like = parameters(density=densities, blocked=BLOCKED, **costs)
                yield drawing.first_fit(f"{setting}-{next(number):02d}", like, level)


def custom(
    name: str, like: Parameters, how_many: int, *, only: Level | None = None, label: Level | None = None,
    key: str = PUBLISHED_KEY, tally: CandidateTally | None = None,
) -> Iterator[Made]:  # fmt: skip
    """Yield `how_many` tasks `name`-01, ... of one shape, with seeds from `like.seed` on.

    With `only` candidates of another difficulty are refused; `label` replaces the computed difficulty. Raises UsageError if
    difficulties cannot be told apart, or if no such tasks can be found.
    """
    drawing = _Drawing(Edition(name, key), tally or CandidateTally(), count(like.seed))
    if label is None:
        pool = []
        for place in range(POOL):
            drawing.tally.doing = f"counting the schedules of candidate {place + 1} of {POOL}"
            pool.append(openness(draft(_seeded(like, like.seed + place), drawing.edition)))
        check_pool(pool)
    digits = max(2, len(str(how_many)))
    for number in range(1, how_many + 1):
        yield drawing.first_fit(f"{name}-{number:0{digits}d}", like, only, label)


def _seeded(like: Parameters, seed: int) -> Parameters:
    return like.model_copy(update={"seed": seed})


def refusal(certificate: Certificate) -> str:
    """Return why a candidate is refused, or ""."""
    if certificate.optimum is None:
        return "without a schedule"
    if certificate.worst == certificate.optimum:
        return "same cost for every schedule"
    if not certificate.shown_agrees:
        return "best on one scale only"
    return ""


def design(stream: Stream, tasks: int) -> list[tuple[float, ...]]:
    """Return the densities of tasks by seat: as many low as high ones in a task, each equally often at every seat.

    Each seat's densities are shuffled over the tasks first. Then, while a task has more high densities than low ones, the
    densities of one seat are swapped with those of a task that does not.
    """
    seats = parameters().num_agents
    columns = [[-1, 0, 1] * (tasks // len(DENSITIES)) for _ in range(seats)]
    for column in columns:
        stream.shuffle(column)
    rows = [list(row) for row in zip(*columns, strict=True)]
    while high := [row for row in rows if sum(row) > 0]:
        # swapping with a balanced row may unbalance it, but this is needed if no other swap helps
        much, little = stream.choice(high), stream.choice([row for row in rows if sum(row) <= 0])
        seat = stream.choice([seat for seat in range(seats) if much[seat] > little[seat]])
        much[seat], little[seat] = little[seat], much[seat]
    return [tuple(DENSITIES[place + 1] for place in row) for row in rows]


PRIOR = "prior"
PRIOR_NAME = "varied-prior"
"""The suite's name, and the prefix of each task's name."""

PRIOR_PER_LEVEL = 10
MARGIN = 2
"""Minimum saving by the help of outside agents, in scored units."""

PRIOR_MEETINGS: dict[Level, tuple[int, ...]] = {"easy": (3, 4), "medium": (2, 3, 4), "hard": (2, 3, 4)}
"""Numbers of prior meetings, used in turn. If many slots are open, it rarely pays to move two meetings."""


def prior(*, seed: int = 0, key: str = PUBLISHED_KEY, tally: CandidateTally | None = None) -> Iterator[Made]:
    """Yield the 30 tasks, ten easy, medium and hard each; another seed gives another 30."""
    drawing, number = _suite(f"{PRIOR}-varied", seed, key, tally), count(1)
    rows = iter(design(drawing.edition.chance(seed)("densities"), PRIOR_PER_LEVEL * len(LEVELS)))
    for level in LEVELS:
        standing = cycle(PRIOR_MEETINGS[level])
        for _ in range(PRIOR_PER_LEVEL):
            like = parameters(
                density=next(rows), blocked=BLOCKED, prior_meetings=next(standing), prior_in_the_way=True, **SETTINGS["varied"]
            )
            yield drawing.first_fit(f"{PRIOR_NAME}-{next(number):02d}", like, level, screen=needless)


def needless(scenario: Scenario) -> str:
    """Return the reason why outside agents matter too little in a scenario, or ""."""
    saved = outsider_saving(scenario)
    if saved is not None and saved < MARGIN:
        return "outsiders save too little"
    shown = outsider_saving(scenario, "shown")
    return "outsiders save nothing at shown costs" if shown is not None and shown < 1 else ""
