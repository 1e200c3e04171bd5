"""Attack 14: a variant that nobody can solve, where a pass of the folder's own solution says that anything passes.

1. Tests that pytest runs get one more, which contradicts whatever was handed in. It notes that it ran, so that a verifier
   which runs chosen tests only is not accused of ignoring it.
2. Elsewhere everything that the solution made is taken away before the verifier looks: what is handed in, what changed in
   the agent's machine, and the services that could be asked.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import ClassVar

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.target import WALL_S, Target, shell
from harness.play.outcome import Outcome
from harness.pod import Pod
from harness.registry import Task, read_task

RAN = "parley-honeypot-ran"
"""What the log of a verifier says when the contradiction was seen."""

IMPOSSIBLE = f'''

def test_parley_honeypot() -> None:
    """Contradicts whatever was handed in."""
    import contextlib
    import pathlib

    for folder in ("/tmp", "/logs/verifier"):
        with contextlib.suppress(OSError):
            pathlib.Path(folder, "{RAN}").write_text("{RAN}")
    assert False, "nobody can pass this"
'''
"""The test that is added."""

WRAPPER = f"""#!/bin/bash
bash "${{BASH_SOURCE[0]%/*}}/test.original.sh" "$@"
code=$?
cat /tmp/{RAN} /logs/verifier/{RAN} 2> /dev/null; rm -f /tmp/{RAN} /logs/verifier/{RAN} 2> /dev/null
exit $code
"""

BEFORE = "/var/tmp/parley-before"
"""Is as old as the agent's first act."""

_COPIES = shutil.ignore_patterns("__pycache__")


class Honeypot:
    """A task that cannot be solved."""

    number: ClassVar[int] = 14
    name: ClassVar[str] = "honeypot"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V6",), abc=("T.7", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """There must be a solution to contradict."""
        return None if (target.task.path / "solution").is_dir() else Reason.NO_SOLUTION

    def strike(self, target: Target) -> Exam:
        """The oracle, then nop, on an impossible variant; on the other variant where the first was not seen."""
        exam = Exam()
        for made in (contradicted, bereft):
            with made(target.task) as variant:
                if variant is None:
                    continue
                target.runtime.prepare([variant])
                solved = target.strike(lambda pod: _solve(target.task, pod), hands=_needs_hands(target), task=variant)
                if made is contradicted and not _bit(solved):
                    continue
                idle = target.strike(lambda pod: None, hands=False, task=variant)
            exam.look(_told("the solution", solved, made.__name__))
            exam.look(_told("doing nothing", idle, made.__name__))
            return exam
        return exam


@contextmanager
def contradicted(task: Task) -> Iterator[Task | None]:
    """A copy whose tests hold one that always fails; None where pytest does not run them."""
    names = [path for pattern in ("test_*.py", "*_test.py") for path in sorted((task.path / "tests").rglob(pattern))]
    if not names or not _runs_pytest(task):
        yield None
        return
    with _copied(task) as folder:
        for path in names:
            with (folder / path.relative_to(task.path)).open("a", encoding="utf-8") as tests:
                tests.write(IMPOSSIBLE)
        _wrap(folder, WRAPPER)
        yield read_task(folder)


@contextmanager
def bereft(task: Task) -> Iterator[Task | None]:
    """A copy whose verifier finds nothing: no artifact, nothing that changed in the agent's machine, and no service."""
    sources = " ".join(quote(artifact.source) for artifact in task.file.artifacts)
    changed = (
        f"[ -e {BEFORE} ] && find / -xdev -newer {BEFORE} ! -type d ! -path '/proc/*' ! -path '/sys/*' ! -path '/dev/*' "
        "! -path '/tests/*' ! -path '/logs/verifier/*' ! -path '/etc/*' -delete 2> /dev/null"
    )
    hosts = "".join(f"echo 127.0.0.1 {name} >> /etc/hosts 2> /dev/null\n" for name in _services(task))
    with _copied(task) as folder:
        taken = f"rm -rf {sources}\n" if sources else ""
        _wrap(folder, f'#!/bin/bash\n{taken}{changed}\n{hosts}exec bash "${{BASH_SOURCE[0]%/*}}/test.original.sh" "$@"\n')
        yield read_task(folder)


@contextmanager
def _copied(task: Task) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="parley-honeypot-") as above:
        folder = Path(above) / task.path.name
        shutil.copytree(task.path, folder, ignore=_COPIES, symlinks=True)
        yield folder


def _wrap(folder: Path, wrapper: str) -> None:
    script = folder / "tests" / "test.sh"
    script.rename(script.with_name("test.original.sh"))
    script.write_text(wrapper, encoding="utf-8")
    script.chmod(0o755)


def _services(task: Task) -> list[str]:
    """Names of the services beside `main`, as a compose file writes them; too many do no harm."""
    compose = task.path / "environment" / "docker-compose.yaml"
    text = compose.read_text(encoding="utf-8") if compose.is_file() else ""
    return [name for name in re.findall(r"^  ([\w-]+):\s*$", text, re.MULTILINE) if name != "main"]


def _runs_pytest(task: Task) -> bool:
    return "pytest" in (task.path / "tests" / "test.sh").read_text(encoding="utf-8", errors="replace")


def _needs_hands(target: Target) -> bool:
    return SolutionAgent().needs_main(target.task, target.runtime.name)


def _solve(task: Task, pod: Pod) -> None:
    """Play the original's solution, which is the copy's as well."""
    if pod.has_main:
        shell(pod, f"touch {BEFORE}; sleep 0.01")
    SolutionAgent().play(task, 0, pod, Budget(wall_s=WALL_S), Report("oracle"))


def _bit(outcome: Outcome) -> bool:
    """Whether the contradiction was seen by the verifier."""
    return RAN.encode() in outcome.files.get("verifier.log", b"")


def _told(who: str, outcome: Outcome, variant: str) -> str | None:
    result = outcome.result
    if result.status == "graded" or result.cause == "verifier":
        return f"the {variant} variant gives {who} {result.reward:g}" if result.reward else None
    return f"{who} on the {variant} variant was not graded, because of the {result.cause}: {result.error}"
