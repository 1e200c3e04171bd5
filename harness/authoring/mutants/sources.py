"""Reads a file of Python and lists its mutants: every operator at every place where a mistake would mean something.

Left alone are annotations, decorators, what only words a refusal, numbers that are a world's choice (`ranges`), and texts that
hold formatted values: in those a tree of Python 3.11 has no true positions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from harness.authoring.mutants.mutation import SourceMutant
from harness.authoring.mutants.operators import Change, changes
from harness.authoring.mutants.ranges import is_range

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
