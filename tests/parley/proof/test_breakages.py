"""Each way in which an author breaks a fresh task is named with path, line and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.errors import TaskInvalid
from parley.proof.findings import ProofReport

SERVER, SOLVE, VIOLATIONS = "environment/api/server.py", "solution/solve.py", "solution/violations.py"
OUTCOME, TOML, TEMPLATE = "tests/test_outcome.py", "task.toml", "environment/api/instruction.md.j2"


class Breakage(NamedTuple):
    """A text that is replaced in a file, and what must be told of it: a rule, at the line with some text, in some words."""

    name: str
    file: str
    old: str
    new: str
    rule: str
    at: str
    """`path` and the text of a line in it, with a colon between; no text is the first line."""

    words: str


BREAKAGES = (
    Breakage(
        "constant value", SERVER, 'self.chance("value").hex(32)', '"0" * 64', "results", f"{SERVER}:def prepare", "self.chance"
    ),
    Breakage(
        "constant secret",
        SERVER,
        'self.chance("ticket").base64url(24)',
        '"0123456789abcdef"',
        "secrets",
        f"{SERVER}:def new_ticket",
        "self.chance",
    ),
    Breakage(
        "another's seed",
        SERVER,
        'self.chance("ticket")',
        'type(self.chance)("key", "my-task", 0)("ticket")',
        "draws",
        f"{SERVER}:, 0)(",
        "is the same on seeds 0 and 1; draw it from self.chance",
    ),
    Breakage(
        "wrong deadline",
        SERVER,
        "window_ms / 1000",
        "window_ms * 1000",
        "deadlines",
        f"{SERVER}:def new_ticket",
        "but no issued artifact ends then",
    ),
    Breakage("emptied test", OUTCOME, "assert list(", "list(", "hidden-tests", f"{OUTCOME}:def test_value", "assert something"),
    Breakage(
        "wrong hidden test",
        OUTCOME,
        '"/api/value"))',
        '"/api/values"))',
        "oracle",
        f"{OUTCOME}:def test_value",
        "the goal was reached",
    ),
    Breakage(
        "a refusal that raises something else",
        SERVER,
        "Label.MISSING_TOKEN",
        "Label.MISSING_TOKN",
        "violation:value_first",
        f"{SERVER}:MISSING_TOKN",
        "must earn MISSING_TOKEN",
    ),
    Breakage(
        "unimported test",
        OUTCOME,
        "test_contracts_kept, ",
        "",
        "hidden-tests",
        f"{OUTCOME}:",
        "from validators.contract.claims import test_contracts_kept",
    ),
    Breakage("missing import", SERVER, "Reply, Violation", "Violation", "drift", f"{SERVER}:def give_value", "Reply"),
    Breakage(
        "leak",
        SERVER,
        'check_header(call, "X-Seed-Slice", self.slice)',
        'if call.header("X-Seed-Slice") != self.slice:\n'
        '            raise Violation(Label.WRONG_VALUE, f"the slice must be {self.slice}")',
        "leak",
        f"{SERVER}:def give_value",
        "reveals header x-seed-slice",
    ),
    Breakage(
        "KeyError in a handler",
        SERVER,
        '{"value": self.value}',
        '{"value": vars(self)["valeu"]}',
        "oracle",
        f"{SERVER}:valeu",
        "KeyError: 'valeu'",
    ),
    Breakage(
        "unknown family", TOML, 'family = "contract"', 'family = "chess"', "family", f"{TOML}:family =", "known: calendar"
    ),
    Breakage("drift", TEMPLATE, "Get it", "Fetch it", "drift", "instruction.md:Get it", "run: harness sync"),
    Breakage(
        "wrong label",
        VIOLATIONS,
        '("MISSING_TOKEN"',
        '("WRONG_VALUE"',
        "violation:no_ticket",
        f"{VIOLATIONS}:no_ticket",
        "must earn WRONG_VALUE, earned MISSING_TOKEN",
    ),
    Breakage(
        "no label at all", VIOLATIONS, '("MISSING_TOKEN"', '("LOST"', "violations", f"{VIOLATIONS}:no_ticket", "not 'LOST'"
    ),
    Breakage(
        "syntax error in the server",
        SERVER,
        "self.draw_slice()",
        "self.draw_slice(",
        "load",
        f"{SERVER}:self.draw_slice(",
        "never closed",
    ),
    Breakage(
        "syntax error in the tests",
        OUTCOME,
        "assert list(",
        "assert list((",
        "syntax",
        f"{OUTCOME}:assert list((",
        "never closed",
    ),
    Breakage(
        "syntax error in the solution",
        VIOLATIONS,
        "VIOLATIONS = {",
        "VIOLATIONS = {{",
        "violations",
        f"{VIOLATIONS}:VIOLATIONS = {{{{",
        "SyntaxError",
    ),
    Breakage(
        "wall clock",
        SERVER,
        "self.draw_slice()",
        "self.draw_slice(); import time; time.time()",
        "wall-clock",
        f"{SERVER}:time.time",
        "time.time",
    ),
    Breakage(
        "any submission",
        SERVER,
        "self.deliverable = compact",
        "self.judge_submission = lambda call: Reply({}, kind='goal')\n        self.deliverable = compact",
        "submission:newline",
        "",
        "must break a rule",
    ),
    Breakage(
        "window ignored",
        SERVER,
        'self.redeem(self.ticket, call.header("X-Ticket")',
        'self.redeem(self.issue("ticket", self._values["ticket"], 9000), call.header("X-Ticket")',
        "violation:late_ticket",
        f"{VIOLATIONS}:late_ticket",
        "must earn EXPIRED_BEFORE_USE",
    ),
    Breakage(
        "knob not synced", TOML, "min = 10", "min = 20", "drift", 'environment/api/world.json:"min": 10', "run: harness sync"
    ),
)


@pytest.mark.property
@pytest.mark.parametrize("breakage", BREAKAGES, ids=[breakage.name for breakage in BREAKAGES])
def test_a_breakage_is_named(folder: Path, prove: Callable[[Path], ProofReport], breakage: Breakage) -> None:
    """One change of a fresh task is a finding of its rule, at its line, in words that say what to do."""
    path = folder / breakage.file
    text = path.read_text(encoding="utf-8")
    assert breakage.old in text
    path.write_text(text.replace(breakage.old, breakage.new, 1), encoding="utf-8")
    told = [one for one in prove(folder).findings() if one.rule == breakage.rule and breakage.words in one.message]
    where = {(str(one.path), one.line) for one in told}
    file, _, at = breakage.at.partition(":")
    lines = (folder / file).read_text(encoding="utf-8").splitlines() if file else []
    line = next((number for number, row in enumerate(lines, start=1) if at in row), 1)

    assert told
    assert not file or (str(folder / file), line) in where


@pytest.mark.property
@pytest.mark.parametrize(
    ("file", "old", "rule"),
    [
        (SERVER, "return Reply(", "load"),
        (SERVER, "self.draw_slice()", "drift"),
        (SOLVE, "play(api, instruction, wait)", "load"),
        pytest.param(OUTCOME, "assert list(", "judge", marks=pytest.mark.proof),
    ],
    ids=["a handler", "the draws", "the solution", "a hidden test"],
)
def test_a_loop_without_end_is_named(
    folder: Path, prove: Callable[[Path], ProofReport], monkeypatch: pytest.MonkeyPatch, file: str, old: str, rule: str
) -> None:
    """Who never comes back is interrupted, and told at the line that loops."""
    monkeypatch.setattr("parley.proof.plays.LIMIT_S", 0.3)
    path = folder / file
    text = path.read_text(encoding="utf-8")
    indent = re.search(rf"^( *){re.escape(old)}", text, re.MULTILINE)[1]
    path.write_text(text.replace(old, f"while True: pass\n{indent}{old}", 1), encoding="utf-8")
    line = next(number for number, row in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1) if "while" in row)
    told = [one for one in prove(folder).findings() if "did not end in" in one.message]

    assert (rule, str(path), line) in {(one.rule, str(one.path), one.line) for one in told}


def test_a_budget_misspelt_is_named(folder: Path, prove: Callable[[Path], ProofReport]) -> None:
    """The key that nobody knows is told, with the one that it may be meant for, before any that is missing."""
    path = folder / TOML
    path.write_text(path.read_text(encoding="utf-8").replace("steps = 10", "step = 10"), encoding="utf-8")

    with pytest.raises(TaskInvalid, match=r"task\.toml:20: .*budgets\.step: unknown key; step may be meant for steps"):
        prove(folder)
