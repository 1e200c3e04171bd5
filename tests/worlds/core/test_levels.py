"""Levels: what a harder setting may change, what is refused, and in which order settings count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from worlds.core.errors import ManifestError
from worlds.core.manifest import Knob, Manifest, Option
from worlds.core.testing import InProcess

Bench = Callable[..., InProcess]
HARDER = {
    2: {"knobs": {"ttl": 3}},
    3: {"knobs": {"ttl": 2}, "options": {"mode": "b"}, "budgets": {"steps": 4}, "costs": {"slow": 9}},
}


def manifest(levels: dict[Any, Any] | None = None, **changes: Any) -> Manifest:
    """A task with an option and a knob, and these levels."""
    fields: dict[str, Any] = {
        "task_id": "t", "family": "contract", "budgets": {"steps": 5, "virtual_seconds": 10},
        "costs": {"request": 1, "slow": 2}, "options": {"mode": Option(default="a", values=("a", "b"))},
        "knobs": {"ttl": Knob(default=5, min=1, max=9)}, "levels": HARDER if levels is None else levels,
    }  # fmt: skip
    return Manifest(**{**fields, **changes})


@pytest.mark.parametrize(
    ("overrides", "ttl", "mode"),
    [
        ({}, 5, "a"),
        ({"level": "1"}, 5, "a"),
        ({"level": 2}, 3, "a"),
        ({"level": "3"}, 2, "b"),
        ({"level": "3", "ttl": "7"}, 7, "b"),
        ({"mode": "a", "level": "3"}, 2, "a"),
    ],
)
def test_what_is_set_counts_over_the_level(overrides: dict[str, Any], ttl: float, mode: str) -> None:
    """The default, then the level's, then what is set by name, in whatever order it was typed."""
    values = manifest().resolve(overrides)

    assert (ttl, mode) == (values["ttl"], values["mode"])


@pytest.mark.parametrize(("overrides", "told"), [({}, {}), ({"level": "1"}, {}), ({"level": "3"}, {"level": 3})])
def test_the_first_level_is_the_default(overrides: dict[str, Any], told: dict[str, int]) -> None:
    """A level is among the values, and so in the log, where it is not what the task is anyway."""
    assert told == {name: value for name, value in manifest().resolve(overrides).items() if name == "level"}


def test_budgets_and_costs_of_a_level() -> None:
    """What a level does not name stays as it was."""
    there = manifest().at_level(3)

    assert (there.budgets.steps, there.budgets.virtual_seconds) == (4, 10)
    assert there.costs == {"request": 1, "slow": 9}


def test_a_level_inherits_nothing_from_the_one_below() -> None:
    """Each table stands for itself."""
    levels = {2: {"costs": {"slow": 9}}, 3: {"knobs": {"ttl": 2}}}

    assert manifest(levels).at_level(3).costs == {"request": 1, "slow": 2}


def test_option_of_the_family() -> None:
    """A family's option that a level sets has that default there."""
    deal = {"family": "hidden-profile", "options": {}, "levels": {2: {"options": {"rounds": 3}}}}
    there = manifest(**deal)

    assert (there.resolve({"level": 2})["rounds"], there.resolve({"level": 2, "rounds": 5})["rounds"]) == (3, 5)


@pytest.mark.parametrize(
    ("levels", "why"),
    [
        ({3: {"knobs": {"ttl": 3}}}, "levels: must be numbered from 2 on without a gap, 9 at most, not 3"),
        ({2: {}}, "levels.2: must change something, and is what level 1 is"),
        ({2: {"knobs": {"ttl": 5}}}, "levels.2: must change something, and is what level 1 is"),
        ({2: {"knobs": {"ttl": 4}}, 3: {"knobs": {"ttl": 4}}}, "levels.3: must change something, and is what level 2 is"),
        ({2: {"knobs": {"ttl": 0.5}}}, "levels.2.knobs.ttl: must be in 1..9, not 0.5"),
        ({2: {"knobs": {"life": 3}}}, "levels.2.knobs.life: unknown; the task has ttl"),
        ({2: {"options": {"mode": "c"}}}, "levels.2.options.mode: must be one of a, b, not c"),
        ({2: {"options": {"mutate": "resort"}}}, "levels.2.options.mutate: unknown; the task has mode"),
        ({2: {"costs": {"page": 3}}}, "levels.2.costs.page: unknown; the task has request and slow"),
    ],
)
def test_refused_with_its_place(levels: dict[Any, Any], why: str) -> None:
    """A gap, a level that is another one, an unknown name or a value outside its range is refused by the key it stands at."""
    with pytest.raises(ValidationError) as refused:
        manifest(levels)

    assert f"Value error, {why}" == refused.value.errors()[0]["msg"]


@pytest.mark.parametrize("kind", ["options", "knobs"])
def test_nothing_else_is_called_level(kind: str) -> None:
    """The name by which levels are set is no task's own."""
    specs = {"options": {"level": Option(default="a")}, "knobs": {"level": Knob(default=1, min=1, max=2)}}

    with pytest.raises(ValidationError, match="level is the name of every task's levels, and of no option or knob"):
        manifest({}, **{kind: specs[kind]})


@pytest.mark.parametrize(
    ("levels", "level", "why"),
    [
        ({}, "2", "t has no level 2; it has level 1"),
        (HARDER, "4", "t has no level 4; it has levels 1, 2 and 3"),
        (HARDER, "hard", "t has no level hard; it has levels 1, 2 and 3"),
        (HARDER, "", "t has no level ; it has levels 1, 2 and 3"),
    ],
)
def test_no_such_level(levels: dict[Any, Any], level: str, why: str) -> None:
    """A level that a task does not have is refused with those that it has."""
    with pytest.raises(ManifestError) as refused:
        manifest(levels).resolve({"level": level})

    assert why == str(refused.value)


def test_world_json_holds_the_levels() -> None:
    """What the world reads is what the author wrote."""
    assert manifest() == Manifest.model_validate_json(manifest().to_json())


def test_the_world_is_that_of_the_level(bench: Bench) -> None:
    """Budgets, costs, knobs and options of the level shape the episode, and its first event holds them."""
    played = bench(overrides={"level": 3}, levels=HARDER)
    opened = played.events[0].model_dump()

    assert (opened["budgets"]["steps"], opened["options"]["ttl"], opened["options"]["mode"]) == (4, 2.0, "b")
    assert opened["options"]["level"] == 3
    assert played.world.manifest.cost_ms("slow") == 9000
    assert "You have 4 requests" in played.world.instruction
