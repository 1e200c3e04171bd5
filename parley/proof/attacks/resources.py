"""Attacks 11 and 15: privileges and resource usage of a program in `main`."""

from __future__ import annotations

import ctypes
import secrets
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from harness.errors import RuntimeFailure
from harness.pod import OUTPUT_CAP, Pod
from parley.proof.attacks.base import Exam
from parley.proof.attacks.scripts import script
from parley.proof.attacks.target import Target, shell
from worlds.core.wire import request

PROGRAMS = ("bomb", "memory", "fill", "names", "runner", "slow")
HOLDERS, HELD_MB, MEMORY_MB = 5, 700, 1024
"""Number of processes, MB that each allocates, and MB of the machine."""

NAMES = 300_000
OUTPUT = 200_000_000
NINES = b'{"code": 0, "omitted": %s, "size": 40000}\n' % (b"9" * 4300) + b"x" * 40_000
"""Output with which an agent imitates the runner: a number with as many digits as Python's JSON parser accepts."""

Way = Callable[[Pod], list[str]]
"""Function that exhausts a resource in a pod and returns the limits it exceeded."""

MOST_BYTES = 1 << 53
"""More bytes than any command prints."""


@dataclass(frozen=True)
class Bounds:
    """Upper limits of an agent's resources."""

    processes: int
    memory_mb: int
    places: tuple[str, ...]
    """Folders in memory."""

    place_mb: int
    names: int
    """Number of empty files in one of these folders; unlimited if an engine counts their memory as the machine's."""


ANY = 1 << 62
BOUNDS: Mapping[tuple[str, str], Bounds] = {
    ("ours", "docker"): Bounds(256, 1100, ("/workspace", "/tmp", "/dev/shm"), 260, ANY),
    ("ours", "bubblewrap"): Bounds(280, 1100, ("/workspace", "/tmp", "/dev/shm"), 260, NAMES - 1),
    ("foreign", "docker"): Bounds(1024, 1100, ("/dev/shm",), 260, ANY),
}
"""Limits by owner of the machine and runtime. The root of a foreign machine is writable and as large as the engine's disk."""


def use_up(target: Target) -> Exam:
    """Attack 15: exhaust a resource. The episode must end, be graded, and not affect others.

    Each resource has an episode of its own. The usage is measured from inside and compared with the limits above. Afterwards
    the oracle must play normally.
    """
    exam = Exam()
    bounds = BOUNDS["foreign" if target.foreign else "ours", target.runtime.name]
    # enough memory to distinguish the limit from normal usage
    environment = target.task.file.environment.model_copy(update={"memory_mb": MEMORY_MB})
    task = replace(target.task, file=target.task.file.model_copy(update={"environment": environment}))
    ways: dict[str, Way] = {
        "processes": lambda pod: _above(
            _number(pod, "bash /tmp/bomb 2> /dev/null"),
            bounds.processes,
            "{count} processes at once, above the limit of {most}",
        ),
        "memory": lambda pod: _above(
            _number(pod, f"bash /tmp/memory {HOLDERS} {HELD_MB} 2> /dev/null"),
            bounds.memory_mb,
            f"{{count}} MB allocated at once on a machine of {MEMORY_MB} MB",
        ),
        "disks": lambda pod: _disks(pod, bounds),
        "output": lambda pod: _above(
            len(shell(pod, f"head -c {OUTPUT} /dev/zero", 120).output), OUTPUT_CAP, "{count} bytes of output were kept"
        ),
    }
    if not target.foreign:
        ways |= {"the runner's answer": _nines, "connections": _connections}
    for what, way in ways.items():
        taken: list[str] = []
        gained = target.gain(target.strike(partial(_use_up, way, taken), task=task))
        if subprocess.run(["true"], check=False).returncode != 0:
            taken.append("this host could start no process")
        exam.blame(what, *taken, gained)
    if target.has_solution:
        result = target.oracle().result
        told = f"the next oracle earns {result.reward}: {result.error or result.status}"
        exam.look(None if result.reward == 1.0 else told)
    return exam


def _use_up(way: Way, taken: list[str], pod: Pod) -> None:
    pod.put({f"/tmp/{name}": script(name).encode() for name in PROGRAMS})
    taken[:] = way(pod)


def _above(count: int, most: int, told: str) -> list[str]:
    return [told.format(count=count, most=most)] if count > most else []


def _disks(pod: Pod, bounds: Bounds) -> list[str]:
    written = shell(pod, f"bash /tmp/fill {' '.join(bounds.places)}", 120).output.split()
    problems = [
        problem
        for place, megabytes in zip(bounds.places, written, strict=False)
        if megabytes.isdigit()
        for problem in _above(int(megabytes), bounds.place_mb, f"{{count}} MB in {place}, above the limit of {{most}}")
    ]
    made = _number(pod, f"bash /tmp/names {NAMES} {bounds.places[0]}")
    return problems + _above(made, bounds.names, f"{{count}} empty files in {bounds.places[0]}")


def _nines(pod: Pod) -> list[str]:
    done = pod.run(["python3", "/tmp/runner"], timeout_s=20, stdin=NINES, virtual_time=False)
    return _above(done.omitted, MOST_BYTES, "the harness believed a forged count of printed bytes")


def _connections(pod: Pod) -> list[str]:
    """Hold half-open connections. The world must still answer the host and the agent."""
    hold = "setsid python3 /tmp/slow > /dev/null 2>&1 & until test -s /tmp/slow.held; do /usr/bin/sleep 0.1; done"
    shell(pod, hold, 60)
    problems = []
    if pod.call(request("GET", "/clock")).status != 200:
        problems.append("the world does not answer the host while connections are held")
    code = shell(pod, "curl -s -o /dev/null --retry 5 --retry-all-errors --max-time 5 http://api:8080/clock", 40).code
    if code != 0:
        problems.append("the world does not answer its own agent while connections are held")
    return problems


def _number(pod: Pod, command: str) -> int:
    """Return the count that a program printed, or 0 if it was killed first."""
    words = shell(pod, command, 120).output.split()
    return int(words[-1]) if words and words[-1].isdigit() else 0


Kind = Literal["bubblewrap", "docker", "foreign", "foreign offline"]
"""The machine's type: ours in either runtime, or a foreign one (Docker only), with or without access to outside networks."""
Rule = Callable[[str], bool]

DOCKER_DEFAULT = 0xA80425FB
"""The 14 capabilities that Docker grants a container by default."""

DOCKER_LEAVES = ("io_uring_setup",)
"""Tried system calls that the default profile of some engines allows, like AF_VSOCK sockets.

Foreign machines have that profile; ours have their own.
"""

_KEYCTL, _SEARCH, _SESSION = 250, 10, -3
"""keyctl(2) on x86-64, KEYCTL_SEARCH, and the session keyring."""


def _is(wanted: str) -> Rule:
    return lambda value: value == wanted


def _any(_: str) -> bool:
    return True


def _only(*allowed: str) -> Rule:
    return lambda value: set(value.split()) <= set(allowed)


def _within(mask: int) -> Rule:
    return lambda value: not int(value, 16) & ~mask


def _ours(rule: Rule, otherwise: Rule | None = None) -> Mapping[Kind, Rule]:
    """Return a rule for our machines and another for foreign ones; without another, the rule is for all."""
    return {"bubblewrap": rule, "docker": rule, "foreign": otherwise or rule, "foreign offline": otherwise or rule}


ALLOWED: Mapping[str, Mapping[Kind, Rule]] = {
    "uid": _ours(lambda value: value != "0", _any),
    "CapEff": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "CapPrm": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "CapInh": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "CapAmb": _ours(_within(0)),
    "CapBnd": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "NoNewPrivs": _ours(_is("1"), _any),
    "Seccomp": _ours(_is("2")),
    "sockets": _ours(_is("")),
    "init": _ours(_is(""), _any),
    "init_files": _ours(_is("")),
    "nested": _ours(_is("")),
    "nested_network": _ours(_only("0")),
    "nested_mount": _ours(_is("")),
    "interfaces": _ours(_only("lo"), _any),
    "metadata_route": {**_ours(_is("")), "foreign": _any},
    "kernel_writable": _ours(_only("/proc/self/uid_map"), _only("/proc/self/uid_map", "/proc/1/oom_score_adj", "/dev/fuse")),
    "written": _ours(_is(""), _any),
    "calls": _ours(_is(""), _only(*DOCKER_LEAVES)),
    "vsock": _ours(_is(""), _any),
    "keys_added": _ours(_is("0")),
}
"""Allowed values by fact.

A foreign machine has Docker's default capabilities, a writable root, and its own network, with outside access if task.toml
allows it.
"""

MUST_NOT_BE = ("host_process", "host_file", "host_file_read", "host_root", "device")
"""Facts that are reported only if they are a hole."""

NEED_PYTHON = frozenset({"calls", "keys_added", "vsock"})


def examine_privileges(target: Target) -> Exam:
    """Attack 11: look for unneeded privileges of a program in `main`, in one pod while another is open.

    1. Two programs report facts from inside. `ALLOWED` gives the allowed values of each fact by machine type. A fact that is
       missing from the report is a failure of the attack, not a pass.
    2. Two pods run at the same time. One puts a key in a keyring; the other and this host look for it. Each address of one pod
    is called from the other; a refused connection counts as an answer, because it shows that packets arrive.
    3. Requests go only to addresses of this host's own pods and to a listener opened for this attack.
    """
    exam, mark = Exam(), secrets.token_hex(8)
    first, second = (target.spec(0, target.task, hands=True) for _ in range(2))
    with target.runtime.open(first) as one, target.runtime.open(second) as other:
        facts = _facts(one, target, mark)
        for name, problem in judged(facts, kind_of(target)):
            exam.look(f"{name} is {facts.get(name) or 'nothing'}" if problem else None)
        if "calls" not in facts:
            exam.notes.append("python3 is missing: system calls and keyrings were not tried")
        _look_for_keys(other, mark, facts, exam)
        _call_each_other(one, other, target, exam)
    exam.look(target.host.harm())
    return exam


def kind_of(target: Target) -> Kind:
    """Return the machine's type: its owner, and whether it may reach outside."""
    environment = target.task.file.environment
    offline = environment.network_mode not in (None, "public")
    if not target.foreign:
        return "docker" if target.runtime.name == "docker" else "bubblewrap"
    return "foreign offline" if offline else "foreign"


def judged(facts: Mapping[str, str], kind: Kind) -> Iterator[tuple[str, bool]]:
    """Yield each fact and whether it is a hole. Raises RuntimeFailure if a required fact is missing."""
    for name, rules in {**ALLOWED, "end": _ours(_any)}.items():
        if name in facts:
            yield name, not rules[kind](facts[name])
        elif name not in NEED_PYTHON:
            raise RuntimeFailure(f"the report from inside lacks {name}")
    for name in MUST_NOT_BE:
        yield name, name in facts


def _facts(pod: Pod, target: Target, mark: str) -> dict[str, str]:
    pod.put({f"/tmp/{name}": script(name).encode() for name in ("privileges", "calls")})
    host = f"{target.host.process.pid} {shlex.quote(str(target.host.file))}"
    said = shell(pod, f"bash /tmp/privileges {host} 2> /dev/null").output
    said += shell(pod, f"python3 /tmp/calls try {mark} 2> /dev/null").output
    lines = said.decode("utf-8", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition("\t") for line in lines) if _}


def _look_for_keys(other: Pod, mark: str, facts: Mapping[str, str], exam: Exam) -> None:
    if "keys_added" not in facts:
        return
    other.put({"/tmp/calls": script("calls").encode()})
    seen = shell(other, f"python3 /tmp/calls look {mark} 2> /dev/null").output.decode("utf-8", "replace").split()
    exam.look("a key of one episode is seen in another" if seen[-1:] not in ([], ["0"]) else None)
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(_KEYCTL, _SEARCH, _SESSION, b"user", b"parley-attack-" + mark.encode(), 0)
    exam.look("a key of an episode is in the session keyring of this host" if key >= 0 else None)


def _call_each_other(one: Pod, other: Pod, target: Target, exam: Exam) -> None:
    """Call every address of one pod and its services from the other, and a listener on this host from both."""
    listed = shell(other, "hostname -I 2> /dev/null; getent hosts api main $(hostname) 2> /dev/null | cut -d' ' -f1").output
    addresses = sorted({word for word in listed.decode("utf-8", "replace").split() if not word.startswith(("127.", "::1"))})
    exam.look()
    for address in addresses:
        exam.look(f"another episode's machine answers at {address}" if _reaches(one, address, 9) else None)
    with listener() as (addresses_here, port):
        open_to = [address for address in addresses_here if _reaches(one, address, port)]
    if kind_of(target) == "foreign" and open_to:
        exam.look()
        exam.notes.append(f"a public network reaches services of this host at {', '.join(open_to)}")
    else:
        exam.look(f"a service of this host is reached at {', '.join(open_to)}" if open_to else None)


def _reaches(pod: Pod, address: str, port: int) -> bool:
    """Return True if packets arrive, so that the connection is made or refused."""
    said = shell(pod, f"timeout 2 bash -c ': < /dev/tcp/{address}/{port}' 2>&1 && echo made").output
    return b"made" in said or b"refused" in said


@contextmanager
def listener() -> Iterator[tuple[list[str], int]]:
    """Listen on every address of this host, and yield the addresses and the port."""
    said = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    with socket.create_server(("0.0.0.0", 0)) as server:
        yield [address for address in said if ":" not in address], server.getsockname()[1]
