"""Definition of one calendar task: calendars, the stream of meetings, prior meetings, and the two scales of cost.

The file is `environment/api/scenario.json`, schema `calendar/1`; unknown keys are errors. Agents see costs on one scale (1, 10,
100, clearly different) and are scored on another (1, 2, 3). `scale` maps the first to the second; an empty one means that they
are equal (paper, section 3, note 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from worlds.calendar.rules.items import Cells, Item, with_item
from worlds.core.models import Strict


class Errand(Strict):
    """One cell of one agent's calendar: movable at a cost, or blocked."""

    slot: int = Field(ge=0)
    id: int = Field(ge=1)
    cost: int = Field(ge=1)
    blocked: bool = False
    label: str = ""
    label_id: str = ""
    """Id in the label bank, for audits."""


class Meeting(Strict):
    """A meeting to be scheduled; `speakers` is a permutation of `participants`, in order of talk."""

    id: int = Field(ge=1)
    participants: tuple[int, ...] = Field(min_length=1)
    speakers: tuple[int, ...] = ()
    duration: int = Field(default=1, ge=1)
    cost: int = Field(default=1, ge=1)
    """Each participant's cost of moving it after it was scheduled."""

    label: str = ""
    label_id: str = ""

    @model_validator(mode="after")
    def _ascending(self) -> Meeting:
        if len(set(self.participants)) != len(self.participants) or sorted(self.participants) != list(self.participants):
            raise ValueError(f"participants of M{self.id} must be different, in ascending order")
        return self

    @property
    def order(self) -> tuple[int, ...]:
        """Participants in the order in which they talk and decide."""
        return self.speakers or self.participants

    def item(self) -> Item:
        """Return the meeting as an item of a calendar."""
        return Item("meeting", self.id, self.cost, duration=self.duration, participants=self.participants, label=self.label)


class PriorMeeting(Meeting):
    """A meeting that is scheduled before the first round."""

    slot: int = Field(ge=0)


class Scenario(Strict):
    """One task of the calendar family."""

    schema_: Literal["calendar/1"] = Field(default="calendar/1", alias="schema")
    slots: int = Field(ge=1, le=1000)
    errands: tuple[tuple[Errand, ...], ...] = Field(min_length=1)
    """Errands by agent."""

    meetings: tuple[Meeting, ...] = Field(min_length=1)
    """Meetings in the order in which they arrive, one per round."""

    prior: tuple[PriorMeeting, ...] = ()
    scale: dict[int, int] = {}
    """Shown cost -> scored cost."""

    witness: dict[int, int] = {}
    """The schedule around which the generator built the calendars: meeting -> slot. No agent sees it."""

    origin: dict[str, Any] = {}
    """Origin of the scenario: the generator's parameters, or the imported file."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        ids = [meeting.id for meeting in (*self.meetings, *self.prior)]
        if len(set(ids)) != len(ids):
            raise ValueError("two meetings have one id")
        numbers = [errand.id for mine in self.errands for errand in mine]
        if len(set(numbers)) != len(numbers):
            raise ValueError("two errands have one id")
        for meeting in (*self.meetings, *self.prior):
            if strangers := set(meeting.participants) - set(self.agents):
                raise ValueError(f"M{meeting.id} has participant {min(strangers)}, and the agents are 0 to {self.agents[-1]}")
            if meeting.speakers and sorted(meeting.speakers) != list(meeting.participants):
                raise ValueError(f"speakers of M{meeting.id} must be its participants, each once")
            if meeting.duration > self.slots:
                raise ValueError(f"M{meeting.id} is longer than a calendar")
        shown = {errand.cost for mine in self.errands for errand in mine} | {m.cost for m in (*self.meetings, *self.prior)}
        if self.scale and not shown <= set(self.scale):
            raise ValueError(f"scale lacks {sorted(shown - set(self.scale))}")
        _ = self.calendars
        return self

    @property
    def agents(self) -> range:
        """The seats."""
        return range(len(self.errands))

    @property
    def setting(self) -> str:
        """Group of comparable games: uniform or varied costs, and whether there are prior meetings.

        Imported tasks are separate groups by shape, named as in their files: agents, participants, density.
        """
        costs = "varied" if len({errand.cost for mine in self.errands for errand in mine}) > 1 else "uniform"
        costs += "-prior" if self.prior else ""
        return ", ".join([costs, *self._shape()]) if "source" in self.origin else costs

    def _shape(self) -> Iterator[str]:
        yield str(self.origin["source"])[:40]
        sizes = sorted({len(meeting.participants) for meeting in self.meetings})
        yield f"{len(self.errands)}a{'-'.join(map(str, sizes))}p"
        # the origin says what its author wrote, of whatever type
        given = self.origin.get("parameters")
        density = given.get("density") if isinstance(given, dict) else None
        if isinstance(density, int | float | list):
            yield "mixed densities" if isinstance(density, list) else f"d{density:g}"
        blocked = sorted({sum(errand.blocked for errand in mine) for mine in self.errands})
        if blocked != [0]:
            yield f"{'-'.join(map(str, blocked))} blocked"

    @cached_property
    def calendars(self) -> tuple[Cells, ...]:
        """Every agent's calendar before the first round; raises ValueError if two items share a cell."""
        made: list[Cells] = []
        for agent, mine in enumerate(self.errands):
            cells: Cells = (None,) * self.slots
            for errand in mine:
                item = Item("errand", errand.id, errand.cost, errand.blocked, label=errand.label)
                cells = _put(cells, errand.slot, item, agent)
            for meeting in self.prior:
                if agent in meeting.participants:
                    cells = _put(cells, meeting.slot, meeting.item(), agent)
            made.append(cells)
        return tuple(made)

    def scored_cost(self, shown: int) -> int:
        """Convert a shown cost to the scored scale."""
        return self.scale.get(shown, shown)

    def meeting(self, number: int) -> Meeting:
        """Return a meeting by id, including prior ones; raises KeyError if there is none."""
        return self._by_id[number]

    @cached_property
    def _by_id(self) -> dict[int, Meeting]:
        return {meeting.id: meeting for meeting in (*self.meetings, *self.prior)}

    def subset(self, numbers: Iterable[int]) -> Scenario:
        """Return this scenario with only these meetings to schedule."""
        wanted = set(numbers)
        made = self.model_copy(update={"meetings": tuple(meeting for meeting in self.meetings if meeting.id in wanted)})
        # a copy takes over what was worked out for the original
        made.__dict__.pop("_by_id", None)
        return made

    def to_json(self) -> str:
        """Return the text of scenario.json, one item per line; deterministic, without empty and default values."""
        document = {"schema": "calendar/1", **self.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
        parts = [f" {json.dumps(key)}: {_opened(value, depth=2 if key == 'errands' else 1)}" for key, value in document.items()]
        return "{\n" + ",\n".join(parts) + "\n}\n"


def read_scenario(path: Path) -> Scenario:
    """Read scenario.json; raises ValueError with the file and the field, OSError if it is missing."""
    try:
        return parse_scenario(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "scenario"
        raise ValueError(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from None


@lru_cache(maxsize=256)
def parse_scenario(text: bytes) -> Scenario:
    """Parse a scenario; cached by text, because a task is played and judged many times; raises ValidationError."""
    return Scenario.model_validate_json(text)


def _opened(value: Any, depth: int, indent: int = 1) -> str:
    """Return JSON with the entries of lists on separate lines, `depth` lists deep."""
    if not depth or not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = " " * (indent + 1)
    return "[\n" + ",\n".join(inner + _opened(one, depth - 1, indent + 1) for one in value) + f"\n{' ' * indent}]"


def _put(cells: Cells, slot: int, item: Item, agent: int) -> Cells:
    span = range(slot, slot + item.duration)
    if span.stop > len(cells) or any(cells[cell] is not None for cell in span):
        raise ValueError(f"{item.name} does not fit at slot {slot} of agent {agent}")
    return with_item(cells, slot, item, item.duration)
