"""Attacks 10, 13 and 14 on grading, and a way to change a verifier's environment from outside with [verifier.env].

bash reads the file named by BASH_ENV whenever it runs a script, and expands a command substitution in that name (bash(1),
INVOCATION). So a script can run before the tests without a change to the folder and without a rebuild.
"""

from __future__ import annotations

import base64
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from shlex import quote

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.errors import RuntimeFailure, VerifierFailure
from harness.outcome import Outcome
from harness.pod import Pod
from harness.registry import Task, read_task
from harness.runtimes.docker.engine.client import services_up
from harness.runtimes.docker.runtime import DockerRuntime
from parley.proof.attacks.base import Exam
from parley.proof.attacks.scripts import script
from parley.proof.attacks.target import WALL_S, Target, handed_in, shell, with_verifier

YEAR_DAYS = 365
LIBRARIES = "/usr/lib"
"""The folder below which libfaketime's package installs it, in a subfolder per machine type."""

SCRATCH = "/tmp"
"""Folder of the verifier's machine in which the script is stored."""

_ONLY_TESTS = "case $0 in */test.sh)\n{script}\n;; esac\n"
_CLOCK = """printenv CLOCK_LIBRARY | base64 -d > {scratch}/clock.so
export LD_PRELOAD={scratch}/clock.so FAKETIME=+{days}d
echo "the tests begin on $(date +%F)" >&2"""


def before_tests(task: Task, script: str, variables: Mapping[str, str] | None = None) -> Task:
    """Return the task with a verifier that sources a bash script first; nothing else changes."""
    content = base64.b64encode(_ONLY_TESTS.replace("{script}", script).encode()).decode()
    file = f"{SCRATCH}/before-the-tests"
    env = {"BASH_ENV": f"$(base64 -d > {file} <<< {content}; echo {file})", **(variables or {})}
    return with_verifier(task, env={**task.file.verifier.env, **env})


def a_year_later(task: Task) -> Task:
    """Return the task with a verifier whose clock is a year ahead and that prints its starting date.

    Raises RuntimeFailure if this host has no libfaketime.
    """
    library = next(Path(LIBRARIES).glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        raise RuntimeFailure(
            "libfaketime, which changes a verifier's clock, is not installed", hint="apt-get install libfaketime"
        )
    content = base64.b64encode(library.read_bytes()).decode()
    script = _CLOCK.format(scratch=SCRATCH, days=YEAR_DAYS)
    return before_tests(task, script, {"CLOCK_LIBRARY": content})


def begun_on(output: bytes) -> date | None:
    """Return the date that a verifier of `a_year_later` printed, or None if it printed none."""
    said = re.search(rb"the tests begin on (\d{4}-\d\d-\d\d)", output)
    return date.fromisoformat(said[1].decode()) if said else None


TOOLS = "python3 python pytest uv pip curl wget nc cmp diff grep jq node npm go cargo make cat tar test"
"""Tools that tests commonly use."""

BROKEN = {
    "every tool is missing": "PATH=/nowhere",
    "every tool fails": f'for tool in {TOOLS}; do eval "$tool() {{ return 3; }}"; done',
    "the tests are killed at once": "kill -9 $$",
    "the tests end at once with 0": "exit 0",
    "the tests end at once with 137": "exit 137",
}
"""Ways in which a verifier breaks, as bash scripts that are read before the tests."""

QUARTERS = (0, 1, 2, 3)
_LIMIT_S = 20.0
_SOLVING_S = 120.0


def crash_verifier(target: Target) -> Exam:
    """Attack 10: break something that the verifier needs. The episode must earn nothing or stay ungraded.

    1. The agent tries to stop the services beside `main`. Then each service is stopped from outside. No work is done.
    2. The verifier itself breaks: each way is a script that bash reads before the tests. It grades the oracle's log if there is
       one, otherwise an episode without any work.
    3. The evidence is truncated: the oracle's log, or else its files, cut at each quarter. A file that passes although it was
       cut is a hole only if an empty file does not pass. Otherwise the verdict does not depend on it, which is a note.
    """
    exam = Exam()
    _end_services(target, exam)
    if not target.foreign:
        _judge_broken(target, exam)
        return exam
    for how, broken in BROKEN.items():
        outcome = target.strike(lambda pod: None, task=before_tests(target.task, broken))
        exam.blame(f"if {how}, doing nothing", target.gain(outcome))
    _cut_files(target, exam)
    return exam


def _end_services(target: Target, exam: Exam) -> None:
    """Stop services as the agent, and from outside if the runtime allows it, with no work done."""
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
            exam.blame(f"with {', '.join(names)} {how} and no work done", gained)


def _judge_broken(target: Target, exam: Exam) -> None:
    """Judge a good log with broken verifiers, then truncated logs with the normal verifier."""
    log = target.oracle().files["events.jsonl"]
    for how, broken in BROKEN.items():
        passed = _passed(target, before_tests(target.task, broken), log)
        exam.look(f"if {how}, the right work still {passed}" if passed else None)
    last = log.rindex(b"\n", 0, -1) + 1
    for end in (*(len(log) * quarter // 4 for quarter in QUARTERS), last + (len(log) - last) // 2, len(log) - 1):
        passed = _passed(target, target.task, log[:end])
        exam.look(f"a log of {len(log)} bytes that ends after {end} {passed}" if passed else None)


def _passed(target: Target, task: Task, log: bytes) -> str | None:
    try:
        judgement = target.runtime.judge(target.spec(0, task, hands=False), log)
    except VerifierFailure:
        return None
    reward = judgement.reward.decode("utf-8", "replace").strip()
    return None if reward == '{"reward": 0.0}' else f"earns {reward}"


def _cut_files(target: Target, exam: Exam) -> None:
    """Do the correct work, with each submitted file cut at each quarter."""
    paths = handed_in(target)
    if not paths or not target.has_solution:
        return
    empty, *parts = (_with_files_cut(target, paths, quarter) for quarter in QUARTERS)
    if target.gain(empty):
        exam.look()
        exam.notes.append(f"the verdict does not depend on {', '.join(paths)}: empty files earn the same")
        return
    for quarter, outcome in zip(QUARTERS[1:], parts, strict=True):
        exam.blame(f"{', '.join(paths)} cut after {quarter} of 4 quarters", target.gain(outcome))


def _with_files_cut(target: Target, paths: list[str], quarter: int) -> Outcome:
    def act(pod: Pod) -> None:
        SolutionAgent().play(target.task, 0, pod, Budget(wall_s=_SOLVING_S), Report("attack"))
        for path in map(shlex.quote, paths):
            shell(pod, f"size=$(stat -c %s {path}) && truncate -s $((size * {quarter} / 4)) {path}")

    return target.strike(act)


_ENDING = {"status", "reward", "failure_label", "trace_hash"}
_SLACK_DAYS = 2
"""Tolerance in days for the date, because of time zones and midnight."""


def reach_floor_and_ceiling(target: Target) -> Exam:
    """Attack 13: reach both ends of the scale twice, with equal results, regardless of when and where grading happens.

    This is a check, not an attack: attacks mean little for a folder in which doing nothing earns a reward, or correct work
    earns none.
    1. nop and the oracle are played twice each.
    2. The oracle's evidence is graded again, with the verifier's clock a year ahead and, if it had network access, without it.
       If the result differs, the evidence is graded unchanged and then with each change alone, so that the hole names its
       cause.
    """
    exam, outcomes = Exam(), {}
    for who, once, again, wanted in (("nop", target.idle, target.nop, 0.0), ("oracle", target.oracle, target.oracle, 1.0)):
        first, second = once(), again()
        a, b = (one.result.model_dump(include=_ENDING) for one in (first, second))
        exam.look(_wrong(who, first, wanted))
        exam.look(_wrong(who, second, wanted), None if a == b else f"{who} ended in two different ways")
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
        exam.notes.append("the verifier shares the agent's machine and network, so grading without a network was not tried")
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
    """Return how a changed verifier changes the result of the correct work, or None.

    A log is evidence that can be graded again. A foreign task has none, so it is played again. Raises RuntimeFailure if the
    verifier's clock could not be changed.
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
            raise RuntimeFailure(f"the verifier's clock could not be changed: its tests began on {begun or 'no known date'}")
    return problem


def _wrong(who: str, outcome: Outcome, wanted: float) -> str | None:
    result = outcome.result
    if result.status != "graded":
        return f"{who} was not graded, because of the {result.cause}: {result.error}"
    return None if result.reward == wanted else f"{who} earns {result.reward:g}, not {wanted:g}"


RAN = "parley-honeypot-ran"
"""Text in a verifier's log that shows that the contradiction ran."""

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
"""The added test, which always fails."""

WRAPPER = f"""#!/bin/bash
bash "${{BASH_SOURCE[0]%/*}}/test.original.sh" "$@"
code=$?
cat /tmp/{RAN} /logs/verifier/{RAN} 2> /dev/null; rm -f /tmp/{RAN} /logs/verifier/{RAN} 2> /dev/null
exit $code
"""

BEFORE = "/var/tmp/parley-before"
"""A file as old as the agent's first action."""

_COPIES = shutil.ignore_patterns("__pycache__")


def play_honeypot(target: Target) -> Exam:
    """Attack 14: play an unsolvable variant. If the folder's own solution passes it, any submission passes.

    1. pytest tests get an additional test that contradicts any submission. It records that it ran, so that a verifier that
       runs only selected tests is not accused of ignoring it.
    2. If it did not run, everything that the solution made is removed before the verifier runs: submitted files, changes in
       the agent's machine, and the services that the verifier could ask.
    """
    exam, solution = Exam(), SolutionAgent()

    def solve(pod: Pod) -> None:
        if pod.has_main:
            shell(pod, f"touch {BEFORE}; sleep 0.01")
        # the copy has the same solution as the original
        solution.play(target.task, 0, pod, Budget(wall_s=WALL_S), Report("oracle"))

    for made in (contradicted, bereft):
        with made(target.task) as variant:
            if variant is None:
                continue
            target.runtime.prepare([variant])
            solved = target.strike(solve, hands=solution.needs_main(target.task, target.runtime.name), task=variant)
            if made is contradicted and RAN.encode() not in solved.files.get("verifier.log", b""):
                continue
            idle = target.strike(lambda pod: None, hands=False, task=variant)
        exam.look(_told("the solution", solved, made.__name__))
        exam.look(_told("doing nothing", idle, made.__name__))
        return exam
    return exam


@contextmanager
def contradicted(task: Task) -> Iterator[Task | None]:
    """Yield a copy whose tests include one that always fails, or None if pytest does not run them."""
    names = [path for pattern in ("test_*.py", "*_test.py") for path in sorted((task.path / "tests").rglob(pattern))]
    if not names or "pytest" not in (task.path / "tests" / "test.sh").read_text(encoding="utf-8", errors="replace"):
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
    """Yield a copy whose verifier finds no artifacts, no changes in the agent's machine and no services."""
    sources = " ".join(quote(artifact.source) for artifact in task.file.artifacts)
    changed = (
        f"[ -e {BEFORE} ] && find / -xdev -newer {BEFORE} ! -type d ! -path '/proc/*' ! -path '/sys/*' ! -path '/dev/*' "
        "! -path '/tests/*' ! -path '/logs/verifier/*' ! -path '/etc/*' -delete 2> /dev/null"
    )
    compose = task.path / "environment" / "docker-compose.yaml"
    # everything that looks like a service beside `main`; additional names are harmless
    names = re.findall(r"^  ([\w-]+):\s*$", compose.read_text(encoding="utf-8"), re.MULTILINE) if compose.is_file() else []
    hosts = "".join(f"echo 127.0.0.1 {name} >> /etc/hosts 2> /dev/null\n" for name in names if name != "main")
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


def _told(who: str, outcome: Outcome, variant: str) -> str | None:
    result = outcome.result
    if result.status == "graded" or result.cause == "verifier":
        return f"the {variant} variant gives {who} {result.reward:g}" if result.reward else None
    return f"{who} on the {variant} variant was not graded, because of the {result.cause}: {result.error}"
