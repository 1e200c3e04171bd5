"""Every command line of the pages is understood: `harness` takes all its words, and make has the target."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import typer

from harness.agents.llm.model_table import KEYS
from harness.cli import app
from harness.paths import ROOT
from tests.docs.pages import HARNESS, commands, described
from tests.docs.untyped import OTHERS, PARSED, PLANNED

FILES = {"mine.toml": "", "server.toml": "", "mine.md": "", "images.txt": ""}


def take(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the real command line read these words, and do nothing; raises its own error for what it does not take."""
    monkeypatch.setattr(sys, "argv", ["harness", *words])  # the group imports only the command that stands there
    command, context = typer.main.get_command(app), None
    name = "harness"
    while isinstance(command, typer.core.TyperGroup):
        context = command.make_context(name, words[:1], parent=context)
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"there is no {name}"
    command.make_context(name, words, parent=context)


@pytest.mark.property
def test_every_command_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No flag, argument, choice or preset of a page is unknown to the command line."""
    monkeypatch.chdir(tmp_path)
    for key, *_ in KEYS.values():
        monkeypatch.setenv(key, "sk-local")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    read = 0
    for typed in commands():
        for program, *words in typed.calls if typed.text not in OTHERS else ():
            if program in HARNESS:
                try:
                    take(words, monkeypatch)
                except Exception as refused:  # noqa: BLE001 - whatever the command line says of it, with the place
                    pytest.fail(f"{typed.place}: {typed.text}: {refused!r}")
                read += 1

    assert read > 100


@pytest.mark.parametrize(
    "line", ["run x --nosuch", "run x --k z", "rnu", "export scuot x", "run --preset nosuch", "run a --config no.toml"]
)
def test_what_is_wrong_is_not_taken(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt command, kind, flag, value, preset or file would be told of."""
    with pytest.raises(Exception):  # noqa: B017 - each is refused by whoever reads it
        take(line.split(), monkeypatch)


def test_every_target_of_make_exists() -> None:
    """A page names no target that the Makefile lacks."""
    (named,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    asked = {word for typed in commands() if typed.text.startswith("make ") for word in described(typed.text).split()[1:]}
    targets = {word for word in asked if re.fullmatch(r"[a-z][a-z-]*", word)}

    assert targets - set(named.split()) == set()
    assert len(targets) > 8


def test_the_tables_hold_nothing_else() -> None:
    """Each command that is not typed stands on a page, in one table."""
    typed = {described(one.text) for one in commands()}
    tables = [*PLANNED, *PARSED, *OTHERS]

    assert [text for text in tables if text not in typed] == []
    assert len(set(tables)) == len(tables)
