"""Attack 17: a hostile task folder. Each trap is a modified copy that must be rejected before anything starts.

A copy goes through the steps of `harness run` before the first episode: it is read and digested, and the runtime may refuse it
or prepare it. This must end in TaskInvalid or UsageError with a one-line message. No episode is played. Reading runs on a
separate thread, so that a hang does not block the suite.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from harness.errors import TaskInvalid, UsageError
from harness.paths import ROOT
from harness.pod import Runtime
from harness.registry import read_task
from harness.runtimes.docker.engine.images import linked_context
from parley.proof.attacks.base import Exam
from parley.proof.attacks.target import Target

READING_S = 60.0
"""Timeout for reading a copy, in real seconds."""

LONGEST = 1000
"""Maximum characters of an error message."""

NESTED, DIGITS = 100_000, 5000
"""Levels of a nested value and digits of a number that exceed the limits of Python's parsers."""

LINKED_FILES = ("instruction.md", "environment/extra", "tests/extra", "solution/extra")
LINKED_FOLDERS = ("environment/api", "environment/extra", "tests", "solution")
FIFOS = ("environment/extra", "tests/extra")

ABSURD = {
    "environment": ("memory_mb = 999999999999", "memory_mb = -1", "cpus = 1e-10", "cpus = 1e300", "build_timeout_sec = 1e300"),
    "agent": ("timeout_sec = 1e300", "timeout_sec = nan"),
    "verifier": ("timeout_sec = 1e300", "timeout_sec = inf"),
}
"""Resources that no machine has, or that mean no limit, by section."""

NAMES_OUT = ("../x", "x", "/a/../../x", "/")
"""Invalid paths in a container."""

FAMILIES_OUT = ("../../x", "/tmp/x", ".", "a/b")
CONTEXTS_OUT = ("../..", "/etc", "./../../outside")
"""Families and build contexts that lead out of their folder."""

BOMBS: Mapping[str, str] = {
    "nested arrays": f"bomb = {'[' * NESTED}{']' * NESTED}\n",
    "nested tables": f"bomb = {'{a = ' * NESTED}1{'}' * NESTED}\n",
    "a key of many parts": f"{'.'.join(['a'] * NESTED)} = 1\n",
    "a number of many digits": f"bomb = {'9' * DIGITS}\n",
}
"""First lines of a task.toml that crash some TOML parsers or keep them busy."""

Spring = Callable[[Path, Path], object]
"""Function that turns a copy of a folder into a trap; the second path is a folder outside it with a secret file."""


def read_hostile_folders(target: Target) -> Exam:
    """Attack 17: have the harness read links, names, numbers and texts that it must reject."""
    exam = Exam()
    with tempfile.TemporaryDirectory(prefix="parley-attack-") as name:
        outside = Path(name) / "outside"
        outside.mkdir()
        (outside / "secret").write_text(secrets.token_hex(16), encoding="utf-8")
        for number, (what, spring) in enumerate(traps(target)):
            copy = Path(name) / str(number) / target.task.path.name
            shutil.copytree(target.task.path, copy, symlinks=True)
            spring(copy, outside)
            problem = unrefused(copy, target.runtime)
            leaks = problem is not None and _leaks(copy, (outside / "secret").read_bytes())
            exam.blame(what, f"{problem}{', and a file outside gets into an image' if leaks else ''}" if problem else None)
    return exam


def traps(target: Target) -> Iterator[tuple[str, Spring]]:
    """Yield every modification of a copy, with its description."""
    yield from ((f"{path}, a link to a file outside", _linked(path, "secret")) for path in LINKED_FILES)
    yield from ((f"{path}, a link to a folder outside", _linked(path, "")) for path in LINKED_FOLDERS)
    yield from ((f"{path}, a FIFO", _fifo(path)) for path in FIFOS)
    for section, lines in ABSURD.items():
        yield from ((f"[{section}] {line}", _toml(section, line)) for line in lines)
    yield from ((f"an artifact from {name}", _toml("", f'artifacts = ["{name}"]')) for name in NAMES_OUT)
    yield from ((f"task.toml with {what}", _rewritten(line.__add__)) for what, line in BOMBS.items())
    if not target.foreign:
        yield from ((f"the family {name}", _toml("metadata.parley", f'family = "{name}"')) for name in FAMILIES_OUT)
        return
    for context in CONTEXTS_OUT:
        yield f"a build context of {context}", _composed(f"build: {{ context: {context} }}")
    yield "a Dockerfile outside", _composed("build: { context: ., dockerfile: ../../../outside/secret }")


def unrefused(folder: Path, runtime: Runtime) -> str | None:
    """Return how a copy was accepted or badly rejected, or None if it was rejected in one line."""
    ended: list[str | None] = ["is still being read after a minute"]

    def read() -> None:
        ended[0] = _answer(folder, runtime)

    thread = threading.Thread(target=read, daemon=True, name="attack-folder")
    thread.start()
    thread.join(READING_S)
    return ended[0]


def _answer(folder: Path, runtime: Runtime) -> str | None:
    try:
        task = read_task(folder)
        if not task.digest or runtime.refuses(task) is not None:
            return None
        runtime.prepare([task])
    except (TaskInvalid, UsageError) as refusal:
        text = str(refusal)
        return (
            None if len(text) <= LONGEST and "\n" not in text else f"is refused with {len(text)} characters, not with one line"
        )
    except BaseException as error:  # noqa: BLE001 - any other exception is a finding
        return f"ends in {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
    return "is taken for a task"


def _leaks(copy: Path, secret: bytes) -> bool:
    try:
        return any(secret in data for data, _ in linked_context(copy).files.values())
    except (OSError, ValueError, TaskInvalid):
        return False


def _linked(path: str, target: str) -> Spring:
    def spring(copy: Path, outside: Path) -> None:
        place = copy / path
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(outside / target)

    return spring


def _fifo(path: str) -> Spring:
    return lambda copy, outside: os.mkfifo(copy / path)


def _toml(section: str, line: str) -> Spring:
    """Return a function that sets a key of task.toml, in its section (created if missing) or above all sections."""
    key = re.escape(line.partition(" ")[0])

    def changed(text: str) -> str:
        if not section:
            return line + "\n" + re.sub(rf"(?ms)^{key} = \[.*?\]\n(?=\n|\[|\w)", "", text)
        head, _, rest = text.partition(f"\n[{section}]\n")
        own, following, after = rest.partition("\n[")
        return f"{head}\n[{section}]\n{line}\n" + re.sub(rf"(?m)^{key} *=.*\n?", "", own) + following + after

    return _rewritten(changed)


def _composed(line: str) -> Spring:
    text = f"services:\n  main: {{}}\n  other:\n    {line}\n"
    return lambda copy, outside: (copy / "environment/docker-compose.yaml").write_text(text, encoding="utf-8")


def _rewritten(change: Callable[[str], str]) -> Spring:
    def spring(copy: Path, _: Path) -> None:
        path = copy / "task.toml"
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    return spring


PLACES = (
    "environment/api/server.py", "solution/solve.py", "solution/violations.py", "tests/test_outcome.py", "tests/conftest.py",
    "conftest.py", "sitecustomize.py",
)  # fmt: skip
"""Files that might be imported."""

COMMANDS = (
    ("verify", "{copy}", "--seeds", "0"),
    ("run", "{copy}", "--agent", "oracle", "--runtime", "inprocess", "--seeds", "0", "--out", "{out}"),
    ("show", "{copy}"),
)
"""Commands that a user would probably run first, without --trust."""

MARK = """

try:
    with open({path!r}, "a") as _mark:
        _mark.write({place!r} + "\\n")
except OSError:
    pass
"""
"""Code at the end of a file that leaves a mark on import, and does nothing if this host is out of reach."""

_LIMIT_S = 600.0


def run_marked_code(target: Target) -> Exam:
    """Attack 17, second half: have code of an untrusted folder run on this host.

    In a copy, each Python file of the world, the solution and the tests leaves a mark when it is imported. Then the commands
    that a user would try first are run on the copy. A mark on this host shows that code ran before it was trusted. Each command
    is a separate process, which is slow, so this is done once per kind of machine.
    """
    exam = Exam()
    with tempfile.TemporaryDirectory(prefix="parley-attack-") as name:
        copy, mark = Path(name) / "copy" / target.task.path.name, Path(name) / "mark"
        mark_copy(target.task.path, copy, mark)
        for command in COMMANDS:
            told = type_command(command, copy, Path(name) / "out")
            ran = mark.read_text(encoding="utf-8").split() if mark.exists() else []
            mark.unlink(missing_ok=True)
            where = ", ".join(dict.fromkeys(ran))
            exam.look(f"harness {command[0]} ran {where} of an untrusted folder on this host" if ran else None)
            if "Traceback" in told:
                exam.notes.append(f"harness {command[0]} ended in a traceback: {told.strip().splitlines()[-1][:200]}")
    return exam


def mark_copy(folder: Path, copy: Path, mark: Path) -> None:
    """Copy a folder so that each of its Python files writes its name to `mark` when it runs on this host."""
    shutil.copytree(folder, copy, symlinks=True)
    for place in PLACES:
        path = copy / place
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + MARK.format(path=str(mark), place=place), encoding="utf-8")


def type_command(command: tuple[str, ...], copy: Path, out: Path) -> str:
    """Return the output of `harness ...`, run in another folder without a terminal. Its exit code is ignored."""
    words = [word.format(copy=copy, out=out) for word in command]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words], cwd=copy.parent, env={**environ, "PYTHONPATH": str(ROOT)}, check=False,
        capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=_LIMIT_S,
    )  # fmt: skip
    return done.stdout + done.stderr
