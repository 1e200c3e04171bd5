"""Which files of tests a marker expression leaves nothing of, read from their text: to import one for nothing is dear.

A test has the marker of its file's `pytestmark`, and perhaps some of those that the file or the conftest.py beside it names.
Where no choice of them makes the expression true, the file need not be imported.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import chain, combinations
from pathlib import Path

_OF_ALL = re.compile(r"^pytestmark = pytest\.mark\.(\w+)$", re.MULTILINE)
_OF_SOME = re.compile(r"\bmark\.(\w+)")


def is_left_out(file: Path, expression: str, declared: Collection[str]) -> bool:
    """Whether no test of a file can be chosen by an expression of declared markers; any other expression may choose all."""
    text, beside = file.read_text(encoding="utf-8"), file.with_name("conftest.py")
    of_all, named = set(_OF_ALL.findall(text)), set(_OF_SOME.findall(text))
    if "spread(" in text:  # tests/sampling.py
        named.add("property")
    if beside.exists():
        named.update(_OF_SOME.findall(beside.read_text(encoding="utf-8")))
    others = sorted((named & {*declared}) - of_all)
    choices = chain.from_iterable(combinations(others, number) for number in range(len(others) + 1))
    return not any(is_chosen(expression, {*of_all, *choice}, declared) for choice in choices)


def is_chosen(expression: str, has: Collection[str], declared: Collection[str]) -> bool:
    """Whether a test with some of the markers is chosen."""
    try:
        return bool(eval(expression, {"__builtins__": {}}, {name: name in has for name in declared}))
    except (NameError, SyntaxError, TypeError):
        return True
