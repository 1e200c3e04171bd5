"""A mutant is one small change to the text of one file: which bytes give way to which, and why that is a mistake to notice.

Its id is `path:line:column:operator`, so that a mutant is the same one in every run; `key` is what survives when lines move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple


class SourceMutant(NamedTuple):
    """One change; `start` and `end` are offsets into the UTF-8 bytes of the file."""

    path: str
    """Relative to the folder that the room and its tasks lie in, with slashes."""

    line: int
    column: int
    operator: str
    within: str
    """The dotted name of the function or class around it; empty at the top of the module."""

    text: str
    """The line as it is written, without the space around it."""

    start: int
    end: int
    was: str
    becomes: str
    first: int
    last: int
    """The lines of which one has to run for the change to be reached."""

    at_import: bool
    """Whether it stands outside any function, and so is reached whenever the module is imported."""

    @property
    def id(self) -> str:
        """Its name in reports."""
        return f"{self.path}:{self.line}:{self.column}:{self.operator}"

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What tells it from others without the number of its line."""
        return self.path, self.within, self.text, self.operator, self.was

    @property
    def lot(self) -> bytes:
        """Its place in a draw, which is the same when its line moves."""
        return hashlib.sha256(repr(self.key).encode()).digest()

    def applied(self, source: bytes) -> bytes:
        """The file's text with this change made."""
        return source[: self.start] + self.becomes.encode() + source[self.end :]


def drawn(mutants: Sequence[SourceMutant], count: int) -> list[SourceMutant]:
    """So many of them by the hash of what they are, in their own order: what is drawn does not hang on the others."""
    wanted = {mutant.id for mutant in sorted(mutants, key=lambda mutant: mutant.lot)[:count]}
    return [mutant for mutant in mutants if mutant.id in wanted]
