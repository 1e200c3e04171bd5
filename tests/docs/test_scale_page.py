"""What docs/scale.md says can be typed: its plan has the figures it shows, and every command of it takes the flags shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.paths import ROOT
from tests.conftest import Command

PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(?:\$ )?(harness .*?)(?:\s+#.*)?$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_take_their_flags(harness: Command, command: str) -> None:
    """Each command is there, and its help has each flag."""
    words = shlex.split(command)
    flags = {word.partition("=")[0] for word in words[2:] if re.match(r"-{1,2}[a-z]", word)}
    offered = set(re.findall(r"(?<!\S)-{1,2}[a-z][a-z-]*", harness(words[1], "--help").stdout))

    assert flags <= offered


@pytest.mark.property
def test_the_plan_is_as_it_is_shown(tmp_path: Path) -> None:
    """The block after the command is what it prints, where nothing was played before."""
    command, shown = re.findall(r"^\$ (harness run .*--dry-run)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]

    typed = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)

    assert done.stdout + done.stderr == shown
