"""What an agent finds when it looks everywhere from inside `main`: nothing that would help it, and nowhere to go."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from harness.outcome import Outcome
from harness.pod import Pod, Runtime
from harness.registry import Task
from worlds.core.bridge import LOCAL
from worlds.core.loading import open_world
from worlds.core.wire import request

NAMES = [
    *("events.jsonl", "world.json", "server.py.j2", "instruction.md.j2", "test_outcome.py", "oracle.json"),
    *("solve.py", "solve.sh", "violations.py", "plan.json", "verdict.json", "reward.json", "reward.txt", "trajectory.json"),
    *("referee.py", "docker.sock", "sandbox.log", "world.log", "result.json", "run.json"),
]
"""Names of files that only other rooms have."""

CODE = [
    *("class Referee", "def judge_submission", "class ContractWorld", "def assess(", "def find_lies", "VIOLATIONS = {"),
    *("PARLEY_HOST_TOKEN", "PARLEY_SEED", "X-Parley-Host", "def trace_hash", "MUTATED_TOKEN", "parley.run", "def run_episode"),
]
"""Text that stands only in the code of worlds, validators, solutions and harness."""

MODULES = ["worlds", "validators", "oracles", "harness", "parley", "fastapi", "uvicorn", "pytest", "litellm", "docker"]

HUNT = """
import json, os, re, subprocess, sys
asked = json.load(sys.stdin)
needles = re.compile(b"|".join(re.escape(text.encode()) for text in asked["secrets"] + asked["code"]))
names, sources, hits, readable = set(asked["names"]), set(asked["sources"]), [], 0
skipped = ("/proc", "/sys", "/dev/pts")
system = ("/usr/share/", "/usr/lib", "/usr/libexec/", "/usr/bin/", "/usr/sbin/", "/lib", "/bin/", "/sbin/")
for at, folders, files in (found for top in asked["tops"] for found in os.walk(top)):
    folders[:] = [name for name in folders if os.path.join(at, name) not in skipped]
    packaged = (at + "/").startswith(system)
    for name in files:
        path = os.path.join(at, name)
        if name in names and not packaged and "-packages/" not in path:
            hits.append(path)
        if packaged and name not in sources:
            continue
        try:
            if os.path.isfile(path) and os.path.getsize(path) < (1 << 22):
                with open(path, "rb") as file:
                    readable += 1
                    if found := needles.search(file.read()):
                        hits.append(f"{path}: {found[0]!r}")
        except OSError:
            pass
processes = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    processes.append(int(pid))
    for part in ("environ", "cmdline", "comm", "maps", "mountinfo", "status", "stat", "cgroup"):
        try:
            block = open(f"/proc/{pid}/{part}", "rb").read()
        except OSError:
            continue
        if found := needles.search(block):
            hits.append(f"/proc/{pid}/{part}: {found[0]!r}")
    try:
        links = [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]
        opened = [os.readlink(link) for link in links if os.path.lexists(link)]
    except OSError:
        continue
    hits += [f"/proc/{pid}/fd: {path}" for path in opened if os.path.basename(path) in names]
pythons = [path for path in ("/usr/local/bin/python3", "/usr/bin/python3") if os.path.exists(path)]
imported = [
    f"{python} {name}"
    for python in pythons
    for name in asked["modules"]
    if subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode == 0
]
table = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").read().splitlines()[1:]]
listening = sorted({int(row[1].rpartition(":")[2], 16) for row in table if row[3] == "0A"})
print(json.dumps({
    "hits": hits, "readable": readable, "imported": imported, "listening": listening,
    "sockets": [s for s in open("/proc/net/unix").read().splitlines()[1:] if s.split()[7:] not in ([], asked["bridge"])],
    "environment": sorted(name for name in os.environ if re.search("KEY|TOKEN|SECRET|SEED|HOST", name) and name != "HOSTNAME"),
}))
"""
"""Walks the file system below `tops`, and /proc. What it looks for comes over stdin, so that it does not find itself.

Of what the system's own packages brought, only files that are called like one of ours are opened: bubblewrap shows this host's.
"""

KNOCK = """
import json, socket, sys
asked, opened, named = json.load(sys.stdin), [], []
for host, port in asked["addresses"]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(family, kind) as link:
                link.settimeout(2)
                link.connect((host, port))
                link.send(b"hello")
                if kind == socket.SOCK_STREAM or link.recv(9):
                    opened.append([host, port, int(kind)])
        except OSError:
            pass
for name in asked["abstract"]:
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect("\\0" + name)
            opened.append(name)
    except OSError:
        pass
for name in asked["names"]:
    try:
        named.append(socket.getaddrinfo(name, 80))
    except OSError:
        pass
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)):
    try:
        socket.socket(family, kind, 1).close()
        opened.append(str(family))
    except OSError:
        pass
links = [line.split(":")[0].strip() for line in open("/proc/net/dev").read().splitlines()[2:]]
print(json.dumps({"opened": opened, "named": named, "links": links}))
"""

WRITE = """
for place in /x /etc/x /etc/hosts /etc/ld.so.preload /etc/profile.d/x.sh /usr/x /usr/bin/x /usr/local/bin/python3 /opt/x \
    /opt/parley/bin/sleep /opt/parley/bin/parley_run.py /run/parley/clock /run/parley/x /srv/x /root/x /home/x /state/x \
    /tests/x /logs/x /logs/verifier/reward.json /var/x /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/x /dev/x \
    /proc/1/oom_score_adj /proc/1/mem; do
    mkdir -p "$(dirname $place)" 2> /dev/null
    (echo attack > $place) 2> /dev/null && echo $place
done
python3 - << 'EOP'
import os, sysconfig
for place in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "/usr/lib/python3"):
    try:
        open(os.path.join(place, "attack.py"), "w").close()
        print(place)
    except OSError:
        pass
EOP
mount -t tmpfs none /mnt 2> /dev/null && echo mounted
chroot / true 2> /dev/null && echo chroot
hostname attack 2> /dev/null && echo hostname
true
"""

STATUS = "grep -hE 'Cap(Prm|Eff|Amb)|NoNewPrivs' /proc/self/status"


def hunt(pod: Pod, script: str, asked: dict[str, Any]) -> dict[str, Any]:
    """What a Python script that reads JSON and prints JSON found in `main`."""
    pod.put({"/tmp/h.py": script.encode()})
    done = pod.run(["python3", "/tmp/h.py"], timeout_s=100, stdin=json.dumps(asked).encode(), virtual_time=False)
    assert done.code == 0, done.output[-2000:]
    found: dict[str, Any] = json.loads(done.output)
    return found


def unserved(task: Task, seed: int) -> list[str]:
    """Secrets of an instance that no request has brought out yet: what is in the parts, and how the links are signed."""
    world: Any = open_world(task.world_folder, seed=seed)
    return [
        *(content.decode().split()[-1] for content in world.content.values()),
        *(world.presigned(part, 0).text for part in world.life_s),
    ]


def sources(root: Path) -> list[str]:
    """What the files of this project are called, caches of theirs included."""
    rooms = (root / name for name in ("worlds", "validators", "oracles", "harness", "parley", "tasks"))
    found = {path.name for room in rooms for path in room.rglob("*") if path.is_file()}
    return sorted(found - {"__init__.py", "Dockerfile"})


def hear(server: socket.socket, called: list[object], stopped: threading.Event) -> None:
    """Write down the address of whoever calls, until it is `stopped`."""
    while True:
        try:
            if server.type == socket.SOCK_DGRAM:
                _, address = server.recvfrom(9)
            else:
                link, address = server.accept()
                link.close()
        except OSError:
            return
        if stopped.is_set():
            return
        called.append(address)


@contextmanager
def listeners() -> Iterator[tuple[list[tuple[str, int]], str, list[object]]]:
    """A TCP, a UDP and an abstract server on every address of this host, their places, and the addresses of who called."""
    called: list[object] = []
    stopped = threading.Event()
    abstract = f"hostile-{secrets.token_hex(4)}"
    made = [
        socket.create_server(("0.0.0.0", 0)),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    ]
    port = made[0].getsockname()[1]
    made[1].bind(("0.0.0.0", port))
    made[2].bind("\0" + abstract)
    made[2].listen()

    threads = [threading.Thread(target=hear, args=(server, called, stopped), daemon=True) for server in made]
    for thread in threads:
        thread.start()
    said = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    yield [(address, port) for address in dict.fromkeys(["127.0.0.1", "127.0.0.53", "::1", *said])], abstract, called
    stopped.set()
    for server, thread in zip(made, threads, strict=True):
        # closing alone wakes nobody who waits there
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def test_hunt_finds_what_is_there(runtime: Runtime, task: Task, open_pod: Callable[..., Any]) -> None:
    """The search itself works: each kind of planted secret is found, in a file, a command line and an environment."""
    planted = secrets.token_hex(16)
    plant = f"""mkdir -p /workspace/a/b; echo x {planted} > /workspace/a/b/.hidden; touch /tmp/events.jsonl
    A={planted} setsid /usr/bin/sleep 60 > /dev/null 2>&1 & setsid python3 -c 'import time; time.sleep(60)' {planted} &
    until grep -qs {planted} /proc/$!/cmdline; do :; done"""

    with open_pod() as pod:
        pod.run(["bash", "-c", plant], timeout_s=20, virtual_time=False)
        asked = {"secrets": [planted], "code": CODE, "names": NAMES, "sources": [], "modules": ["json"], "bridge": []}
        found = hunt(pod, HUNT, {**asked, "tops": ["/workspace", "/tmp"]})

    kinds = ("/workspace/a/b/.hidden: ", "/tmp/events.jsonl", "/environ: ", "/cmdline: ")
    assert [kind for kind in kinds if not any(kind in hit for hit in found["hits"])] == []
    assert "/usr/local/bin/python3 json" in found["imported"] or "/usr/bin/python3 json" in found["imported"]


def test_nothing_of_the_other_rooms_is_in_main(runtime: Runtime, task: Task, root: Path, open_pod: Callable[..., Any]) -> None:
    """No source, log, test, solution, token or unserved secret stands in any file, process or environment that it can read."""
    with open_pod(seed=3) as pod:
        wanted = [pod._token, *unserved(task, 3)]
        asked = {
            "secrets": wanted,
            "code": CODE,
            "names": NAMES,
            "sources": sources(root),
            "modules": MODULES,
            "tops": ["/"],
            "bridge": [str(LOCAL)],
        }
        found = hunt(pod, HUNT, asked)
        served = pod.call(request("GET", "/task")).body.decode().replace("&amp;", "&")

    assert any(secret in served for secret in wanted)
    readable = found.pop("readable")
    assert readable > 500
    assert found == {"hits": [], "imported": [], "listening": [8080], "sockets": [], "environment": []}


def test_nothing_outside_the_pod_can_be_reached(runtime: Runtime, open_pod: Callable[..., Any]) -> None:
    """Neither this host's services, on any of its addresses, nor Docker's bridge, a name server or the world at large."""
    elsewhere = [("172.17.0.1", 80), ("172.17.0.1", 2375), ("1.1.1.1", 53), ("169.254.169.254", 80), ("255.255.255.255", 9)]
    names = ["example.com", "host.docker.internal", "gateway.docker.internal", "registry-1.docker.io"]

    with listeners() as (mine, abstract, called), open_pod() as pod:
        with socket.create_connection(mine[0], timeout=5):
            pass
        found = hunt(pod, KNOCK, {"addresses": [*mine, *elsewhere], "abstract": [abstract], "names": names})
        inside = hunt(pod, KNOCK, {"addresses": [("127.0.0.1", 8080)], "abstract": [], "names": ["api"]})

    assert len(called) == 1
    assert found == {"opened": [], "named": [], "links": ["lo"]}
    assert inside["opened"] == [["127.0.0.1", 8080, 1]]
    assert len(inside["named"]) == 1


def test_nothing_outside_its_own_places_can_be_written(
    runtime: Runtime, episode: Callable[..., Outcome], attacker: Any
) -> None:
    """Every other path refuses, no right can be gained, and the episode is worth what its log says."""
    agent = attacker([WRITE, STATUS, "id -u"])

    outcome = episode(agent)

    assert [line for line in agent.output[0].splitlines() if line.startswith(("/", "mount", "chroot", "host"))] == []
    assert agent.output[1].split()[1::2] == ["0" * 16] * 3 + ["1"]
    assert int(agent.output[2]) != 0
    assert (outcome.result.status, outcome.result.reward, outcome.result.cause) == ("graded", 0.0, None)


def test_pods_do_not_see_each_other(runtime: Runtime, open_pod: Callable[..., Any]) -> None:
    """Two pods at once: each has its own port 8080, files, processes and clock."""
    plant = "for place in /workspace /tmp /dev/shm; do touch $place/mine; done; setsid /usr/bin/sleep 61.5 > /dev/null 2>&1 &"
    look = "ls /workspace /tmp /dev/shm; grep -alzx '61.[5]' /proc/[0-9]*/cmdline && echo mine; curl -s http://api:8080/clock"

    with open_pod(episode_id="e1") as one, open_pod(episode_id="e2") as other:
        one.run(["bash", "-c", plant], timeout_s=20, virtual_time=False)
        one.call(request("POST", "/clock/wait", body=b'{"seconds": 50}'))
        seen = other.run(["bash", "-c", look], timeout_s=20, virtual_time=False).output.decode()

    assert "mine" not in seen
    assert '"virtual_time":0.0' in seen.replace(" ", "")


LISTEN = """
import socket, time
held = []
for name in ("\\0parley-other", "/tmp/other.sock", "/workspace/other.sock"):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].bind(name)
    held[-1].listen()
held.append(socket.create_server(("127.0.0.1", 7777)))
open("/tmp/listening", "w").close()
time.sleep(300)
"""
REACH = """
import json, os, socket
reached = []
for name in ("\\0parley-other", "/tmp/other.sock", "/workspace/other.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        reached.append(name)
    except OSError:
        pass
for place in [("127.0.0.1", 7777), ("api", 7777)]:
    try:
        socket.create_connection(place, 2)
        reached.append(place)
    except OSError:
        pass
listed = [line.split()[-1] for line in open("/proc/net/unix") if "other" in line]
ports = [line.split()[1] for line in open("/proc/net/tcp") if line.split()[1].endswith(f":{7777:04X}")]
print(json.dumps({"reached": reached, "listed": listed, "ports": ports}))
"""


def test_pods_cannot_reach_each_others_sockets(runtime: Runtime, open_pod: Callable[..., Any]) -> None:
    """What one pod listens at, by name, by path and by port, another that is open can neither reach nor list."""
    with open_pod(episode_id="e1") as one, open_pod(episode_id="e2") as other:
        for pod in (one, other):
            pod.put({"/tmp/listen.py": LISTEN.encode(), "/tmp/reach.py": REACH.encode()})
        start = "setsid python3 /tmp/listen.py > /dev/null 2>&1 & until test -e /tmp/listening; do :; done"
        one.run(["bash", "-c", start], timeout_s=30, virtual_time=False)
        own, across = (
            json.loads(pod.run(["python3", "/tmp/reach.py"], timeout_s=30, virtual_time=False).output) for pod in (one, other)
        )

    assert len(own["reached"]) == 5
    assert own["listed"]
    assert own["ports"]
    assert across == {"reached": [], "listed": [], "ports": []}


def test_agents_files_leave_with_the_pod(runtime: Runtime, episode: Callable[..., Outcome], attacker: Any) -> None:
    """What one episode wrote, the next one does not find; and nothing it wrote becomes part of a record."""
    write = "for place in /workspace /tmp /dev/shm; do echo leftover > $place/leftover; done"
    first, second = attacker([write]), attacker(["cat /workspace/leftover /tmp/leftover /dev/shm/leftover 2> /dev/null; true"])

    records = [episode(first), episode(second, episode_id="e2")]

    assert second.output == [""]
    assert not any(b"leftover" in content for record in records for content in record.files.values())
    assert len({record.result.trace_hash for record in records}) == 1


def test_token_is_on_no_command_line_of_this_host(runtime: Runtime, open_pod: Callable[..., Any]) -> None:
    """Other users of this host see command lines: while a pod is open, none of them has its token."""
    with open_pod() as pod:
        token = pod._token.encode()
        lines = [line for path in Path("/proc").glob("[0-9]*/cmdline") if (line := _bytes(path))]

    assert [line for line in lines if token in line] == []
    assert len(lines) > 5


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
