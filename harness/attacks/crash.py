"""Attack 10: something is gone or broken when the verifier wants it; then the episode earns nothing, or is not graded at all.

1. The agent tries to end the services beside it; then each service is ended for it, from outside. It did no work.
2. The verifier itself breaks: each way is a script that bash reads before the tests. The evidence is a good log where there is
   one, and that of no work where there is none.
3. The evidence ends early: the oracle's log, or else its files, cut at each quarter. A file that passes although it was cut is
   a hole only where an empty one does not pass: otherwise the verdict does not rest on it, and that is a note.
"""

from __future__ import annotations

import shlex
from typing import ClassVar

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.grading import before_tests
from harness.attacks.handed_in import handed_in
from harness.attacks.scripts import script
from harness.attacks.target import Target, shell
from harness.errors import VerifierFailure
from harness.play.outcome import Outcome
from harness.pod import Pod
from harness.registry import Task
from harness.runtimes.docker.engine.services import services_up
from harness.runtimes.docker.runtime import DockerRuntime

TOOLS = "python3 python pytest uv pip curl wget nc cmp diff grep jq node npm go cargo make cat tar test"
"""What tests are made of."""

BROKEN = {
    "no tool is there": "PATH=/nowhere",
    "every tool fails": f'for tool in {TOOLS}; do eval "$tool() {{ return 3; }}"; done',
    "the tests are killed at once": "kill -9 $$",
    "the tests end at once with 0": "exit 0",
    "the tests end at once with 137": "exit 137",
}
"""How a verifier breaks: bash scripts, read before the tests."""

QUARTERS = (0, 1, 2, 3)
_LIMIT_S = 20.0
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
    names = ["api"] if not target.foreign else []
    engine = target.runtime.engine if isinstance(target.runtime, DockerRuntime) else None

    def attack(pod: Pod) -> None:
        if target.foreign and engine is not None:
            names.extend(name for name in services_up(engine, target.run_id) if name != "main")
        pod.put({"/tmp/crash": script("crash").encode()})
        shell(pod, f"timeout -s KILL {_LIMIT_S:g} bash /tmp/crash {shlex.join(names)}", _LIMIT_S + 5)

    def end(_: Pod) -> None:
        assert engine is not None
        for name, container in services_up(engine, target.run_id).items():
            if name not in {"main", "verifier"}:
                engine.kill(container)

    for how, act in {"attacked by the agent": attack, "dead": end}.items():
        if act is attack or (engine is not None and names):
            gained = target.gain(target.strike(act))
            exam.look(f"with {', '.join(names)} {how} and no work done: {gained}" if gained else None)


def _judge_broken(target: Target, exam: Exam) -> None:
    """A good log, judged by a broken verifier; then a log that ends early, judged as ever."""
    log = target.oracle().files["events.jsonl"]
    for how, broken in BROKEN.items():
        passed = _passed(target, before_tests(target.task, broken), log)
        exam.look(f"where {how}, the right work still {passed}" if passed else None)
    last = log.rindex(b"\n", 0, -1) + 1
    for end in (*(len(log) * quarter // 4 for quarter in QUARTERS), last + (len(log) - last) // 2, len(log) - 1):
        passed = _passed(target, target.task, log[:end])
        exam.look(f"a log of {len(log)} bytes that ends after {end} {passed}" if passed else None)


def _passed(target: Target, task: Task, log: bytes) -> str | None:
    try:
        judgement = target.runtime.judge(target.spec(0, task, hands=False), log)
    except VerifierFailure:
        return None
    return (
        None
        if judgement.reward.strip() == b'{"reward": 0.0}'
        else f"earns {judgement.reward.decode('utf-8', 'replace').strip()}"
    )


def _break_verifier(target: Target, exam: Exam) -> None:
    for how, broken in BROKEN.items():
        gained = target.gain(target.strike(lambda pod: None, task=before_tests(target.task, broken)))
        exam.look(f"where {how}, no work at all: {gained}" if gained else None)


def _cut_files(target: Target, exam: Exam) -> None:
    """The right work, with each file that is handed in cut at each quarter."""
    paths = handed_in(target)
    if not paths or not (target.task.path / "solution").is_dir():
        return
    empty, *parts = (_with_files_cut(target, paths, quarter) for quarter in QUARTERS)
    if target.gain(empty):
        exam.look()
        exam.notes.append(f"the verdict does not rest on {', '.join(paths)}: it is the same where that is empty")
        return
    for quarter, outcome in zip(QUARTERS[1:], parts, strict=True):
        gained = target.gain(outcome)
        exam.look(f"{', '.join(paths)} cut after {quarter} of 4 quarters: {gained}" if gained else None)


def _with_files_cut(target: Target, paths: list[str], quarter: int) -> Outcome:
    def act(pod: Pod) -> None:
        SolutionAgent().play(target.task, 0, pod, Budget(wall_s=_SOLVING_S), Report("attack"))
        for path in map(shlex.quote, paths):
            shell(pod, f"size=$(stat -c %s {path}) && truncate -s $((size * {quarter} / 4)) {path}")

    return target.strike(act)
