"""Attack 11: what a program in `main` is and may do, beyond what its work needs.

1. Two programs report facts from inside; `ALLOWED` says of each fact what may be, by whose machine it is. A fact that is
   missing from the report is a failure of the attack, not a pass.
2. Two pods at once: what one plants in a keyring the other and this host look for, and each address of one is called from the
   other. A refused connection is an answer too: it shows that packets arrive.
3. Nothing is sent to any address but those of this host's own pods and of a listener that is opened for the purpose.
"""

from __future__ import annotations

import ctypes
import secrets
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, Literal

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.scripts import script
from harness.attacks.target import Target, shell
from harness.errors import RuntimeFailure
from harness.pod import Pod

Kind = Literal["bubblewrap", "docker", "foreign", "foreign offline"]
"""Our machine in either runtime; a foreign one, which Docker alone runs, with a network that reaches outside or without."""
Rule = Callable[[str], bool]

DOCKER_DEFAULT = 0xA80425FB
"""The fourteen capabilities that Docker gives a container unless told otherwise."""

DOCKER_LEAVES = ("io_uring_setup",)
"""Of the calls that are tried, those that the default profile of some engines lets through, as it does sockets of AF_VSOCK: a
foreign machine has that profile, ours have their own."""

_KEYCTL, _SEARCH, _SESSION = 250, 10, -3
"""keyctl(2) on x86-64, KEYCTL_SEARCH, and the keyring of this session."""


def _none(value: str) -> bool:
    return value == ""


def _is(wanted: str) -> Rule:
    return lambda value: value == wanted


def _any(_: str) -> bool:
    return True


def _only(*allowed: str) -> Rule:
    return lambda value: set(value.split()) <= set(allowed)


def _within(mask: int) -> Rule:
    return lambda value: not int(value, 16) & ~mask


def _same(rule: Rule) -> Mapping[Kind, Rule]:
    return _ours(rule, rule)


def _ours(rule: Rule, otherwise: Rule) -> Mapping[Kind, Rule]:
    return {"bubblewrap": rule, "docker": rule, "foreign": otherwise, "foreign offline": otherwise}


ALLOWED: Mapping[str, Mapping[Kind, Rule]] = {
    "uid": _ours(lambda value: value != "0", _any),
    "CapEff": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "CapPrm": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "CapInh": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "CapAmb": _same(_within(0)),
    "CapBnd": _ours(_within(0), _within(DOCKER_DEFAULT)),
    "NoNewPrivs": _ours(_is("1"), _any),
    "Seccomp": _same(_is("2")),
    "sockets": _same(_none),
    "init": _ours(_none, _any),
    "init_files": _same(_none),
    "nested": _same(_none),
    "nested_network": _same(_only("0")),
    "nested_mount": _same(_none),
    "interfaces": _ours(_only("lo"), _any),
    "metadata_route": {**_same(_none), "foreign": _any},
    "kernel_writable": _ours(_only("/proc/self/uid_map"), _only("/proc/self/uid_map", "/proc/1/oom_score_adj", "/dev/fuse")),
    "written": _ours(_none, _any),
    "calls": _ours(_none, _only(*DOCKER_LEAVES)),
    "vsock": _ours(_none, _any),
    "keys_added": _same(_is("0")),
}
"""What may be, by fact. A foreign machine has Docker's default capabilities and a root of its own that can be written to, and
its own network, which reaches outside where task.toml lets it."""

MUST_NOT_BE = ("host_process", "host_file", "host_file_read", "host_root", "device")
"""Facts that are reported only where they are a hole."""

NEED_PYTHON = frozenset({"calls", "keys_added", "vsock"})


class Privileges:
    """More rights than the work needs."""

    number: ClassVar[int] = 11
    name: ClassVar[str] = "privileges"
    scope: ClassVar[Scope] = "machine"
    flaw: ClassVar[Flaw] = Flaw(benchjack=("V8",), abc=("T.4", "T.5"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Look from one pod while another is open."""
        exam, mark = Exam(), secrets.token_hex(8)
        first, second = (target.spec(0, target.task, hands=True) for _ in range(2))
        with target.runtime.open(first) as one, target.runtime.open(second) as other:
            facts = _facts(one, target, mark)
            for name, problem in judged(facts, kind_of(target)):
                exam.look(f"{name} is {facts.get(name) or 'nothing'}" if problem else None)
            if "calls" not in facts:
                exam.notes.append("there is no python3: system calls and keyrings were not tried")
            _look_for_keys(other, mark, facts, exam)
            _call_each_other(one, other, target, exam)
        exam.look(target.host.harm())
        return exam


def kind_of(target: Target) -> Kind:
    """Whose machine it is, and whether it may reach outside."""
    environment = target.task.file.environment
    offline = environment.network_mode not in (None, "public")
    if not target.foreign:
        return "docker" if target.runtime.name == "docker" else "bubblewrap"
    return "foreign offline" if offline else "foreign"


def judged(facts: Mapping[str, str], kind: Kind) -> Iterator[tuple[str, bool]]:
    """Each fact and whether it is a hole; raises RuntimeFailure where one was not reported."""
    for name, rules in {**ALLOWED, "end": _same(_any)}.items():
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
    """Every address of one pod, its services' included, from the other; and a listener of this host from both."""
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
    """Whether packets arrive: the connection is made, or refused by whoever is there."""
    said = shell(pod, f"timeout 2 bash -c ': < /dev/tcp/{address}/{port}' 2>&1 && echo made").output
    return b"made" in said or b"refused" in said


@contextmanager
def listener() -> Iterator[tuple[list[str], int]]:
    """A service on every address of this host: where it is, by address and port."""
    said = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    with socket.create_server(("0.0.0.0", 0)) as server:
        yield [address for address in said if ":" not in address], server.getsockname()[1]
