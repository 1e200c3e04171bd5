"""People who play at the terminal of this process, at seats of games (`TerminalDesk`) or as the agent (`HumanAgent`).

1. Lines are read from the file descriptor directly. Python's own reader would hold a lock, and a thread waiting in it when the
program is interrupted would prevent the program from ending.
2. An entry ends with an empty line or Ctrl-D. A line that ends with a backslash continues on the next one. A terminal accepts
at most 4,095 bytes per line and silently drops the rest, so a line of that length is rejected with a message.
3. Untrusted text is escaped before it is shown, so that the terminal does not interpret it.
4. At a seat, a reply is one entry. If the game rejects a reply, a new turn states the broken rule, exactly as for a model. The
seat of each turn is announced, because several people may share a terminal.
5. In a task without seats each entry (`CALLS`) makes a tool call that a model could make, and shows the result that a model
would get. The address of a request is sent byte for byte. The budgets of the harness do not apply to a person; the limits of
the world on steps and virtual time do.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import threading
from functools import cache
from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.interface import Interface, Mistake, ToolExecutor
from harness.agents.seats.people import SeatedPerson
from harness.agents.trajectory import ToolCall, Trajectory
from harness.agents.turns import is_too_long
from harness.errors import UsageError
from harness.live_agent import Agent
from harness.pod import Pod
from harness.registry import Task
from harness.sanitize import printable
from worlds.core.turns import OpenTurn

LONGEST_LINE = 4095
"""Maximum bytes of a line that a terminal passes on."""

QUIT, RULES = "/quit", "/rules"
"""Entries that leave the game and that show the instruction again."""

_NARROWEST, _WIDEST = 40, 100
_KEYBOARD, _SCREEN = 0, 2


class Terminal:
    """Terminal that this process was started from, used by one person at a time."""

    def __init__(self) -> None:
        self.held = threading.RLock()
        """Lock held for a whole episode, because the turns of two concurrent episodes would be mixed up."""

    def check(self) -> None:
        """Raise UsageError if there is no interactive terminal."""
        if not (os.isatty(_KEYBOARD) and os.isatty(_SCREEN)):
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
                piece = os.read(_KEYBOARD, 65536)
            except OSError:
                piece = b""
            if not piece:
                return typed.decode("utf-8", "replace") if typed else None
            typed += piece
        return typed.decode("utf-8", "replace").rstrip("\r\n")

    def _write(self, text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)


def _joined(lines: list[str]) -> str:
    """Join the lines, without a line break after those that end with a backslash."""
    return "\n".join(lines).replace("\\\n", "")


_LIMIT_S = 600.0
"""Timeout of one request in real seconds."""

BODY = "--"
"""Line that separates headers from the body."""

_REQUEST = re.compile(r"([A-Za-z]+) (\S.*)")
_HEADER = re.compile(r"([^:\s]+):[ \t]*(.*)")

CALLS = """\
GET /path               send a request; lines after it are headers (Name: value); after a line -- comes the body
wait SECONDS            let virtual time pass
submit TEXT             hand in the result; this ends the episode
/rules                  read the instruction again
/quit                   give up
An empty line or Ctrl-D sends what you typed; a line that ends with a backslash goes on in the next one."""


class HumanAgent(Agent):
    """Agent that is played by a person."""

    name = "human"

    def __init__(self, terminal: Terminal) -> None:
        self._terminal, self._interface = terminal, Interface("tool")

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return False; raises UsageError for a task without a tool interface."""
        has = task.parley.interfaces if task.parley else ("shell",)
        if self._interface.name not in has:
            raise UsageError(
                f"{task.task_id} cannot be played at the terminal: it has no tool interface, only {', '.join(has)}"
            )
        return self._interface.needs_main(runtime)

    def check(self) -> None:
        """Raise UsageError without a terminal."""
        self._terminal.check()

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play one episode, while other episodes wait for the terminal."""
        report.interface = self._interface.name
        trajectory = Trajectory(f"{task.task_id}-s{seed}", f"{task.task_id}-s{seed}-human", self.name)
        trajectory.user(pod.instruction)
        with self._terminal.held:
            try:
                self._acted(pod, self._interface.hands(task, pod), report, trajectory)
            finally:
                report.trajectory = trajectory.to_dict()

    def _acted(self, pod: Pod, hands: ToolExecutor, report: Report, trajectory: Trajectory) -> None:
        self._terminal.show(f"\n=== your instruction ===\n\n{pod.instruction.strip()}\n\n{CALLS}\n")
        while True:
            typed = self._terminal.entry()
            if typed == RULES:
                self._terminal.show(f"\n{pod.instruction.strip()}\n\n{CALLS}\n")
                continue
            if typed == QUIT:
                report.log.append("the person gave up")
                self._terminal.show("You gave up.")
                return
            try:
                tool, arguments = read_command(typed)
                result = hands.act(tool, arguments, _LIMIT_S)
            except Mistake as mistake:
                self._terminal.show(f"{mistake}\n")
                continue
            report.tool_calls += 1
            self._terminal.show(f"\n{result.text}\n")
            call = f"call-{report.tool_calls}"
            trajectory.agent("", tool_calls=[ToolCall(call, tool, arguments)])
            trajectory.observe(result.text, call)
            report.log.append(f"call {report.tool_calls}: {tool}")
            if result.done:
                return


def read_command(entry: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of an entry; raises Mistake naming the invalid line."""
    first, _, rest = entry.partition("\n")
    word, _, after = first.strip().partition(" ")
    if word.lower() == "wait":
        return "wait", {"seconds": _seconds(after)}
    if word.lower() == "submit":
        return "submit", {"body": "\n".join(part for part in (after, rest) if part)}
    asked = _REQUEST.fullmatch(first.strip())
    if asked is None:
        raise Mistake(f"{first[:60]!r} is not a command: GET /path, wait SECONDS or submit TEXT")
    head, body = _parted(rest)
    headers = [_header(line) for line in head.splitlines() if line.strip()]
    return "http_request", {"method": asked[1].upper(), "url": asked[2], "headers": headers, "body": body}


def _parted(rest: str) -> tuple[str, str]:
    lines = rest.split("\n")
    if BODY not in lines:
        return rest, ""
    at = lines.index(BODY)
    return "\n".join(lines[:at]), "\n".join(lines[at + 1 :])


def _header(line: str) -> list[str]:
    header = _HEADER.fullmatch(line)
    if header is None:
        raise Mistake(f"{line[:60]!r} is not a header (Name: value); a body comes after a line {BODY}")
    return [header[1], header[2]]


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"wait takes seconds, not {text[:40]!r}") from None


HELP = "An empty line or Ctrl-D sends. /rules shows your instruction again, /pass says nothing, /quit leaves for good."


class TerminalDesk:
    """Source of the replies of people who share one terminal."""

    beside = False
    """False, because people at one terminal answer one after the other."""

    chat = None
    """None, because a terminal has no chat."""

    def __init__(self) -> None:
        self.terminal = Terminal()
        self.alone = HumanAgent(self.terminal)
        self.held = self.terminal.held

    def check(self) -> None:
        """Raise UsageError without a terminal."""
        self.terminal.check()

    def sit(self, sitter: SeatedPerson) -> None:
        """Show a person the rules of their seat before the first turn."""
        self.terminal.show(f"\n=== {sitter.called}: your instruction ===\n\n{sitter.rules.strip()}\n\n{HELP}")

    def ask(self, sitter: SeatedPerson, turn: OpenTurn) -> str | None:
        """Return the text that the person types for a turn; None if they leave."""
        again = f", attempt {turn.attempt}" if turn.attempt > 1 else ""
        which = f"{turn.phase.lower().replace('_', ' ')}, round {turn.round}" if turn.round else turn.phase.lower()
        self.terminal.show(f"\n--- {sitter.called}: {which.replace('_', ' ')}{again} ---\n\n{turn.text.strip()}\n")
        while True:
            typed = self.terminal.entry()
            if typed == RULES:
                self.terminal.show(f"\n{sitter.rules.strip()}\n")
            elif typed == QUIT:
                self.terminal.show("You left. All further turns of your seat are forfeited.")
                return None
            elif typed == "/pass":
                return ""
            elif typed.startswith("/") and "\n" not in typed and " " not in typed:
                self.terminal.show(f"Unknown command {typed}. {HELP}")
            elif is_too_long(typed):
                self.terminal.show("A reply has at most 1 MiB. Enter it again:")
            else:
                return typed

    def done(self, sitter: SeatedPerson) -> None:
        """Print that a person's game is over."""
        self.terminal.show(f"\n=== {sitter.called}: the game is over. Thank you. ===\n")


@cache
def this_terminal() -> TerminalDesk:
    """Return the desk at the terminal of this process."""
    return TerminalDesk()
