"""What can be said of a task folder without playing it: its files' form, its sources, and the promises of its texts.

1. Form: UTF-8, line feeds only, shell scripts executable and with a shebang.
2. Sources (`harness.authoring.sources`): clock, chance and imports of server, tests and solution.
3. Texts: the instruction names no label and ends with the paragraph about time; only the plugin writes the reward; the seeds
   are a range; there are enough violations, each with a label of the taxonomy.
`lint_worlds` looks at the code that all worlds share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from harness.agents.solutions import SUCCESS, players
from harness.authoring.families import labels_of
from harness.authoring.findings import Finding, Place, definition, placed, violation_lines
from harness.authoring.sources import SOLUTION, TESTS, Role, lint_source, server_role
from harness.authoring.templates import families, family, is_executable
from harness.errors import TaskInvalid, UsageError
from harness.registry import Task, files_of
from harness.runs.plan import parse_seeds
from harness.taskfile import line_of
from worlds import core
from worlds.core.world import TIME_NOTE

_REWARD_FILE = re.compile(rb"reward\.(json|txt)")
_REWARD_WRITERS = frozenset({"tests/test.sh"})


def lint_worlds() -> list[Finding]:
    """Clock and chance in the code that all worlds share."""
    folder = Path(core.__file__).parents[1]
    return [finding for path in sorted(folder.rglob("*.py")) for finding in lint_source(path)]


def lint_task(task: Task) -> list[Finding]:
    """Every finding of one task folder; its solution is imported, nothing is played."""
    findings = [finding for path in files_of(task.path) for finding in _form(path)]
    findings += [finding for path, role in _roles(task) for finding in lint_source(path, role)]
    for check in (_instruction, _reward, _seeds, _violations):
        findings += check(task)
    return findings


def _form(path: Path) -> Iterator[Finding]:
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield _line_at(path, content, error.start).finding("encoding", "is not UTF-8")
    if b"\r" in content:
        yield _line_at(path, content, content.index(b"\r")).finding("line-ending", "holds a carriage return; lines end with LF")
    if is_executable(path.name):
        if not content.startswith(b"#!"):
            yield Place(path, 1).finding("script", "must start with #!")
        if not path.stat().st_mode & 0o100:
            yield Place(path, 1).finding("script", "must be executable; run: harness sync")


def _roles(task: Task) -> Iterator[tuple[Path, Role]]:
    rooms = {"environment/api": server_role(task.family), "tests": TESTS, "solution": SOLUTION}
    for room, role in rooms.items():
        for path in sorted((task.path / room).rglob("*.py")):
            yield path, role


def _instruction(task: Task) -> Iterator[Finding]:
    labels = re.compile(rf"\b({'|'.join(sorted(labels_of(task.family)))})\b".encode())
    for path in (task.path / "instruction.md", task.world_folder / "instruction.md.j2"):
        content = path.read_bytes() if path.is_file() else b""
        for match in labels.finditer(content):
            label = match[0].decode()
            yield _line_at(path, content, match.start()).finding("label", f"tells the agent of the label {label}")
    path = task.path / "instruction.md"
    content = path.read_bytes()
    if not task.is_seated and not content.endswith(TIME_NOTE.encode() + b"\n"):
        yield _line_at(path, content, len(content)).finding(
            "time-note", "must end with the paragraph about time; run: harness sync"
        )


def _reward(task: Task) -> Iterator[Finding]:
    for path in files_of(task.path / "tests"):
        content = path.read_bytes()
        if path.relative_to(task.path).as_posix() not in _REWARD_WRITERS and (match := _REWARD_FILE.search(content)):
            yield _line_at(path, content, match.start()).finding("reward", "only the plugin writes the reward")


def _seeds(task: Task) -> Iterator[Finding]:
    assert task.parley is not None
    try:
        parse_seeds(task.parley.seeds)
    except UsageError as error:
        path = task.path / "task.toml"
        line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "seeds"))
        yield Place(path, line).finding("seeds", str(error))


def _violations(task: Task) -> Iterator[Finding]:
    path = task.path / "solution" / "violations.py"
    least = family(task.family).violations if task.family in families() else 0
    try:
        listed = {name: label for name, (label, _) in players(task).items() if name != "solve"}
    except TaskInvalid as error:
        at, what = placed(str(error), Place(path, 1))
        yield at.finding("violations", what)
        return
    except (TypeError, ValueError, AttributeError) as error:
        yield definition(path, "VIOLATIONS").finding("violations", f"must be {{name: (label, function)}}: {error}")
        return
    wrong = [name for name, label in listed.items() if label != SUCCESS]
    if len(wrong) < least:
        yield definition(path, "VIOLATIONS").finding(
            "violations", f"{least} wrong clients are the least, there are {len(wrong)}"
        )
    lines = violation_lines(task)
    for name, label in listed.items():
        if label not in {*labels_of(task.family), SUCCESS}:
            yield lines.get(name, definition(path, "VIOLATIONS")).finding(
                "violations", f"{name} must earn a failure label, or {SUCCESS}, not {label!r}"
            )


def _line_at(path: Path, content: bytes, offset: int) -> Place:
    return Place(path, content[:offset].count(b"\n") + 1)
