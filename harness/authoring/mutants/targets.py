"""Which files are changed: the servers and hidden tests of tasks, and the rooms that a whole family of them shares.

1. Of a task with code of its own, all of environment/api and tests. A task that is data has only what its family shares.
2. Of a family whose every task was chosen, `validators/<family>`, and `worlds/<family>` where its tasks are code: the rules
   of a game have witnesses and tests of their own, and the certificates of its tasks.
3. What every family's validators share, where every family was chosen. Not validators/plugin.py and verdict.py, nor a family's
   options.py: the harness itself stands on them, so a change there would change who judges, or what a task.toml may say.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.authoring.mutants.mutation import SourceMutant
from harness.authoring.mutants.operators import Change, changes
from harness.authoring.mutants.ranges import is_range
from harness.authoring.scope import is_data
from harness.modules import families
from harness.registry import Task
from worlds import core

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def mutants_of(path: str, source: bytes, *, draws: bool = True) -> list[SourceMutant]:
    """The mutants of a file in the order of its text; raises SyntaxError.

    `draws` says whether it is a world's: only there is a number its author's choice.
    """
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    made: dict[str, SourceMutant] = {}
    for change, stack in _walk(ast.parse(source), ()):
        if draws and is_range(change.operator, stack):
            continue
        mutant = _placed(path, source, starts, change, stack)
        if mutant.was != mutant.becomes:
            made.setdefault(mutant.id, mutant)
    return sorted(made.values(), key=lambda mutant: (mutant.start, mutant.operator))


def _walk(node: ast.AST, stack: tuple[ast.AST, ...]) -> Iterator[tuple[Change, tuple[ast.AST, ...]]]:
    """Each change below a node, with the nodes around the place of it, outermost first."""
    for child in _within(node):
        around = (*stack, child)
        yield from ((change, around) for change in changes(child))
        yield from _walk(child, around)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node where changes are made."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.Raise):
        # the label is what a refusal says; the rest is how it words it
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        yield from (argument for argument in given if isinstance(argument, ast.Attribute))
        return
    left_out: set[ast.AST] = set(node.decorator_list) if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) else set()
    if isinstance(node, ast.Call):
        # a table of two columns that were made equally long
        left_out |= {keyword for keyword in node.keywords if keyword.arg == "strict"}
    left_out |= {part for name, part in ast.iter_fields(node) if name in {"annotation", "returns"} and part is not None}
    yield from (child for child in ast.iter_child_nodes(node) if child not in left_out)


def _placed(path: str, source: bytes, starts: Sequence[int], change: Change, stack: Sequence[ast.AST]) -> SourceMutant:
    node = change.node
    line, column = node.lineno, node.col_offset
    end = starts[(node.end_lineno or line) - 1] + (node.end_col_offset or 0)
    start = end if change.added else starts[line - 1] + column
    first, last = _reach(stack)
    return SourceMutant(
        path=path, line=line, column=column, operator=change.operator, within=_named(stack),
        text=source[starts[line - 1] : starts[line]].decode().strip(), start=start, end=end,
        was=source[start:end].decode(), becomes=change.becomes, first=first, last=last,
        at_import=change.added or not any(isinstance(one, (*_FUNCTIONS, ast.Lambda)) for one in stack[:-1]),
    )  # fmt: skip


def _reach(stack: Sequence[ast.AST]) -> tuple[int, int]:
    """The lines of the innermost statement around a place; of one that holds others, those before them."""
    statement = next(one for one in reversed(stack) if isinstance(one, ast.stmt))
    inner = next((part[0].lineno - 1 for name, part in ast.iter_fields(statement) if name == "body"), statement.end_lineno)
    return statement.lineno, max(statement.lineno, inner or statement.lineno)


def _named(stack: Sequence[ast.AST]) -> str:
    return ".".join(one.name for one in stack if isinstance(one, (*_FUNCTIONS, ast.ClassDef)))


ROOT = Path(core.__file__).resolve().parents[2]
"""The folder that holds the rooms."""

JUDGES = frozenset({"tests", "validators"})
"""Kinds of files that no world imports."""

_HARNESS_STANDS_ON = frozenset({"validators/plugin.py", "validators/verdict.py"})
_OPTIONS = "options.py"


class MutatedFile(NamedTuple):
    """A file whose mutants are tried."""

    kind: str
    """server, tests, worlds or validators."""

    file: Path
    path: str
    """What it is called in ids."""

    task: Task | None = None
    """The task that it belongs to; None for what is shared."""

    @property
    def module(self) -> str:
        """The name that a shared file is imported by."""
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def targets(tasks: Sequence[Task], whole: Collection[str]) -> list[MutatedFile]:
    """The files to change for these tasks; of the families in `whole` every task was chosen."""
    listed = [target for task in tasks if task.parley is not None and not is_data(task) for target in _own(task)]
    of_code = {task.family for task in tasks if not is_data(task)}
    for family in sorted(whole):
        rooms = ("worlds", "validators") if family in of_code else ("validators",)
        listed += [target for room in rooms for target in _shared(room, ROOT / room / family.replace("-", "_"))]
    if {family.replace("-", "_") for family in whole} >= set(families()):
        listed += list(_shared("validators", ROOT / "validators", "*.py"))
    return listed


def mutants_in(target: MutatedFile) -> list[SourceMutant]:
    """Every mutant of a file; raises SyntaxError."""
    return mutants_of(target.path, target.file.read_bytes(), draws=target.kind not in JUDGES)


def _own(task: Task) -> Iterator[MutatedFile]:
    folder = task.path.resolve()
    for kind, part in (("server", "environment/api"), ("tests", "tests")):
        for file in sorted((folder / part).rglob("*.py")):
            shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else Path(folder.name) / file.relative_to(folder)
            yield MutatedFile(kind, file, shown.as_posix(), task)


def _shared(kind: str, folder: Path, pattern: str = "**/*.py") -> Iterator[MutatedFile]:
    for file in sorted(folder.glob(pattern)):
        path = file.relative_to(ROOT).as_posix()
        if path not in _HARNESS_STANDS_ON and file.name != _OPTIONS:
            yield MutatedFile(kind, file, path)
