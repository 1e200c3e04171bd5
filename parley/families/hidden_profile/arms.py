"""Arms: groups of sessions that may share a row, with their figures and intervals (docs/hidden-profile.md).

1. The sessions of an arm have the same setup, except for condition and kind of deals, and tasks of one standing. Ypre and Ypost
are computed from its sessions in `hidden`, Yfull from those in `full`, the floor from those in `shared_only`, all with hidden
deals. Manifest deals, in which the option that all shared facts favour is right, are counted separately.
2. The standing of a task is its origin and its certification. Certified tasks of the suite, imported tasks and generated tasks
never share a row, because it was not shown that they measure the same (findings, 4.2).
3. A session is one graded episode. If it broke off before a vote, the missing vote counts as wrong for every seat.
4. A figure is the mean over tasks of the mean over sessions. Figures that compare conditions use only tasks played in both.
5. Intervals use a two-level bootstrap, of tasks and then of the sessions of each task, with a fixed seed, because the votes in
a session depend on each other, and so do the sessions of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.frames import grouped
from harness.records import Result
from harness.registry import Task
from parley.families.hidden_profile.authoring.derived import CERTIFICATE
from parley.reports.evidence import Evidence, Group
from parley.reports.models import ModelEntry
from parley.reports.table import Value
from parley.statistics import Interval, rate_interval, scipy_stats
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import read_task

OWN = ""
"""Standing of certified tasks of the suite."""

NOTE = (
    "uncertified: it is not proved that the right option follows from the facts, nor that no single hand reveals it; "
    "imported, generated and uncertified tasks have separate rows"
)
"""Note under each table with rows of other standings."""


def standing_notes(words: Iterable[str]) -> tuple[str, ...]:
    """Return the notes of a table over tasks of these standings."""
    return (NOTE,) if any(words) else ()


def named(whose: str | None, *, certified: bool) -> str:
    """Return the name of a standing, such as `imported, uncertified`; "" for a certified task of the suite."""
    parts = (whose if whose in {"imported", "generated"} else "", "" if certified else "uncertified")
    return ", ".join(part for part in parts if part)


def of_result(result: Result) -> str | None:
    """Return the standing of an episode's task from its verdict; None if the verdict does not have it."""
    certified = result.metrics.get("certified")
    return None if certified is None else named(result.metrics.get("whose"), certified=bool(certified))


def of_task(task: Task) -> str:
    """Return the standing of a task from its folder."""
    try:
        whose = read_task(task.world_folder / SCENARIO).whose
        proved = Certificate.model_validate_json((task.path / CERTIFICATE).read_bytes())
    except (OSError, ValueError):
        return OWN
    return named(whose, certified=proved.certified)


def by_task(evidence: Evidence) -> Mapping[str, str]:
    """Return the standing of each task that is not a certified task of the suite, from a verdict or else the task's folder."""
    told: dict[str, str] = {}
    for result in (result for group in evidence.groups for result in group.graded):
        if (word := of_result(result)) is not None:
            told.setdefault(result.task_id, word)
    played = {result.task_id for group in evidence.groups for result in (*group.graded, *group.ungraded)}
    told |= {task: of_task(evidence.registry[task]) for task in played - told.keys() if task in evidence.registry}
    return {task: word for task, word in told.items() if word != OWN}


CONDITIONS = ("hidden", "full", "shared_only")
HIDDEN, MANIFEST = "hidden", "manifest"
"""Kinds of deals."""

RULES = ("average", "majority")
"""Rules that turn a session's votes into one figure (specification, 1.3): the share of right votes, or a majority of them."""

PLURALITY = "plurality"
"""The rule of the paper's released code: the most frequent vote, the first of equals."""

Tasks = Mapping[str, Sequence[Result]]
"""The sessions of each task."""


@dataclass
class Arm:
    """A player under one set-up, with its sessions in every condition."""

    title: str
    setup: str
    """The standing of the tasks, and all settings that are not the default, except condition and kind of deals."""

    entry: ModelEntry | None
    fine: tuple[str, ...]
    standing: str = OWN
    groups: list[Group] = field(default_factory=list)

    @property
    def how(self) -> str | None:
        """The set-up as a cell; None for the default."""
        return self.setup or None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of its rows; sessions that are held as the paper's released code holds them have its rule, too."""
        return (*RULES, PLURALITY) if "revote=same" in self.setup else RULES

    @property
    def is_public(self) -> bool:
        """True if the random values of any session were drawn with the published key."""
        return any(result.key_digest == key_digest(PUBLISHED_KEY) for group in self.groups for result in group.graded)

    def tasks(self, condition: str, deal: str = HIDDEN) -> dict[str, list[Result]]:
        """Return the sessions of each task in one condition, with one kind of deals."""
        graded = (result for group in self.groups for result in group.graded)
        mine = (result for result in graded if condition_of(result) == condition and deal_of(result) == deal)
        return grouped(mine, lambda result: result.task_id)

    @property
    def ungraded(self) -> int:
        """Number of ungraded episodes over all conditions."""
        return sum(len(group.ungraded) for group in self.groups)


def arms(evidence: Evidence) -> list[Arm]:
    """Return the arms of a report, in the order in which they were read."""
    by_setup: dict[tuple[Any, ...], Arm] = {}
    standings = by_task(evidence)
    for group in evidence.played:
        setup = group.setup
        how = [word for word in setup.how if not word.startswith(("condition=", "deal="))]
        for standing, part in _by_standing(group, standings):
            key = (setup.agent, setup.model, tuple(how), setup.fine, standing)
            said = ", ".join([standing, *how] if standing else how)
            arm = by_setup.setdefault(key, Arm(group.title, said, group.entry, setup.fine, standing))
            arm.groups.append(part)
    _tell_apart(list(by_setup.values()))
    return list(by_setup.values())


def _by_standing(group: Group, standings: Mapping[str, str]) -> Iterator[tuple[str, Group]]:
    """Yield a group's sessions by the standing of their tasks."""
    tasks = dict.fromkeys(result.task_id for result in (*group.graded, *group.ungraded))
    by_word = grouped(tasks, lambda task: standings.get(task, OWN))
    for word, mine in by_word.items():
        yield word, group if len(by_word) == 1 else group.only(mine)


def condition_of(result: Result) -> str:
    """Return the condition of an episode from its verdict, or else the requested condition."""
    return str(result.metrics.get("condition") or result.options.get("condition", CONDITIONS[0]))


def deal_of(result: Result) -> str:
    """Return the kind of an episode's deal; the only deal of a task counts as hidden."""
    return str(result.metrics.get("deal") or HIDDEN)


def accuracy(result: Result, when: str, rule: str) -> float:
    """Return a session's accuracy `before` or `after` the talk by a rule; 0 without votes."""
    vote = (result.metrics.get("votes") or {}).get(when)
    return float(vote.get(rule) or 0) if vote else 0.0


def votes(result: Result, when: str) -> tuple[int, int]:
    """Return the numbers of right and wrong votes `before` or `after` the talk; missing votes count as wrong."""
    seats = len(result.metrics.get("seats") or ())
    right = round(accuracy(result, when, "average") * seats)
    return right, seats - right


def _tell_apart(known_arms: Sequence[Arm]) -> None:
    """Add minor settings to the set-ups of arms that would otherwise be shown under the same name."""
    names = [(arm.title, arm.setup) for arm in known_arms]
    for arm, name in zip(known_arms, names, strict=True):
        if names.count(name) > 1:
            arm.setup = ", ".join(part for part in (arm.setup, *arm.fine) if part)


REPLICATES = 2000
SEED = 20
METHOD = f"95 % intervals: two-level bootstrap, tasks then sessions (attempts at a seed count as one), {REPLICATES} replicates"

Floats = NDArray[np.float64]
Cell = Sequence[Sequence[Sequence[float]]]
"""Sessions of one task by condition, each session a row of values."""


def replicates(cells: Sequence[Cell]) -> list[Floats]:
    """Return, for each condition, replicated means over tasks of means over sessions: a row per replicate, a column per value.

    Every task must have sessions in every condition.
    """
    rng = np.random.default_rng(SEED)
    tables = [[np.asarray(sessions, dtype=np.float64) for sessions in cell] for cell in cells]
    picks = rng.integers(0, len(tables), size=(REPLICATES, len(tables)))
    means = [np.empty((*picks.shape, sessions.shape[1])) for sessions in tables[0]]
    for place, cell in enumerate(tables):
        slots = picks == place
        for mean, sessions in zip(means, cell, strict=True):
            drawn = rng.integers(0, len(sessions), size=(int(slots.sum()), len(sessions)))
            mean[slots] = sessions[drawn].mean(axis=1)
    return [mean.mean(axis=1) for mean in means]


def interval(values: Floats) -> Interval:
    """Return the middle 95 % of replicated values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def resampled(values: Callable[[Sequence[Result]], Sequence[Sequence[float]]], *conditions: Tasks) -> list[Floats] | None:
    """Return replicates of the values of sessions, on the tasks that all conditions have; None if they are too few.

    The bootstrap needs at least two tasks, or two sessions of a single task in each condition.
    """
    tasks = [task for task in conditions[0] if all(task in condition for condition in conditions)]
    cells: list[Cell] = [[values(condition[task]) for condition in conditions] for task in tasks]
    is_enough = len(cells) > 1 or (cells and all(len(sessions) > 1 for sessions in cells[0]))
    return replicates(cells) if is_enough else None


STRONG_FULL, STRONG_SHARE = 0.8, 0.4
HOLDS_BEFORE, HOLDS_FULL = 0.2, 0.8
_SMALLEST = 0.05
"""`recovered` is computed only if Yfull - Ypre is greater than this."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over tasks; None if a condition was not played."""

    pre: float | None
    post: float | None
    full: float | None


def figures(hidden: Tasks, full: Tasks, rule: str) -> Figures:
    """Return Ypre and Ypost of the sessions in `hidden`, and Yfull of those in `full`."""
    return Figures(_mean(hidden, "before", rule), _mean(hidden, "after", rule), _mean(full, "before", rule))


def informed(hidden: Tasks, manifest: Tasks, rule: str) -> dict[str, Value]:
    """Return accuracy on manifest deals and informedness, with its interval, by column of the table `accuracy`."""
    both = [task for task in hidden if task in manifest]
    ours, theirs = ({task: tasks[task] for task in both} for tasks in (hidden, manifest))
    shown: dict[str, Value] = {"manifest": _mean(manifest, "after", rule)}
    for when, column in (("after", "informedness"), ("before", "informedness_pre")):
        right, other = _mean(ours, when, rule), _mean(theirs, when, rule)
        shown[column] = None if right is None or other is None else right + other - 1
    if drawn := resampled(partial(_sessions, rule=rule), hidden, manifest):
        mine, beside = drawn
        shown["informedness_interval"] = interval(mine[:, 1] + beside[:, 1] - 1)
    return shown


def row(hidden: Tasks, full: Tasks, floor: Tasks, rule: str) -> dict[str, Value]:
    """Return all figures of one arm by one rule, with their intervals, by column of the table `accuracy`."""
    shown = figures(hidden, full, rule)
    both = [task for task in hidden if task in full]
    paired = figures({task: hidden[task] for task in both}, {task: full[task] for task in both}, rule)
    return {
        "pre": shown.pre,
        "post": shown.post,
        "full": shown.full,
        "full_post": _mean(full, "after", rule),
        "floor": _mean(floor, "before", rule),
        "gain": _less(shown.post, shown.pre),
        "gap": _less(paired.post, paired.full),
        "recovered": recovered(paired),
        "strong": strong(paired),
        **_intervals(hidden, full, rule),
        # by the majority rule, the accuracy of a session is 0 or 1
        **({"post_wilson": rate_interval(_majorities(hidden))} if rule == "majority" else {}),
    }


def recovered(measured: Figures) -> float | None:
    """Return the share of the difference between Ypre and Yfull that the talk recovers; None if the difference is too small."""
    gain, way = _less(measured.post, measured.pre), _less(measured.full, measured.pre)
    return gain / way if gain is not None and way is not None and _beyond(_SMALLEST, way) > 0 else None


def strong(measured: Figures) -> bool | None:
    """Return True for strong collective reasoning as the paper defines it; None if a condition was not played."""
    gain, way = _less(measured.post, measured.pre), _less(measured.full, measured.pre)
    if gain is None or way is None or measured.full is None:
        return None
    return _beyond(STRONG_FULL, measured.full) > 0 and _beyond(STRONG_SHARE * way, gain) > 0


def holds(hidden: Sequence[Result], full: Sequence[Result]) -> bool:
    """Return True if a task is a hidden profile for the player of these sessions (rulings, 3.14), by the average rule."""
    alone, informed = (fmean(accuracy(result, "before", "average") for result in mine) for mine in (hidden, full))
    return _beyond(HOLDS_BEFORE, alone) <= 0 <= _beyond(HOLDS_FULL, informed)


def fisher(first: tuple[Iterable[Result], str], second: tuple[Iterable[Result], str]) -> float | None:
    """Return the paper's p: Fisher's exact test on the votes of two groups of sessions, taken as independent."""
    piles = [[votes(result, when) for result in sessions] for sessions, when in (first, second)]
    table = [[sum(right for right, _ in pile), sum(wrong for _, wrong in pile)] for pile in piles]
    if not all(map(sum, table)):
        return None
    return float(scipy_stats().fisher_exact(table).pvalue)


def _beyond(bound: float, value: float) -> float:
    """Return how far a value is above a bound, rounded so that a mean of thirds can equal the bound."""
    return round(value - bound, 9)


def _mean(tasks: Tasks, when: str, rule: str) -> float | None:
    if not tasks:
        return None
    return fmean(fmean(accuracy(result, when, rule) for result in mine) for mine in tasks.values())


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _sessions(mine: Sequence[Result], rule: str) -> list[list[float]]:
    """Return accuracy before and after the talk for each deal; attempts at one seed share a deal and count as one session."""
    deals = grouped(mine, lambda result: result.seed).values()
    return [[fmean(accuracy(one, when, rule) for one in attempts) for when in ("before", "after")] for attempts in deals]


def _intervals(hidden: Tasks, full: Tasks, rule: str) -> Mapping[str, Value]:
    """Return bootstrap intervals: of one condition over all its tasks, of differences between conditions over common tasks."""
    intervals: dict[str, Value] = {}
    values = partial(_sessions, rule=rule)
    if drawn := resampled(values, hidden):
        pre, post = drawn[0].T
        intervals |= {"pre_interval": interval(pre), "post_interval": interval(post), "gain_interval": interval(post - pre)}
    if drawn := resampled(values, full):
        intervals["full_interval"] = interval(drawn[0][:, 0])
    if drawn := resampled(values, hidden, full):
        intervals["gap_interval"] = interval(drawn[0][:, 1] - drawn[1][:, 0])
    return intervals


def _majorities(hidden: Tasks) -> list[list[bool]]:
    return [[accuracy(one, "after", "majority") > 0 for one in mine] for mine in hidden.values()]
