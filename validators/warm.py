"""Runs a task's hidden tests in a process that has imported what they need: what tests/test.sh does, word for word.

A template (`harness.runtimes.bubblewrap.templates`, `validators.forking`) imports this module and is then copied for each
verdict. Only the plugin is handed over in another way: pytest would complain that it cannot rewrite a module that is there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from validators import plugin


def main() -> int:
    """Judge the log at /state by the tests at /tests; the exit code is pytest's."""
    return judge(Path("/tests"), plugin.LOG, plugin.OUT)


def judge(tests: Path, log: Path, out: Path) -> int:
    """Judge a log by the tests in a folder, and leave the outcome in `out`; for once in a process."""
    plugin.LOG, plugin.OUT = log, out
    out.mkdir(parents=True, exist_ok=True)
    (out / "reward.json").write_text('{"reward": 0.0}\n', encoding="ascii")
    return int(pytest.main(["-q", "-p", "no:cacheprovider", str(tests / "test_outcome.py")], plugins=[plugin]))
