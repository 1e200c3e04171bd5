"""Attack 17, second half: code of a folder that nobody vouched for runs on this host.

A copy leaves a mark from each of its Python files as soon as one is imported: the world's, the solution's, the tests'. Then the
commands are given that anybody would give first. Where a mark lies on this host afterwards, code ran here before trust.
Each command is a process of its own, so this is done once for each kind of machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.target import Target
from harness.places import ROOT

PLACES = (
    "environment/api/server.py", "solution/solve.py", "solution/violations.py", "tests/test_outcome.py", "tests/conftest.py",
    "conftest.py", "sitecustomize.py",
)  # fmt: skip
"""Files that somebody might import."""

COMMANDS = (
    ("verify", "{copy}", "--seeds", "0"),
    ("run", "{copy}", "--agent", "oracle", "--runtime", "inprocess", "--seeds", "0", "--out", "{out}"),
    ("show", "{copy}"),
)
"""What anybody would type first, without --trust."""

MARK = """

try:
    with open({path!r}, "a") as _mark:
        _mark.write({place!r} + "\\n")
except OSError:
    pass
"""
"""The end of a file that leaves a mark when it is imported, and does nothing where this host is out of reach."""

_LIMIT_S = 600.0


class CodeBeforeTrust:
    """Code of a folder that runs on the host unasked."""

    number: ClassVar[int] = 17
    name: ClassVar[str] = "code before trust"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V4", "V8"), abc=("T.10",))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Type every command about a marked copy."""
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
    """A copy of a folder each of whose Python files leaves its name in `mark` when it runs on this host."""
    shutil.copytree(folder, copy, symlinks=True)
    for place in PLACES:
        path = copy / place
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + MARK.format(path=str(mark), place=place), encoding="utf-8")


def type_command(command: tuple[str, ...], copy: Path, out: Path) -> str:
    """What `harness ...` says, on a terminal of its own in another folder; its exit code is nobody's concern here."""
    words = [word.format(copy=copy, out=out) for word in command]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words], cwd=copy.parent, env={**environ, "PYTHONPATH": str(ROOT)}, check=False,
        capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=_LIMIT_S,
    )  # fmt: skip
    return done.stdout + done.stderr
