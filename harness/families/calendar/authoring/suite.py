"""Suites of generated calendar tasks, and the measure of difficulty that selects them.

Suites: which candidates become tasks. A candidate is drawn, counted, certified, and kept or refused for a reason.

1. `canonical` is the suite of 90 (paper, section 4.1): uniform-01..45 and varied-01..45, 15 easy, medium and hard each, in
   this order. In each fifteen every seat has each density five times, and every task has as many seats at 0.6 as at 1.0, and
   so 20 blocked errands: tasks differ in difficulty by how their calendars overlap, and not by how full they are.
2. `custom` makes tasks of any other shape, with the same thresholds. `prior` is a second suite, beside the canonical one.
3. A candidate is refused if it has no schedule, if all its schedules cost the same, or if no schedule is best on both scales:
   agents are asked to minimise the costs that they are shown, and are scored on the other scale.

The suite `prior`: 30 tasks in which every optimum moves a meeting that stood before, with the help of somebody outside.

The paper says of its varied costs that the best solution may move earlier meetings, and that agents should reach out to their
participants (section 3); in the canonical suite hardly any does.
1. Each task has prior meetings in the way of new ones, none of them held by any round: whichever round moves one,
   an agent outside the new meeting has to move its copy in the voluntary phase, and must have been asked to.
2. A candidate is kept if no game without outsiders comes within MARGIN of the optimum, and none reaches it at shown costs
   (`oracles.calendar.certificate`). The certificate holds what such games cost at least.
3. Everything else is as in the canonical suite: five agents, varied costs, the same difficulties, 20 blocked errands a task, at
   every seat each density equally often.

How hard a task is to agree on, on an absolute scale: the share of its slots that a meeting finds open.

1. `total` is the number of ways to give the meetings different slots, F the number of those that are possible (specification
   5.5). s = (F / total)^(1 / meetings) is the share of slots that is open to one meeting on average; without the root a task
   would count as harder merely for having more meetings.
2. Only blocked errands close slots, so F / total measures how the blocked slots of the calendars overlap. A task without
   blocked errands has s = 1 whatever else is in it, and this scale says nothing of its difficulty. What costs add is computed
   separately (`pressure`) and does not change the level.
3. The thresholds are constants and do not depend on other candidates, so `hard` means the same in every suite. They divide
   6,000 canonical candidates (five agents, densities 0.6, 0.8, 1.0 by chance) into 34 % easy, 31 % medium and 35 % hard; the
   quartiles of F / total over these are 4.5e-3, 9.0e-3 and 1.9e-2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, cycle
from typing import Any, Literal

from harness.errors import UsageError
from harness.families.calendar.authoring.generator import Edition, Parameters, draft, labelled, parameters
from oracles.calendar import counting
from oracles.calendar.certificate import certify, saved_by_outsiders
from oracles.calendar.problem import tables
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
    """How much of a task's slots is open."""

    feasible: int
    total: int
    meetings: int

    @property
    def d(self) -> float:
        """F / total."""
        return self.feasible / self.total if self.total else 0.0

    @property
    def share(self) -> float:
        """The value of s, to be shown; the level is computed without rounding."""
        return float(self.d ** (1 / self.meetings))

    @property
    def level(self) -> Level:
        """By the thresholds."""
        if self._reaches(EASY_FROM):
            return "easy"
        return "medium" if self._reaches(HARD_BELOW) else "hard"

    def _reaches(self, share: Fraction) -> bool:
        """Return whether s >= share, computed in whole numbers, so that it is the same on every machine."""
        return self.feasible * int(share.denominator**self.meetings) >= self.total * int(share.numerator**self.meetings)


def openness(scenario: Scenario) -> Openness:
    """Count; raises UsageError for a task that is too large to be counted."""
    problem = tables(scenario)
    counted = counting.feasible(problem)
    if counted is None:
        raise UsageError("the task is too large for its feasible schedules to be counted", hint=BY_HAND)
    return Openness(counted, counting.total(problem), len(scenario.meetings))


def pressure(scenario: Scenario, certificate: Certificate) -> dict[str, float | None]:
    """Return what costs add to the difficulty of a task that has a schedule, in scored units.

    `per_seat`: the optimum for each participant of each meeting (the published score of older files, there by slot).
    `lookahead`: what is lost by taking each meeting's cheapest open slot in turn; None where that gets stuck.
    """
    seats = sum(len(meeting.participants) for meeting in scenario.meetings)
    optimum, myopic = certificate.optimum, certificate.myopic
    assert optimum is not None, "a task without a schedule has no pressure"
    lost = None if myopic is None or myopic.cost is None else myopic.cost - optimum
    return {"per_seat": round(optimum / seats, 3), "lookahead": lost}


def check_pool(pool: Sequence[Openness]) -> None:
    """Raise UsageError, saying why, for candidates that cannot be told easy from hard."""
    if all(one.feasible == one.total for one in pool):
        raise UsageError(
            "no errand is blocked, so every schedule is possible and all tasks would be equally easy; "
            "--blocked must be 1 or more",
            hint=BY_HAND,
        )
    if len(pool) > 1 and len({(one.feasible, one.total) for one in pool}) == 1:
        raise UsageError(
            f"all {len(pool)} candidates have the same F / total, {pool[0].d:.3g}: no difficulty to tell", hint=BY_HAND
        )


CANONICAL = "canonical"
DENSITIES = (0.6, 0.8, 1.0)
PER_LEVEL = 15
SETTINGS: dict[str, dict[str, Any]] = {"uniform": {}, "varied": {"pref_level": 3, "balanced": True}}
BLOCKED = 6
"""At density 1; 2 and 4 at 0.6 and 0.8."""

PATIENCE = 2000
"""Candidates for one task."""

POOL = 10
"""Candidates that must differ in their share of possible schedules before any of them is called easy or hard."""


@dataclass(frozen=True)
class Made:
    """One task of a suite."""

    name: str
    scenario: Scenario
    difficulty: Level
    certificate: Certificate


@dataclass
class CandidateTally:
    """What became of the candidates, by the reason for which they were refused."""

    refused: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    doing: str = ""
    """What is being computed, for a person who waits."""


def canonical(*, seed: int = 0, key: str = PUBLISHED_KEY, tally: CandidateTally | None = None) -> Iterator[Made]:
    """The 90 tasks, one by one; another seed gives another 90."""
    tally = tally or CandidateTally()
    for setting, costs in SETTINGS.items():
        # another seed is another suite by name, so that neither overwrites the other's folders
        edition = Edition(f"{CANONICAL}-{setting}{f'-{seed}' if seed else ''}", key)
        seeds, number = count(), count(1)
        for level in LEVELS:
            for densities in design(edition.chance(seed)(f"densities {level}"), PER_LEVEL):
                like = parameters(density=densities, blocked=BLOCKED, **costs)
                name = f"{setting}-{next(number):02d}"
                yield first_fit(name, like, edition, seeds, level, tally)


def custom(
    name: str, like: Parameters, how_many: int, *, only: Level | None = None, label: Level | None = None,
    key: str = PUBLISHED_KEY, tally: CandidateTally | None = None,
) -> Iterator[Made]:  # fmt: skip
    """Tasks `name`-01, ... of one shape, with seeds from `like.seed` on.

    Args:
        name: the suite's, and the beginning of each task's.
        like: the parameters of all, but for the seed.
        how_many: tasks.
        only: keep candidates of this difficulty and no others.
        label: what to call the difficulty of all, whatever their slots are.
        key: the key of a held-out edition.
        tally: hears what became of the candidates.

    Raises:
        UsageError: the difficulties cannot be told apart, or tasks like this are not to be found.
    """
    tally, edition, seeds = tally or CandidateTally(), Edition(name, key), count(like.seed)
    if label is None:
        check_pool([_counted(like, place, edition, tally) for place in range(POOL)])
    digits = max(2, len(str(how_many)))
    for number in range(1, how_many + 1):
        yield first_fit(f"{name}-{number:0{digits}d}", like, edition, seeds, only, tally, label)


def _counted(like: Parameters, place: int, edition: Edition, tally: CandidateTally) -> Openness:
    tally.doing = f"counting the schedules of candidate {place + 1} of {POOL}"
    return openness(draft(_seeded(like, like.seed + place), edition))


def first_fit(
    name: str, like: Parameters, edition: Edition, seeds: Iterator[int], only: Level | None, tally: CandidateTally,
    label: Level | None = None, screen: Callable[[Scenario], str] = lambda scenario: "",
) -> Made:  # fmt: skip
    """The first candidate that will do.

    Args:
        name: of the task.
        like: its parameters, but for the seed.
        edition: what is drawn from.
        seeds: those to be tried, the next ones first.
        only: keep candidates of this difficulty and no others.
        tally: hears what became of the candidates.
        label: what to call the difficulty, whatever the slots are.
        screen: why a candidate is refused before it is counted and certified; nothing where it is not.

    Raises:
        UsageError: no candidate will do.
    """
    for _ in range(PATIENCE):
        chosen = _seeded(like, next(seeds))
        scenario = draft(chosen, edition)
        tally.drawn += 1
        tally.doing = f"{name}: proving candidate {tally.drawn}, of {like.num_meetings} meetings"
        if why := screen(scenario):
            tally.refused[why] += 1
            continue
        level = label or openness(scenario).level
        certificate = certify(scenario) if only in (None, level) else None
        why = refusal(certificate) if certificate else "of another difficulty"
        if certificate and not why:
            return Made(name, labelled(scenario, edition.chance(chosen.seed)), level, certificate)
        tally.refused[why] += 1
    refused = ", ".join(f"{number} {why}" for why, number in tally.refused.items())
    raise UsageError(
        f"{name}: none of {PATIENCE} candidates will do; refused so far: {refused}",
        hint="harness generate calendar with other parameters, or another --seed",
    )


def _seeded(like: Parameters, seed: int) -> Parameters:
    return like.model_copy(update={"seed": seed})


def refusal(certificate: Certificate) -> str:
    """Return why a candidate makes no task; nothing where it makes one."""
    if certificate.optimum is None:
        return "without a schedule"
    if certificate.worst == certificate.optimum:
        return "same cost for every schedule"
    if not certificate.shown_agrees:
        return "best on one scale only"
    return ""


def design(stream: Stream, tasks: int) -> list[tuple[float, ...]]:
    """The densities of each of some tasks by seat: in a task as many low as high ones, at every seat each equally often.

    Each seat's densities are shuffled over the tasks first. Then, while a task has more high densities than low ones, it swaps
    the densities of one seat with a task that has not.
    """
    seats = parameters().num_agents
    columns = [[-1, 0, 1] * (tasks // len(DENSITIES)) for _ in range(seats)]
    for column in columns:
        stream.shuffle(column)
    rows = [list(row) for row in zip(*columns, strict=True)]
    while high := [row for row in rows if sum(row) > 0]:
        # trading with a row that is level already, and so unsettling it, gets out of places where no other trade helps
        much, little = stream.choice(high), stream.choice([row for row in rows if sum(row) <= 0])
        seat = stream.choice([seat for seat in range(seats) if much[seat] > little[seat]])
        much[seat], little[seat] = little[seat], much[seat]
    return [tuple(DENSITIES[place + 1] for place in row) for row in rows]


PRIOR = "prior"
PRIOR_NAME = "varied-prior"
"""The suite's name, and the beginning of each task's."""

PRIOR_PER_LEVEL = 10
MARGIN = 2
"""Scored units that outsiders save at least."""

PRIOR_MEETINGS: dict[Level, tuple[int, ...]] = {"easy": (3, 4), "medium": (2, 3, 4), "hard": (2, 3, 4)}
"""How many stand, by turns. Where many slots are open, two are hardly ever worth moving."""


def prior(*, seed: int = 0, key: str = PUBLISHED_KEY, tally: CandidateTally | None = None) -> Iterator[Made]:
    """The 30 tasks, one by one, ten easy, medium and hard each; another seed gives another 30."""
    tally = tally or CandidateTally()
    # another seed is another suite by name, so that neither overwrites the other's folders
    edition = Edition(f"{PRIOR}-varied{f'-{seed}' if seed else ''}", key)
    rows = iter(design(edition.chance(seed)("densities"), PRIOR_PER_LEVEL * len(LEVELS)))
    seeds, number = count(), count(1)
    for level in LEVELS:
        standing = cycle(PRIOR_MEETINGS[level])
        for _ in range(PRIOR_PER_LEVEL):
            like = parameters(
                density=next(rows), blocked=BLOCKED, prior_meetings=next(standing), prior_in_the_way=True, **SETTINGS["varied"]
            )
            name = f"{PRIOR_NAME}-{next(number):02d}"
            yield first_fit(name, like, edition, seeds, level, tally, screen=needless)


def needless(scenario: Scenario) -> str:
    """Return why outsiders matter too little in a scenario; nothing where they matter."""
    saved = saved_by_outsiders(scenario)
    if saved is not None and saved < MARGIN:
        return "outsiders save too little"
    shown = saved_by_outsiders(scenario, "shown")
    return "outsiders save nothing at shown costs" if shown is not None and shown < 1 else ""
