"""The import table of the design and the numbers of the house, read off the source and not off good intentions.

Imports inside functions count. A module is named by its dotted path; a room is a prefix of it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("worlds", "oracles", "validators", "harness")
FAMILIES = sorted(
    {path.name for room in ("worlds", "oracles") for path in (ROOT / room).iterdir() if (path / "__init__.py").exists()}
    - {"core"}
)
HEAVY = {"litellm", "ortools", "docker"}
MAX_LINES, MAX_FUNCTION = 400, 40
DYNAMIC = {"harness.cli", "harness.modules", "validators.plugin", "worlds.core.loading"}
"""Where modules are imported by a name made at run time: commands, parts of a family, the family of a log, its world."""

_FAMILY_ROOMS = sorted(path.parent.name for path in (ROOT / "harness" / "families").glob("*/__init__.py"))
BACK_ROOMS = ["harness.authoring", *(f"harness.families.{name}" for name in _FAMILY_ROOMS)]

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
CLOCKS = {"time", "random", "secrets"}
READINGS = {"now", "utcnow", "today", "urandom", "getrandom", "monotonic", "perf_counter", "uuid1", "uuid4", "getnode"}


@dataclass(frozen=True)
class Import:
    """One import of one module: where it stands, and whether a caller has to run something for it to happen."""

    module: str
    line: int
    lazy: bool


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """The dotted name of a module of ours."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    name_of(path): path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) if "templates" not in path.parts
}


def once(paths: Iterable[Path]) -> list[Path]:
    """Each content once for each room of a family: boilerplate is the same in every folder."""
    seen: dict[tuple[str, bytes], Path] = {}
    for path in sorted(paths):
        family = path.relative_to(ROOT).parts[1] if path.is_relative_to(ROOT / "tasks") else str(path)
        seen.setdefault((f"{family}/{path.name}", path.read_bytes()), path)
    return list(seen.values())


TASK_FILES = once((ROOT / "tasks").rglob("*.py"))


@cache
def imported(path: Path) -> tuple[Import, ...]:
    """Every import of a file, each name of a package resolved to the module it is."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    lazy = {inner for node in ast.walk(parsed(path)) if isinstance(node, DEFINITIONS[:2]) for inner in ast.walk(node)}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, node in lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide which room is meant"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield Import(inner if inner in MODULES else str(node.module), node.lineno, node in lazy)


def ours(module: str) -> bool:
    """Whether a module belongs to one of our rooms."""
    return module.partition(".")[0] in ROOMS


def within(module: str, *rooms: str) -> bool:
    """Whether a module is one of these rooms, or in one."""
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def family_of(module: str, place: int = 1) -> str:
    """The family that a module's name says it is of, or nothing."""
    return next((name for name in module.split(".")[place : place + 1] if name in FAMILIES), "")


def allowed(module: str) -> tuple[str, ...]:
    """The rooms that a module may import: the table of DESIGN section 1."""
    family = family_of(module)
    if within(module, "worlds"):
        return ("worlds.core", f"worlds.{family}") if family else ("worlds.core",)
    if within(module, "oracles"):
        return (f"oracles.{family}", f"worlds.{family}.rules")
    if within(module, "validators"):
        seen = [family] if family else FAMILIES
        return ("validators", "worlds.core.events", *(f"worlds.{name}.{part}" for name in seen for part in ("rules", "labels")))
    everywhere = ("harness", "worlds.core", "validators.verdict")
    if within(module, "harness.families"):
        own = family_of(module, 2)
        rules = [f"worlds.{own}.{part}" for part in ("rules", "labels", "mutations")]
        return (*everywhere, f"oracles.{own}", "validators", *rules)
    if within(module, "harness.authoring"):
        return (*everywhere, "oracles", "worlds")
    return everywhere


@pytest.mark.parametrize("room", ROOMS)
def test_import_table(room: str) -> None:
    """A module imports only what its room may."""
    wrong = [
        f"{path}:{i.line}: {i.module}"
        for module, path in MODULES.items()
        for i in imported(path)
        if within(module, room) and ours(i.module) and not within(i.module, *allowed(module))
    ]

    assert wrong == []


@pytest.mark.parametrize("room", BACK_ROOMS)
def test_only_the_command_line_knows_the_back_rooms(room: str) -> None:
    """Authoring and each family are imported by themselves and by the command line; others ask for a part."""
    found = {module for module, path in MODULES.items() for i in imported(path) if within(i.module, room)}

    assert {module for module in found if not within(module, room, "harness.cli", "harness.authoring")} == set()


def test_no_lazy_imports_of_our_own() -> None:
    """Only the command line imports our own modules inside functions."""
    lazy = [
        f"{path}:{i.line}: {i.module}"
        for module, path in MODULES.items()
        for i in imported(path)
        if i.lazy and ours(i.module) and not within(module, "harness.cli")
    ]

    assert lazy == []


def test_no_import_by_made_up_name() -> None:
    """Only four modules import what a string made at run time names; elsewhere it is a literal, and foreign."""
    calls = [
        (module, node)
        for module, path in MODULES.items()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"importlib.import_module", "import_module", "__import__"}
    ]
    literals = [(module, node.args[0].value) for module, node in calls if isinstance(node.args[0], ast.Constant)]

    assert {module for module, node in calls if not isinstance(node.args[0], ast.Constant)} == DYNAMIC
    assert [(module, name) for module, name in literals if ours(str(name))] == []


def test_no_type_checking_blocks() -> None:
    """The import table is the same at run time."""
    assert [module for module, path in MODULES.items() if "TYPE_CHECKING" in path.read_text(encoding="utf-8")] == []


def test_no_cycles() -> None:
    """Modules can be put into one order in which each imports earlier ones only."""
    graph = {module: {i.module for i in imported(path)} & set(MODULES) - {module} for module, path in MODULES.items()}
    while free := [module for module, needs in graph.items() if not needs & set(graph)]:
        for module in free:
            del graph[module]

    assert sorted(graph) == []


def reached(*starts: str) -> set[str]:
    """Every module that importing these imports, ours and others, packages on the way included."""
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        if module in MODULES:
            waiting += [i.module for i in imported(MODULES[module]) if not i.lazy]
            waiting += [module.rpartition(".")[0]] if "." in module else []
    return seen


@pytest.mark.parametrize(
    "start", ["harness.cli", "harness.__main__", "harness.cli.tasks", "harness.registry", "harness.plan", "worlds.core.testing"]
)
def test_light_modules_stay_light(start: str) -> None:
    """Help, listings and the registry import no model client, no solver and no Docker SDK."""
    assert {module.partition(".")[0] for module in reached(start)} & HEAVY == set()


ROLES = {
    "environment": lambda family: ("worlds.core", f"worlds.{family}"),
    "tests": lambda family: ("validators", "pytest"),
    "solution": lambda family: ("httpx", "reading", "solve", "violations"),
}
"""Folder of a task -> what its code may import, besides the standard library."""


@pytest.mark.parametrize("role", ROLES)
def test_task_folders_import_their_role_only(role: str) -> None:
    """A server imports worlds, hidden tests validators, a solution httpx and its sibling."""
    placed = [(path, *path.relative_to(ROOT / "tasks").parts[:3:2]) for path in TASK_FILES]
    wrong = [
        f"{path}:{i.line}: {i.module}"
        for path, family, folder in placed
        for i in imported(path)
        if folder == role
        and i.module.partition(".")[0] not in sys.stdlib_module_names
        and not within(i.module, *ROLES[role](family.replace("-", "_")))
    ]

    assert wrong == []
    assert {folder for _, _, folder in placed} == set(ROLES)


def own_code(*rooms: str) -> list[Path]:
    """The Python files of some folders; what attackers run in tests is nobody's house."""
    found = once(path for room in rooms for path in (ROOT / room).rglob("*.py"))
    return [path for path in found if path.parent.name != "scripts"]


@pytest.mark.parametrize("room", ["worlds", "tasks"])
def test_no_wall_clock_and_no_foreign_chance(room: str) -> None:
    """Worlds and tasks read no clock and draw from no randomness but their own."""
    files = own_code(room)
    banned = [f"{path}:{i.line}: {i.module}" for path in files for i in imported(path) if i.module.partition(".")[0] in CLOCKS]
    banned += [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in files
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and node.attr in READINGS
        and ast.unparse(node.value) in {"datetime", "date", "datetime.datetime", "datetime.date", "os", "time", "uuid"}
    ]

    assert banned == []


@pytest.mark.parametrize("room", [*ROOMS, "tasks"])
def test_house_numbers(room: str) -> None:
    """No module over 400 lines, no function body over 40, no drawer called utils."""
    files = own_code(room)
    long = [
        f"{path}:{node.lineno}: {node.name} has {(node.end_lineno or 0) - node.body[0].lineno + 1} lines"
        for path in files
        for node in ast.walk(parsed(path))
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
