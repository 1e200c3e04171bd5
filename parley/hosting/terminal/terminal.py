"""Terminal of a person: text is shown wrapped, and input is read line by line.

1. Lines are read from the file descriptor directly. Python's own reader would hold a lock, and a thread waiting in it when the
program is interrupted would prevent the program from ending.
2. An entry ends with an empty line or Ctrl-D. A line that ends with a backslash continues on the next one. A terminal accepts
at most 4,095 bytes per line and silently drops the rest, so a line of that length is rejected with a message.
3. Untrusted text is escaped before it is shown, so that the terminal does not interpret it.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading

from harness.errors import UsageError
from harness.sanitize import printable

LONGEST_LINE = 4095
"""Maximum bytes of a line that a terminal passes on."""

QUIT, RULES = "/quit", "/rules"
"""Entries that leave the game and that show the instruction again."""

_NARROWEST, _WIDEST = 40, 100


class Terminal:
    """Terminal that this process was started from, used by one person at a time."""

    def __init__(self, keyboard: int = 0, screen: int = 2) -> None:
        self._keyboard, self._screen = keyboard, screen
        self.held = threading.RLock()
        """Lock held for a whole episode, because two at once would mix their turns."""

    def check(self) -> None:
        """Raise UsageError if there is no interactive terminal."""
        if not (os.isatty(self._keyboard) and os.isatty(self._screen)):
            raise UsageError(
                "a person plays at a terminal, but standard input is not one", hint="harness host TASK, which serves a web page"
            )

    def show(self, text: str) -> None:
        """Print lines for the person, wrapped at the width of the terminal; indentation is kept."""
        width = min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)) - 1
        for line in printable(text).split("\n"):
            indent = " " * (len(line) - len(line.lstrip()))
            pieces = textwrap.wrap(
                line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
            )
            self._write("\n".join(pieces or [""]) + "\n")

    def entry(self) -> str:
        """Return the text that the person types until an empty line or Ctrl-D; /quit if the terminal is gone."""
        lines: list[str] = []
        while True:
            line = self._line("> " if not lines else ". ")
            if line is None:
                self._write("\n")
                # every read from a closed terminal returns the end of input, so an empty entry means that the person is gone
                return _joined(lines) if lines else QUIT
            if len(line.encode()) >= LONGEST_LINE:
                self.show(
                    f"A line has at most {LONGEST_LINE} bytes at a terminal, so the end of yours is lost. Start again, and"
                )
                self.show("end a line with a backslash to continue it on the next.")
                lines = []
            elif line.strip():
                lines.append(line)
            elif lines:
                return _joined(lines)

    def _line(self, prompt: str) -> str | None:
        """Return one line without its line ending; None at the end of the input."""
        self._write(prompt)
        typed = b""
        while not typed.endswith(b"\n"):
            try:
                piece = os.read(self._keyboard, 65536)
            except OSError:
                piece = b""
            if not piece:
                return typed.decode("utf-8", "replace") if typed else None
            typed += piece
        return typed.decode("utf-8", "replace").rstrip("\r\n")

    def _write(self, text: str) -> None:
        if self._screen == sys.stderr.fileno():
            sys.stderr.write(text)
            sys.stderr.flush()
        else:
            os.write(self._screen, text.encode())


def _joined(lines: list[str]) -> str:
    """Join the lines, without a line break after those that end with a backslash."""
    return "\n".join(lines).replace("\\\n", "")
