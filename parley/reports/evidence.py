"""Runs as evidence for tables: reading, grouping by setup, completeness, power, and pass^k (docs/reports.md).

1. Ungraded episodes are counted separately, because a failure of a provider or a runtime is not a failure of the agent. Retries
   are counted separately too, because they repeat only failed episodes and may have received a hint.
2. A setup is the player and every condition that is not the default. Episodes under different conditions are never averaged.
   The model id and the prompt also separate rows, but are shown only if two names would be equal without them. The address of
   a model does not separate rows, because the same model may move to another address between two runs.
3. The player is taken from the plan, because an episode whose sandbox never opened does not record its model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from harness.agent import Budget, SeatSpec
from harness.errors import HarnessError, UsageError
from harness.frames import grouped
from harness.headline import ended_by
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.request import Planned, read_record
from harness.teams import PlannedTeam
from parley.places import runs_in
from parley.reports.compact import kept
from parley.reports.models import ModelEntry, find_model
from parley.reports.table import Table
from parley.sharing.release import pinned_tasks
from parley.statistics import mde_words, pass_hat
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.manifest import STANDARD
from worlds.core.parts import import_part


@dataclass(frozen=True)
class Run:
    """A run: its folder, its plan, and its compact results by path (`parley.reports.compact`)."""

    path: Path
    planned: Planned
    results: tuple[Result, ...]


def read_runs(paths: Sequence[Path], damaged: list[HarnessError] | None = None) -> list[Run]:
    """Return the runs in these folders, each once. Raises UsageError for a folder without runs and for an unreadable file.

    If `damaged` is given, unreadable episodes are appended to it and left out.
    """
    return [Run(path, planned, tuple(kept(RunFolder(path).results(damaged)))) for path, planned in planned_runs(paths)]


@contextmanager
def naming_misfits(runs: Sequence[Run]) -> Iterator[None]:
    """Re-raise an error of making tables as UsageError that names the result with invalid measures, if there is one.

    Measures are checked against their family's schema only after an error, because checking 100,000 results takes longer than
    reading them.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        for result in (result for run in runs for result in run.results):
            if why := misfit(result):
                path = f"{result.path}/result.json"
                raise UsageError(f"{path} is not valid in this version: its metrics: {why}", hint="leave its run out") from None
        raise


def planned_runs(paths: Sequence[Path]) -> list[tuple[Path, Planned]]:
    """Return folders and plans of the runs in these folders, each once, without episodes; raises like `read_runs`."""
    folders = dict.fromkeys(folder.resolve() for path in paths for folder in _folders(path))
    records = [(folder, read_record(RunFolder(folder))) for folder in folders]
    if (gone := next((folder for folder, record in records if record is None), None)) is not None:
        raise UsageError(f"{gone} no longer holds a run.json")
    return [(folder, record.identity) for folder, record in records if record is not None]


def _folders(path: Path) -> list[Path]:
    runs = runs_in(path)
    if not runs:
        raise UsageError(f"{path} holds no run.json", hint="harness report runs/*, or the folder that harness run printed")
    return runs


_SAMPLING = {"temperature": 0.0}
"""Default sampling parameters of a model."""

_PROTOCOL = "tools"
"""Default protocol of tool calls. Rows name only other protocols, but always the interface."""

_SEATS = "seats"
"""The interface of a result whose agent played seats of a game."""


@dataclass(frozen=True)
class Setup:
    """The identity of a row."""

    agent: str
    model: str | None
    how: tuple[str, ...]
    """Interface and conditions, as shown to readers."""

    fine: tuple[str, ...]
    """Model id and prompt digest, shown only to tell equal names apart."""


class Conditions:
    """Settings of one run's plan and results that are not the default."""

    def __init__(self, planned: Planned, registry: Mapping[str, Task], results: Sequence[Result] = ()) -> None:
        self.planned = planned
        known = [registry[task] for task in planned.tasks if task in registry]
        self._defaults = [_defaults(task) for task in known]
        self._setups: dict[tuple[Any, ...], Setup] = {}
        # an episode whose sandbox never opened has no interface; take that of the other episodes, or of the registry
        self._is_game = any(task.is_seated for task in known) or any(result.interface == _SEATS for result in results)

    def setup(self, result: Result) -> Setup:
        """Return the setup of an episode."""
        # cached, because a run with 10,000 episodes has only a few setups
        told = (result.agent, result.key_digest, result.templates, json.dumps(result.options, sort_keys=True))
        if told not in self._setups:
            self._setups[told] = self._setup(result)
        return self._setups[told]

    def _setup(self, result: Result) -> Setup:
        agent = self.planned.agent
        how = [*self._playing(), *self._line_up(), *self.options(result), *self.budgets()]
        if result.key_digest != key_digest(PUBLISHED_KEY):
            how.append(f"edition {result.key_digest[:8]}")
        if result.templates:
            how.append(f"templates {result.templates[:8]}")
        prompt = agent.prompt_digest
        fine = (agent.model, f"prompt {prompt[:8]}" if prompt else None)
        return Setup(agent.name or result.agent, agent.model, tuple(how), tuple(part for part in fine if part))

    def _playing(self) -> list[str]:
        agent = self.planned.agent
        if agent.requested is None:
            return []
        asked = {"temperature": "unset", **agent.requested}
        asking = () if self._is_game else (agent.interface, agent.protocol)
        words = [word for word in asking if word not in {None, _PROTOCOL}]
        return [*words, *(_said(name, value) for name, value in sorted(asked.items()) if _SAMPLING.get(name) != value)]

    def _line_up(self) -> list[str]:
        """Return the players of the other seats, and the seats whose prompt has a variant."""
        agent = self.planned.agent
        seats = [f"seat {one.seat}={_called(one)}" for one in agent.seats]
        rotating = ["rotating"] if agent.rotate else []
        variants = {"": agent.variant, **{f"seat {seat} ": one for seat, one in sorted(agent.seat_variants.items())}}
        varied = [f"{where}variant {one.name} {one.digest[:8]}" for where, one in variants.items() if one is not None]
        return [*(_members(agent.team) if agent.team else []), *seats, *rotating, *varied]

    def options(self, result: Result) -> list[str]:
        """Return the options of an episode's world that are not the default, formatted for readers."""
        return [_said(name, value) for name, value in sorted(result.options.items()) if not self._is_default(name, value)]

    def _is_default(self, name: str, value: Any) -> bool:
        """Return True if the option has its default value in every known task of the run."""
        if name in STANDARD:
            return bool(STANDARD[name] == value)
        return bool(self._defaults) and all(name in known and known[name] == value for known in self._defaults)

    def budgets(self) -> list[str]:
        """Return the budgets that are not the default, formatted for readers."""
        # the default may also be set explicitly, as in the plans of older versions
        usual = asdict(Budget(wall_s=Budget().seconds(game=self._is_game)))
        told = asdict(self.planned.budget)
        return [_said(n, value) for n, value in sorted(told.items()) if value is not None and usual.get(n) != value]


def _called(seat: SeatSpec) -> str:
    # all people are one kind of player; their names do not make different set-ups
    return "human" if seat.kind == "human" else f"{'replay:' * (seat.kind == 'replay')}{seat.name}"


def _members(team: PlannedTeam) -> list[str]:
    """Return a team's members regardless of their order; its line-ups are balanced, so they are not a condition."""
    names = [one.name for one in team.members]
    guest = names.pop() if team.entrant else None
    where = "" if team.entrant_seat is None else f" at seat {team.entrant_seat}"
    return [*sorted(names), *([f"entrant {guest}{where}"] if guest else [])]


def _defaults(task: Task) -> dict[str, Any]:
    ours = task.parley
    if ours is None:
        return {}
    return {n: spec.default for n, spec in ours.declared_options.items()} | {n: spec.default for n, spec in ours.knobs.items()}


def _said(name: str, value: Any) -> str:
    return f"{name}={f'{value:g}' if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else value}"


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
    """Plans of its runs, without retries."""

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
        return grouped(self.graded, lambda result: (result.task_id, result.seed))

    @property
    def tasks(self) -> dict[str, list[Result]]:
        """The graded attempts at each task, over all seeds."""
        return grouped(self.graded, lambda result: result.task_id)

    @property
    def rates(self) -> dict[str, float]:
        """The mean reward of each task."""
        return {task: sum(result.reward or 0.0 for result in mine) / len(mine) for task, mine in self.tasks.items()}

    @property
    def addresses(self) -> list[str]:
        """Base URLs of the model, from the runs that record one."""
        return list(dict.fromkeys(plan.agent.api_base for plan in self.plans if plan.agent.api_base))

    @property
    def planned(self) -> dict[str, str]:
        """Digest of each planned task."""
        return {task: digest for plan in self.plans for task, digest in plan.tasks.items()}

    @property
    def seeds(self) -> set[int]:
        """The planned seeds."""
        return {seed for plan in self.plans for seed in plan.seeds}

    @property
    def attempts(self) -> int:
        """Planned attempts at each instance."""
        return max((plan.attempts for plan in self.plans), default=1)

    @property
    def temperature(self) -> float | str | None:
        """Sampling temperature: a number, `default` if none was sent, or `mixed`; None if no model was graded."""
        if self.setup.model is None or not self.graded:
            return None
        (only, *more) = {result.parameters.get("effective", {}).get("temperature") for result in self.graded}
        return "mixed" if more else "default" if only is None else float(only)

    def only(self, tasks: Collection[str]) -> Group:
        """Return this group restricted to these tasks, as if no others had been planned."""
        graded, ungraded, retries = (
            [result for result in shelf if result.task_id in tasks] for shelf in (self.graded, self.ungraded, self.retries)
        )
        planned = [{task: digest for task, digest in plan.tasks.items() if task in tasks} for plan in self.plans]
        plans = [plan.model_copy(update={"tasks": mine}) for plan, mine in zip(self.plans, planned, strict=True)]
        return replace(self, plans=plans, graded=graded, ungraded=ungraded, retries=retries)


@dataclass(frozen=True)
class Breadth:
    """Additional rows of a report beyond the tasks and models of its runs."""

    every_task: bool = False
    """Include rows of tasks that no run played."""

    every_published: bool = False
    """Include published rows of models that no run played."""


@dataclass(frozen=True)
class Evidence:
    """The groups of one family, and its tasks in the registry."""

    family: str
    groups: tuple[Group, ...]
    registry: Mapping[str, Task]
    """The family's tasks by id; empty without a registry."""

    breadth: Breadth = Breadth()

    @property
    def played(self) -> list[Group]:
        """Groups with first tries."""
        return [group for group in self.groups if group.graded or group.ungraded]

    @property
    def tasks(self) -> list[str]:
        """Planned or played tasks, those of the registry first and in its order; with `every_task`, all of the registry."""
        known = dict.fromkeys(task for group in self.groups for task in (*group.planned, *group.tasks))
        listed = [task for task in self.registry if task in known or self.breadth.every_task]
        return list(dict.fromkeys((*listed, *known)))

    def shows(self, printed: str) -> bool:
        """Return True if the published numbers of the model that a paper calls `printed` are shown beside ours.

        They are shown if the model was run, or if all published rows are requested.
        """
        return self.breadth.every_published or any(
            group.entry is not None and group.entry.printed.get(self.family) == printed for group in self.groups
        )

    def only(self, tasks: Collection[str]) -> Evidence:
        """Return the evidence restricted to these tasks."""
        registry = {name: task for name, task in self.registry.items() if name in tasks}
        return replace(self, groups=tuple(group.only(tasks) for group in self.groups), registry=registry)

    def split(self, suite: Collection[str]) -> tuple[Evidence, Evidence]:
        """Return the evidence of a family's own suite, and separately that of added tasks.

        If no run is on the suite, everything is returned as the suite, and the second part is empty.
        """
        if not any(task in suite for group in self.groups for task in (*group.planned, *group.tasks)):
            return self, self.only(())
        return self.only(suite), self.only([task for task in self.tasks if task not in suite])


def gather(runs: Sequence[Run], family: str, tasks: Sequence[Task], breadth: Breadth = Breadth()) -> Evidence:
    """Return the evidence of one family in these runs, beside the registry's `tasks`."""
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
    """Return the plan without tasks known to be of another family; unknown tasks stay planned and count as missing."""
    other = {task.task_id for task in tasks if task.family != family}
    other |= {result.task_id for result in run.results if result.family != family}
    mine = {task: digest for task, digest in run.planned.tasks.items() if task not in other}
    return run.planned.model_copy(update={"tasks": mine})


def _name(groups: Sequence[Group]) -> None:
    """Name each group by model or agent and conditions, and add model id and prompt if names would be equal."""
    for group in groups:
        how = ", ".join(group.setup.how)
        group.name = f"{group.title} ({how})" if how else group.title
    counted = Counter(group.name for group in groups)
    for group in groups:
        if counted[group.name] > 1:
            group.name += f" [{', '.join(group.setup.fine)}]"


@dataclass(frozen=True)
class Status:
    """Coverage of a family's tasks by a group."""

    done: int
    """Tasks with all their attempts."""

    wanted: int
    others: int
    """Tasks that do not belong to the family."""

    changed: tuple[str, ...]
    """Tasks played with another digest than that of the release or the registry."""

    @property
    def complete(self) -> bool:
        """True if the row may be ranked."""
        return self.done == self.wanted and not self.others

    @property
    def text(self) -> str:
        """`complete`, or the progress in tasks."""
        if self.complete:
            return "complete"
        return f"{self.done} of {self.wanted} tasks" + (f" and {self.others} other" if self.others else "")


def status(group: Group, evidence: Evidence) -> Status:
    """Return the coverage of the family's tasks by a group."""
    digests = wanted_tasks(evidence)
    wanted = set(digests)
    cells, seeds = group.cells, group.seeds
    done = [task for task in wanted if all(len(cells.get((task, seed), ())) >= group.attempts for seed in seeds)]
    changed = [task for plan in group.plans for task, digest in plan.tasks.items() if (digests.get(task) or digest) != digest]
    others = {*group.planned, *group.tasks} - wanted
    return Status(len(done), len(wanted), len(others), tuple(dict.fromkeys(changed)))


def wanted_tasks(evidence: Evidence) -> Mapping[str, str]:
    """Return the tasks of a complete row with their digests; the digest is "" for a task known only from runs."""
    played = {task for one in evidence.groups for task in (*one.planned, *one.tasks)}
    pinned = pinned_tasks(evidence.family)
    if played & set(pinned):
        return pinned
    if evidence.registry:
        return {name: task.digest for name, task in evidence.registry.items()}
    return {task: "" for one in evidence.groups for task in one.planned}


def plan_words(groups: Sequence[Group]) -> list[str]:
    """Return a sentence on the differences that the rows with most planned tasks can detect, for each number of attempts."""
    most = max((len(group.planned) for group in groups), default=0)
    widest = {max(1, len(group.seeds)) * group.attempts for group in groups if len(group.planned) == most}
    return [mde_words(most, attempts) for attempts in sorted(widest)]


def pass_k(cells: Iterable[Sequence[Result]], k: int) -> float | None:
    """Return pass^k over the instances that have k graded attempts; None if there are none."""
    counted = [(sum(result.success for result in cell), len(cell)) for cell in cells if len(cell) >= k]
    return sum(pass_hat(passed, n, k) for passed, n in counted) / len(counted) if counted else None


class Maker(Protocol):
    """A function that makes related tables; it returns none if the runs have no data for them."""

    def __call__(self, evidence: Evidence, *, published: bool) -> list[Table]:
        """Return the tables, with the paper's numbers beside ours if `published`."""
        ...


ALL = "all"
"""The name that stands for every table."""

Needs = Mapping[str, tuple[str, str]]
"""For each table, the episodes that it needs and the command that plays them."""


Makers = Mapping[str, tuple[Maker, ...]]


def make(
    tables: Makers, needs: Needs, evidence: Evidence, wanted: Sequence[str], *, published: bool, by_name: Makers | None = None
) -> list[Table]:
    """Return the wanted tables. If none are named, or if `all` is named, return every table that is not empty.

    Tables in `by_name` are made only if they are named. Raises UsageError for an unknown table, and for a named table that is
    empty.
    """
    # with `all`, also the named ones of these tables; without names, none of them
    named = {name: makers for name, makers in (by_name or {}).items() if name in wanted or (wanted and ALL not in wanted)}
    tables, wanted = {**tables, **named}, [] if ALL in wanted else wanted
    for name in wanted:
        if name not in tables:
            raise UsageError(f"{evidence.family} has no table {name!r}; it has {', '.join(tables)} and all")
    made: list[Table] = []
    for name in wanted or tables:
        new_tables = [table for maker in tables[name] for table in maker(evidence, published=published)]
        if name in wanted and not new_tables:
            raise empty(name, needs.get(name, ("graded first tries", "harness run")), evidence.played)
        made += new_tables
    return _with_addresses(made, evidence)


def empty(name: str, need: tuple[str, str], played: Sequence[Group]) -> UsageError:
    """Return the error for a requested table that is empty; if nothing is graded, it names the causes."""
    (lacking, hint), lost = need, [result for group in played for result in group.ungraded]
    why = f"the table {name} needs {lacking}, which these runs do not have"
    if lost and not any(group.graded for group in played):
        count = f"all {len(lost)} episodes are" if len(lost) > 1 else "the one episode is"
        return UsageError(f"{why}: {count} ungraded: {ended_by(lost)}", hint="harness report RUN --table causes")
    return UsageError(why, hint=hint)


def _with_addresses(made: Sequence[Table], evidence: Evidence) -> list[Table]:
    """Return the tables, with the base URLs of models as notes under the first; rows name models without their addresses."""
    asked = [f"{group.name} was called at {' and at '.join(group.addresses)}" for group in evidence.played if group.addresses]
    return [replace(table, notes=(*table.notes, *asked)) if table is made[0] else table for table in made]


def misfit(result: Result) -> str:
    """Describe a mismatch between an episode's measures and its family's schema; "" if all measures present match."""
    module = import_part("worlds", result.family, "rules.measures")
    try:
        if module is not None:
            module.Measures.model_validate(dict(result.metrics))
    except ValidationError as error:
        wrong = [one for one in error.errors() if one["type"] != "missing" or len(one["loc"]) > 1]
        return next((f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong), "")
    return ""
