"""A finding is a place and a rule: `path:line: [rule] message`, so that an editor can jump to what has to change.

Everything that authoring has to say about a task folder is a `Finding`: lint, drift, and each failed check of a proof.
`Place` is the first half of one.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from harness.registry import Task
from harness.trust import require
from worlds.core.loading import open_world
from worlds.core.models import Strict
from worlds.core.routes import compiled
from worlds.core.world import World


class Finding(Strict):
    """One thing that is wrong, and where."""

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
        """What is wrong here; a path below the working directory is shown relative to it."""
        here = Path.cwd()
        shown = self.path.relative_to(here) if self.path.is_relative_to(here) else self.path
        return Finding(path=str(shown), line=self.line, rule=rule, message=message)


def first_difference(expected: bytes, given: bytes) -> int:
    """The first line, from 1, in which two texts differ; 1 when they do not."""
    pairs = zip_longest(expected.split(b"\n"), given.split(b"\n"))
    return next((number for number, (a, b) in enumerate(pairs, start=1) if a != b), 1)


def definition(path: Path, name: str) -> Place:
    """Where a file defines or assigns `name`; its first line where it does not, or is no Python."""
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return Place(path, node.lineno)
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
            return Place(path, node.lineno)
    return Place(path, 1)


def violation_lines(task: Task) -> Mapping[str, Place]:
    """Where solution/violations.py names each of its clients, as far as the text shows it."""
    path = task.path / "solution" / "violations.py"
    places: dict[str, Place] = {}
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    places.setdefault(key.value, Place(path, key.lineno))
    return places


def raised_in(error: BaseException, file: Path) -> Place:
    """The last line of `file` that was running when `error`, or what caused it, was raised; else the file's first."""
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
    """The place that a `path:line: what` message starts with, and the rest of it; `otherwise` where it names none."""
    match = re.fullmatch(r"(.+?):(\d+): (.*)", message, re.DOTALL)
    return (Place(Path(match[1]), int(match[2])), match[3]) if match else (otherwise, message)


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def handler_place(task: Task, method: str, path: str) -> Place:
    """The `def` line of the handler of a request; the first line of server.py where none answers it."""
    require(task)
    world = open_world(task.world_folder)
    handler = _handler(world, method, path)
    return _source(handler) if handler is not None else Place(task.world_folder / "server.py", 1)


def _handler(world: World, method: str, path: str) -> Callable[..., Any] | None:
    if (method, path) == ("POST", "/submission"):
        return world.judge_submission
    for rule, handler in world.rules():
        if rule.method == method and compiled(rule.path).match(path):
            route_handler: Callable[..., Any] = handler
            return route_handler
    return None


def _source(handler: Callable[..., Any]) -> Place:
    # a path operation stands behind what calls its app
    written = inspect.unwrap(handler)
    return definition(Path(inspect.getfile(written)), written.__name__)


UNCERTIFIED = "uncertified"
"""The check that a family passes for a task of which it proves nothing; its detail says what is missing, and why."""


class ProofCheck(Strict):
    """One claim about a task, on one seed where it has one."""

    name: str
    seed: int | None = None
    ok: bool
    detail: str = ""
    findings: tuple[Finding, ...] = ()


class ProvedClient(Strict):
    """What one client left on one seed, and the label that its folder says it must earn."""

    player: str
    seed: int
    label: str
    trace_hash: str


class Proved(Strict):
    """One task proved by its own code: every check of that, and the clients that pods can play again."""

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
        """What cannot be proved of the task, and why; None where its proof is whole."""
        return next((check.detail for check in self.checks if check.name == UNCERTIFIED and check.ok), None)

    @property
    def verdict(self) -> str:
        """What came of it, in a word."""
        return "FAILED" if not self.ok else "ok" if self.missing is None else UNCERTIFIED


class ProofReport(Strict):
    """Every task's proof, as `harness verify --json` prints it; `shared` are findings in the code of all worlds."""

    ok: bool
    seconds: float
    tasks: tuple[TaskProof, ...]
    shared: tuple[Finding, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Every finding once, in the order of the tasks; the same place and words on several seeds are one."""
        told = [*self.shared, *(finding for task in self.tasks for check in task.checks for finding in check.findings)]
        yield from dict.fromkeys(told)


def passed(name: str, seed: int | None = None, detail: str = "") -> ProofCheck:
    """A check that holds."""
    return ProofCheck(name=name, seed=seed, ok=True, detail=detail)


def failed(name: str, seed: int | None, at: Place, detail: str) -> ProofCheck:
    """A check that does not hold, and where to look."""
    return ProofCheck(name=name, seed=seed, ok=False, detail=detail, findings=(at.finding(name, detail),))


def listed(name: str, findings: list[Finding]) -> ProofCheck:
    """A check that holds when there is nothing to find."""
    detail = "; ".join(str(finding) for finding in findings[:3]) + (
        f"; and {len(findings) - 3} more" if len(findings) > 3 else ""
    )
    return ProofCheck(name=name, ok=not findings, detail=detail, findings=tuple(findings))


def proof(task_id: str, seconds: float, checks: list[ProofCheck]) -> TaskProof:
    """A task is proved when every check holds."""
    return TaskProof(task_id=task_id, ok=all(check.ok for check in checks), seconds=round(seconds, 3), checks=tuple(checks))
