"""Runs a task's hidden tests in a process that has imported what they need: what tests/test.sh does, word for word.

A template (`harness.runtimes`) imports this module, and is then copied for each verdict. Only the plugin is handed over in
another way: pytest would complain that it cannot rewrite a module which is there already.
"""

from __future__ import annotations

import pytest

from validators import plugin

TESTS = "/tests/test_outcome.py"


def main() -> int:
    """Judge the log at /state; the exit code is pytest's."""
    plugin.OUT.mkdir(parents=True, exist_ok=True)
    (plugin.OUT / "reward.json").write_text('{"reward": 0.0}\n', encoding="ascii")
    return int(pytest.main(["-q", "-p", "no:cacheprovider", TESTS], plugins=[plugin]))
