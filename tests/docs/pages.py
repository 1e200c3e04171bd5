"""What a reader is asked to type: every command line of README.md, CONTRIBUTING.md and the pages of docs, where it stands.

A fenced block without a language, or of `sh`, `bash` or `console`, holds either commands or a listing. Where lines begin with
`$ `, those are the commands and the rest is what they print; else a block whose first word is a program holds commands only.
Of YAML the `run:` steps are commands. `bash` scripts that begin with `#!` are run whole by a test of their own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.paths import ROOT

PAGES = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "integrations").glob("*/README.md")),
]  # fmt: skip
HARNESS = ("harness", ".venv/bin/harness")
PROGRAMS = (
    *HARNESS, "make", "pip", "python", "python3", "inspect", "vf-eval", "harbor", "git", "cd", "cat", "uv", "ls", "grep",
    "$EDITOR", "sbatch", "job=$(sbatch", ".ci/run", ".ci/tasks", "export",
)  # fmt: skip
"""The first words of blocks of commands; a block that begins with another word is a listing."""

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_OPERATORS = frozenset({"|", "&", "&&", ";"})
_REDIRECTED = re.compile(r"\d?[<>]+\s*(?:&\d|[^\s<>&]+)")


@dataclass(frozen=True)
class Typed:
    """One command line: its page, its line there, what is typed, and what a page says it prints."""

    page: Path
    line: int
    text: str
    printed: str = ""

    @property
    def place(self) -> str:
        """Where to look."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def calls(self) -> list[list[str]]:
        """The words of each program that the line starts, redirections left out."""
        lexer = shlex.shlex(_REDIRECTED.sub("", self.text), posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        calls: list[list[str]] = [[]]
        for word in lexer:
            if word in _OPERATORS:
                calls.append([])
            else:
                calls[-1].append(word)
        return calls


def commands() -> list[Typed]:
    """Every command line of every page, in order."""
    return [typed for page in PAGES for typed in _on(page)]


def _on(page: Path) -> Iterator[Typed]:
    text = page.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        first, language, body = text[: fence.start()].count("\n") + 2, fence[2], fence[3]
        if language in {"", "sh", "bash", "console"} and not body.startswith("#!"):
            yield from _in_a_block(page, first, body)
        elif language == "yaml":
            yield from _steps(page, first, body)


def _in_a_block(page: Path, first: int, body: str) -> Iterator[Typed]:
    """The commands of a block, each with what stands below it until the next."""
    if re.search(r"^\$ ", body, re.MULTILINE):
        for shown in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", body, re.MULTILINE):
            yield Typed(page, first + body[: shown.start()].count("\n"), uncommented(shown[1]), shown[2])
    elif body.split(maxsplit=1)[:1] and body.split(maxsplit=1)[0] in PROGRAMS:
        for number, line in enumerate(body.splitlines()):
            if line.strip():
                yield Typed(page, first + number, uncommented(line))


def _steps(page: Path, first: int, body: str) -> Iterator[Typed]:
    for step in re.finditer(r"^ *- run: (.+)$", body, re.MULTILINE):
        line = re.sub(r"\$\{\{.*?\}\}", "1", step[1])
        yield Typed(page, first + body[: step.start()].count("\n"), line)


def uncommented(line: str) -> str:
    """A command line without the remark at its end."""
    return re.sub(r"\s+# .*$|^# .*$", "", line).strip()


def described(line: str) -> str:
    """A command line as the tables have it: our program by its name, and without the words that say what a suite is."""
    line = line.removeprefix(".venv/bin/")
    return line.partition("  ")[0] if line.startswith(("make ", ".ci/")) else line
