"""Static checks of a task folder: file formats, Python sources, and the required parts of its texts.

Python is parsed, not run. A world's time and randomness belong to the episode, so wall clock and OS randomness are not allowed
in worlds/ or in a task folder. Names are resolved through the imports of the file, so `from time import monotonic as now` is
found as well. A role may import modules with certain dotted prefixes, and the standard library except modules for networks and
processes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.agents.solutions import SUCCESS, players
from harness.errors import TaskInvalid, UsageError
from harness.registry import Task, files_of
from harness.runs.plan import parse_seeds
from harness.taskfile import line_of
from parley.proof.findings import Finding, Place, client_line, definition, placed
from parley.proof.templates import families, family, is_executable
from worlds import core
from worlds.core.parts import import_part
from worlds.core.world import TIME_NOTE

CLOCK = frozenset(
    {f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")}
    | {f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")}
    | {f"time.{name}" for name in ("sleep", "localtime", "gmtime", "ctime", "asctime", "strftime")}
    | {f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")}
    | {"datetime.date.today", "asyncio.sleep"}
)
"""Names that read the wall clock or wait on it."""

RANDOM = frozenset(
    {"random", "secrets", "numpy.random", "os.urandom", "os.getrandom", "ssl.RAND_bytes"}
    | {"uuid.uuid1", "uuid.uuid4", "uuid.getnode"}
)
"""Names that use the machine's randomness."""

_OUTSIDE = frozenset(
    {"asyncio", "concurrent", "ctypes", "importlib", "mmap", "multiprocessing", "runpy", "signal", "subprocess", "threading"}
    | {"ftplib", "http.client", "http.server", "imaplib", "nntplib", "poplib", "select", "selectors", "smtplib", "socket"}
    | {"socketserver", "ssl", "telnetlib", "urllib.request", "webbrowser", "xmlrpc"}
)
"""Standard library modules that access a network, a process or a thread."""


@dataclass(frozen=True)
class Role:
    """A kind of file in a task folder, and its allowed imports."""

    name: str
    packages: frozenset[str]
    network: bool = False

    def allows(self, module: str) -> bool:
        """Return True if this role may import a dotted module."""
        if any(_within(module, package) for package in self.packages):
            return True
        top = module.partition(".")[0]
        return top in sys.stdlib_module_names and (self.network or not any(_within(module, name) for name in _OUTSIDE))


def server_role(family: str) -> Role:
    """Return the role of a task's world: the shared and its family's part of `worlds`, and the dependencies of FastAPI apps."""
    return Role("server", frozenset({"fastapi", "pydantic", "worlds.core", f"worlds.{family.replace('-', '_')}"}))


TESTS = Role("tests", frozenset({"validators", "pytest"}))
SOLUTION = Role("solution", frozenset({"httpx", "reading", "solve", "timing", "violations"}), network=True)


def lint_source(path: Path, role: Role | None = None) -> list[Finding]:
    """Return the findings of one Python file. Without a role only clock and randomness are checked."""
    return list(_linted(path, path.read_bytes(), role))


# cached, because checking the code that all worlds share takes half of the time
@lru_cache(maxsize=1024)
def _linted(path: Path, source: bytes, role: Role | None) -> Sequence[Finding]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        return [Place(path, getattr(error, "lineno", None) or 1).finding("syntax", str(getattr(error, "msg", error)))]
    told = [*_uses(tree), *(_imports(tree, role) if role is not None else ())]
    findings = {Place(path, getattr(node, "lineno", 1)).finding(rule, message) for node, rule, message in told}
    return sorted(findings, key=lambda finding: (finding.line, finding.rule, finding.message))


def _uses(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield every use of the clock or of randomness, by its dotted name."""
    names = dict(_bound(tree))
    resolve: Callable[[ast.AST], str] = lambda node: _dotted(node, names)  # noqa: E731
    for node in ast.walk(tree):
        for name in _named(node, resolve):
            if name in CLOCK:
                yield node, "wall-clock", f"{name} uses the machine's clock; use the world's own clock, or `wait` in a client"
            elif any(_within(name, source) for source in RANDOM):
                yield node, "os-random", f"{name} uses the machine's randomness; draw from `self.chance`, or derive by SHA-256"


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
            # `from worlds import contract` imports a module, not a name, so check the longer name as well.
            if not role.allows(modules[0]):
                modules = [f"{modules[0]}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            modules = ["__import__"]
        for module in modules:
            if not role.allows(module):
                yield node, "import", f"{role.name} may not import {module}"


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (local name, dotted name) for everything that is imported anywhere in the file."""
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


def labels_of(family: str) -> frozenset[str]:
    """Return the labels that failed episodes of a family can earn."""
    module = import_part("worlds", family, "labels")
    return frozenset(map(str, module.Label)) - {"SUCCESS"} if module else frozenset()


_REWARD_FILE = re.compile(rb"reward\.(json|txt)")
_REWARD_WRITERS = frozenset({"tests/test.sh"})


def lint_worlds() -> list[Finding]:
    """Return the uses of clock and randomness in the code that all worlds share."""
    folder = Path(core.__file__).parents[1]
    return [finding for path in sorted(folder.rglob("*.py")) for finding in lint_source(path)]


def lint_task(task: Task) -> list[Finding]:
    """Return every finding of one task folder. Its solution is imported, but no episode is played."""
    findings = [finding for path in files_of(task.path) for finding in _form(path)]
    findings += [finding for path, role in _roles(task) for finding in lint_source(path, role)]
    for check in (_instruction, _reward, _seeds, _violations):
        findings += check(task)
    return findings


def _form(path: Path) -> Iterator[Finding]:
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield _line_at(path, content, error.start).finding("encoding", "is not UTF-8")
    if b"\r" in content:
        yield _line_at(path, content, content.index(b"\r")).finding("line-ending", "holds a carriage return; lines end with LF")
    if is_executable(path.name):
        if not content.startswith(b"#!"):
            yield Place(path, 1).finding("script", "must start with #!")
        if not path.stat().st_mode & 0o100:
            yield Place(path, 1).finding("script", "must be executable; run: harness sync")


def _roles(task: Task) -> Iterator[tuple[Path, Role]]:
    rooms = {"environment/api": server_role(task.family), "tests": TESTS, "solution": SOLUTION}
    for room, role in rooms.items():
        for path in sorted((task.path / room).rglob("*.py")):
            yield path, role


def _instruction(task: Task) -> Iterator[Finding]:
    labels = re.compile(rf"\b({'|'.join(sorted(labels_of(task.family)))})\b".encode())
    for path in (task.path / "instruction.md", task.world_folder / "instruction.md.j2"):
        content = path.read_bytes() if path.is_file() else b""
        for match in labels.finditer(content):
            label = match[0].decode()
            yield _line_at(path, content, match.start()).finding("label", f"reveals the label {label} to the agent")
    path = task.path / "instruction.md"
    content = path.read_bytes()
    if not task.is_seated and not content.endswith(TIME_NOTE.encode() + b"\n"):
        yield _line_at(path, content, len(content)).finding(
            "time-note", "must end with the paragraph about time; run: harness sync"
        )


def _reward(task: Task) -> Iterator[Finding]:
    for path in files_of(task.path / "tests"):
        content = path.read_bytes()
        if path.relative_to(task.path).as_posix() not in _REWARD_WRITERS and (match := _REWARD_FILE.search(content)):
            yield _line_at(path, content, match.start()).finding("reward", "only the plugin writes the reward")


def _seeds(task: Task) -> Iterator[Finding]:
    assert task.parley is not None
    try:
        parse_seeds(task.parley.seeds)
    except UsageError as error:
        path = task.path / "task.toml"
        line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "seeds"))
        yield Place(path, line).finding("seeds", str(error))


def _violations(task: Task) -> Iterator[Finding]:
    path = task.path / "solution" / "violations.py"
    least = family(task.family).violations if task.family in families() else 0
    try:
        listed = {name: label for name, (label, _) in players(task).items() if name != "solve"}
    except TaskInvalid as error:
        at, what = placed(str(error), Place(path, 1))
        yield at.finding("violations", what)
        return
    except (TypeError, ValueError, AttributeError) as error:
        yield definition(path, "VIOLATIONS").finding("violations", f"must be {{name: (label, function)}}: {error}")
        return
    wrong = [name for name, label in listed.items() if label != SUCCESS]
    if len(wrong) < least:
        yield definition(path, "VIOLATIONS").finding("violations", f"needs at least {least} wrong clients, has {len(wrong)}")
    for name, label in listed.items():
        if label not in {*labels_of(task.family), SUCCESS}:
            yield client_line(task, name, definition(path, "VIOLATIONS")).finding(
                "violations", f"{name} must earn a failure label, or {SUCCESS}, not {label!r}"
            )


def _line_at(path: Path, content: bytes, offset: int) -> Place:
    return Place(path, content[:offset].count(b"\n") + 1)
