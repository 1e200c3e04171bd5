"""Import of tasks in the published CalBench format, one JSON object per line, and a check of their claims (specification 2).

Agents are shown the costs of the file. If the file lists its cost levels, or the costs are 1, 10, 100 or 1, 100, 1000, they are
scored 1, 2, 3, ...; any other cost is scored as it is shown. Labels, and orders of speakers if the file has none, are drawn at
random, seeded by the task's id. The optimum, F and evictions of a line are not trusted, but compared with our own certificate.
The released code counts some evictions twice, if it moves an item into the slot of a later meeting.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from harness.errors import UsageError, quoted
from harness.limits import RECORD_BYTES
from harness.records import first_problem
from harness.safe_read import read_given
from oracles.calendar.certificate import certify
from parley.families.calendar.authoring.generator import labelled, speakers
from parley.families.calendar.authoring.suite import LEVELS, Level
from parley.proof.sync import LONGEST_NAME
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.core.models import Lenient

SOURCE = "calbench"
LEVELS_SHOWN = ((1, 10, 100), (1, 100, 1000))
"""Costs that mean low, medium and high: those in the paper, and those in its released files."""

_DIGEST = 6


class _Read(Lenient):
    """Model that ignores unknown keys and does not coerce values."""

    model_config = ConfigDict(strict=True)


class _Cell(_Read):
    errand_id: int | None = Field(default=None, ge=1)
    meeting_id: int | None = Field(default=None, ge=1)
    cost: int = Field(ge=1)
    blocked: bool = False


class _Meeting(_Read):
    id: int = Field(ge=1)
    participants: list[int] = Field(min_length=1)
    duration: int = Field(default=1, ge=1)
    cost: int = Field(default=1, ge=1)
    speaker_order: list[int] | None = None


class _Prior(_Meeting):
    slot: int = Field(ge=0)


class _Witness(_Read):
    assignments: dict[int, int] = {}


class _Optimal(_Read):
    assignments: dict[int, int] | None = None
    cost: int | None = None
    """The lowest cost, as shown."""


class _Params(_Read):
    model_config = ConfigDict(extra="allow")  # the origin keeps all parameters

    total_agents: int | None = None
    num_slots: int | None = None
    num_meetings: int | None = None
    errand_cost_values: list[int] | None = None


class _Row(_Read):
    task_id: str = Field(min_length=1)
    seed: int = 0
    version: int = 1
    params: _Params = _Params()
    calendars: list[list[_Cell | None]] = Field(min_length=1)
    meetings: list[_Meeting] = Field(min_length=1)
    prior_meetings: list[_Prior] = []
    witness_solution: _Witness = _Witness()
    blocked_slots_by_agent: dict[str, list[int]] | None = None
    difficulty: str | None = None
    optimal: _Optimal | None = None
    solvable_assignment_count: int | None = None
    """F: the number of injective assignments that are schedules."""

    optimal_evictions: int | None = None
    """The number of cells with an item that the published schedule takes."""


@dataclass(frozen=True)
class CalBenchTask:
    """A line as a task."""

    name: str
    """The name of its folder; the published id is in the scenario's origin."""

    row: _Row
    """The line, with its claims about its own solution."""

    scenario: Scenario
    difficulty: Level
    drawn: bool
    """True if we drew the order of speakers of a meeting."""

    line: int = 1

    @property
    def task_id(self) -> str:
        """The published id."""
        return self.row.task_id


def read_tasks(path: Path) -> Iterator[CalBenchTask]:
    """Yield the tasks of a file in its order. Raises UsageError naming file, line and rule."""
    try:
        lines = read_given(path, RECORD_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="harness import calbench FILE.jsonl") from None
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                task = replace(imported(line), line=number)
                if task.name in seen:
                    raise ValueError(f"{task.task_id} gives the same folder as line {seen[task.name]}")
            except ValueError as error:
                raise UsageError(f"{path}:{number}: {_first(error)}") from None
            seen[task.name] = number
            yield task
    if not seen:
        raise UsageError(f"{path} holds no task")


def imported(line: str) -> CalBenchTask:
    """Return one line of a file as a task. Raises ValueError (or its subclass ValidationError) if it breaks the format."""
    row = _Row.model_validate_json(line)
    _check(row)
    chance = Chance(PUBLISHED_KEY, f"{SOURCE}/{row.task_id}", row.seed)
    ordered = all(one.speaker_order for one in row.meetings)
    origin = {
        "source": SOURCE,
        "task_id": row.task_id,
        "seed": row.seed,
        "speakers": "of the file" if ordered else "drawn by us",
        "parameters": row.params.model_dump(mode="json", exclude_unset=True),
    }
    scenario = Scenario(
        slots=len(row.calendars[0]),
        errands=tuple(tuple(_errands(cells)) for cells in row.calendars),
        meetings=tuple(_meetings(row, chance)),
        prior=tuple(PriorMeeting(**_shape(one), slot=one.slot) for one in row.prior_meetings),
        scale=_scale(row),
        witness=row.witness_solution.assignments,
        origin=origin,
    )
    _check_standing(row, scenario)
    level: Level = next((one for one in LEVELS if one == row.difficulty), "medium")
    return CalBenchTask(folder_name(row.task_id), row, labelled(scenario, chance), level, drawn=not ordered)


def folder_name(task_id: str) -> str:
    """Return a task's id as a folder's name; long ones such as b037_easy_5a_3p_d0p6_c1_1_blocked2 are cut and get a digest."""
    slug = re.sub(r"[^a-z0-9]+", "-", task_id.lower()).strip("-")
    slug = slug if slug[:1].isalpha() else f"t-{slug}".rstrip("-")
    if len(slug) <= LONGEST_NAME:
        return slug
    digest = hashlib.sha256(task_id.encode()).hexdigest()[:_DIGEST]
    return f"{slug[: LONGEST_NAME - _DIGEST - 1].rstrip('-')}-{digest}"


def _meetings(row: _Row, chance: Chance) -> Iterator[Meeting]:
    drawn = speakers([sorted(one.participants) for one in row.meetings], chance("speakers"))
    for one, order in zip(row.meetings, drawn, strict=True):
        yield Meeting(**_shape(one), speakers=tuple(one.speaker_order or order))


def _shape(one: _Meeting) -> dict[str, Any]:
    return {"id": one.id, "participants": tuple(sorted(one.participants)), "duration": one.duration, "cost": one.cost}


def _errands(cells: list[_Cell | None]) -> Iterator[Errand]:
    for slot, cell in enumerate(cells):
        if cell is not None and cell.errand_id is not None:
            yield Errand(slot=slot, id=cell.errand_id, cost=cell.cost, blocked=cell.blocked)


def _scale(row: _Row) -> dict[int, int]:
    """Return the scored cost of each shown cost; empty if all are equal. Costs that only meetings have are scored as shown."""
    costs = {cell.cost for cells in row.calendars for cell in cells if cell is not None and cell.errand_id is not None}
    values = sorted(set(row.params.errand_cost_values or ())) or sorted(costs)
    if not row.params.errand_cost_values and tuple(values) not in LEVELS_SHOWN:
        return {}
    if missing := costs - set(values):
        raise ValueError(f"errands cost {sorted(missing)}, which params.errand_cost_values do not list")
    scale = {value: level for level, value in enumerate(values, start=1)}
    others = {one.cost for one in (*row.meetings, *row.prior_meetings)} - set(scale)
    return {**scale, **{cost: cost for cost in sorted(others)}}


def _check(row: _Row) -> None:
    """Raise ValueError for errors that can be detected before a scenario is built."""
    slots, agents = len(row.calendars[0]), len(row.calendars)
    if row.version != 1:
        raise ValueError(f"version {row.version} is not known, only 1")
    for agent, cells in enumerate(row.calendars):
        if len(cells) != slots:
            raise ValueError(f"calendar {agent} has {len(cells)} slots, calendar 0 has {slots}")
        if wrong := [slot for slot, cell in enumerate(cells) if cell and (cell.errand_id is None) == (cell.meeting_id is None)]:
            raise ValueError(f"calendar {agent}, slot {wrong[0]}: a cell holds an errand_id or a meeting_id")
        listed = (row.blocked_slots_by_agent or {}).get(str(agent))
        blocked = [slot for slot, cell in enumerate(cells) if cell and cell.blocked]
        if row.blocked_slots_by_agent is not None and sorted(listed or []) != blocked:
            raise ValueError(f"calendar {agent} has blocked slots {blocked}, blocked_slots_by_agent says {listed}")
    said = {"total_agents": agents, "num_slots": slots, "num_meetings": len(row.meetings)}
    for name, counted in said.items():
        if getattr(row.params, name) not in (None, counted):
            raise ValueError(f"params.{name} is {getattr(row.params, name)}, the line has {counted}")


def _check_standing(row: _Row, scenario: Scenario) -> None:
    """Raise ValueError if cells and prior_meetings differ, or the witness names an unknown meeting or slot."""
    costs = {one.id: one.cost for one in row.prior_meetings}
    for agent, cells in enumerate(row.calendars):
        for slot, (given, cell) in enumerate(zip(cells, scenario.calendars[agent], strict=True)):
            here = given.meeting_id if given else None
            if here != (cell.id if cell and cell.kind == "meeting" else None):
                raise ValueError(f"calendar {agent}, slot {slot} and prior_meetings do not agree")
            if given and given.meeting_id and given.cost != costs[given.meeting_id]:
                raise ValueError(f"calendar {agent}, slot {slot} and prior_meetings do not agree on a cost")
    known = {one.id for one in scenario.meetings}
    for meeting, slot in row.witness_solution.assignments.items():
        if meeting not in known or not 0 <= slot < scenario.slots:
            raise ValueError(f"the witness puts M{meeting} at slot {slot}, and there is no such meeting or slot")


def _first(error: ValueError) -> str:
    """Return the first error, in one clause."""
    if isinstance(error, ValidationError):
        return first_problem(error).replace("Value error, ", "", 1)
    return f"not JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error)


@dataclass(frozen=True)
class Checked:
    """A published task with our certificate."""

    task: CalBenchTask
    certificate: Certificate

    @property
    def feasible(self) -> bool:
        """True if there is a schedule of all meetings."""
        return self.certificate.optimum is not None

    @property
    def wrong(self) -> list[str]:
        """Names of the task's claims that are wrong."""
        pairs = {name: held(self) for name, held in CLAIMS.items()}
        return [name for name, (said, true) in pairs.items() if None not in (said, true) and said != true]


def _taken(checked: Checked) -> int | None:
    """Return the number of cells with an item that the published schedule takes."""
    scenario, row = checked.task.scenario, checked.task.row
    slots = (row.optimal or _Optimal()).assignments or {}
    if not all(0 <= slots.get(meeting.id, -1) <= scenario.slots - meeting.duration for meeting in scenario.meetings):
        return None
    return sum(
        scenario.calendars[agent][cell] is not None
        for meeting in scenario.meetings
        for agent in meeting.participants
        for cell in range(slots[meeting.id], slots[meeting.id] + meeting.duration)
    )


CLAIMS: dict[str, Callable[[Checked], tuple[int | None, int | None]]] = {
    "optimum": lambda one: ((one.task.row.optimal or _Optimal()).cost, one.certificate.shown_optimum),
    "F": lambda one: (one.task.row.solvable_assignment_count, one.certificate.feasible),
    "evictions": lambda one: (one.task.row.optimal_evictions, _taken(one)),
}
"""Functions that return a claim and the true value; None for an unknown one."""


def checked(tasks: Sequence[CalBenchTask]) -> list[Checked]:
    """Return each task with its certificate."""
    return [Checked(task, certify(task.scenario)) for task in tasks]


def refuse_infeasible(rows: Sequence[Checked], file: Path) -> None:
    """Raise UsageError, naming the line and the task, if no schedule of all meetings exists."""
    without = [row.task for row in rows if not row.feasible]
    if without:
        first, more = without[0], len(without) - 1
        others = f"; {more} more have none either" if more else ""
        raise UsageError(
            f"{file}:{first.line}: {first.task_id} has no schedule of all its meetings{others}",
            hint=f"harness import calbench {quoted(file)} --allow-infeasible, or --id for others",
        )


def summary(rows: Sequence[Checked]) -> Iterator[str]:
    """Yield findings about these tasks, one line each."""
    without = sum(not row.feasible for row in rows)
    if without:
        yield f"{without} of {len(rows)} without a schedule of all meetings: marked uncertified, no regret, no normalised cost"
    apart = sum(row.certificate.shown_agrees is False for row in rows)
    yield f"{apart} of {len(rows)} without a schedule that is optimal on both scales, the shown and the scored one"
    yield f"{sum(row.task.drawn for row in rows)} of {len(rows)} without an order of speakers: drawn by us"
    for name, held in CLAIMS.items():
        told = [row for row in rows if held(row)[0] is not None]
        wrong = [row for row in told if name in row.wrong]
        examples = f", e.g. {wrong[0].task.task_id}" if wrong else ""
        yield f"{name}: claimed by {len(told)}, wrong in {len(wrong)}{examples}"
