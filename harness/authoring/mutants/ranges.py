"""Numbers of a world that are its author's choice: with others it is another instance, or another task as good as this one.

Each rule is about small changes of numbers only (`NUMBERS`). A condition, a label, a check or a window is changed wherever it
stands, and so is a number that a handler or a rule computes with.
1. What a draw is made from (`draw.between(3, 5)`, `draw.sample(range(1, MOST + 1), 2)`): ranges and lengths out of numbers,
   constants and knobs. Not where something else ends (`len(text) - 4`), nor what there is to choose from: `choice((1, -1))`
   chooses a sign, and a list with a condition says what may be chosen.
2. What is added to a drawn number (`3 + draw.below(8)`), and the sign of a sum of draw, numbers, constants and knobs. What
   scales it is a unit, as in `500 * draw.below(8)`, which a client may be told.
3. A whole number from 2 on that has a name at the top of a module, alone or in a table of numbers (`LIVES_S = ((20, 32),
   (45, 120))`, `RECEIPT_CHARS = 48`): the module reads it wherever it means it, so nothing falls apart when it is another. 0, 1
   and -1 are signs and places and are changed. What this gives up: a number that a standard fixes and that stands there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

DRAWS = frozenset({"hex", "base64", "base64url", "bytes", "between", "below", "seconds", "sample", "choice"})
"""Draws that are made from numbers."""

NUMBERS = frozenset({"number-plus", "arithmetic-swapped", "argument-dropped", "call-swapped"})
"""Operators that make another number of one, or another range."""

_KNOBS = frozenset({"knob", "knob_ms", "cost_ms"})
_BOUNDS = frozenset({"range", "min", "max", "round"})
"""Calls that make a bound of a draw out of numbers."""

_TABLE = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.UnaryOp


def is_range(operator: str, stack: Sequence[ast.AST]) -> bool:
    """Whether a change to the last of these nodes, each of which holds the next, is to a number that is a choice."""
    kind = next((name for name in NUMBERS if operator.startswith(name)), "")
    if not kind:
        return False
    if _is_bound(stack):
        return True
    chain = _chain(stack)
    if kind == "number-plus":
        return (chain is not None and _is_term(stack) and _draws(chain)) or _is_named(stack)
    return kind == "arithmetic-swapped" and (_is_moved(stack[-1], chain) or _is_named(stack))


def _is_bound(stack: Sequence[ast.AST]) -> bool:
    """Whether the last node makes an argument of a draw out of numbers, constants and knobs alone."""
    places = [place for place, (outer, inner) in enumerate(pairwise(stack), 1) if _is_draw(outer) and _is_given(inner)]
    if not places:
        return False
    argument = stack[places[-1]]
    return all(_is_bounding(one) for one in stack[places[-1] : -1]) and all(_is_fixed(one) for one in _operands(argument))


def _is_given(node: ast.AST) -> bool:
    """Whether a part of a call is one of its arguments, and not what is called."""
    return not isinstance(node, ast.Attribute)


def _is_bounding(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp | ast.UnaryOp) or (isinstance(node, ast.Call) and _called(node) in _BOUNDS)


def _is_term(stack: Sequence[ast.AST]) -> bool:
    """Whether the last node is added or taken away, as it stands."""
    return isinstance(stack[-2], ast.BinOp) and isinstance(stack[-2].op, ast.Add | ast.Sub)


def _is_moved(node: ast.AST, chain: ast.AST | None) -> bool:
    """Whether a sum is of a draw and of what is the same on every seed."""
    if chain is None or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return False
    return _draws(chain) and all(_is_draw(one) or _is_fixed(one) for one in _operands(chain))


def _is_named(stack: Sequence[ast.AST]) -> bool:
    """Whether this is at the top of a module, in a table of numbers that has a name."""
    if len(stack) < 2 or not isinstance(stack[0], ast.Assign | ast.AnnAssign):
        return False
    if not all(_is_table(one) for one in stack[1:]) or _among_words(stack[1:]):
        return False
    last = stack[-1]
    return not isinstance(last, ast.Constant) or (isinstance(last.value, int) and last.value > 1)


def _is_table(node: ast.AST) -> bool:
    """A number, arithmetic of numbers, or what holds numbers."""
    return all(_is_number(one) for one in _operands(node)) if isinstance(node, ast.BinOp) else isinstance(node, _TABLE)


def _among_words(stack: Sequence[ast.AST]) -> bool:
    """Whether the last node stands beside texts in a row of a table, so that it is a code of theirs."""
    rows = [one for one in stack[1:-1] if isinstance(one, ast.Tuple | ast.List)]
    return any(isinstance(one, ast.Constant | ast.Dict) and not _is_number(one) for row in rows for one in row.elts)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _chain(stack: Sequence[ast.AST]) -> ast.AST | None:
    """The whole of the arithmetic that the last node is part of."""
    chain = None
    for node in reversed(stack):
        if isinstance(node, ast.BinOp):
            chain = node
        elif node is not stack[-1]:
            break
    return chain


def _operands(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.UnaryOp):
        return _operands(node.operand)
    if isinstance(node, ast.BinOp):
        return [*_operands(node.left), *_operands(node.right)]
    return [node]


def _draws(chain: ast.AST) -> bool:
    return any(_is_draw(one) for one in _operands(chain))


def _is_draw(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS


def _is_fixed(node: ast.AST) -> bool:
    """A number, a constant of the module, what a knob or the manifest says, or a bound made of these."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BOUNDS:
        return all(_is_fixed(one) for argument in node.args for one in _operands(argument))
    if isinstance(node, ast.Call):
        return _called(node) in _KNOBS
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _called(node: ast.Call) -> str:
    """The last part of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
