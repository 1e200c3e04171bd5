"""What a verifier runs in, changed from outside: [verifier.env] has bash read a script of ours before the tests.

bash reads the file that BASH_ENV names whenever it runs a script, and takes that name from the output of a command where it is
one (bash(1), INVOCATION). So a script reaches the tests without a change of the folder, and nothing is built anew.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from harness.errors import RuntimeFailure
from harness.registry import Task

YEAR_DAYS = 365
LIBRARIES = "/usr/lib"
"""Where libfaketime's own package puts it, in a folder of the machine's kind."""

SCRATCH = "/tmp"
"""A folder of the verifier's machine in which the script is written down."""

_ONLY_TESTS = "case $0 in */test.sh)\n{script}\n;; esac\n"
_CLOCK = """printenv CLOCK_LIBRARY | base64 -d > {scratch}/clock.so
export LD_PRELOAD={scratch}/clock.so FAKETIME=+{days}d
echo "the tests begin on $(date +%F)" >&2"""


def before_tests(task: Task, script: str, variables: Mapping[str, str] | None = None) -> Task:
    """The task with a verifier that sources a bash script first; nothing else of it changes."""
    content = base64.b64encode(_ONLY_TESTS.replace("{script}", script).encode()).decode()
    file = f"{SCRATCH}/before-the-tests"
    env = {"BASH_ENV": f"$(base64 -d > {file} <<< {content}; echo {file})", **(variables or {})}
    return with_verifier(task, env={**task.file.verifier.env, **env})


def with_verifier(task: Task, **changed: object) -> Task:
    """The task with some of [verifier] changed."""
    return replace(task, file=task.file.model_copy(update={"verifier": task.file.verifier.model_copy(update=changed)}))


def a_year_later(task: Task) -> Task:
    """The task with a verifier whose clock is a year ahead; it says the date that it begins on.

    Raises RuntimeFailure where this host has no libfaketime to give it.
    """
    library = next(Path(LIBRARIES).glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        raise RuntimeFailure("this host has no libfaketime to turn a verifier's clock with", hint="apt-get install libfaketime")
    content = base64.b64encode(library.read_bytes()).decode()
    script = _CLOCK.format(scratch=SCRATCH, days=YEAR_DAYS)
    return before_tests(task, script, {"CLOCK_LIBRARY": content})


def begun_on(output: bytes) -> date | None:
    """The date that a verifier of `a_year_later` says it began on; None where it never said."""
    said = re.search(rb"the tests begin on (\d{4}-\d\d-\d\d)", output)
    return date.fromisoformat(said[1].decode()) if said else None
