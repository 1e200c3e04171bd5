"""There is one tree of exceptions, and its drawings show all of it."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import harness
import harness.errors
import parley
import worlds
import worlds.core.errors
from worlds.core.errors import ParleyError

ELSEWHERE = {"parley.interop.harbor", "harness.env", "harness.interop", "harness.testing"}
"""Modules that need another program, and former names."""

DRAWINGS = f"{worlds.core.errors.__doc__}{harness.errors.__doc__}"


def below(root: type[BaseException]) -> set[type[BaseException]]:
    """Every class that is derived from `root`, however far down."""
    return {inner for child in root.__subclasses__() for inner in {child, *below(child)}}


@pytest.fixture(scope="module")
def tree() -> set[type[BaseException]]:
    """Our exceptions, once every module is imported that may define one."""
    for package in (worlds, harness, parley):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and module.name not in ELSEWHERE:
                importlib.import_module(module.name)
    return {error for error in below(ParleyError) if error.__module__.partition(".")[0] in {"worlds", "harness", "parley"}}


def test_drawings_show_every_error(tree: set[type[BaseException]]) -> None:
    """Each stands in one of the two drawings, on a branch of its own."""
    assert len(tree) > 12
    assert {error.__name__ for error in tree if f"── {error.__name__} " not in DRAWINGS} == set()


def test_drawings_show_nothing_else(tree: set[type[BaseException]]) -> None:
    """What is drawn exists."""
    drawn = {line.partition("── ")[2].split()[0] for line in DRAWINGS.splitlines() if "── " in line}

    assert {name for name in drawn if not name.startswith("(")} == {error.__name__ for error in tree}
