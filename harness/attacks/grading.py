"""What a verifier runs in, changed from outside: [verifier.env] has bash read a script of ours before the tests.

bash reads the file that BASH_ENV names whenever it runs a script, and takes that name from the output of a command where it is
one (bash(1), INVOCATION). So a script reaches the tests without a change of the folder, and nothing is built anew.
"""

from __future__ import annotations

import base64
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from shlex import quote

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.attacks.base import Attack, Exam, Flaw, Reason
from harness.attacks.scripts import script
from harness.attacks.target import WALL_S, Target, handed_in, shell
from harness.errors import RuntimeFailure, VerifierFailure
from harness.play.outcome import Outcome
from harness.pod import Pod
from harness.registry import Task, read_task
from harness.runtimes.docker.engine.services import services_up
from harness.runtimes.docker.runtime import DockerRuntime

YEAR_DAYS = 365
LIBRARIES = "/usr/lib"
"""Where libfaketime's own package puts it, in a folder of the machine's kind."""

SCRATCH = "/tmp"
"""A folder of the verifier's machine in which the script is written down."""

_ONLY_TESTS = "case $0 in */test.sh)\n{script}\n;; esac\n"
_CLOCK = """printenv CLOCK_LIBRARY | base64 -d > {scratch}/clock.so
export LD_PRELOAD={scratch}/clock.so FAKETIME=+{days}d
echo "the tests begin on $(date +%F)" >&2"""


def before_tests(task: Task, script: str, variables: Mapping[str, str] | None = None) -> Task:
    """The task with a verifier that sources a bash script first; nothing else of it changes."""
    content = base64.b64encode(_ONLY_TESTS.replace("{script}", script).encode()).decode()
    file = f"{SCRATCH}/before-the-tests"
    env = {"BASH_ENV": f"$(base64 -d > {file} <<< {content}; echo {file})", **(variables or {})}
    return with_verifier(task, env={**task.file.verifier.env, **env})


def with_verifier(task: Task, **changed: object) -> Task:
    """The task with some of [verifier] changed."""
    return replace(task, file=task.file.model_copy(update={"verifier": task.file.verifier.model_copy(update=changed)}))


def a_year_later(task: Task) -> Task:
    """The task with a verifier whose clock is a year ahead; it says the date that it begins on.

    Raises RuntimeFailure where this host has no libfaketime to give it.
    """
    library = next(Path(LIBRARIES).glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        raise RuntimeFailure("this host has no libfaketime to turn a verifier's clock with", hint="apt-get install libfaketime")
    content = base64.b64encode(library.read_bytes()).decode()
    script = _CLOCK.format(scratch=SCRATCH, days=YEAR_DAYS)
    return before_tests(task, script, {"CLOCK_LIBRARY": content})


def begun_on(output: bytes) -> date | None:
    """The date that a verifier of `a_year_later` says it began on; None where it never said."""
    said = re.search(rb"the tests begin on (\d{4}-\d\d-\d\d)", output)
    return date.fromisoformat(said[1].decode()) if said else None


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


class VerifiersCrash(Attack):
    """Attack 10: something is gone or broken when the verifier wants it; then an episode earns nothing, or is not graded.

    1. The agent tries to end the services beside it; then each service is ended for it, from outside. It did no work.
    2. The verifier itself breaks: each way is a script that bash reads before the tests. The evidence is a good log where there
       is one, and that of no work where there is none.
    3. The evidence ends early: the oracle's log, or else its files, cut at each quarter. A file that passes although it was cut
       is a hole only where an empty one does not pass: otherwise the verdict does not rest on it, and that is a note.
    """

    number = 10
    name = "verifier's crash"
    scope = "machine"
    flaw = Flaw(benchjack=("V6",), abc=("T.3", "T.10"))

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


_SLACK_DAYS = 2
"""Between zones and over midnight the date may differ so much."""


class FloorAndCeiling(Attack):
    """Attack 13: the two ends of the scale, each reached twice with equal results, whenever and wherever the grading happens.

    Nobody attacks here. An attack says little about a folder in which doing nothing earns something, or the right work nothing.
    1. nop and the oracle are played twice each.
    2. The oracle's evidence is graded once more, with the verifier's clock a year ahead and, where it had one, without a
       network. Where that comes out differently, it is graded as before and then with each change alone, so that the hole names
       its cause.
    """

    number = 13
    name = "floor and ceiling"
    scope = "folder"
    flaw = Flaw(abc=("T.1", "T.3", "T.4", "T.6", "T.8", "T.9"))

    def strike(self, target: Target) -> Exam:
        """Play both ends twice, then grade the right work again."""
        exam, outcomes = Exam(), {}
        for who, once, again, wanted in (
            ("nop", target.idle, target.nop, 0.0),
            ("oracle", target.oracle, target.oracle, 1.0),
        ):
            first, second = once(), again()
            exam.look(_wrong(who, first, wanted))
            exam.look(_wrong(who, second, wanted), None if _same(first, second) else f"{who} ended in two different ways")
            outcomes[who] = second
        if not exam.holes:
            _grade_again(target, outcomes["oracle"], exam)
        return exam


def _grade_again(target: Target, played: Outcome, exam: Exam) -> None:
    task, later = target.task, a_year_later(target.task)
    online = target.foreign and not target.shares_verifier and task.file.verifier.network_mode != "no-network"
    changes = {"a year later": later}
    if online:
        changes["without a network"] = with_verifier(task, network_mode="no-network")
    elif target.shares_verifier:
        exam.notes.append("the verifier shares the agent's machine and its network: it was not graded without one")
    everything = with_verifier(later, network_mode="no-network") if online else later
    if (together := _differs(target, everything, played)) is None:
        exam.look(*[None] * len(changes))
        return
    for how, changed in {"again": task, **changes}.items():
        differs = _differs(target, changed, played)
        exam.look(f"graded {how}, the right work {differs}" if differs else None)
    if not exam.holes:
        exam.look(f"graded {' and '.join(changes)}, the right work {together}")


def _differs(target: Target, changed: Task, played: Outcome) -> str | None:
    """How the right work fares under a changed verifier, where that is otherwise than before; raises RuntimeFailure.

    Where there is a log it is the evidence, and graded again. A foreign task has none, and is played again.
    """
    if target.foreign:
        outcome = target.oracle(task=changed)
        output, problem = outcome.files.get("verifier.log", b""), _wrong("oracle", outcome, played.result.reward or 0.0)
    else:
        try:
            judgement = target.runtime.judge(target.spec(0, changed, hands=False), played.files["events.jsonl"])
        except VerifierFailure as failure:
            return f"is not graded: {failure}"
        output = judgement.log
        equal = (judgement.reward, judgement.verdict) == (played.files["reward.json"], played.files["verdict.json"])
        problem = None if equal else f"earns another verdict: {judgement.reward.decode('utf-8', 'replace').strip()}"
    if problem is None and "BASH_ENV" in changed.file.verifier.env:
        wanted, begun = datetime.now(UTC).date() + timedelta(days=YEAR_DAYS - _SLACK_DAYS), begun_on(output)
        if begun is None or begun < wanted:
            raise RuntimeFailure(f"the verifier's clock could not be turned: its tests began on {begun or 'no known date'}")
    return problem


def _wrong(who: str, outcome: Outcome, wanted: float) -> str | None:
    result = outcome.result
    if result.status != "graded":
        return f"{who} was not graded, because of the {result.cause}: {result.error}"
    return None if result.reward == wanted else f"{who} earns {result.reward:g}, not {wanted:g}"


def _same(first: Outcome, second: Outcome) -> bool:
    a, b = first.result, second.result
    return (a.status, a.reward, a.failure_label, a.trace_hash) == (b.status, b.reward, b.failure_label, b.trace_hash)


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


class Honeypot(Attack):
    """Attack 14: a variant that nobody can solve, where a pass of the folder's own solution says that anything passes.

    1. Tests that pytest runs get one more, which contradicts whatever was handed in. It notes that it ran, so that a verifier
       which runs chosen tests only is not accused of ignoring it.
    2. Elsewhere everything that the solution made is taken away before the verifier looks: what is handed in, what changed in
       the agent's machine, and the services that could be asked.
    """

    number = 14
    name = "honeypot"
    scope = "folder"
    flaw = Flaw(benchjack=("V6",), abc=("T.7", "T.10"))

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
