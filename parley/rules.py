"""Rules stated by a task's instruction, as quoted in `solution/rules.toml`.

Each line of the table quotes a rule from the instruction's template, and lists the clients that test whether the server
enforces this rule. The table is data, so reading it runs no code of the folder; `parley.proof.claims` checks it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import tomli

from harness.errors import TaskInvalid
from harness.limits import SETTINGS_BYTES
from harness.paths import own_tasks
from harness.safe_read import NotPlain, read_file

TABLE = "solution/rules.toml"


class StatedRule(NamedTuple):
    """Rule quoted from the template: its words, the clients that test it, and its line in the table, counted from 1."""

    words: str
    proofs: tuple[str, ...]
    line: int

    def spans(self, text: str, *, rendered: bool = False) -> list[tuple[int, int]]:
        """Return the spans of these words in a text, ignoring line breaks. With `rendered`, `{{ name }}` matches any text."""
        words = re.split(r"(\{\{.*?\}\})", " ".join(self.words.split())) if rendered else [" ".join(self.words.split())]
        pattern = "".join(r"[^\n]*?" if part.startswith("{{") and rendered else _words(part) for part in words)
        return [match.span() for match in re.finditer(pattern, text)] if pattern else []


def stated_rules(folder: Path) -> list[StatedRule]:
    """Return the rules in the table of a task folder, in order; empty if there is no table.

    Raises TaskInvalid for a table that cannot be read.
    """
    path = folder / TABLE
    if not path.is_file():
        return []
    try:
        text = read_file(folder, TABLE, SETTINGS_BYTES).data.decode()
        table = tomli.loads(text)
    except (NotPlain, OSError, ValueError) as error:
        raise TaskInvalid(f"{path}:1: cannot be read: {error}") from error
    lines = text.splitlines()
    rules: list[StatedRule] = []
    for words, proofs in table.items():
        line = next((number for number, line in enumerate(lines, start=1) if line[1:].startswith(words[:40])), 1)
        if not (isinstance(proofs, list) and proofs and all(isinstance(one, str) for one in proofs)):
            raise TaskInvalid(f'{path}:{line}: must be "words of the instruction" = ["client", ...]')
        rules.append(StatedRule(words, tuple(proofs), line))
    return rules


def rules_said(family: str, task_id: str, instruction: str) -> list[StatedRule]:
    """Return the rules of one of our own tasks that an instruction states, as worded in the instruction."""
    said: list[StatedRule] = []
    for root in own_tasks():
        # if the table is invalid, the page shows no rules
        with suppress(TaskInvalid):
            for rule in stated_rules(root / family / task_id):
                for start, end in rule.spans(instruction, rendered=True)[:1]:
                    said.append(rule._replace(words=" ".join(instruction[start:end].split())))
    return said


def _words(text: str) -> str:
    """Return a pattern for a text in which any white space matches any other."""
    return re.sub(r"(?:\\ )+", r"\\s+", re.escape(text))
