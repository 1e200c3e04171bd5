"""What `.ci/run` reads from the harness's own output, it reads rightly."""

from __future__ import annotations

import subprocess
import sys

from harness.registry import discover
from tests.source import ROOT


def test_ci_proves_every_family_on_its_routine_seeds() -> None:
    """The loop over families takes names and seeds out of the table that `harness list --families` prints."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    loop = script[script.index("families=$(") : script.index('done <<<"$families"')] + 'done <<<"$families"\n'
    told = loop.replace(".venv/bin/harness verify", "echo").replace(".venv/bin/harness", f"{sys.executable} -m harness")

    said = subprocess.run(["bash", "-euc", told], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout

    proved = {words[0]: words[words.index("--seeds") + 1] for words in map(str.split, said.splitlines())}
    assert proved == {"calendar": "0-9", "contract": "0-9", "hidden-profile": "0-1"}
    assert set(proved) == {task.family for task in discover(ROOT / "tasks")}
