"""The rules that an instruction states, each tied to the clients that prove it.

`solution/rules.toml` quotes the instruction's template word for word. Beside each quotation stand the clients that prove it:
wrong clients of violations.py that break it, or `solve` where it describes the way that the oracle takes. A derived client may
be named by its kind (`recased`, `older`). Who changes words of the template has to change the quotation beside its proof, and
there is no word without one. Numbers and names that the server sets come from its `facts()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.agents.solutions import SUCCESS, players
from harness.authoring.findings import Place, violation_lines
from harness.authoring.plays import SOLVE
from harness.authoring.report import ProofCheck, failed, passed
from harness.errors import TaskInvalid
from harness.registry import Task
from harness.rules import TABLE, StatedRule, stated_rules

TEMPLATE = "instruction.md.j2"

DERIVED = frozenset({"submission", "twice", "left-out", "recased", "padded", "spaced", "truncated", "older", "spent"})
"""Kinds of clients that are made of the oracle for every task; a quotation may name them as its proof."""

_BINDING = re.compile(
    r"\b(must|only|not|no|never|none|nothing|once|exactly|unchanged|until|before|within|every byte|at most|at least)\b",
    re.IGNORECASE,
)
"""Words of a rule that somebody can break: a quotation with one of them needs a client that does."""

_BLANK = re.compile(r"\{%.*?%\}|\{#.*?#\}|\{\{.*?\}\}|^ *(?:\d+\.|-|```)", re.DOTALL | re.MULTILINE)
"""What of a template is no statement: what Jinja fills in, and the marks of lists and fences."""


def rule_checks(task: Task) -> Iterator[ProofCheck]:
    """Check that every word of the instruction's template has its proof, and every wrong client a rule that it breaks."""
    path = task.world_folder / TEMPLATE
    if task.is_seated or not path.is_file():
        return
    if not (task.path / TABLE).is_file():
        told = f"there is no {TABLE}, which names for each rule of the instruction the client that proves it"
        yield failed("rules", None, Place(path, 1), told)
        return
    try:
        rules = stated_rules(task.path)
    except TaskInvalid as error:
        yield failed("rules", None, Place(task.path / TABLE, 1), str(error))
        return
    try:
        labels = {name: label for name, (label, _) in players(task).items()}
    except (TaskInvalid, TypeError, ValueError, AttributeError):
        # lint says what is wrong with the clients
        return
    template = path.read_text(encoding="utf-8")
    wrong = [*_unstated(task, rules, template, labels), *_unproved(task, rules, labels), *_unquoted(rules, template, path)]
    yield from (failed("rules", None, at, told) for at, told in wrong)
    if not wrong:
        yield passed("rules", None, f"{len(rules)} rules, {len({one for rule in rules for one in rule.proofs})} clients")


def _unstated(task: Task, rules: list[StatedRule], template: str, labels: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """Yield quotations that the template does not have, and wrong clients that no quotation names."""
    for rule in rules:
        if not rule.spans(template):
            told = (
                f"the instruction does not say {rule.words!r}, which {', '.join(rule.proofs)} proves; read the two side by side"
            )
            yield Place(task.path / TABLE, rule.line), told
    named = {name for rule in rules for name in rule.proofs}
    places = violation_lines(task)
    for name, label in labels.items():
        if name not in named and label != SUCCESS and name != SOLVE:
            yield places.get(name, Place(task.path / TABLE, 1)), f"{name} breaks no rule that {TABLE} quotes"


def _unproved(task: Task, rules: list[StatedRule], labels: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """Yield quotations that name a client which there is not, or that bind and have no client to break them."""
    known = {SOLVE, *labels, *DERIVED}
    for rule in rules:
        if unknown := [name for name in rule.proofs if name not in known]:
            yield Place(task.path / TABLE, rule.line), f"no client is called {', '.join(unknown)}"
        binding = _BINDING.search(re.sub(r"`[^`]*`", "", rule.words))
        if binding and set(rule.proofs) <= {SOLVE}:
            yield Place(task.path / TABLE, rule.line), f"{rule.words!r} says {binding[0]!r}, and no wrong client breaks it"


def _unquoted(rules: list[StatedRule], template: str, path: Path) -> Iterator[tuple[Place, str]]:
    """Yield words of the template that no quotation covers."""
    left = list(_BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), template))
    for start, end in (span for rule in rules for span in rule.spans(template)):
        left[start:end] = [mark if mark == "\n" else "\0" for mark in left[start:end]]
    for match in re.finditer(r"[^\0]+", "".join(left).replace("\n\0", "\0\0")):
        if words := re.search(r"\w.*\w|\w", match[0], re.DOTALL):
            line = template[: match.start() + words.start()].count("\n") + 1
            said = " ".join(words[0].split())
            yield Place(path, line), f"no quotation of {TABLE} covers {said[:100]!r}"
