"""The filter of system calls, run call by call on a small machine for classic BPF: both architectures, no kernel needed."""

from __future__ import annotations

import json
import struct

import pytest

from harness.agent import Budget
from harness.agents.scripted import NopAgent
from harness.episode import run_episode
from harness.errors import RuntimeFailure
from harness.pod import EpisodeSpec
from harness.records import Key, Result
from harness.runtimes import seccomp
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.inprocess import InProcessRuntime
from harness.runtimes.seccomp import docker_profile
from tests.shipped import SHIPPED

ALLOWED = "allowed"
KILLED = "killed"
NAMES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OPEN = {
    "x86_64": {"read": 0, "mmap": 9, "fork": 57, "execve": 59, "ptrace": 101, "futex": 202, "openat": 257, "pidfd_open": 434},
    "aarch64": {"read": 63, "mmap": 222, "execve": 221, "ptrace": 117, "futex": 98, "openat": 56, "pidfd_open": 434},
}
"""Calls that every program needs, from the tables of Linux."""

THREAD = 0x3D0F00
"""The flags of pthread_create in glibc."""


def outcome(code: bytes, machine: str, number: int, first: int = 0, *, architecture: int | None = None) -> str | int:
    """What a filter says to a call: allowed, killed, or an error number."""
    data = struct.pack("=iIQQ", struct.unpack("=i", struct.pack("=I", number))[0], architecture or NAMES[machine], 0, first)
    steps = list(struct.iter_unpack("=HBBI", code))
    place, held = 0, 0
    while True:
        what, if_true, if_false, constant = steps[place]
        place += 1
        if what == 0x20:
            (held,) = struct.unpack_from("=I", data, constant)
        elif what == 0x06:
            return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}.get(constant, constant & 0xFFFF)
        else:
            tests = {0x15: held == constant, 0x25: held > constant, 0x45: bool(held & constant)}
            place += if_true if tests[what] else if_false


@pytest.fixture(params=list(NAMES))
def machine(request: pytest.FixtureRequest) -> str:
    """An architecture."""
    return str(request.param)


def test_every_call_of_the_table_is_refused(machine: str) -> None:
    """Whatever their arguments, and with the flags of a thread as well as none."""
    code, column = seccomp.program(machine), list(NAMES).index(machine)
    numbers = [number for pair in seccomp.CALLS.values() if (number := pair[column]) is not None]

    assert len(numbers) > 45
    assert {outcome(code, machine, number, first) for number in numbers for first in (0, THREAD, 1 << 63)} == {1}


def test_what_programs_need_is_open(machine: str) -> None:
    """Files, memory, processes, threads, tracing one's own; sockets of the four families."""
    code, column = seccomp.program(machine), list(NAMES).index(machine)
    special = {name: pair[column] for name, pair in seccomp.SPECIAL.items()}

    assert {name: outcome(code, machine, number) for name, number in OPEN[machine].items()} == dict.fromkeys(
        OPEN[machine], ALLOWED
    )
    assert outcome(code, machine, special["clone"], THREAD) == ALLOWED
    assert outcome(code, machine, special["clone"], 17) == ALLOWED
    assert outcome(code, machine, special["unshare"], 0x400) == ALLOWED
    assert outcome(code, machine, special["personality"], 0xFFFFFFFF) == ALLOWED
    families = {number for number in range(64) if outcome(code, machine, special["socket"], number) == ALLOWED}
    assert families == {1, 2, 10, 16}


def test_new_namespaces_are_refused(machine: str) -> None:
    """By clone and unshare, each kind, beside whatever other flags; clone3 does not seem to exist."""
    code, column = seccomp.program(machine), list(NAMES).index(machine)
    special = {name: pair[column] for name, pair in seccomp.SPECIAL.items()}
    kinds = [1 << bit for bit in (17, 25, 26, 27, 28, 29, 30)]

    assert {outcome(code, machine, special["clone"], kind | THREAD | 17) for kind in kinds} == {1}
    assert {outcome(code, machine, special["unshare"], kind | 0x400) for kind in [*kinds, 0x80]} == {1}
    assert outcome(code, machine, special["clone3"]) == 38


def test_odd_sockets_and_personalities_are_refused(machine: str) -> None:
    """AF_VSOCK is no family of this machine, and pages stay what they were made."""
    code, column = seccomp.program(machine), list(NAMES).index(machine)
    special = {name: pair[column] for name, pair in seccomp.SPECIAL.items()}

    assert [outcome(code, machine, special[name], 40) for name in ("socket", "socketpair")] == [97, 97]
    assert outcome(code, machine, special["personality"], 0x400000) == 1


def test_other_tables_of_calls_are_closed(machine: str) -> None:
    """Another architecture ends the process; x32 and what is newer than the table do not seem to exist."""
    code = seccomp.program(machine)
    others = [0x40000003, 0xC000003E, 0xC00000B7, 0xC000000C]

    assert {outcome(code, machine, 0, architecture=other) for other in others if other != NAMES[machine]} == {KILLED}
    assert {outcome(code, machine, number) for number in (0x40000000, 0x40000000 + 321, 512, 547, 470, 0xFFFFFFFF)} == {38}


def test_memory_that_nobody_counts_is_closed_where_it_must_be_counted(machine: str) -> None:
    """Memfd and System V segments are open, but for pods without a control group."""
    column = list(NAMES).index(machine)
    numbers = [pair[column] for pair in seccomp.UNCOUNTED.values()]

    assert {outcome(seccomp.program(machine), machine, number) for number in numbers} == {ALLOWED}
    assert {outcome(seccomp.program(machine, uncounted=False), machine, number) for number in numbers} == {38}


def test_an_unknown_machine_is_named() -> None:
    """There is no filter by guess."""
    with pytest.raises(RuntimeFailure, match="for x86_64 and aarch64, not riscv64"):
        seccomp.program("riscv64")


def test_the_profile_for_docker_opens_what_the_filter_opens() -> None:
    """No call stands in two tables, those refused are in no rule that allows, and all others are."""
    rules = json.loads(docker_profile())["syscalls"]
    allowed = {name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}

    assert not {*seccomp.OPEN.split()} & {*seccomp.CALLS, *seccomp.SPECIAL, *seccomp.UNCOUNTED, *seccomp.LASTING}
    assert allowed & {*seccomp.CALLS, "clone3"} == set()
    assert {*OPEN["x86_64"], *seccomp.UNCOUNTED, *seccomp.LASTING} <= allowed
    assert json.loads(docker_profile())["defaultAction"] == "SCMP_ACT_ERRNO"


def test_a_container_that_is_used_again_makes_nothing_lasting() -> None:
    """Its profile is the other one without the calls that make IPC objects."""
    names = [set(json.loads(docker_profile(is_used_again=again))["syscalls"][0]["names"]) for again in (False, True)]

    assert names[0] - names[1] == {*seccomp.LASTING}


def test_an_episode_records_its_policy() -> None:
    """In process none holds, which the record says; a record that does not say is read."""
    task = next(task for task in SHIPPED if task.task_id == "presigned-url-download")
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    played = run_episode(EpisodeSpec("r", "e", task, 0), key, InProcessRuntime(), NopAgent(), Budget()).result
    old = {name: value for name, value in json.loads(played.model_dump_json()).items() if name != "syscalls"}

    assert played.syscalls == "none"
    assert Result.model_validate(old).syscalls == ""
    assert BubblewrapRuntime().syscalls(task) == seccomp.policy_digest()
