"""Findings: a place and a rule, printed as `path:line: [rule] message`, so that editors can jump to the place.

All problems of a task folder are `Finding` objects: lint, drift, and each failed check. A `Place` is the location of a finding.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from harness.registry import Task
from harness.trust import require
from worlds.core.loading import open_world
from worlds.core.models import Strict
from worlds.core.routes import path_pattern
from worlds.core.world import World


class Finding(Strict):
    """A problem and its location."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


class Place(NamedTuple):
    """A line of a file, from 1."""

    path: Path
    line: int

    def finding(self, rule: str, message: str) -> Finding:
        """Return a finding at this place. Paths below the working directory are shown relative to it."""
        here = Path.cwd()
        shown = self.path.relative_to(here) if self.path.is_relative_to(here) else self.path
        return Finding(path=str(shown), line=self.line, rule=rule, message=message)


def first_difference(expected: bytes, given: bytes) -> int:
    """Return the first line, from 1, in which two texts differ, or 1 if they are equal."""
    pairs = zip_longest(expected.split(b"\n"), given.split(b"\n"))
    return next((number for number, (a, b) in enumerate(pairs, start=1) if a != b), 1)


def definition(path: Path, name: str) -> Place:
    """Return where a file defines or assigns `name`, or its first line if it does not or is not valid Python."""
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return Place(path, node.lineno)
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
            return Place(path, node.lineno)
    return Place(path, 1)


def line_with(path: Path, text: str, otherwise: Place) -> Place:
    """Return the first line of a file that contains a text, or `otherwise` if none does."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    return next((Place(path, number) for number, line in enumerate(lines, start=1) if text in line), otherwise)


def client_line(task: Task, name: str, otherwise: Place) -> Place:
    """Return the line of solution/violations.py with a client's name as a key, or `otherwise`."""
    return line_with(task.path / "solution" / "violations.py", f'"{name}":', otherwise)


def raised_in(error: BaseException, file: Path) -> Place:
    """Return the last line of `file` in the traceback of `error` or of its causes, or its first line."""
    line = 1
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, SyntaxError) and cause.filename == str(file):
            line = cause.lineno or 1
        trace = cause.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(file):
                line = trace.tb_lineno
            trace = trace.tb_next
        cause = cause.__cause__
    return Place(file, line)


def placed(message: str, otherwise: Place) -> tuple[Place, str]:
    """Split a `path:line: what` message into place and text. The place is `otherwise` if the message has none."""
    match = re.fullmatch(r"(.+?):(\d+): (.*)", message, re.DOTALL)
    return (Place(Path(match[1]), int(match[2])), match[3]) if match else (otherwise, message)


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def handler_place(task: Task, method: str, path: str) -> Place:
    """Return the `def` line of the handler of a request, or the first line of server.py if there is none."""
    require(task)
    world = open_world(task.world_folder)
    handler = _handler(world, method, path)
    if handler is None:
        return Place(task.world_folder / "server.py", 1)
    # the path operation may be wrapped by other functions
    written = inspect.unwrap(handler)
    return definition(Path(inspect.getfile(written)), written.__name__)


def _handler(world: World, method: str, path: str) -> Callable[..., Any] | None:
    if (method, path) == ("POST", "/submission"):
        return world.judge_submission
    for rule, handler in world.rules():
        if rule.method == method and path_pattern(rule.path).match(path):
            route_handler: Callable[..., Any] = handler
            return route_handler
    return None


UNCERTIFIED = "uncertified"
"""Name of the passed check for a task that a family cannot check completely; its detail says what is missing and why."""


class ProofCheck(Strict):
    """One check of a task, on one seed if it depends on the seed."""

    name: str
    seed: int | None = None
    ok: bool
    detail: str = ""
    findings: tuple[Finding, ...] = ()


class ProvedClient(Strict):
    """The trace of one client on one seed, and the label that the folder expects; a foreign folder states neither."""

    player: str
    seed: int
    label: str = ""
    trace_hash: str = ""


class Proved(Strict):
    """Result of the checks in one process: every check, and the clients that pods can replay."""

    task_id: str
    checks: tuple[ProofCheck, ...]
    clients: tuple[ProvedClient, ...]
    seconds: float


class TaskProof(Strict):
    """Every check of one task."""

    task_id: str
    ok: bool
    seconds: float
    checks: tuple[ProofCheck, ...]

    @property
    def failed(self) -> tuple[ProofCheck, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def missing(self) -> str | None:
        """The part of the task that cannot be checked, and why, or None if the checks are complete."""
        return next((check.detail for check in self.checks if check.name == UNCERTIFIED and check.ok), None)

    @property
    def verdict(self) -> str:
        """The result in one word."""
        return "FAILED" if not self.ok else "ok" if self.missing is None else UNCERTIFIED


class ProofReport(Strict):
    """Checks of all tasks, as printed by `harness verify --json`; `shared` are findings in the code that all worlds share."""

    ok: bool
    seconds: float
    tasks: tuple[TaskProof, ...]
    shared: tuple[Finding, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Yield every finding once, in task order. Equal places and messages on several seeds are one finding."""
        told = [*self.shared, *(finding for task in self.tasks for check in task.checks for finding in check.findings)]
        yield from dict.fromkeys(told)


def passed(name: str, seed: int | None = None, detail: str = "") -> ProofCheck:
    """Return a check that passed."""
    return ProofCheck(name=name, seed=seed, ok=True, detail=detail)


def failed(name: str, seed: int | None, at: Place, detail: str) -> ProofCheck:
    """Return a check that failed, with its place."""
    return ProofCheck(name=name, seed=seed, ok=False, detail=detail, findings=(at.finding(name, detail),))


def listed(name: str, findings: list[Finding]) -> ProofCheck:
    """Return a check that passes if there are no findings."""
    detail = "; ".join(str(finding) for finding in findings[:3]) + (
        f"; and {len(findings) - 3} more" if len(findings) > 3 else ""
    )
    return ProofCheck(name=name, ok=not findings, detail=detail, findings=tuple(findings))
