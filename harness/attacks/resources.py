"""Attack 15: an agent that uses up whatever there is. It ends by itself, it is graded, and nobody else is worse off.

Each resource has an episode of its own, in which what was taken is measured from inside and held against the table below.
Afterwards the oracle plays as if nothing had been.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.scripts import script
from harness.attacks.target import Target, shell
from harness.pod import OUTPUT_CAP, Pod
from harness.registry import Task
from worlds.core.wire import request

PROGRAMS = ("bomb", "memory", "fill", "names", "runner", "slow")
HOLDERS, HELD_MB, MEMORY_MB = 5, 700, 1024
"""So many processes take so many MB each, of a machine that has so many."""

NAMES = 300_000
OUTPUT = 200_000_000
NINES = b'{"code": 0, "omitted": %s, "size": 40000}\n' % (b"9" * 4300) + b"x" * 40_000
"""What an agent says in the name of the runner: a number of as many digits as Python's JSON still reads."""

Way = Callable[[Pod], list[str]]
"""Uses something up in a pod; what it got too much of."""

MOST_BYTES = 1 << 53
"""More than any command prints."""


@dataclass(frozen=True)
class Bounds:
    """The most that an agent may get."""

    processes: int
    memory_mb: int
    places: tuple[str, ...]
    """Folders in memory."""

    place_mb: int
    names: int
    """Empty files in one of them. Where an engine counts their memory as the machine's, any number."""


ANY = 1 << 62
BOUNDS: Mapping[tuple[str, str], Bounds] = {
    ("ours", "docker"): Bounds(256, 1100, ("/workspace", "/tmp", "/dev/shm"), 260, ANY),
    ("ours", "bubblewrap"): Bounds(280, 1100, ("/workspace", "/tmp", "/dev/shm"), 260, NAMES - 1),
    ("foreign", "docker"): Bounds(1024, 1100, ("/dev/shm",), 260, ANY),
}
"""By whose machine it is, and by runtime. The root of a foreign machine is writable and as large as the engine's disk."""


class UsedUp:
    """Processes, memory, disks, output, connections: all of it."""

    number: ClassVar[int] = 15
    name: ClassVar[str] = "resources"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V8",), abc=("T.3",))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Use everything up, one thing an episode, then let the oracle play."""
        exam = Exam()
        bounds = BOUNDS["foreign" if target.foreign else "ours", target.runtime.name]
        task = _with_memory(target.task)
        ways: dict[str, Way] = {
            "processes": lambda pod: _processes(pod, bounds),
            "memory": lambda pod: _memory(pod, bounds),
            "disks": lambda pod: _disks(pod, bounds),
            "output": _output,
        }
        if not target.foreign:
            ways |= {"the runner's answer": _nines, "connections": _connections}
        for what, way in ways.items():
            _use_up(target, task, what, way, exam)
        if (target.task.path / "solution").is_dir():
            result = target.oracle().result
            exam.look(
                None if result.reward == 1.0 else f"the next oracle earns {result.reward}: {result.error or result.status}"
            )
        return exam


def _use_up(target: Target, task: Task, what: str, way: Way, exam: Exam) -> None:
    taken: list[str] = []

    def act(pod: Pod) -> None:
        pod.put({f"/tmp/{name}": script(name).encode() for name in PROGRAMS})
        taken[:] = way(pod)

    gained = target.gain(target.strike(act, task=task))
    if subprocess.run(["true"], check=False).returncode != 0:
        taken.append("this host could start no process")
    exam.look(*(f"{what}: {problem}" for problem in (*taken, gained) if problem))


def _processes(pod: Pod, bounds: Bounds) -> list[str]:
    most = _number(pod, "bash /tmp/bomb 2> /dev/null")
    return [f"{most} processes at once, where {bounds.processes} is the most"] if most > bounds.processes else []


def _memory(pod: Pod, bounds: Bounds) -> list[str]:
    most = _number(pod, f"bash /tmp/memory {HOLDERS} {HELD_MB} 2> /dev/null")
    return [f"{most} MB held at once on a machine of {MEMORY_MB} MB"] if most > bounds.memory_mb else []


def _disks(pod: Pod, bounds: Bounds) -> list[str]:
    places = " ".join(bounds.places)
    written = shell(pod, f"bash /tmp/fill {places}", 120).output.split()
    problems = [
        f"{megabytes.decode()} MB in {place}, where {bounds.place_mb} is the most"
        for place, megabytes in zip(bounds.places, written, strict=False)
        if megabytes.isdigit() and int(megabytes) > bounds.place_mb
    ]
    made = _number(pod, f"bash /tmp/names {NAMES} {bounds.places[0]}")
    return [*problems, *([f"{made} empty files in {bounds.places[0]}"] if made > bounds.names else [])]


def _output(pod: Pod) -> list[str]:
    done = shell(pod, f"head -c {OUTPUT} /dev/zero", 120)
    return [f"{len(done.output)} bytes of output were kept"] if len(done.output) > OUTPUT_CAP else []


def _nines(pod: Pod) -> list[str]:
    done = pod.run(["python3", "/tmp/runner"], timeout_s=20, stdin=NINES, virtual_time=False)
    return ["a command is believed to have printed more bytes than there are"] if done.omitted > MOST_BYTES else []


def _connections(pod: Pod) -> list[str]:
    """Half-open connections, which are its own affair: the host is answered meanwhile, and so is the agent itself."""
    hold = "setsid python3 /tmp/slow > /dev/null 2>&1 & until test -s /tmp/slow.held; do /usr/bin/sleep 0.1; done"
    shell(pod, hold, 60)
    problems = []
    if pod.call(request("GET", "/clock")).status != 200:
        problems.append("the world does not answer the host while connections are held")
    code = shell(pod, "curl -s -o /dev/null --retry 5 --retry-all-errors --max-time 5 http://api:8080/clock", 40).code
    if code != 0:
        problems.append("the world is deaf to its own agent while connections are held")
    return problems


def _number(pod: Pod, command: str) -> int:
    """What a program counted; 0 where it was ended before it could say."""
    words = shell(pod, command, 120).output.split()
    return int(words[-1]) if words and words[-1].isdigit() else 0


def _with_memory(task: Task) -> Task:
    """The task on a machine with so much memory that what it may take can be told from what it took."""
    environment = task.file.environment.model_copy(update={"memory_mb": MEMORY_MB})
    return replace(task, file=task.file.model_copy(update={"environment": environment}))
