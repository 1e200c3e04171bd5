"""Every rule that an instruction states has a client that proves it, and the two are read side by side."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.registry import read_task
from harness.trust import admitted
from parley.proof.claims import rule_checks
from parley.rules import TABLE, rules_said, stated_rules
from tests.conftest import Command
from tests.sampling import spread

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "contradictions.json").read_text(encoding="utf-8"))
TEMPLATE = "environment/api/instruction.md.j2"

MOVED = {
    "8 characters": "{{ tail_chars }} characters",
    "orders 1 and 2 ": "orders 1 and {{ text_key_phases }} ",
}
"""Numbers that stood in an instruction when the cases were written, and come from its server today."""

Said = Callable[[str, str, str], list[str]]


def findings(folder: Path) -> list[str]:
    """What the rules of a folder lack, each with its file's name and line."""
    checks = rule_checks(admitted(read_task(folder)))
    return [f"{Path(one.path).name}:{one.line}: {one.message}" for check in checks for one in check.findings]


@pytest.fixture
def said(folder: Path) -> Said:
    """Replace a text in one file of a fresh folder; return what its rules lack then."""

    def lacking(name: str, old: str, new: str) -> list[str]:
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
        return findings(folder)

    return lacking


def test_the_cases_are_those_that_were_promised() -> None:
    """The contradictions are the ones whose digest was committed before there was a check."""
    promised = (HERE / "contradictions.sha256").read_text(encoding="utf-8").split()[0]

    assert hashlib.sha256((HERE / "contradictions.json").read_bytes()).hexdigest() == promised
    assert (len(CASES), len({case["task"] for case in CASES})) >= (40, 15)


@pytest.mark.parametrize("case", spread(CASES), ids=lambda case: f"{case['id']}-{case['task']}")
def test_a_contradiction_is_named_with_its_proof(case: dict[str, Any], tmp_path: Path) -> None:
    """An instruction that says other than its server is found, at the quotation that a client proves."""
    own = Path("tasks/contract") / case["task"]
    folder = Path(shutil.copytree(own, tmp_path / "contract" / own.name, ignore=shutil.ignore_patterns("__pycache__")))
    template, old, new = (folder / case["file"]).read_text(encoding="utf-8"), case["old"], case["new"]
    for number, name in MOVED.items():
        old, new = (text if template.count(old) == 1 else text.replace(number, name) for text in (old, new))
    assert template.count(old) == 1
    assert findings(folder) == []

    (folder / case["file"]).write_text(template.replace(old, new), encoding="utf-8")

    assert any(one.startswith("rules.toml:") and "correct one of the two" in one for one in findings(folder))


def test_a_sentence_more(said: Said) -> None:
    """A rule that somebody adds to the text is found at its line, until a client proves it."""
    assert said(TEMPLATE, "Get it and hand it in.", "Get it and hand it in. A ticket works once.") == [
        "instruction.md.j2:3: no quotation of solution/rules.toml covers 'A ticket works once'"
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('["value_first"]', '["value_last"]', "rules.toml:5: unknown client value_last"),
        (
            '["retyped_value"]',
            '["submission"]',
            "retyped_value breaks no rule that solution/rules.toml quotes",
        ),
        ('["retyped_value"]', '["solve"]', "says 'unchanged', but no wrong client breaks it"),
        ('["value_first"]', '"value_first"', 'must be "words of the instruction" = ["client", ...]'),
        ('["value_first"]', "[", "cannot be read"),
    ],
)
def test_a_table_that_proves_less(said: Said, old: str, new: str, told: str) -> None:
    """A client that is not there, a client without a rule, a rule without a client and a broken table are each told."""
    assert any(told in one for one in said(TABLE, old, new))


def test_no_table(folder: Path) -> None:
    """A folder without the table is told what it lacks."""
    (folder / TABLE).unlink()

    assert findings(folder) == [
        f"instruction.md.j2:1: {TABLE} is missing; it lists the clients that test each rule of the instruction"
    ]


def test_rules_in_the_words_of_an_episode() -> None:
    """What an episode's instruction states is shown as it says it; of other instructions nothing is."""
    folder = Path("tasks/contract/presigned-url-download")
    said = rules_said("contract", folder.name, (folder / "instruction.md").read_text(encoding="utf-8"))

    assert len(said) == len(stated_rules(folder))
    assert "`GET /task` (5 seconds) is a page with one download link for each part." in {rule.words for rule in said}
    assert rules_said("contract", folder.name, "Say hello.") == []


@pytest.mark.property
def test_the_rules_on_the_command_line(harness: Command) -> None:
    """`harness show TASK --rules` lists them, on its own for a task and not for an episode."""
    shown = harness("show", "presigned-url-download", "--rules").stdout
    listed = json.loads(harness("show", "presigned-url-download", "--rules", "--json").stdout)

    assert "Asking again gives a new token, and the old one stops counting." in shown
    assert {"rule": "Asking again gives a new token, and the old one stops counting.", "clients": ["stale_proof"]} in listed
