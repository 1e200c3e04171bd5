"""What the kernel refuses to an agent in bubblewrap, as root, without control groups, and as an ordinary user."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.pod import EpisodeSpec
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from tests.bubblewrap.players import Player

pytestmark = pytest.mark.bubblewrap

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

TRY = r"""
import ctypes, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
NEWUSER, CHILD = 0x10000000, 17
numbers = {
    "x86_64": dict(add_key=248, bpf=321, clone=56, io_uring_enter=426, io_uring_register=427, io_uring_setup=425, kcmp=312,
        keyctl=250, mount=165, move_pages=279, open_by_handle_at=304, perf_event_open=298, pivot_root=155, request_key=249,
        set_mempolicy=238, setns=308, umount2=166, unshare=272, userfaultfd=323, kexec_load=246, init_module=175, memfd=319,
        shmget=29),
    "aarch64": dict(add_key=217, bpf=280, clone=220, io_uring_enter=426, io_uring_register=427, io_uring_setup=425, kcmp=272,
        keyctl=219, mount=40, move_pages=239, open_by_handle_at=265, perf_event_open=241, pivot_root=41, request_key=218,
        set_mempolicy=237, setns=268, umount2=39, unshare=97, userfaultfd=282, kexec_load=104, init_module=105, memfd=279,
        shmget=194),
}[os.uname().machine]
asked = {
    "add_key": (b"user", b"a", b"b", 1, -3), "bpf": (99, None, 0), "clone_newuser": (NEWUSER | CHILD, 0, 0, 0, 0),
    "clone3": (None, 0), "io_uring_enter": (-1, 0, 0, 0, None, 0), "io_uring_register": (-1, 0, None, 0),
    "io_uring_setup": (1, None), "kcmp": (1, 1, 0, 0, 0), "keyctl": (0, -3, 0), "mount": (None, b"/tmp", b"tmpfs", 0, None),
    "move_pages": (0, 0, None, None, None, 0), "open_by_handle_at": (-1, None, 0), "perf_event_open": (None, 0, -1, -1, 0),
    "pivot_root": (b"/", b"/"), "request_key": (b"user", b"a", None, 0), "set_mempolicy": (0, None, 0), "setns": (-1, 0),
    "umount2": (b"/tmp", 2), "unshare_newuser": (NEWUSER,), "userfaultfd": (1,), "kexec_load": (0, 0, None, 0),
    "init_module": (None, 0, b""), "memfd": (b"a", 0), "shmget": (0, 4096, 0o1600),
}
said = {}
for name, arguments in asked.items():
    number = 435 if name == "clone3" else numbers[name.split("_new")[0]]
    done = libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if name == "clone_newuser" and done == 0:
        os._exit(0)
    said[name] = ctypes.get_errno() if done < 0 else 0
for family in (1, 2, 10, 16, 38, 40):
    try:
        socket.socket(family, {16: socket.SOCK_RAW, 38: socket.SOCK_SEQPACKET}.get(family, socket.SOCK_STREAM)).close()
        said[f"family {family}"] = 0
    except OSError as error:
        said[f"family {family}"] = error.errno
print(json.dumps(said))
"""

REFUSED = {
    **dict.fromkeys(("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd"), EPERM),
    **dict.fromkeys(("io_uring_setup", "io_uring_enter", "io_uring_register"), EPERM),
    **dict.fromkeys(("clone_newuser", "unshare_newuser", "setns"), EPERM),
    **dict.fromkeys(("mount", "umount2", "pivot_root", "open_by_handle_at", "kexec_load", "init_module"), EPERM),
    **dict.fromkeys(("kcmp", "move_pages", "set_mempolicy"), EPERM),
    "clone3": ENOSYS,
    "family 40": EAFNOSUPPORT,
    "family 38": EAFNOSUPPORT,
}

LOOK = r"""
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(do):
    try:
        return str(do())
    except OSError as error:
        return error.strerror
print(json.dumps({
    "traced": libc.ptrace(16, 1, None, None),
    "taken": libc.syscall(438, os.pidfd_open(1), 2, 0),
    "files": attempt(lambda: os.listdir("/proc/1/fd")),
    "memory": attempt(lambda: open("/proc/1/mem", "r+b")),
    "environment": attempt(lambda: open("/proc/1/environ").read()),
    "root": attempt(lambda: os.listdir("/proc/1/root")),
    "own": libc.prctl(3, 0, 0, 0, 0),
}))
"""


@pytest.fixture(scope="module")
def tried(runtime: BubblewrapRuntime, public: Path) -> dict[str, dict[str, int]]:
    """What each call answers in `main`, by who plays."""
    script = f"python3 - << 'EOP'\n{TRY}\nEOP"
    return {who: json.loads(Player(who, runtime, public)(script).output[0]) for who in ("here", "counted", "user")}


@pytest.mark.parametrize("call", REFUSED)
@pytest.mark.parametrize("who", ["here", "counted", "user"])
def test_call_is_refused(tried: dict[str, dict[str, int]], who: str, call: str) -> None:
    """With the error that its C library, or its program, knows how to go on from."""
    assert tried[who][call] == REFUSED[call]


@pytest.mark.parametrize("who", ["here", "counted", "user"])
def test_ordinary_sockets_stay_open(tried: dict[str, dict[str, int]], who: str) -> None:
    """Unix, both versions of IP, and the netlink that getaddrinfo asks."""
    assert {name: tried[who][f"family {name}"] for name in (1, 2, 10, 16)} == {1: 0, 2: 0, 10: 0, 16: 0}


def test_memory_outside_every_process_is_open_where_a_group_counts_it(tried: dict[str, dict[str, int]]) -> None:
    """Memfd and System V segments exist for `main` in a control group only."""
    assert {who: (said["memfd"], said["shmget"]) for who, said in tried.items()} == {
        "here": (0, 0),
        "counted": (ENOSYS, ENOSYS),
        "user": (ENOSYS, ENOSYS),
    }


def test_programs_go_on_working(play: Player) -> None:
    """Threads, processes, subprocesses, pipes, git, curl, address look-ups, a debugger's calls on one's own child."""
    threads = """
import asyncio, concurrent.futures, multiprocessing, socket, subprocess, tempfile
def square(n):
    return n * n
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(square, range(9))))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(sum(pool.map(square, range(9))))
print(subprocess.run(["tr", "a", "b"], input=b"a", capture_output=True).stdout, socket.getaddrinfo("api", 8080)[0][4])
async def wait():
    return await (await asyncio.create_subprocess_exec("true")).wait()
print(asyncio.run(wait()))
"""
    played = play(
        f"python3 - << 'EOP'\n{threads}\nEOP",
        "git init -q x; cd x; echo a > a; git add a; git -c user.name=a -c user.email=a@b commit -qm a; git log | tail -1",
        "curl -s http://api:8080/hello | head -c 8; echo a | cat | (read x; echo $x); bash -lc 'ulimit -n'",
    )

    assert played.output[0].splitlines() == ["204", "204", "b'b' ('127.0.0.1', 8080)", "0"]
    assert played.output[1].split() == ["a"]
    assert played.output[2] == '{"says":a\n1024\n'


def test_first_process_is_out_of_reach(play: Player) -> None:
    """It cannot be traced, read or written, its files cannot be seen or taken, and its capabilities are nobody's to gain."""
    played = play(
        f"python3 - << 'EOP'\n{LOOK}\nEOP",
        "grep -h ^Cap /proc/self/status; cat /proc/keys; grep -h NoNewPrivs /proc/1/status",
    )

    seen = json.loads(played.output[0])
    own = seen.pop("own")
    assert (seen.pop("traced"), seen.pop("taken"), own) == (-1, -1, 1)
    assert set(seen.values()) == {"Permission denied"}
    sets = [word for name in ("Inh", "Prm", "Eff", "Bnd", "Amb") for word in (f"Cap{name}:", "0" * 16)]
    assert played.output[1].split() == [*sets, "NoNewPrivs:", "1"]


def test_first_process_holds_no_file_of_this_host(
    runtime: BubblewrapRuntime, spec: Callable[..., EpisodeSpec], processes: Callable[[], set[int]]
) -> None:
    """All that PID 1 of a room has open is a null device, its socket and a pipe."""
    with runtime.open(spec(needs_main=True)) as pod:
        # a pod is open when its world answers, and may be before main has started
        assert pod.run(["true"], timeout_s=20).code == 0
        first = [pid for pid in processes() if _numbers(pid)[-1] == "1"]
        opened = {re.sub(r"\d+", "N", str(link.readlink())) for pid in first for link in Path(f"/proc/{pid}/fd").iterdir()}

    assert len(first) == 2
    assert opened == {"/dev/null", "socket:[N]", "pipe:[N]"}


def _numbers(process: int) -> list[str]:
    """The numbers of a process in each pid namespace that it is in, the innermost last."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(line.split()[1:] for line in lines if line.startswith("NSpid:"))
