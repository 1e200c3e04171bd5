"""One line for a person, on stderr, with the episode that it is about; needs nothing, so that a prover's sandbox has it too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_subject: ContextVar[str] = ContextVar("_subject", default="")


@contextmanager
def about(name: str) -> Iterator[None]:
    """What is said in this context, and in threads that are started with it, is about this episode."""
    before = _subject.set(name)
    try:
        yield
    finally:
        _subject.reset(before)


def say(line: str) -> None:
    """One line for a person, with the episode that it is about."""
    name = _subject.get()
    # in one piece: several threads may be speaking
    sys.stderr.write(f"{name}: {line}\n" if name else f"{line}\n")
    sys.stderr.flush()


def to_stderr(line: str) -> None:
    """Where a client of models talks to people, unless told otherwise."""
    print(line, file=sys.stderr, flush=True)
