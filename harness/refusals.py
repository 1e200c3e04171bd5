"""Errors of the command line that the user or a task folder caused. `harness.errors` lists all errors."""

from __future__ import annotations

import shlex
from typing import ClassVar

from worlds.core.errors import ParleyError


class HarnessError(ParleyError):
    """Error of one clause, with an optional `hint`: the next command to type."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def quoted(word: object) -> str:
    """Quote a path or another word for the shell, for commands that are printed."""
    return shlex.quote(str(word))


class UsageError(HarnessError):
    """Wrong flag, option, model or plan."""


class UnknownTask(HarnessError):
    """Unknown task name; the message offers the nearest names."""


class GateFailed(HarnessError):
    """Completed check whose result is negative."""

    exit_code = 1


class TaskInvalid(HarnessError):
    """Task folder that breaks the format; the message is `path:line: what`."""

    exit_code = 4


class Cancelled(HarnessError):
    """Interruption by the user."""

    exit_code = 130
