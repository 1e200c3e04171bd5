"""Our source as tests read it: modules by name, syntax trees, and what each file imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.paths import ROOT

ROOMS = ("worlds", "oracles", "validators", "harness", "parley")

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Import:
    """One import of one module: where it stands, and whether a caller has to run something for it to happen."""

    module: str
    line: int
    lazy: bool


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_bytes())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of that tree: a dozen tests look through all of them."""
    return tuple(ast.walk(parsed(path)))


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


assert MODULES, "nothing of ours was found, and every test below would hold"

TASK_FILES = once((ROOT / "tasks").rglob("*.py"))


@cache
def imported(path: Path) -> tuple[Import, ...]:
    """Every import of a file, each name of a package resolved to the module it is."""
    return tuple(_imports(path))


_ENTRY = re.compile(r"(?P<module>(?:harness|parley)(?:\.\w+)+)(?::(?P<name>\w+))?")


def entries(path: Path) -> list[tuple[str, str | None]]:
    """Modules, and names in them, that strings of a file name, to be imported when they are asked for."""
    texts = [node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [(entry["module"], entry["name"]) for text in texts if (entry := _ENTRY.fullmatch(text))]


def _imports(path: Path) -> Iterator[Import]:
    for node, lazy in _statements(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide which room is meant"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield Import(inner if inner in MODULES else str(node.module), node.lineno, lazy)


def _statements(block: ast.AST, *, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement within, and whether it stands in a function; no expression is looked into, since none can import."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield node, lazy
            yield from _statements(node, lazy=lazy or isinstance(node, DEFINITIONS[:2]))


def ours(module: str) -> bool:
    """Whether a module belongs to one of our rooms."""
    return module.partition(".")[0] in ROOMS


def within(module: str, *rooms: str) -> bool:
    """Whether a module is one of these rooms, or in one."""
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


@cache
def own_code(*rooms: str) -> list[Path]:
    """The Python files of some folders; what attackers run in tests is nobody's house."""
    files = once(path for room in rooms for path in (ROOT / room).rglob("*.py"))
    return [path for path in files if path.parent.name != "scripts"]
