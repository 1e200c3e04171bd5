"""Mutation operators: replacements for a node of a syntax tree.

compare-negated, compare-boundary      `==` for `!=`, `<` for `<=`
condition-negated, not-dropped         a negated condition
bool-swapped, bool-flipped             `and` for `or`, True for False
raise-dropped, call-dropped            an omitted error, check or step
assignment-dropped, assert-dropped     omitted state, omitted assertion
claim-dropped, argument-dropped        an omitted shared claim or one of several checks
number-plus, arithmetic-swapped        off by one, plus for minus
window-widened                         ten times the length of the knob
draw-unseeded                          the same random value for every seed
call-swapped                           min for max, any for all
label-changed                          another label than the rule's
submission-any, submission-stripped    any result is accepted, or one with surrounding white space

The wording of errors is not mutated: arguments of raised errors except the label, formatted strings, docstrings. Numbers that
are the author's choice are not mutated either: ranges of draws, and tables of numbers at the top of a module
(`targets.is_range`).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class SourceMutant(NamedTuple):
    """A change to a file; `start` and `end` are offsets into the UTF-8 bytes of the file."""

    path: str
    """Path with slashes, relative to the folder that contains worlds, validators and tasks."""

    line: int
    column: int
    operator: str
    within: str
    """Dotted name of the enclosing function or class; empty at the top of the module."""

    text: str
    """The source line, stripped."""

    start: int
    end: int
    was: str
    becomes: str
    first: int
    last: int
    """Last line of the range of lines, at least one of which has to run to reach the change."""

    at_import: bool
    """True if it is outside any function, and so runs on import."""

    @property
    def id(self) -> str:
        """Id in reports."""
        return f"{self.path}:{self.line}:{self.column}:{self.operator}"

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Identity of the mutant that does not depend on its line number."""
        return self.path, self.within, self.text, self.operator, self.was

    @property
    def lot(self) -> bytes:
        """Sort key for draws, which does not depend on the line number."""
        return hashlib.sha256(repr(self.key).encode()).digest()

    def applied(self, source: bytes) -> bytes:
        """Return the source with this change applied."""
        return source[: self.start] + self.becomes.encode() + source[self.end :]


def drawn(mutants: Sequence[SourceMutant], count: int) -> list[SourceMutant]:
    """Return `count` mutants selected by hash, in their original order. The hash of a mutant does not depend on the others."""
    wanted = {mutant.id for mutant in sorted(mutants, key=lambda mutant: mutant.lot)[:count]}
    return [mutant for mutant in mutants if mutant.id in wanted]


class Change(NamedTuple):
    """A replacement for `node`, or code added after it if `added` is set."""

    operator: str
    node: ast.expr | ast.stmt
    becomes: str
    added: bool = False


_NEGATED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_BOUNDARY: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_SWAPPED: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_WINDOWS = frozenset({"knob_ms", "drawn_ms"})
_SEVERAL = (ast.Lambda, ast.Constant)

UNSEEDED = "draw-unseeded"
"""The operator whose mutants can be detected only by comparing two seeds."""

SEEDLESS = "__seedless__"
"""Name under which a mutated file finds randomness that ignores the seed."""

_ANY = """

    def judge_submission(self, call):
        from worlds.core.calls import Reply
        if self.deliverable is None{unless}:
            return super().judge_submission(call)
        return Reply({{"accepted": True}}, kind="goal")
"""


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield every change to a node itself; nested nodes have their own changes."""
    yield from (change for kind, made in _MADE for change in (made(node) if isinstance(node, kind) else ()))
    for test in _conditions(node):
        if not isinstance(test, ast.Compare | ast.BoolOp) and not _is_not(test):
            yield Change("condition-negated", test, _written(ast.UnaryOp(ast.Not(), test)))


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _conditions(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return [node.test]
    return list(node.ifs) if isinstance(node, ast.comprehension) else []


def _compared(node: ast.Compare) -> Iterator[Change]:
    for table, operator in ((_NEGATED, "compare-negated"), (_BOUNDARY, "compare-boundary")):
        for place, op in enumerate(node.ops):
            if instead := table.get(type(op)):
                ops = [*node.ops[:place], instead(), *node.ops[place + 1 :]]
                name = operator if len(node.ops) == 1 else f"{operator}-{place + 1}"
                yield Change(name, node, _written(ast.Compare(node.left, ops, node.comparators)))


def _written(node: ast.expr) -> str:
    """Return the source of an expression in parentheses, so that it can be part of any other."""
    return f"({ast.unparse(node)})"


def _joined(node: ast.BoolOp) -> Iterator[Change]:
    yield Change(
        "bool-swapped", node, _written(ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values))
    )


def _turned(node: ast.UnaryOp) -> Iterator[Change]:
    if _is_not(node):
        yield Change("not-dropped", node, _written(node.operand))


def _constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield Change("bool-flipped", node, str(not node.value))
    elif isinstance(node.value, int | float):
        yield Change("number-plus", node, repr(node.value + 1))


def _computed(node: ast.BinOp) -> Iterator[Change]:
    texts = any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (node.left, node.right)
    )
    if (instead := _SWAPPED.get(type(node.op))) and not texts:
        yield Change("arithmetic-swapped", node, _written(ast.BinOp(node.left, instead(), node.right)))


def _called(node: ast.Call) -> Iterator[Change]:
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Name) and name in _CALLS:
        yield Change("call-swapped", node.func, _CALLS[name])
    if name in _WINDOWS:
        yield Change("window-widened", node, f"({ast.unparse(node)} * 10)")
    for kind in _SEVERAL:
        alike = [argument for argument in node.args if isinstance(argument, kind)]
        for argument in alike if len(alike) > 1 and not isinstance(node.func, ast.Attribute) else ():
            rest = ast.Call(node.func, [one for one in node.args if one is not argument], node.keywords)
            yield Change(f"argument-dropped-{node.args.index(argument) + 1}", node, ast.unparse(rest))


def _looked_up(node: ast.Attribute) -> Iterator[Change]:
    if not isinstance(node.ctx, ast.Load):
        return
    if node.attr == "chance":
        yield Change(UNSEEDED, node, f"{SEEDLESS}({ast.unparse(node)})")
    elif isinstance(node.value, ast.Name) and node.value.id == "Label":
        yield Change("label-changed", node, "Label.OTHER" if node.attr != "OTHER" else "Label.WRONG_VALUE")


def _stated(node: ast.stmt) -> Iterator[Change]:
    if isinstance(node, ast.Raise):
        yield Change("raise-dropped", node, "pass")
    elif isinstance(node, ast.Assert):
        yield Change("assert-dropped", node, "pass")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield Change("call-dropped", node, "pass")
    elif isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Assign) and all(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets)
    ):
        yield Change("assignment-dropped", node, "pass")
    elif isinstance(node, ast.ImportFrom):
        claims = [alias for alias in node.names if alias.name.startswith("test_")]
        for alias in claims:
            rest = [one for one in node.names if one is not alias]
            becomes = ast.unparse(ast.ImportFrom(node.module, rest, node.level)) if rest else "pass"
            yield Change(f"claim-dropped-{alias.name}", node, becomes)
    elif isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "ContractWorld" for base in node.bases):
        yield Change("submission-any", node, _ANY.format(unless=""), added=True)
        stripped = " or call.body.strip() != bytes(self.deliverable).strip()"
        yield Change("submission-stripped", node, _ANY.format(unless=stripped), added=True)


_MADE: tuple[tuple[type[ast.AST], Callable[[Any], Iterator[Change]]], ...] = (
    (ast.Compare, _compared), (ast.BoolOp, _joined), (ast.UnaryOp, _turned), (ast.Constant, _constant), (ast.BinOp, _computed),
    (ast.Call, _called), (ast.Attribute, _looked_up), (ast.stmt, _stated),
)  # fmt: skip
