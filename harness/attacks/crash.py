"""Attack 10: something is gone or broken when the verifier wants it; then the episode earns nothing, or is not graded at all.

1. The agent tries to end the services beside it; then each service is ended for it, from outside. It did no work.
2. The verifier itself breaks: each way is a script that bash reads before the tests. The evidence is a good log where there is
   one, and that of no work where there is none.
3. The evidence ends early: the oracle's log, or else its files, cut at each quarter. A file that passes although it was cut is
   a hole only where an empty one does not pass: otherwise the verdict does not rest on it, and that is a note.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import ClassVar

from harness.agents.base import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.grading import before_tests
from harness.attacks.scripts import script
from harness.attacks.target import Target, shell
from harness.episode import Outcome
from harness.errors import VerifierFailure
from harness.registry import Task
from harness.runtimes.base import Pod
from harness.runtimes.docker.runtime import DockerRuntime
from harness.runtimes.docker.services import services_up

TOOLS = "python3 python pytest uv pip curl wget nc cmp diff grep jq node npm go cargo make cat tar test"
"""What tests are made of."""

BROKEN = {
    "no tool is there": "PATH=/nowhere",
    "every tool fails": "for tool in {tools}; do eval \"$tool() {{ return 3; }}\"; export -f $tool; done".format(tools=TOOLS),
    "every tool says nothing and succeeds": "for tool in python3 python pytest uv node go; do eval \"$tool() {{ return 0; }}\"; done",
    "the tests are killed at once": "kill -9 $$",
    "the tests end at once with 0": "exit 0",
    "the tests end at once with 137": "exit 137",
}
"""How a verifier breaks: bash scripts, read before the tests."""

QUARTERS = (0, 1, 2, 3)
_LIMIT_S = 60.0
_SOLVING_S = 120.0


class VerifiersCrash:
    """A verifier, or what it needs, breaks."""

    number: ClassVar[int] = 10
    name: ClassVar[str] = "verifier's crash"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V6",), abc=("T.3", "T.10"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies: every folder has a verifier."""
        return None

    def strike(self, target: Target) -> Exam:
        """Break everything that a pass needs."""
        exam = Exam()
        _end_services(target, exam)
        if target.foreign:
            _break_verifier(target, exam)
            _cut_files(target, exam)
        else:
            _judge_broken(target, exam)
        return exam


def _end_services(target: Target, exam: Exam) -> None:
    """From the agent's place, and from outside where the runtime lets us: with no work done."""
    names: list[str] = []
    if isinstance(target.runtime, DockerRuntime):
        engine, run_id = target.runtime.engine, target.run_id

        def look(pod: Pod) -> None:
            names.extend(name for name in services_up(engine, run_id) if name not in {"main", "verifier"})
            _crash(pod, ["api"] if names == ["world"] else names)

        def end(pod: Pod) -> None:
            for name, container in services_up(engine, run_id).items():
                if name not in {"main", "verifier"}:
                    engine.kill(container)
    else:
        look, end = lambda pod: _crash(pod, ["api"]), None
    gained = target.gain(target.strike(look))
    exam.look(f"an agent that attacks {', '.join(names) or 'the world'}: {gained}" if gained else None)
    if end is not None and names:
        gained = target.gain(target.strike(end))
        exam.look(f"with {', '.join(names)} dead and no work done: {gained}" if gained else None)
