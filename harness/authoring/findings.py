"""A finding is a place and a rule: `path:line: [rule] message`, so that an editor can jump to what has to change.

Everything that authoring has to say about a task folder is a `Finding`: lint, drift, and each failed check of a proof.
`Place` is the first half of one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from harness.registry import Task
from worlds.core.models import Strict


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
