"""Messages for people on stderr, tagged with the episode. Has no dependencies, so that a prover's sandbox can use it too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_subject: ContextVar[str] = ContextVar("_subject", default="")


@contextmanager
def about(name: str) -> Iterator[None]:
    """Tag messages in this context, and in threads started with it, with this episode."""
    before = _subject.set(name)
    try:
        yield
    finally:
        _subject.reset(before)


def say(line: str) -> None:
    """Print one message to stderr, tagged with the current episode."""
    name = _subject.get()
    # in one write: several threads may be printing
    sys.stderr.write(f"{name}: {line}\n" if name else f"{line}\n")
    sys.stderr.flush()


def to_stderr(line: str) -> None:
    """Print one message to stderr; the default output of model clients."""
    print(line, file=sys.stderr, flush=True)
