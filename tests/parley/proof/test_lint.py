"""What lint says of a folder's form, sources and texts, each at its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.registry import read_task
from harness.trust import admitted
from parley.proof.findings import first_difference
from parley.proof.lint import SOLUTION, TESTS, Role, lint_source, lint_task, lint_worlds, server_role

Write = Callable[[str], Path]


@pytest.fixture
def source(tmp_path: Path) -> Write:
    """Writes one Python file."""

    def write(text: str) -> Path:
        path = tmp_path / "source.py"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("import time\ntime.time()", 2),
        ("import time as t\n\nx = t.monotonic()", 3),
        ("from time import sleep\nsleep(1)", 1),
        ("from datetime import datetime\nx = datetime.now", 2),
        ("import datetime\nx = datetime.datetime.utcnow()", 2),
        ("from datetime import date\ndate.today()", 2),
        ("def f():\n    import time\n    return time.perf_counter_ns()", 3),
    ],
)
def test_wall_clock(source: Write, text: str, number: int) -> None:
    """Every way to the machine's time is found at its line."""
    assert ("wall-clock", number) in [(found.rule, found.line) for found in lint_source(source(text))]


@pytest.mark.parametrize(
    "text",
    [
        "import random", "import secrets", "from random import choice", "import os\nos.urandom(1)", "import uuid\nuuid.uuid4()",
        "from uuid import uuid1", "import numpy as np\nnp.random.default_rng()", "from numpy import random",
        "import random as r\nr.random()",
    ],
)  # fmt: skip
def test_os_randomness(source: Write, text: str) -> None:
    """Every way to the machine's chance is found."""
    assert {"os-random"} == {found.rule for found in lint_source(source(text))}


@pytest.mark.parametrize(
    "text",
    [
        "from datetime import datetime\nx = datetime(2031, 1, 1)", "import uuid\nuuid.uuid5(uuid.NAMESPACE_URL, 'a')",
        "class A:\n    def time(self): return self.random.choice(1)", "now = 1\nsleep = now", "'import time'",
    ],
)  # fmt: skip
def test_innocent_sources(source: Write, text: str) -> None:
    """Dates built from parts, derived ids and namesakes are nothing to report."""
    assert lint_source(source(text)) == []


@pytest.mark.parametrize(
    ("role", "allowed", "refused"),
    [
        (server_role("contract"), "worlds.contract.labels", "worlds.calendar.rules"),
        (server_role("hidden-profile"), "worlds.hidden_profile.world", "worlds.contract.world"),
        (server_role("contract"), "worlds.core.calls", "validators.episode"),
        (server_role("contract"), "urllib.parse", "urllib.request"),
        (server_role("contract"), "hashlib", "socket"),
        (server_role("contract"), "json", "httpx"),
        (TESTS, "validators.contract", "worlds.core.events"),
        (TESTS, "pytest", "harness.runtimes.judging"),
        (SOLUTION, "httpx", "requests"),
        (SOLUTION, "solve", "worlds.core.wire"),
    ],
)
def test_role_imports(source: Write, role: Role, allowed: str, refused: str) -> None:
    """Each role has its package and the standard library, and nothing else."""
    found = lint_source(source(f"import {allowed}\n\n\ndef f() -> None:\n    import {refused}\n"), role)

    assert [(5, "import", f"{role.name} may not import {refused}")] == [(f.line, f.rule, f.message) for f in found]


def test_imports_in_other_words(source: Write) -> None:
    """A module named by its package, relatively, or through a string does not slip by."""
    found = lint_source(
        source("from worlds import calendar\nfrom . import x\nimport importlib\n__import__('os')\n"), server_role("contract")
    )

    assert [finding.line for finding in found] == [1, 2, 3, 4]


def test_shared_worlds_are_clean() -> None:
    """The code that all worlds share reads no clock and draws nothing from the machine."""
    assert [str(finding) for finding in lint_worlds()] == []


@pytest.mark.parametrize(
    ("name", "content", "number", "rule"),
    [
        ("solution/notes.txt", b"one\ntwo\r\n", 2, "line-ending"),
        ("solution/notes.txt", b"one\n\xff\n", 2, "encoding"),
        ("solution/solve.sh", b"python3 solve.py\n", 1, "script"),
        ("solution/solve.py", b"def solve(:\n", 1, "syntax"),
        ("tests/notes.py", b"import os\nopen('/logs/verifier/reward.json')\n", 2, "reward"),
        ("environment/api/instruction.md.j2", b"Hello.\n\nAvoid WRONG_VALUE.\n", 3, "label"),
    ],
)
def test_form_and_texts(folder: Path, name: str, content: bytes, number: int, rule: str) -> None:
    """Files of the wrong form, and texts that tell too much, are found at their line."""
    (folder / name).write_bytes(content)
    found = {(Path(f.path).relative_to(folder).as_posix(), f.line, f.rule) for f in lint_task(admitted(read_task(folder)))}

    assert (name, number, rule) in found


def test_script_must_be_executable(folder: Path) -> None:
    """A shell script without its executable bit is a finding."""
    (folder / "tests/test.sh").chmod(0o644)

    assert [finding.rule for finding in lint_task(admitted(read_task(folder)))] == ["script"]


def test_instruction_must_end_with_the_time_note(folder: Path) -> None:
    """Words after the paragraph about time would hide it."""
    with (folder / "instruction.md").open("a") as file:
        file.write("One more thing.\n")

    assert [finding.rule for finding in lint_task(admitted(read_task(folder)))] == ["time-note"]


def test_seeds_must_parse(folder: Path) -> None:
    """A seeds string that is no range is found at its line."""
    path = folder / "task.toml"
    path.write_text(path.read_text().replace('seeds = "0-9"', 'seeds = "some"'))
    number = path.read_text().splitlines().index('seeds = "some"') + 1

    assert [(number, "seeds")] == [(finding.line, finding.rule) for finding in lint_task(admitted(read_task(folder)))]


def test_three_violations_are_the_least(folder: Path) -> None:
    """A task with two wrong clients proves too little."""
    path = folder / "solution/violations.py"
    path.write_text('from solve import play\n\nVIOLATIONS = {"a": ("OTHER", play), "b": ("OTHER", play)}\n')

    assert [(finding.line, finding.rule) for finding in lint_task(admitted(read_task(folder)))] == [(3, "violations")]


def test_a_client_in_time_is_none_of_them(folder: Path) -> None:
    """A client that must win is allowed beside the wrong ones, and does not count as one."""
    path = folder / "solution/violations.py"
    two = '"a": ("OTHER", play), "b": ("OTHER", play), "in_time": ("SUCCESS", play)'
    path.write_text(f"from solve import play\n\nVIOLATIONS = {{{two}}}\n")

    assert ["wrong clients, has 2" in f.message for f in lint_task(admitted(read_task(folder)))] == [True]


@pytest.mark.parametrize(
    ("expected", "given", "number"),
    [(b"a\nb\n", b"a\nc\n", 2), (b"a\nb\n", b"a\n", 2), (b"a\n", b"a\nb\n", 2), (b"a", b"b", 1), (b"a", b"", 1)],
)
def test_first_difference(expected: bytes, given: bytes, number: int) -> None:
    """The first differing line, also where one text is the beginning of the other."""
    assert number == first_difference(expected, given)
