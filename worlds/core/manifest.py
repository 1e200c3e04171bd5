"""Description of a task that its world needs before it starts: budgets, named costs, options, knobs and levels.

1. Settings that all tasks of a family share are code: `worlds.<family>.options` holds OPTIONS and optionally BUDGETS and COSTS.
It is found by the family's name, also in the world's own process.
2. Settings of one task are in task.toml under [metadata.parley]. `harness sync` copies them to environment/api/world.json,
because the world container sees only its own build folder, also under Harbor.
3. An option has a type, a default and allowed values; a knob is a number with a range. Both are recorded in the first event.
4. Costs are named (`request` is the default), in seconds here and in virtual ms inside a world.
5. `level` selects a level: 1 is the defaults, higher ones change some of them (`worlds.core.levels`). Explicit settings win.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from worlds.core.errors import ManifestError
from worlds.core.levels import FIRST, LEVEL, LevelChanges, SetValue, check_numbers, join_names
from worlds.core.models import Strict
from worlds.core.parts import import_part

OptionValue = SetValue
Spec = TypeVar("Spec", "Option", "Knob")

STANDARD: Mapping[str, OptionValue] = {"stop_on_violation": False, "mutate": "", "handles": False, "mitigate": ""}
"""Options that referee and path read in every world, with the values for families that do not declare them."""

_KINDS = {"str": "a string", "int": "a whole number", "float": "a number", "bool": "true or false"}

REQUEST_ONLY = {"request": 1.0}
"""Default costs of a task if neither it nor its family declares any: one second per request."""


class Option(Strict):
    """A world option: a choice, or a free value of one type."""

    type: Literal["str", "int", "float", "bool"] = "str"
    default: OptionValue
    values: tuple[OptionValue, ...] = ()
    min: int | None = None
    max: int | None = None
    """Inclusive bounds of a number without listed values."""

    floor: tuple[OptionValue, ...] = ()
    """Control values under which success is not expected; they measure the value of the missing information."""

    quiet: bool = False
    """True for a family's option that is logged only if it differs from the default, so that older logs stay valid."""

    doc: str = ""
    """One line of documentation; not written to world.json."""

    @model_validator(mode="after")
    def _default_allowed(self) -> Option:
        for value in (self.default, *self.values):
            typed = _as_type("default", self.type, value)
            if typed != value or isinstance(typed, bool) is not isinstance(value, bool):
                raise ManifestError(f"default and values must be {_KINDS[self.type]}, not {value!r}")
        check_value("default", self, self.default)
        return self


class Knob(Strict):
    """A difficulty knob: a number with an inclusive range."""

    default: FiniteFloat
    min: FiniteFloat
    max: FiniteFloat
    doc: str = ""

    @model_validator(mode="after")
    def _default_in_range(self) -> Knob:
        if not self.min <= self.default <= self.max:
            raise ValueError(f"default {self.default:g} lies outside {self.min:g}..{self.max:g}")
        return self


class Budgets(Strict):
    """Resources that an episode may use before the world closes it."""

    steps: int = Field(ge=1, le=1999)
    virtual_seconds: FiniteFloat = Field(gt=0)

    @property
    def virtual_ms(self) -> int:
        """Maximum duration of an episode, in ms."""
        return round(self.virtual_seconds * 1000)


class Shared(Strict):
    """Settings that all tasks of a family have without declaring them."""

    options: Mapping[str, Option] = {}
    budgets: Budgets | None = None
    costs: Mapping[str, FiniteFloat] = REQUEST_ONLY


@cache
def shared_settings(family: str) -> Shared:
    """Return the settings of `worlds.<family>.options`; empty if the family has no such module."""
    module = import_part("worlds", family, "options")
    said = {field: getattr(module, field.upper(), None) for field in Shared.model_fields}
    return Shared(**{field: value for field, value in said.items() if value is not None})


class Described(Strict):
    """Description of a task for its world; missing settings come from the family."""

    family: str
    category: str | None = None
    budgets: Budgets
    costs: Mapping[str, FiniteFloat]
    options: Mapping[str, Option] = {}
    """Options of the task itself."""

    defaults: Mapping[str, OptionValue] = {}
    """Options of the family that have another default in this task."""

    knobs: Mapping[str, Knob] = {}
    levels: Mapping[int, LevelChanges] = {}
    """Changes at each level from 2 on."""

    @model_validator(mode="before")
    @classmethod
    def _shared(cls, data: Any) -> Any:
        """Fill in the family's budgets and costs if the task declares none."""
        if not isinstance(data, dict) or not isinstance(data.get("family"), str):
            return data
        shared = shared_settings(data["family"])
        usual = {"costs": dict(shared.costs), **({"budgets": shared.budgets} if shared.budgets else {})}
        return {**usual, **data}

    @model_validator(mode="after")
    def _defaults_allowed(self) -> Described:
        known = shared_settings(self.family).options
        for name, value in self.defaults.items():
            if name not in known:
                raise ManifestError(f"defaults: the family {self.family} has no option {name!r}")
            if parse_value(name, known[name], value) != value:
                raise ManifestError(f"defaults: {name} must be {_KINDS[known[name].type]}, not {value!r}")
        return self

    @model_validator(mode="after")
    def _levels_allowed(self) -> Described:
        if LEVEL in {*self.options, *self.knobs}:
            raise ManifestError(f"{LEVEL} is the name of every task's levels, and of no option or knob")
        check_numbers(self.levels)
        settings = [_settings(self)]
        for number, changes in self.levels.items():
            self._check_level(f"levels.{number}", changes)
            settings.append(_settings(self.at_level(number)))
            if (like := settings.index(settings[-1]) + FIRST) != number:
                raise ManifestError(f"levels.{number}: must change something, and is what level {like} is")
        return self

    def _check_level(self, place: str, changes: LevelChanges) -> None:
        """Raise ManifestError, with the key's place, for a name that the task does not have or a value not allowed."""
        options = {name: option for name, option in self.declared_options.items() if name not in STANDARD}
        known: dict[str, Mapping[str, Any]] = {"knobs": self.knobs, "options": options, "costs": self.costs}
        for kind, specs in known.items():
            for name, value in getattr(changes, kind).items():
                if name not in specs:
                    raise ManifestError(f"{place}.{kind}.{name}: unknown; the task has {join_names(specs)}")
                if kind != "costs" and parse_value(f"{place}.{kind}.{name}:", specs[name], value) != value:
                    raise ManifestError(f"{place}.{kind}.{name}: must be {_KINDS[specs[name].type]}, not {value!r}")

    def at_level(self, level: int) -> Self:
        """Return the task with the defaults, budgets and costs of a level; raises ManifestError for an unknown level."""
        if level == FIRST:
            return self
        if level not in self.levels:
            raise ManifestError(f"there is no level {level}; there is {join_names((FIRST, *self.levels))}")
        changes = self.levels[level]
        own = {name: value for name, value in changes.options.items() if name in self.options}
        return self.model_copy(
            update={
                "knobs": _moved(self.knobs, changes.knobs),
                "options": _moved(self.options, own),
                "defaults": {**self.defaults, **{n: value for n, value in changes.options.items() if n not in own}},
                "budgets": self.budgets.model_copy(update=changes.budgets.model_dump(exclude_none=True)),
                "costs": {**self.costs, **changes.costs},
            }
        )

    @property
    def declared_options(self) -> dict[str, Option]:
        """Every option: the family's, with the defaults of this task, then the task's own."""
        shared = shared_settings(self.family).options
        changed = {name: shared[name].model_copy(update={"default": value}) for name, value in self.defaults.items()}
        return {**shared, **changed, **self.options}


class Manifest(Described):
    """The world's own copy of a task's description."""

    task_id: str

    def at_chosen_level(self, overrides: Mapping[str, OptionValue | str]) -> Manifest:
        """Return the task at the level that is set, if any; raises ManifestError for a level that the task does not have."""
        level = str(overrides.get(LEVEL, FIRST))
        known = (FIRST, *self.levels)
        if level not in map(str, known):
            some = "levels" if self.levels else "level"
            raise ManifestError(f"{self.task_id} has no level {level}; it has {some} {join_names(known)}")
        return self.at_level(int(level))

    def resolve(self, overrides: Mapping[str, OptionValue | str]) -> dict[str, OptionValue]:
        """Return every option and knob with its value: the explicit setting, else the level's, else the default.

        Includes the level unless it is 1, and a quiet option only if it differs from the family's default. Raises ManifestError
        for an unknown name or a value that is not allowed.
        """
        leveled = self.at_chosen_level(overrides)
        known: dict[str, Option | Knob] = {**leveled.declared_options, **leveled.knobs}
        chosen = {name: value for name, value in overrides.items() if name != LEVEL}
        for name in chosen:
            if name not in known:
                raise ManifestError(f"{self.task_id} has no option {name!r}; it has {', '.join(sorted(known)) or 'none'}")
        values = {n: parse_value(n, spec, chosen[n]) if n in chosen else spec.default for n, spec in known.items()}
        usual = {n: spec.default for n, spec in shared_settings(self.family).options.items() if spec.quiet}
        values = {n: value for n, value in values.items() if n not in usual or value != usual[n]}
        level = int(overrides.get(LEVEL, FIRST))
        return {**STANDARD, **values, **({LEVEL: level} if level != FIRST else {})}

    def cost_ms(self, name: str) -> int:
        """Return a named cost in virtual ms; raises ManifestError for an unknown name."""
        if name not in self.costs:
            raise ManifestError(f"{self.task_id} names no cost {name!r}; it has {', '.join(sorted(self.costs))}")
        return round(self.costs[name] * 1000)

    def to_json(self) -> str:
        """Return the content of world.json: the settings that differ from the family's, without documentation."""
        shared = shared_settings(self.family)
        stated = self.model_dump(mode="json", exclude_none=True, exclude={"options", "knobs", "levels"})
        for kind in ("options", "knobs"):
            specs: Mapping[str, Strict] = getattr(self, kind)
            stated[kind] = {
                n: spec.model_dump(mode="json", exclude_defaults=True, exclude={"doc"}) for n, spec in specs.items()
            }
        stated["levels"] = {n: changes.model_dump(mode="json", exclude_defaults=True) for n, changes in self.levels.items()}
        usual = {"budgets": shared.budgets.model_dump(mode="json") if shared.budgets else None, "costs": dict(shared.costs)}
        own = {key: value for key, value in stated.items() if value != usual.get(key, {})}
        return json.dumps(own, indent=2, sort_keys=True) + "\n"


def read_manifest(path: Path) -> Manifest:
    """Read world.json; raises ManifestError with the file and the field."""
    try:
        return _manifest(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ManifestError(f"{path}: {where}: {first['msg']}; run: harness sync") from None
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}; run: harness sync") from None


@lru_cache(maxsize=256)
def _manifest(text: bytes) -> Manifest:
    """Parse the text of world.json; cached, because a task is opened many times."""
    return Manifest.model_validate_json(text)


def parse_value(name: str, spec: Option | Knob, value: OptionValue | str) -> OptionValue:
    """Convert a text or typed value and check it against its declaration; raises ManifestError if it is invalid."""
    if isinstance(spec, Knob):
        number = _as_type(name, "float", value)
        if not spec.min <= float(number) <= spec.max:
            raise ManifestError(f"{name} must be in {spec.min:g}..{spec.max:g}, not {value}")
        return float(number)
    typed = _as_type(name, spec.type, value)
    check_value(name, spec, typed)
    return typed


def check_value(name: str, spec: Option, value: OptionValue) -> None:
    """Raise ManifestError unless `value` is one of the listed values, if any, and within the bounds."""
    if spec.values and value not in spec.values:
        raise ManifestError(f"{name} must be one of {', '.join(map(str, spec.values))}, not {value}")
    if isinstance(value, int | float) and not (
        (spec.min is None or spec.min <= value) and (spec.max is None or value <= spec.max)
    ):
        bounds = f"{'' if spec.min is None else spec.min}..{'' if spec.max is None else spec.max}"
        raise ManifestError(f"{name} must be in {bounds}, not {value}")


def _settings(task: Described) -> tuple[Any, ...]:
    options = {name: option.default for name, option in task.declared_options.items()}
    return options, {name: knob.default for name, knob in task.knobs.items()}, task.budgets, dict(task.costs)


def _moved(specs: Mapping[str, Spec], values: Mapping[str, OptionValue]) -> dict[str, Spec]:
    moved = {name: specs[name].model_copy(update={"default": value}) for name, value in values.items()}
    return {**specs, **moved}


def _as_type(name: str, kind: str, value: Any) -> OptionValue:
    try:
        if kind == "bool":
            return {"true": True, "false": False}[str(value).lower()]
        if kind == "int":
            return int(str(value))
        if kind == "float":
            if not math.isfinite(number := float(value)):
                raise ValueError("not finite")
            return number
        return str(value)
    except (KeyError, TypeError, ValueError):
        raise ManifestError(f"{name} must be {_KINDS[kind]}, not {value!r}") from None
