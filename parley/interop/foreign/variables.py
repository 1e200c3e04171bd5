"""Substitution of `${NAME}` in a foreign folder from granted variables, never from this process's environment.

Variables granted with `harness run --env NAME` are substituted, and in a compose file also the task's own [environment.env],
which Harbor exports to Compose. Any other variable is an error before anything starts.
1. Compose files: `${NAME}`, `$NAME`, `${NAME:-default}`, `${NAME-default}`, `$$`; other forms are refused.
2. Tables of task.toml, as in Harbor: a value that is `${NAME}` or `${NAME:-default}` as a whole; all else is literal.
3. A granted value is masked in all output of a pod, so that no record contains it verbatim.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from harness.errors import TaskInvalid, UsageError
from harness.registry import Task
from harness.taskfile import line_of

NAMED_BY_HARBOR = frozenset({"MAIN_IMAGE_NAME", "CONTEXT_DIR", "PREBUILT_IMAGE_NAME", "CPUS", "MEMORY"})
"""Variables that Harbor's own compose files use; a task that uses them itself is refused."""

MASKED_FROM = 4
"""Length from which values are masked. Shorter ones, such as 1 or yes, occur everywhere."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IN_TEXT = re.compile(
    r"\$(?:(?P<dollar>\$)|\{(?P<name>[A-Za-z_]\w*)(?P<dash>:?-)?(?P<default>(?<=-)[^}$]*)?\}|(?P<bare>[A-Za-z_]\w*))"
)
_WHOLE = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>.*))?\}", re.DOTALL)


def grant(tasks: Sequence[Task], names: Sequence[str]) -> list[Task]:
    """Return the tasks with these variables of the environment granted to them; raises UsageError if one is not set."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError("--env takes only the name of a variable", hint="harness run ... --env NAME")
        if name not in os.environ:
            raise UsageError(f"--env {name}: the variable is not set", hint=f"export {name}=...")
    granted = {name: os.environ[name] for name in names}
    return [replace(task, granted=granted) for task in tasks] if granted else list(tasks)


def fill(text: str, variables: Mapping[str, str], place: str) -> str:
    """Substitute the variables in a text of a compose file; raises TaskInvalid naming `place` (`path:line`)."""
    if "$" in _IN_TEXT.sub("", text):
        raise TaskInvalid(f"{place}: {text[:80]!r} has a $ that is neither $$ nor ${{NAME}} nor ${{NAME:-default}}")

    def value(asked: re.Match[str]) -> str:
        name = asked["name"] or asked["bare"]
        if asked["dollar"]:
            return "$"
        if name in variables and (variables[name] or asked["dash"] != ":-"):
            return variables[name]
        return asked["default"] if asked["dash"] else needed(name, variables, place)

    return _IN_TEXT.sub(value, text)


def whole(text: str, variables: Mapping[str, str], place: str) -> str:
    """Substitute the variable that makes up a whole value of a table of task.toml; raises TaskInvalid naming `place`."""
    asked = _WHOLE.fullmatch(text)
    if asked is None:
        return text
    if asked["name"] in variables or asked["default"] is None:
        return needed(asked["name"], variables, place)
    return asked["default"]


def needed(name: str, variables: Mapping[str, str], place: str) -> str:
    """Return the value of a variable without default; raises UsageError with the missing flag if it is not granted."""
    if name in variables:
        return variables[name]
    if name in NAMED_BY_HARBOR:
        raise TaskInvalid(f"{place}: ${{{name}}} is Harbor's own variable and is not substituted here")
    raise UsageError(
        f"{place}: ${{{name}}} is a variable of this host, which needs --env {name}", hint=f"harness run ... --env {name}"
    )


def filled(task: Task, table: Mapping[str, str], *keys: str) -> dict[str, str]:
    """Substitute the variables in a table of task.toml; raises TaskInvalid with the line of the first that is not granted."""
    path, dotted = task.path / "task.toml", ".".join(keys)
    text = path.read_text(encoding="utf-8") if table else ""
    places = {name: f"{path}:{line_of(text, (*keys, name))}: {dotted}.{name}" for name in table}
    return {name: whole(value, task.granted, places[name]) for name, value in table.items()}


def solution_environment(task: Task) -> dict[str, str]:
    """Return the environment of solve.sh, as Harbor's oracle sets it; raises TaskInvalid."""
    return {"DEBIAN_FRONTEND": "noninteractive", **filled(task, task.file.solution.env, "solution", "env")}


def masked(data: bytes, granted: Mapping[str, str]) -> bytes:
    """Return bytes with each granted value replaced by its name in brackets."""
    pieces = iter((data,))
    return b"".join(iter(masking(lambda: next(pieces, b""), granted), b""))


def masking(receive: Callable[[], bytes], granted: Mapping[str, str]) -> Callable[[], bytes]:
    """Wrap `receive` so that granted values in the stream are masked, even if a value is split across pieces."""
    names = {value.encode(): name for name, value in granted.items() if len(value) >= MASKED_FROM}
    if not names:
        return receive
    longest_first = sorted(names, key=len, reverse=True)
    secret = re.compile(b"|".join(map(re.escape, longest_first)))
    held = bytearray()

    def receive_masked() -> bytes:
        ready = bytearray()
        while not ready:
            chunk = receive()
            held.extend(chunk)
            # a value that begins before `end` has arrived completely
            end, done = len(held) - (len(longest_first[0]) - 1 if chunk else 0), 0
            while (match := secret.search(held, done)) and match.start() < end:
                ready += held[done : match.start()] + f"[{names[match[0]]}]".encode()
                done = match.end()
            ready += held[done : max(done, end)]
            del held[: max(done, end)]
            if not chunk:
                break
        return bytes(ready)

    return receive_masked
