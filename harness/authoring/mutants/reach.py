"""Which lines a play, or the judging of a task, runs: the map that says which of them a mutant can change.

A tracer costs a call for each function and one for each line, so it follows only the functions of files that are changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def traced(files: Collection[str]) -> Iterator[set[tuple[str, int]]]:
    """The lines of `files` that run in this thread meanwhile, as file and number."""
    ran: set[tuple[str, int]] = set()

    def line(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            ran.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, _: str, __: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in files:
            return None
        ran.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield ran
    finally:
        sys.settrace(before)
