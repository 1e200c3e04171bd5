"""What a world must know about its task before it starts: budgets, named costs, options and knobs.

The author writes these in task.toml under [metadata.parley]; `harness sync` copies them to environment/api/world.json,
because the world container, also under Harbor, sees only its own build folder.
1. An option has a type, a default and allowed values; a knob is a number with a range. Both are set by name, and both are
   part of the first event of the log.
2. Costs are named (`request` is the default one), in seconds here and in virtual ms inside a world.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from worlds.core.errors import ManifestError

OptionValue = bool | int | float | str


class Strict(BaseModel):
    """A frozen model in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Option(Strict):
    """A world option: a choice, or a free value of one type."""

    type: Literal["str", "int", "float", "bool"] = "str"
    default: OptionValue
    values: tuple[OptionValue, ...] = ()
    min: int | None = None
    max: int | None = None
    """Bounds of a number that is free otherwise, both allowed."""

    doc: str = Field(min_length=1)

    @model_validator(mode="after")
    def _default_allowed(self) -> Option:
        for value in (self.default, *self.values):
            typed = _as_type("default", self.type, value)
            if typed != value or isinstance(typed, bool) is not isinstance(value, bool):
                raise ManifestError(f"default and values must be a {self.type}, not {value!r}")
        check_value("default", self, self.default)
        return self


class Knob(Strict):
    """A difficulty knob: a number with a range, both ends allowed."""

    default: float
    min: float
    max: float
    doc: str = Field(min_length=1)

    @model_validator(mode="after")
    def _default_in_range(self) -> Knob:
        if not self.min <= self.default <= self.max:
            raise ValueError(f"default {self.default:g} lies outside {self.min:g}..{self.max:g}")
        return self


class Budgets(Strict):
    """What an episode may use before the world closes it."""

    steps: int = Field(ge=1, le=1999)
    virtual_seconds: float = Field(gt=0)


class Manifest(Strict):
    """The world's own copy of a task's description."""

    task_id: str
    family: str
    category: str | None = None
    budgets: Budgets
    costs: dict[str, float] = {"request": 1.0}
    options: dict[str, Option] = {}
    knobs: dict[str, Knob] = {}

    def resolve(self, overrides: Mapping[str, OptionValue | str]) -> dict[str, OptionValue]:
        """Every option and knob with its value; raises ManifestError for an unknown name or a value not allowed."""
        known: dict[str, Option | Knob] = {**STANDARD_OPTIONS, **self.options, **self.knobs}
        for name in overrides:
            if name not in known:
                raise ManifestError(f"{self.task_id} has no option {name!r}; it has {', '.join(sorted(known)) or 'none'}")
        return {n: parse_value(n, spec, overrides[n]) if n in overrides else spec.default for n, spec in known.items()}

    def cost_ms(self, name: str) -> int:
        """A named cost in virtual ms; raises ManifestError for an unknown name."""
        if name not in self.costs:
            raise ManifestError(f"{self.task_id} names no cost {name!r}; it has {', '.join(sorted(self.costs))}")
        return round(self.costs[name] * 1000)

    def to_json(self) -> str:
        """The bytes of world.json, the same for the same manifest."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=2, sort_keys=True) + "\n"


def read_manifest(path: Path) -> Manifest:
    """Read world.json; raises ManifestError naming the file and the field."""
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
    """The same text is the same manifest: a task is opened many times."""
    return Manifest.model_validate_json(text)


def parse_value(name: str, spec: Option | Knob, value: OptionValue | str) -> OptionValue:
    """A value given as text or typed, checked against its declaration; raises ManifestError."""
    if isinstance(spec, Knob):
        number = _as_type(name, "float", value)
        if not spec.min <= float(number) <= spec.max:
            raise ManifestError(f"{name} must be in {spec.min:g}..{spec.max:g}, not {value}")
        return float(number)
    typed = _as_type(name, spec.type, value)
    check_value(name, spec, typed)
    return typed


def check_value(name: str, spec: Option, value: OptionValue) -> None:
    """Raise ManifestError unless `value` is one of those listed, where any are, and within the bounds."""
    if spec.values and value not in spec.values:
        raise ManifestError(f"{name} must be one of {', '.join(map(str, spec.values))}, not {value}")
    if isinstance(value, int | float) and not (
        (spec.min is None or spec.min <= value) and (spec.max is None or value <= spec.max)
    ):
        bounds = f"{'' if spec.min is None else spec.min}..{'' if spec.max is None else spec.max}"
        raise ManifestError(f"{name} must be in {bounds}, not {value}")


def _as_type(name: str, kind: str, value: Any) -> OptionValue:
    try:
        if kind == "bool":
            return {"true": True, "false": False}[str(value).lower()]
        if kind == "int":
            return int(str(value))
        if kind == "float":
            return _finite(float(value))
        return str(value)
    except (KeyError, TypeError, ValueError):
        raise ManifestError(f"{name} must be a {kind}, not {value!r}") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


STANDARD_OPTIONS: dict[str, Option] = {
    "stop_on_violation": Option(
        type="bool", default=False, doc="end the episode at the first broken rule, as the paper does (Appendix L)"
    ),
    "mutate": Option(default="", doc="what the path does to the agent's bytes, e.g. clip=200, or resort+linewrap"),
    "handles": Option(type="bool", default=False, doc="whether @HANDLE:name stands for a value that the agent stored"),
    "mitigate": Option(default="", doc="help on the path: backoff, ttl, or backoff+ttl"),
}
"""Options that every world has without declaring them."""
