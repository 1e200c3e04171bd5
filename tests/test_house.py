"""The rules of the house, read off the source: no wall clock in worlds, sizes, docstrings, names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.paths import ROOT
from tests.source import DEFINITIONS, ROOMS, imported, nodes, own_code, parsed

pytestmark = pytest.mark.property

MAX_LINES, MAX_FUNCTION = 800, 40
CLOCKS = {"time", "random", "secrets"}
READINGS = {"now", "utcnow", "today", "urandom", "getrandom", "monotonic", "perf_counter", "uuid1", "uuid4", "getnode"}

FAMILIES = "|".join(path.parent.name for path in sorted((ROOT / "parley" / "families").glob("*/__init__.py")))
ROLE = re.compile(rf"(?P<room>worlds|oracles|validators|parley/families)/(?P<family>{FAMILIES})/(?:.+/)?(?P<file>\w+\.py)")


@pytest.mark.parametrize("room", ["worlds", "tasks"])
def test_no_wall_clock_and_no_foreign_chance(room: str) -> None:
    """Worlds and tasks read no clock and draw from no randomness but their own."""
    files = own_code(room)
    banned = [f"{path}:{i.line}: {i.module}" for path in files for i in imported(path) if i.module.partition(".")[0] in CLOCKS]
    banned += [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.Attribute)
        and node.attr in READINGS
        and ast.unparse(node.value) in {"datetime", "date", "datetime.datetime", "datetime.date", "os", "time", "uuid"}
    ]

    assert banned == []


@pytest.mark.parametrize("room", [*ROOMS, "tasks", "tests"])
def test_house_numbers(room: str) -> None:
    """No module over 800 lines, no function body over 40, no drawer called utils."""
    files = own_code(room)
    long = [
        f"{path}:{node.lineno}: {node.name} has {(node.end_lineno or 0) - node.body[0].lineno + 1} lines"
        for path in files
        for node in nodes(path)
        if isinstance(node, DEFINITIONS[:2]) and (node.end_lineno or 0) - node.body[0].lineno >= MAX_FUNCTION
    ]

    assert long == []
    assert [path for path in files if len(path.read_text(encoding="utf-8").splitlines()) > MAX_LINES] == []
    assert [path for path in files if path.name in {"utils.py", "helpers.py", "common.py"}] == []


def public(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes, and the public methods of these classes."""
    for node in tree.body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
            yield node
            yield from (
                inner
                for inner in getattr(node, "body", ())
                if isinstance(node, ast.ClassDef) and isinstance(inner, DEFINITIONS) and not inner.name.startswith("_")
            )


@pytest.mark.parametrize("room", [*ROOMS, "tasks", "tests"])
def test_everything_public_is_described(room: str) -> None:
    """Every module and every public definition has a docstring."""
    trees = {path: parsed(path) for path in own_code(room)}
    silent = [
        f"{path}:{node.lineno}: {node.name}"
        for path, tree in trees.items()
        for node in public(tree)
        if not ast.get_docstring(node)
    ]

    assert [path for path, tree in trees.items() if ast.get_docstring(tree) is None] == []
    assert silent == []


def siblings(paths: Sequence[Path]) -> bool:
    """Whether modules play one role for several families: the same room, the same file name, each family once."""
    roles = [ROLE.fullmatch(path.relative_to(ROOT).as_posix()) for path in paths]
    families = {role["family"] for role in roles if role}
    return len(families) == len(paths) and len({(role["room"], role["file"]) for role in roles if role}) == 1


def test_a_class_name_has_one_meaning() -> None:
    """A public class name stands in one module, or in siblings: modules of several families that play the same role."""
    modules: defaultdict[str, list[Path]] = defaultdict(list)
    for path in own_code(*ROOMS, "benchmarks"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(path)
    shared = {name: paths for name, paths in modules.items() if len(paths) > 1}

    assert {name: paths for name, paths in shared.items() if not siblings(paths)} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_no_variable_is_called_found(room: str) -> None:
    """A variable or parameter says what it holds, not that it was found."""
    vague = [
        f"{path}:{node.lineno}"
        for path in own_code(room)
        for node in nodes(path)
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "found")
        or (isinstance(node, ast.arg) and node.arg == "found")
    ]

    assert vague == []


@pytest.mark.parametrize("room", [*ROOMS, "tests"])
def test_no_docstring_begins_with_the_same(room: str) -> None:
    """A docstring can be understood by somebody who has not read the one before it."""
    unclear = [
        f"{path}:{getattr(node, 'lineno', 1)}"
        for path in own_code(room)
        for node in nodes(path)
        if isinstance(node, (*DEFINITIONS, ast.Module)) and (ast.get_docstring(node) or "").startswith("The same")
    ]

    assert unclear == []


def test_the_project_holds_no_link() -> None:
    """A link is lost where a checkout is copied without them, as archives and some systems do: there is none in ours."""
    tops = [path for path in ROOT.iterdir() if path.name not in {".git", ".venv"}]

    assert [path for top in tops for path in (top, *top.rglob("*")) if path.is_symlink()] == []
