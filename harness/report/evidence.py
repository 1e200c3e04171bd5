"""What tables are made from: the episodes of one family, in one group for each setup, beside the registry's tasks.

1. Ungraded episodes stand apart: a failure of a provider or a runtime is no failure of the agent.
2. So do retries: they play failures only, and may have been told something, so they are no first tries.

Whether a row may be ranked: every task of the release, every planned seed, as many graded attempts as planned.

The release is the pinned list of `harness.release`, whatever lies in the tasks folder of whoever reports. Where no run played a
task of it - a family or a suite of one's own - what the registry holds stands in its place, or what all the runs together
planned. Tasks beyond that make another suite, and a row on another suite is not ranked; tasks that somebody added stand in a
table of their own (`Evidence.split`). A task that was played in another version is named.

What a plan can see: the smallest true difference between two models that it tells apart four times of five.

For T tasks that both play, with n attempts each at every task (seeds times k):
(t(1 - alpha/2) + t(power)) * sqrt((w^2 + 2 v / n) / T), t at T - 1 degrees; w is the deviation of true differences over tasks,
v the variance of attempts at one task (Miller 2024, arXiv:2411.00640). More attempts shrink the second term only: past some
point a plan needs more tasks.

pass^k of a group: the share of instances at which all of k attempts succeed; trust is this, and not the mean.

It is unbiased where more than k attempts were graded: C(c, k) / C(n, k) for each (task, seed), averaged over those with n >= k.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.records import Result
from harness.registry import Task
from harness.release import pinned_tasks
from harness.report.models import ModelEntry, find_model
from harness.report.runs import Run
from harness.report.setups import Conditions, Setup
from harness.report.statistics import pass_hat, student
from harness.runs.request import Planned

Cell = tuple[str, int]
"""A task and a seed."""


@dataclass
class Group:
    """The episodes of one setup."""

    setup: Setup
    name: str
    """Unique among the groups of a report."""

    entry: ModelEntry | None
    plans: list[Planned] = field(default_factory=list)
    """Of its runs, retries left out."""

    graded: list[Result] = field(default_factory=list)
    ungraded: list[Result] = field(default_factory=list)
    retries: list[Result] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The model or the agent, without its conditions."""
        return self.entry.name if self.entry else self.setup.model or self.setup.agent

    @property
    def cells(self) -> dict[Cell, list[Result]]:
        """The graded attempts at each instance."""
        by_cell: dict[Cell, list[Result]] = {}
        for result in self.graded:
            by_cell.setdefault((result.task_id, result.seed), []).append(result)
        return by_cell

    @property
    def tasks(self) -> dict[str, list[Result]]:
        """The graded attempts at each task, over all seeds."""
        by_task: dict[str, list[Result]] = {}
        for result in self.graded:
            by_task.setdefault(result.task_id, []).append(result)
        return by_task

    @property
    def rates(self) -> dict[str, float]:
        """The mean reward of each task."""
        return {task: sum(result.reward or 0.0 for result in mine) / len(mine) for task, mine in self.tasks.items()}

    @property
    def addresses(self) -> list[str]:
        """Where its model was asked, of its runs that say so."""
        return list(dict.fromkeys(plan.agent.api_base for plan in self.plans if plan.agent.api_base))

    @property
    def planned(self) -> dict[str, str]:
        """Task and digest, as planned."""
        return {task: digest for plan in self.plans for task, digest in plan.tasks.items()}

    @property
    def seeds(self) -> set[int]:
        """The seeds that were planned."""
        return {seed for plan in self.plans for seed in plan.seeds}

    @property
    def attempts(self) -> int:
        """Attempts at each instance, as planned."""
        return max((plan.attempts for plan in self.plans), default=1)

    @property
    def temperature(self) -> float | str | None:
        """What the model was run at: a number, `default` where none was sent, `mixed`; None where no model was graded."""
        if self.setup.model is None or not self.graded:
            return None
        (only, *more) = {result.parameters.get("effective", {}).get("temperature") for result in self.graded}
        return "mixed" if more else "default" if only is None else float(only)

    def only(self, tasks: Collection[str]) -> Group:
        """This group on these tasks, as if no other had been planned."""
        graded, ungraded, retries = (
            [result for result in shelf if result.task_id in tasks] for shelf in (self.graded, self.ungraded, self.retries)
        )
        planned = [{task: digest for task, digest in plan.tasks.items() if task in tasks} for plan in self.plans]
        plans = [plan.model_copy(update={"tasks": mine}) for plan, mine in zip(self.plans, planned, strict=True)]
        return replace(self, plans=plans, graded=graded, ungraded=ungraded, retries=retries)


@dataclass(frozen=True)
class Breadth:
    """How far a report reaches beyond what these runs played."""

    every_task: bool = False
    """Rows also of tasks that nobody here played."""

    every_published: bool = False
    """Published rows also of models that nobody here ran."""


@dataclass(frozen=True)
class Evidence:
    """The groups of one family, and what its registry holds."""

    family: str
    groups: tuple[Group, ...]
    registry: Mapping[str, Task]
    """The family's tasks, by id; empty where there is no registry here."""

    breadth: Breadth = Breadth()

    @property
    def played(self) -> list[Group]:
        """Groups with first tries."""
        return [group for group in self.groups if group.graded or group.ungraded]

    @property
    def tasks(self) -> list[str]:
        """The tasks that were planned or played, those of the registry first and in its order; all of them where asked."""
        known = dict.fromkeys(task for group in self.groups for task in (*group.planned, *group.tasks))
        listed = [task for task in self.registry if task in known or self.breadth.every_task]
        return list(dict.fromkeys((*listed, *known)))

    def shows(self, printed: str) -> bool:
        """Whether numbers of a model, by its name in its paper, belong beside ours: it was run here, or all are asked for."""
        return self.breadth.every_published or any(
            group.entry is not None and group.entry.printed.get(self.family) == printed for group in self.groups
        )

    def only(self, tasks: Collection[str]) -> Evidence:
        """What there is of these tasks alone."""
        registry = {name: task for name, task in self.registry.items() if name in tasks}
        return replace(self, groups=tuple(group.only(tasks) for group in self.groups), registry=registry)

    def split(self, suite: Collection[str]) -> tuple[Evidence, Evidence]:
        """What there is of a family's own suite, and apart from it of tasks that somebody added.

        Where no run is of the suite, what was played is a suite of its own, and nothing stands apart.
        """
        if not any(task in suite for group in self.groups for task in (*group.planned, *group.tasks)):
            return self, self.only(())
        return self.only(suite), self.only([task for task in self.tasks if task not in suite])


def gather(runs: Sequence[Run], family: str, tasks: Sequence[Task], breadth: Breadth = Breadth()) -> Evidence:
    """The evidence of one family in these runs, beside the registry's `tasks`."""
    registry = {task.task_id: task for task in tasks if task.family == family}
    groups: dict[Setup, Group] = {}
    for run in runs:
        mine = [result for result in run.results if result.family == family]
        planned = _of_family(run, family, tasks)
        conditions = Conditions(planned, registry, mine)
        for result in mine:
            setup = conditions.setup(result)
            group = groups.setdefault(setup, Group(setup, "", find_model(setup.model)))
            _shelf(group, result).append(result)
            if run.planned.retry is None and not any(plan is planned for plan in group.plans):
                group.plans.append(planned)
    _name(list(groups.values()))
    return Evidence(family, tuple(groups.values()), registry, breadth)


def _shelf(group: Group, result: Result) -> list[Result]:
    if result.hint is not None:
        return group.retries
    return group.graded if result.status == "graded" else group.ungraded


def _of_family(run: Run, family: str, tasks: Sequence[Task]) -> Planned:
    """The plan without what is known to be of another family; a task that nobody knows was planned, and is missing."""
    other = {task.task_id for task in tasks if task.family != family}
    other |= {result.task_id for result in run.results if result.family != family}
    mine = {task: digest for task, digest in run.planned.tasks.items() if task not in other}
    return run.planned.model_copy(update={"tasks": mine})


def _name(groups: Sequence[Group]) -> None:
    """Name each group by model or agent and conditions, and by the fine print where that is not enough."""
    for group in groups:
        how = ", ".join(group.setup.how)
        group.name = f"{group.title} ({how})" if how else group.title
    counted = Counter(group.name for group in groups)
    for group in groups:
        if counted[group.name] > 1:
            group.name += f" [{', '.join(group.setup.fine)}]"


@dataclass(frozen=True)
class Status:
    """How much of the family a group has covered."""

    done: int
    """Tasks with all their attempts."""

    wanted: int
    others: int
    """Tasks that the family does not have."""

    changed: tuple[str, ...]
    """Tasks that were played with another digest than the release, or the registry, has."""

    @property
    def complete(self) -> bool:
        """Whether the row may be ranked."""
        return self.done == self.wanted and not self.others

    @property
    def text(self) -> str:
        """`complete`, or how far it got."""
        if self.complete:
            return "complete"
        return f"{self.done} of {self.wanted} tasks" + (f" and {self.others} other" if self.others else "")


def status(group: Group, evidence: Evidence) -> Status:
    """How much of the family a group has covered."""
    digests = wanted_tasks(evidence)
    wanted = set(digests)
    cells, seeds = group.cells, group.seeds
    done = [task for task in wanted if all(len(cells.get((task, seed), ())) >= group.attempts for seed in seeds)]
    changed = [task for plan in group.plans for task, digest in plan.tasks.items() if (digests.get(task) or digest) != digest]
    others = {*group.planned, *group.tasks} - wanted
    return Status(len(done), len(wanted), len(others), tuple(dict.fromkeys(changed)))


def wanted_tasks(evidence: Evidence) -> Mapping[str, str]:
    """The tasks that complete means, with their digests; "" for the digest of a task that is only known by its runs."""
    played = {task for one in evidence.groups for task in (*one.planned, *one.tasks)}
    pinned = pinned_tasks(evidence.family)
    if played & set(pinned):
        return pinned
    if evidence.registry:
        return {name: task.digest for name, task in evidence.registry.items()}
    return {task: "" for one in evidence.groups for task in one.planned}


BETWEEN, WITHIN = 0.15, 0.15
"""Assumed where nothing is measured: the deviation of true differences over tasks, the variance of attempts at one task."""


def mde(
    tasks: int, attempts: int, *, power: float = 0.8, alpha: float = 0.05, between: float = BETWEEN, within: float = WITHIN
) -> float | None:
    """The difference that such a plan sees, in 0..1; `attempts` are seeds times k at each task. None for fewer than two tasks.

    Pass the tasks and attempts of the run at hand, never those of the registry. More than 1 means that it can see nothing.
    """
    if tasks < 2:
        return None
    quantiles = student(tasks - 1, 1 - alpha / 2) + student(tasks - 1, power)
    return float(quantiles * math.sqrt((between**2 + 2 * within / attempts) / tasks))


def mde_words(tasks: int, attempts: int) -> str:
    """A sentence for a person: what this plan can see."""
    seen = mde(tasks, attempts)
    near = "any two models" if seen is None or seen >= 1 else f"models that differ by less than about {100 * seen:.0f} points"
    one = "task x" if tasks == 1 else "tasks x"
    return f"{tasks} {one} {attempts} {'attempt' if attempts == 1 else 'attempts'} do not tell {near} apart"


def plan_words(groups: Sequence[Group]) -> list[str]:
    """A sentence for each number of attempts among the rows that planned most tasks: what these plans can see."""
    most = max((len(group.planned) for group in groups), default=0)
    widest = {max(1, len(group.seeds)) * group.attempts for group in groups if len(group.planned) == most}
    return [mde_words(most, attempts) for attempts in sorted(widest)]


def pass_k(cells: Iterable[Sequence[Result]], k: int) -> float | None:
    """pass^k over the instances that have k graded attempts; None where none has."""
    counted = [(sum(result.success for result in cell), len(cell)) for cell in cells if len(cell) >= k]
    return sum(pass_hat(passed, n, k) for passed, n in counted) / len(counted) if counted else None


def reliability(group: Group) -> float | None:
    """pass^k of a group at the k that was planned."""
    return pass_k(group.cells.values(), group.attempts)
