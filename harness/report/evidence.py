"""What tables are made from: the episodes of one family, in one group for each setup, beside the registry's tasks.

1. Ungraded episodes stand apart: a failure of a provider or a runtime is no failure of the agent.
2. So do retries: they play failures only, and may have been told something, so they are no first tries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.records import Result
from harness.registry import Task
from harness.report.models import ModelEntry, find_model
from harness.report.runs import Run
from harness.report.setups import Conditions, Setup
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
