"""Guessers that look at words and understand nothing, and the contrarian, beside what players scored (specification, C8).

On a suite without tell-tale texts each of them scores at most a blind guess and two of its standard errors. They read the brief
and all facts, in the file's order of options; imported prose too. The contrarian is the scripted group `contra`, enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from harness.families.hidden_profile.arms import arms
from harness.families.hidden_profile.figures import figures
from harness.registry import Task
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table
from oracles.hidden_profile.expected import guessing, played
from oracles.hidden_profile.guessers import scored
from worlds.hidden_profile.rules.scenario import Scenario, read_scenario
from worlds.hidden_profile.rules.worlds import LIMIT, tabulate

BLIND, CONTRARIAN = "blind guess", "contrarian"
_COLUMNS = (
    Column("player", "Player"),
    Column("kind", "Kind"),
    Column("tasks", "Tasks"),
    Column("accuracy", "Accuracy %", "percent"),
    Column("error", "s.e., pp", "points", shown=False),
    Column("bound", "1/K + 2 s.e., %", "percent"),
    Column("within", "Within"),
)
_NOTE = (
    "guessers and the contrarian, on the tasks of these runs: within says that they score no more than a blind guess and two "
    "of its standard errors; players: Ypost in the hidden profile, average rule"
)


@dataclass(frozen=True, slots=True)
class Guessed:
    """How one guesser did over some tasks."""

    accuracy: float
    blind: float
    """The accuracy of a blind guess on the same tasks."""

    error: float
    """Of a blind guess, over tasks."""

    @property
    def bound(self) -> float:
        """The most that chance explains."""
        return self.blind + 2 * self.error

    @property
    def within(self) -> bool:
        """Whether chance explains it."""
        return self.accuracy <= self.bound


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper has no such table
    """One table; none where the registry knows no task of these runs."""
    known = {task for group in evidence.played for task in group.tasks}
    scenarios = [scenario_of(task) for name, task in evidence.registry.items() if name in known]
    if not scenarios:
        return []
    rows: list[Row] = [
        {
            "player": name,
            "kind": "text only",
            "tasks": _count(scenarios, name),
            "accuracy": found.accuracy,
            "error": found.error,
            "bound": found.bound,
            "within": found.within,
        }
        for name, found in guessed(scenarios).items()
    ]
    return [Table("guessers", "Guessers beside players, hidden-profile", _COLUMNS, (*rows, *_players(evidence)), (_NOTE,))]


def guessed(scenarios: Sequence[Scenario]) -> dict[str, Guessed]:
    """A blind guess, every text-only guesser, and the contrarian on the scenarios that can be tabulated."""
    blind = [float(guessing(scenario)) for scenario in scenarios]
    found = {BLIND: _over(blind, blind)}
    scores = [scored(scenario) for scenario in scenarios]
    found |= {name: _over([score[name] for score in scores], blind) for name in scores[0]}
    small = [scenario for scenario in scenarios if _can_weigh(scenario)]
    if small:
        shares = [float(played(tabulate(scenario), "contra").average or 0) for scenario in small]
        found[CONTRARIAN] = _over(shares, [float(guessing(scenario)) for scenario in small])
    return found


def scenario_of(task: Task) -> Scenario:
    """The scenario in a task's folder; raises ValueError for a broken one, OSError for none."""
    return read_scenario(task.world_folder / "scenario.json")


def _can_weigh(scenario: Scenario) -> bool:
    """Whether words carry weights here, without which nothing looks worst, and the worlds fit a table."""
    return any(fact.weights for fact in scenario.facts) and len(scenario.base) <= LIMIT


def _count(scenarios: Sequence[Scenario], name: str) -> int:
    return sum(map(_can_weigh, scenarios)) if name == CONTRARIAN else len(scenarios)


def _over(shares: Sequence[float], blind: Sequence[float]) -> Guessed:
    return Guessed(fmean(shares), fmean(blind), sqrt(sum(chance * (1 - chance) for chance in blind)) / len(blind))


def _players(evidence: Evidence) -> Iterator[Row]:
    for arm in arms(evidence):
        if hidden := arm.tasks("hidden"):
            name = f"{arm.title} ({arm.how})" if arm.how else arm.title
            yield {"player": name, "kind": "player", "tasks": len(hidden), "accuracy": figures(hidden, {}, "average").post}
