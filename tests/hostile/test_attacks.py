"""Attacks of an agent on its own verdict, its world, its harness and this host; each ends in the right record.

An attack that leaves the way to the goal open is followed by the oracle in the same pod, which must still earn the reward.
One that closes it must be worth nothing, and count: no attack makes an episode ungraded.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness.agents.scripted import NopAgent, ScriptedAgent
from harness.episode import Outcome
from harness.registry import Task, read_task
from harness.runtimes.base import OUTPUT_CAP, Runtime
from worlds.core.events import GENESIS, read_log
from worlds.core.wire import request

Play = Callable[..., Outcome]
Events = Callable[[Outcome], list[dict[str, Any]]]

SCRIPTS = Path(__file__).parent / "scripts"


def script(name: str) -> str:
    """What an attacker runs, from a file of its own."""
    return "\n" + (SCRIPTS / name).read_text(encoding="utf-8")


PLANT = script("plant.sh")

PATCH = script("patch.sh")

KILL = script("kill.sh")

HTTP = script("http.py")

SLOW = script("slow.py")

REBIND = script("rebind.py")

RUNNER = script("runner.py")

FORGED = {
    "answer": b'{"code": 0, "omitted": 0, "size": 5}\nhello',
    "infinity": b'{"code": 1e999, "omitted": 0, "size": 0}\n',
    "infinities": b'{"code": 0, "omitted": 1e999, "size": -1e999}\n',
    "nested": b"[" * 60_000 + b"\n",
    "torn": b'{"code": 0, "omitted": 0, "size": 1000000000000}\n',
    "engine": b"OCI runtime exec failed: exec failed: process_linux.go: exit status 126\n",
    "bytes": b"\x00\xff" * 90_000,
    "silence": b"",
}
"""What an agent may say in the name of the runner."""

HOLD = script("hold.py")
"""Takes the runner's own pipe ends, ends or stops it, and then keeps them, dripping or flooding."""

STAND_IN = script("stand_in.py")


@pytest.fixture(scope="module", autouse=True)
def sentinel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file and a process of this host, which nothing in this module may touch."""
    path = tmp_path_factory.mktemp("sentinel") / "file"
    path.write_text("untouched", encoding="utf-8")
    path.chmod(0o666)
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield path
        alive = process.poll() is None
        process.kill()
    assert alive
    assert path.read_text(encoding="utf-8") == "untouched"
    assert [other.name for other in path.parent.iterdir()] == ["file"]


@pytest.fixture(scope="module")
def mortal(task: Task, runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The same task with one more route, which ends the world's process."""
    folder = shutil.copytree(task.path, tmp_path_factory.mktemp("mortal") / task.path.name)
    server = folder / "environment/api/server.py"
    route = '\n    @get("/die")\n    def die(self, call):\n        import os\n        os._exit(9)\n'
    server.write_text(server.read_text(encoding="utf-8") + route, encoding="utf-8")
    made = read_task(folder)
    runtime.prepare([made])
    return made


@pytest.fixture(scope="module")
def small(task: Task, runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The same task on a machine whose memory is smaller than its disks, which are in memory too."""
    folder = shutil.copytree(task.path, tmp_path_factory.mktemp("small") / task.path.name)
    text = (folder / "task.toml").read_text(encoding="utf-8")
    (folder / "task.toml").write_text(text.replace("memory_mb = 1024", "memory_mb = 300"), encoding="utf-8")
    made = read_task(folder)
    assert made.file.environment.memory_mb == 300
    runtime.prepare([made])
    return made


@pytest.fixture(scope="module")
def untouched(task: Task) -> tuple[str, str]:
    """The trace hash of an episode in which nothing was asked, and of the oracle's."""
    from harness.agents.base import Budget, Report  # noqa: PLC0415
    from harness.agents.solutions import SolutionAgent  # noqa: PLC0415
    from harness.runtimes.base import EpisodeSpec  # noqa: PLC0415
    from harness.runtimes.inprocess import InProcessRuntime  # noqa: PLC0415

    hashes = []
    for agent in (NopAgent(), SolutionAgent()):
        with InProcessRuntime().open(EpisodeSpec("untouched", "e", task, 0)) as pod:
            agent.play(task, 0, pod, Budget(), Report("x"))
            hashes.append(read_log(pod.finish())[-1].hash)
    return hashes[0], hashes[1]


def verdict(outcome: Outcome) -> tuple[object, ...]:
    """What became of an episode, in one line."""
    result = outcome.result
    return result.status, result.cause, result.reward, result.failure_label if result.status == "graded" else result.error


NOTHING = ("graded", None, 0.0, "OTHER")
SUCCESS = ("graded", None, 1.0, "SUCCESS")
WORLD_DIED = ("graded", "world", 0.0, "OTHER")


def test_planted_files_are_worth_nothing(episode: Play, attacker: Any, untouched: tuple[str, str]) -> None:
    """Rewards, verdicts, logs, links, patched tools and start-up files everywhere: no reward, and no trace in the record."""
    outcome = episode(attacker([PLANT, PATCH]))

    assert verdict(outcome) == NOTHING
    assert outcome.result.failure_detail == {"reason": "pre_contract"}
    assert outcome.result.trace_hash == untouched[0]
    assert json.loads(outcome.files["reward.json"]) == {"reward": 0.0}
    assert set(outcome.files) <= {
        *("result.json", "reward.json", "verdict.json", "events.jsonl", "agent.log", "verifier.log", "trajectory.json")
    }


def test_planted_files_spoil_no_honest_play(episode: Play, attacker: Any, untouched: tuple[str, str]) -> None:
    """The oracle, played in the same `main` after all of that and after everything there was killed, leaves its usual trace."""
    agent = attacker([PLANT, PATCH, KILL, "echo still here"], oracle=True)

    outcome = episode(agent)

    assert agent.done[2].code == 137
    assert agent.output[3] == "still here\n"
    assert verdict(outcome) == SUCCESS
    assert outcome.result.trace_hash == untouched[1]


def test_forged_host_calls_are_stray(episode: Play, attacker: Any, log_of: Events) -> None:
    """Nobody without the token stops an episode or reads its instruction: such a route does not exist."""
    tokens = ["", "guess", "0" * 32, "null", "true", "*", "a%00"]
    asks = [f"curl -s -o /dev/null -w '%{{http_code}} ' -H 'X-Parley-Host: {t}' http://api:8080/instruction" for t in tokens]
    stop = '-X POST -d \'{"cause":"wall"}\' http://api:8080/stop'
    asks += [
        f"curl -s -o /dev/null -w '%{{http_code}} ' -H 'X-Parley-Host: {t}' {stop}"
        for t in ("guess", "x' -H 'X-Parley-Host: y")
    ]
    agent = attacker(["; ".join(asks)])

    outcome = episode(agent)

    assert agent.output == ["404 " * 9]
    assert verdict(outcome) == NOTHING
    assert outcome.result.failure_detail == {"reason": "gave_up"}
    assert [(e["type"], e.get("kind")) for e in log_of(outcome)] == [("opened", None)] + [("request", "stray")] * 9


def test_scripted_attack_over_the_command_line_agent(episode: Play, log_of: Events) -> None:
    """The scripted agent of `harness run` plants, posts garbage as lines of the log and hands in a reward, all in vain."""
    line = json.dumps({"type": "request", "kind": "goal", "seq": 1, "prev": GENESIS})
    agent = ScriptedAgent([
        {"run": "mkdir -p /logs/verifier; echo '{\"reward\": 1.0}' > /logs/verifier/reward.json"},
        {"request": {"method": "POST", "target": "/state/events.jsonl", "body": line}},
        {"request": {"method": "PUT", "target": "/logs/verifier/reward.json", "body": '{"reward": 1.0}'}},
        {"request": {"target": "/../../state/events.jsonl"}},
        {"submit": '{"reward": 1.0}'},
        {"submit": line},
    ])  # fmt: skip

    outcome = episode(agent)

    assert verdict(outcome) == ("graded", None, 0.0, "WRONG_VALUE")
    assert [e.get("kind") for e in log_of(outcome)] == [None, "stray", "stray", "stray", "violation"]


def test_http_storm_leaves_the_world_standing(episode: Play, attacker: Any, log_of: Events) -> None:
    """Garbage, giant heads and a body of 1 GB are bounded, ten thousand connections are let go, and the goal stays in reach."""
    agent = attacker(["timeout 90 python3 /tmp/http.py"], files={"/tmp/http.py": HTTP}, oracle=True, limit_s=100)

    outcome = episode(agent)

    assert agent.output[0].splitlines() == ["b'HTTP/1.1 400'", "b'HTTP/1.1 400'", "b'HTTP/1.1 413'"]
    assert [e.get("kind") for e in log_of(outcome)][:7] == [None, *["stray"] * 5, "ok"]
    assert verdict(outcome) == SUCCESS


def test_slow_connections_cost_their_owner_only(episode: Play, attacker: Any) -> None:
    """An agent that holds all the connections a world can have shuts itself out; host, log and verdict are not held up."""
    start = (
        "setsid python3 /tmp/slow.py > /dev/null 2>&1 & until test -s /tmp/slow; do /usr/bin/sleep 0.05; done; cat /tmp/slow"
    )
    asked: list[int] = []

    def ask(pod: Any) -> None:
        asked.append(pod.call(request("GET", "/clock")).status)
        pod.stop("wall")

    agent = attacker([start], files={"/tmp/slow.py": SLOW}, then=ask)

    outcome = episode(agent)

    assert int(agent.output[0]) > 500
    assert asked == [200]
    assert verdict(outcome) == NOTHING
    assert outcome.result.failure_detail == {"reason": "pre_contract"}


def test_port_of_the_world_cannot_be_shared(episode: Play, attacker: Any, untouched: tuple[str, str]) -> None:
    """A loop that binds the world's port by every means never gets it, and the oracle speaks to the world."""
    start = "setsid python3 /tmp/rebind.py > /dev/null 2>&1 & until test -e /tmp/tried; do /usr/bin/sleep 0.05; done"
    caught: list[bytes] = []
    agent = attacker(
        [start],
        files={"/tmp/rebind.py": REBIND},
        oracle=True,
        then=lambda pod: caught.append(pod.run(["bash", "-c", "ls /tmp/bound* 2> /dev/null"], timeout_s=9).output),
    )

    outcome = episode(agent)

    assert caught == [b""]
    assert verdict(outcome) == SUCCESS
    assert outcome.result.trace_hash == untouched[1]


def test_full_disks_are_its_own(episode: Play, attacker: Any) -> None:
    """Every place it can write to has a size; when all are full, commands still run and the world still answers."""
    fill = r"""
    for place in /workspace /tmp /dev/shm; do
        for n in $(seq 20); do head -c 100M /dev/zero > $place/big$n; done 2> /dev/null
        du -sm $place | cut -f1
    done
    python3 - << 'EOP'
import os
for place in ("/workspace", "/tmp", "/dev/shm"):
    try:
        os.truncate(place + "/big1", 0)
        for n in range(100_000):
            os.symlink("x", f"{place}/n{n}")
    except OSError:
        pass
EOP
    """
    agent = attacker(["df --output=size -m / > /dev/null", fill, "curl -s http://api:8080/clock; echo x > /tmp/x"], limit_s=100)

    outcome = episode(agent)

    sizes = [int(line) for line in agent.output[1].split()]
    assert len(sizes) == 3
    assert all(0 < size <= 260 for size in sizes)
    assert '"virtual_time"' in agent.output[2]
    assert verdict(outcome) == NOTHING


def test_fork_bomb_ends_with_its_pod(episode: Play, attacker: Any, log_of: Events) -> None:
    """A bomb whose every process has a session of its own is bounded, the episode counts, and the world answers throughout."""
    bomb = """
import os, select, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("/tmp/on", "w").close()
while True:
    try:
        os.fork() or os.setsid()
    except OSError:
        select.select([], [], [], 0.1)
"""
    start = "(setsid python3 /tmp/bomb.py > /dev/null 2>&1 &); until test -e /tmp/on; do :; done; echo started"
    asked: list[int] = []
    agent = attacker(
        [start, "echo again"],
        files={"/tmp/bomb.py": bomb},
        then=lambda pod: asked.append(pod.call(request("GET", "/task")).status),
    )

    outcome = episode(agent)

    assert agent.output[0] == "started\n"
    assert asked == [200]
    assert verdict(outcome) == NOTHING
    assert [e.get("kind") for e in log_of(outcome)] == [None, "ok"]
    assert subprocess.run(["true"], check=False).returncode == 0


def test_memory_hog_is_killed_inside(episode: Play, attacker: Any, untouched: tuple[str, str]) -> None:
    """A process that takes more than `main` has ends, nothing else does, and the oracle plays on."""
    hog = "python3 -c 'held = []\nwhile True: held.append(bytearray(b\"x\") * (64 << 20))'"
    agent = attacker([hog, "echo still here"], oracle=True)

    outcome = episode(agent)

    assert agent.done[0].code not in (0, None)
    assert agent.output[1] == "still here\n"
    assert verdict(outcome) == SUCCESS
    assert outcome.result.trace_hash == untouched[1]


def test_ending_its_own_machine_is_no_way_out(episode: Play, attacker: Any, small: Task) -> None:
    """Where full disks use up all memory, the agent's machine may end with them; the episode counts all the same."""
    fill = "for place in /workspace /tmp /dev/shm; do head -c 250M /dev/zero > $place/big; done"
    agent = attacker([fill, fill, "echo x"])

    outcome = episode(agent, played=small)

    assert len(agent.done) == 3
    assert verdict(outcome) == NOTHING


def test_flood_of_output_is_cut(episode: Play, attacker: Any) -> None:
    """100 MB of output are kept at their cap with the rest counted; what a detached child goes on writing is nobody's."""
    child = "setsid bash -c 'while :; do echo flood; done' & echo done"
    agent = attacker(
        ["head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2", child, "tr '\\0' '\\377' < /dev/zero | head -c 9999"]
    )

    outcome = episode(agent)

    assert (len(agent.done[0].output), agent.done[0].omitted) == (OUTPUT_CAP, 100_000_000 - OUTPUT_CAP)
    assert agent.done[1].code == 0
    assert len(agent.done[1].output) <= OUTPUT_CAP
    assert agent.done[2].output == b"\xff" * 9999
    assert verdict(outcome) == NOTHING
    assert len(outcome.files["agent.log"]) < 1 << 20


def test_nothing_acts_after_the_agent_is_done(episode: Play, attacker: Any, log_of: Events) -> None:
    """Processes that outlive their command are dead before the log is taken: it is whole, and nobody writes to it again."""
    loop = "while :; do curl -s -X POST -d '{\"seconds\": 0.001}' http://api:8080/clock/wait; done"
    start = f"for n in 1 2 3; do setsid nohup bash -c {json.dumps(loop)} > /dev/null 2>&1 & disown; done; trap '' TERM HUP INT"
    waited: list[int] = []

    def watch(pod: Any) -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until and not json.loads(pod.call(request("GET", "/clock")).body)["virtual_time"] > 0.01:
            pass
        waited.append(1)

    outcome = episode(attacker([start.replace("$", "\\$")], then=watch))

    events = log_of(outcome)
    assert waited == [1]
    assert len(events) > 10
    assert {e["type"] for e in events[1:]} == {"wait"}
    assert len(read_log(outcome.files["events.jsonl"])) == len(events)
    assert verdict(outcome) == NOTHING


def test_runner_under_attack_spoils_its_own_command(episode: Play, attacker: Any) -> None:
    """Whatever is said in the name of the runner, and when it is killed, the next command runs and the episode counts."""
    later: dict[str, bytes] = {}

    def attack(pod: Any) -> None:
        for name, forged in FORGED.items():
            pod.run(["python3", "/tmp/runner.py"], timeout_s=8, stdin=forged, virtual_time=False)
            later[name] = pod.run(["echo", "fine"], timeout_s=9, virtual_time=False).output

    outcome = episode(attacker([], files={"/tmp/runner.py": RUNNER}, then=attack))

    assert verdict(outcome) == NOTHING
    assert later == dict.fromkeys(FORGED, b"fine\n")


def test_runners_pipes_cannot_hold_the_harness(episode: Play, attacker: Any) -> None:
    """Whoever keeps, drips into or floods the pipes of a runner that is dead or stopped holds a command to its limit only."""
    spent: list[float] = []
    codes: set[int | None] = set()

    def hold(pod: Any) -> None:
        began = time.monotonic()
        with ThreadPoolExecutor() as pool:
            commands = [["python3", "/tmp/hold.py", how] for how in ("keep", "drip", "flood", "stop")]
            ended = pool.map(lambda command: pod.run(command, timeout_s=1, virtual_time=False), commands)
            codes.update(done.code for done in ended)
        spent.append(time.monotonic() - began)
        assert pod.run(["echo", "fine"], timeout_s=9, virtual_time=False).output == b"fine\n"

    outcome = episode(attacker([], files={"/tmp/hold.py": HOLD}, then=hold))

    assert verdict(outcome) == NOTHING
    assert codes <= {None, 137}
    assert spent[0] < 40


def test_clock_cannot_be_turned(episode: Play, attacker: Any, untouched: tuple[str, str]) -> None:
    """The clock file is read-only; a faked one, or other settings, change what its own programs read and nothing else."""
    turn = """
    date +%s; echo 0 > /run/parley/clock; rm -f /run/parley/clock; mv /run/parley/clock /tmp; ln -sf /tmp/x /run/parley/clock
    date -s '2000-01-01'; echo 0 > /tmp/clock; FAKETIME_TIMESTAMP_FILE=/tmp/clock date +%s; LD_PRELOAD= date +%s; date +%s
    """
    agent = attacker([turn], virtual_time=True, oracle=True)

    outcome = episode(agent)

    seen = [line for line in agent.output[0].splitlines() if line.isdecimal()]
    assert seen[0] == seen[-1]
    assert abs(int(seen[-2]) - time.time()) < 600
    assert verdict(outcome) == SUCCESS
    assert outcome.result.trace_hash == untouched[1]


def test_killing_the_world_is_no_way_out(episode: Play, attacker: Any, mortal: Task) -> None:
    """A world that died under its agent is graded 0 and blamed by name, also when the agent answers in its place."""
    start = "setsid python3 /tmp/stand.py > /dev/null 2>&1 & until test -e /tmp/up; do /usr/bin/sleep 0.05; done; curl -s http://api:8080/healthz"
    agent = attacker([start], files={"/tmp/stand.py": STAND_IN})

    outcome = episode(agent, played=mortal)

    assert agent.output == ['{"ok":true}']
    assert verdict(outcome) == WORLD_DIED
    assert "ended with 9" in (outcome.result.error or "")


def test_namespaces_of_its_own_give_it_nothing(episode: Play, attacker: Any, sentinel: Path) -> None:
    """Root in a namespace of its own, where the kernel lets it be one, has no network, no host files, and the same limits."""
    inside = f"ls {sentinel.parent} /root; tail -n +3 /proc/net/dev | cut -d: -f1; echo x > {sentinel}; mount --bind / /mnt"
    bomb = (
        "import os, signal\\nmade = []\\nfor _ in range(2000):\\n try: made.append(os.fork() or signal.pause())\\n"
        ' except OSError: print("full"); break\\nfor pid in made: os.kill(pid, 9)'
    )
    agent = attacker(
        [
            f"unshare -Urnmpf --mount-proc bash -c {json.dumps(inside)} 2> /dev/null; true",
            f"unshare -Ur timeout -s KILL 10 python3 -c $'{bomb}' 2> /dev/null | sort | uniq; true",
            "echo fine",
        ],
    )

    outcome = episode(agent)

    assert set(agent.output[0].split()) <= {"lo"}
    assert agent.output[1] in {"", "full\n"}
    assert agent.output[2] == "fine\n"
    assert verdict(outcome) == NOTHING


def test_reward_of_this_process_is_safe_from_hostile_bytes(episode: Play, attacker: Any, log_of: Events) -> None:
    """Control characters, terminal codes and half characters in commands and requests end as data in a whole record."""
    noise = r"printf '\033]0;owned\007\x80\xff\0\r\n{\"reward\": 1.0}\n</script>'; exit 3"
    ask = "curl -s -o /dev/null --path-as-is 'http://api:8080/%00%ff/..%2f..%2fstate/events.jsonl'"
    agent = attacker([noise, ask])

    outcome = episode(agent)

    assert agent.done[0].code == 3
    assert b"\x80\xff\0\r\n" in agent.done[0].output
    assert [e.get("kind") for e in log_of(outcome)] == [None, "stray"]
    assert verdict(outcome) == NOTHING
