"""Runner of a task's hidden tests in a process that has already imported their dependencies; equivalent to tests/test.sh.

A template process (`harness.runtimes.bubblewrap.templates`, `validators.forking`) imports this module and is forked for each
verdict. Only the plugin is passed differently: pytest would warn that it cannot rewrite a module that is already imported.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from validators import plugin


def main() -> int:
    """Judge the log in /state by the tests in /tests; return pytest's exit code."""
    return judge(Path("/tests"), plugin.LOG, plugin.OUT)


def judge(tests: Path, log: Path, out: Path) -> int:
    """Judge a log by the tests in a folder and write the outcome to `out`; call it only once per process."""
    plugin.LOG, plugin.OUT = log, out
    out.mkdir(parents=True, exist_ok=True)
    (out / "reward.json").write_text('{"reward": 0.0}\n', encoding="ascii")
    return int(pytest.main(["-q", "-p", "no:cacheprovider", str(tests / "test_outcome.py")], plugins=[plugin]))
