"""Reads Python without running it: who looks at a clock, who draws from the machine, who imports outside its role.

A world's time and chance are the episode's own, so wall clock and OS randomness have no place in worlds/ or in a task folder.
Names are resolved through the imports of the file, so `from time import monotonic as now` is found as well.
What a role may import is a set of dotted prefixes; the standard library counts without what reaches a network or a process.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.authoring.findings import Finding, Place

CLOCK = frozenset(
    {f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")}
    | {f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")}
    | {f"time.{name}" for name in ("sleep", "localtime", "gmtime", "ctime", "asctime", "strftime")}
    | {f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")}
    | {"datetime.date.today", "asyncio.sleep"}
)
"""What reads the wall clock or waits on it."""

RANDOM = frozenset(
    {
        "random",
        "secrets",
        "numpy.random",
        "os.urandom",
        "os.getrandom",
        "ssl.RAND_bytes",
        "uuid.uuid1",
        "uuid.uuid4",
        "uuid.getnode",
    }
)
"""What draws from the machine."""

_OUTSIDE = frozenset(
    {"asyncio", "concurrent", "ctypes", "importlib", "mmap", "multiprocessing", "runpy", "signal", "subprocess", "threading"}
    | {"ftplib", "http.client", "http.server", "imaplib", "nntplib", "poplib", "select", "selectors", "smtplib", "socket"}
    | {"socketserver", "ssl", "telnetlib", "urllib.request", "webbrowser", "xmlrpc"}
)
"""Standard library that reaches a network, a process or a thread."""


@dataclass(frozen=True)
class Role:
    """A kind of file in a task folder, and what it may import."""

    name: str
    packages: frozenset[str]
    network: bool = False

    def allows(self, module: str) -> bool:
        """Whether this role may import a dotted module."""
        if any(_within(module, package) for package in self.packages):
            return True
        top = module.partition(".")[0]
        return top in sys.stdlib_module_names and (self.network or not any(_within(module, name) for name in _OUTSIDE))


def server_role(family: str) -> Role:
    """A task's world: its family's and the shared part of `worlds`, and what a FastAPI app is written with."""
    return Role("server", frozenset({"fastapi", "pydantic", "worlds.core", f"worlds.{family.replace('-', '_')}"}))


TESTS = Role("tests", frozenset({"validators", "pytest"}))
SOLUTION = Role("solution", frozenset({"httpx", "reading", "solve", "timing", "violations"}), network=True)


def lint_source(path: Path, role: Role | None = None) -> list[Finding]:
    """The findings of one Python file; without a role only clock and chance are looked at."""
    return list(_linted(path, path.read_bytes(), role))


# the worlds that all tasks share are half of a proof's lint, and the same in every one
@lru_cache(maxsize=1024)
def _linted(path: Path, source: bytes, role: Role | None) -> Sequence[Finding]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        return [Place(path, getattr(error, "lineno", None) or 1).finding("syntax", str(getattr(error, "msg", error)))]
    findings = {_at(path, node, rule, message) for node, rule, message in _uses(tree)}
    if role is not None:
        findings |= {_at(path, node, rule, message) for node, rule, message in _imports(tree, role)}
    return sorted(findings, key=lambda finding: (finding.line, finding.rule, finding.message))


def _at(path: Path, node: ast.AST, rule: str, message: str) -> Finding:
    return Place(path, getattr(node, "lineno", 1)).finding(rule, message)


def _uses(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Every use of the clock or of chance, by its dotted name."""
    names = dict(_bound(tree))
    resolve: Callable[[ast.AST], str] = lambda node: _dotted(node, names)  # noqa: E731
    for node in ast.walk(tree):
        for name in _named(node, resolve):
            if name in CLOCK:
                yield node, "wall-clock", f"{name} is the machine's time; a world has its own clock, a client its `wait`"
            elif any(_within(name, source) for source in RANDOM):
                yield node, "os-random", f"{name} is the machine's chance; draw from `self.chance`, or derive by SHA-256"


def _named(node: ast.AST, resolve: Callable[[ast.AST], str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        return [resolve(node)]
    return []


def _imports(tree: ast.Module, role: Role) -> Iterator[tuple[ast.AST, str, str]]:
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = ["." * node.level + (node.module or "")]
            # `from worlds import contract` imports a module, not a name: only the longer name says which.
            if not role.allows(modules[0]):
                modules = [f"{modules[0]}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            modules = ["__import__"]
        for module in modules:
            if not role.allows(module):
                yield node, "import", f"{role.name} may not import {module}"


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Local name -> dotted name, for everything that is imported anywhere in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, names)}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")
