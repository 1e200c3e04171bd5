"""Options, knobs, budgets and costs: declared once, checked at every value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from worlds.core.errors import ManifestError
from worlds.core.manifest import STANDARD, Budgets, Knob, Manifest, Option, read_manifest


@pytest.fixture
def manifest() -> Manifest:
    """One option of each type and a knob."""
    return Manifest(
        task_id="t",
        family="contract",
        budgets=Budgets(steps=5, virtual_seconds=10),
        costs={"request": 1, "download": 0.25},
        options={
            "mode": Option(default="a", values=("a", "b")),
            "count": Option(type="int", default=3),
            "rate": Option(type="float", default=1),
            "loud": Option(type="bool", default=False),
        },
        knobs={"ttl": Knob(default=5, min=1, max=9)},
    )


def test_defaults(manifest: Manifest) -> None:
    """Without overrides everything has its default, the standard options included."""
    expected = {**STANDARD, "mode": "a", "count": 3, "rate": 1, "loud": False, "ttl": 5}

    assert expected == manifest.resolve({})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("mode", "b", "b"),
        ("count", "-4", -4),
        ("rate", "2.5", 2.5),
        ("loud", "true", True),
        ("loud", "False", False),
        ("ttl", "9", 9.0),
    ],
)
def test_override(manifest: Manifest, name: str, text: str, value: Any) -> None:
    """Text from a command line becomes a value of the declared type."""
    assert value == manifest.resolve({name: text})[name]


KNOWN = "count, handles, loud, mitigate, mode, mutate, rate, stop_on_violation, ttl"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (
            "mood",
            "a",
            f"t has no option 'mood'; it has {KNOWN}",
        ),
        ("mode", "c", "mode must be one of a, b, not c"),
        ("count", "1.5", "count must be a whole number, not '1.5'"),
        ("count", True, "count must be a whole number, not True"),
        ("rate", "inf", "rate must be a number, not 'inf'"),
        ("rate", "nan", "rate must be a number, not 'nan'"),
        ("rate", [1], "rate must be a number, not [1]"),
        ("rate", None, "rate must be a number, not None"),
        ("loud", "yes", "loud must be true or false, not 'yes'"),
        ("ttl", "0.5", "ttl must be in 1..9, not 0.5"),
        ("ttl", "10", "ttl must be in 1..9, not 10"),
        ("ttl", "x", "ttl must be a number, not 'x'"),
    ],
)
def test_override_refused(manifest: Manifest, name: str, value: Any, why: str) -> None:
    """An unknown name, a wrong type or a value outside its range is refused in one clause."""
    with pytest.raises(ManifestError) as refused:
        manifest.resolve({name: value})

    assert why == str(refused.value)


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"default": "c", "values": ("a", "b")}, "default must be one of a, b, not c"),
        ({"type": "int", "default": "x"}, "default must be a whole number, not 'x'"),
        ({"type": "int", "default": 1.5}, "default must be a whole number, not 1.5"),
        ({"type": "str", "default": 1}, "default and values must be a string, not 1"),
        ({"type": "int", "default": 1, "values": (1, "2")}, "default and values must be a whole number, not '2'"),
        ({"type": "bool", "default": "true"}, "default and values must be true or false, not 'true'"),
    ],
)
def test_option_declared_wrongly(declared: dict[str, Any], why: str) -> None:
    """A default must be of the declared type, and one of the allowed values."""
    with pytest.raises(ValidationError) as refused:
        Option(**declared)

    assert f"Value error, {why}" == refused.value.errors()[0]["msg"]


def test_knob_default_outside() -> None:
    """A knob's default lies in its range."""
    with pytest.raises(ValidationError) as refused:
        Knob(default=10, min=1, max=9)

    assert refused.value.errors()[0]["msg"] == "Value error, default 10 lies outside 1..9"


@pytest.mark.parametrize(
    "budgets",
    [{"steps": 0}, {"steps": 2000}, {"virtual_seconds": 0}, {"virtual_seconds": float("inf")}, {"wall": 1}, {"steps": "x"}],
)
def test_budgets_refused(budgets: dict[str, Any]) -> None:
    """A budget is positive, finite and below the request cap; unknown keys are errors."""
    with pytest.raises(ValidationError):
        Budgets(**{"steps": 1, "virtual_seconds": 1, **budgets})


@pytest.mark.parametrize(("name", "ms"), [("request", 1000), ("download", 250)])
def test_costs_are_in_ms(manifest: Manifest, name: str, ms: int) -> None:
    """Costs are seconds in the file and milliseconds in the world."""
    assert ms == manifest.cost_ms(name)


def test_unknown_cost(manifest: Manifest) -> None:
    """A rule may only name a declared cost."""
    with pytest.raises(ManifestError, match=r"^t names no cost 'upload'; it has download, request$"):
        manifest.cost_ms("upload")


def test_file_round_trip(manifest: Manifest, tmp_path: Path) -> None:
    """world.json is the manifest, byte for byte the same each time."""
    path = tmp_path / "world.json"
    path.write_text(manifest.to_json(), encoding="utf-8")

    assert (manifest, path.read_text(encoding="utf-8")) == (read_manifest(path), read_manifest(path).to_json())


def test_file_missing(tmp_path: Path) -> None:
    """A missing file is named, with the command that writes it."""
    with pytest.raises(ManifestError) as refused:
        read_manifest(tmp_path / "world.json")

    assert f"{tmp_path}/world.json: No such file or directory; run: harness sync" == str(refused.value)


def test_file_with_an_unknown_key(manifest: Manifest, tmp_path: Path) -> None:
    """An unknown key is named by its dotted place."""
    path = tmp_path / "world.json"
    path.write_text(manifest.to_json().replace('"steps": 5', '"steps": 5, "stepz": 6'), encoding="utf-8")

    with pytest.raises(ManifestError) as refused:
        read_manifest(path)

    assert f"{path}: budgets.stepz: Extra inputs are not permitted; run: harness sync" == str(refused.value)


@pytest.mark.parametrize(("value", "ok"), [(0, True), (9, True), (-1, False), (10, False)])
def test_number_keeps_within_its_bounds(value: int, ok: bool) -> None:
    """An option that is a number may say between what."""
    manifest = Manifest(
        task_id="t", family="f", budgets=Budgets(steps=1, virtual_seconds=1),
        options={"cap": Option(type="int", default=3, min=0, max=9, doc="a cap")},
    )  # fmt: skip
    if ok:
        assert manifest.resolve({"cap": str(value)})["cap"] == value
    else:
        with pytest.raises(ManifestError, match=f"cap must be in 0..9, not {value}"):
            manifest.resolve({"cap": str(value)})
