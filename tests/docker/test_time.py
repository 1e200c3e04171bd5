"""Inside `main` every ordinary way to read the time shows the world's, and every ordinary wait moves it.

Real containers, built and locked down as an episode's are. The world is a stand-in that knows one route.
The base image is PARLEY_BASE, or the one that docker/bootstrap.sh makes.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from harness.paths import ROOT

pytestmark = pytest.mark.docker

BASE = os.environ.get("PARLEY_BASE", "parley/base:bookworm")
VIRTUAL = "/opt/parley/bin/virtual-time"
EPOCH = 2_030_512_089

WORLD = f"""
import http.server, json, math, os

elapsed_ms = 0

class Server(http.server.HTTPServer):
    request_queue_size = 128

class World(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self): self.answer(200)
    def do_POST(self):
        global elapsed_ms
        seconds = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["seconds"]
        if self.path != "/clock/wait" or not 0 < seconds <= 86400: return self.answer(400)
        elapsed_ms += math.ceil(round(seconds * 1000, 6))
        tell()
        self.answer(200)
    def answer(self, status):
        body = json.dumps({{"virtual_time": elapsed_ms / 1000}} if status == 200 else {{"error": "too long a wait"}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

def tell():
    with open("/run/parley/clock.new", "w") as beside: beside.write(f"{{{EPOCH} + elapsed_ms / 1000:.3f}}\\n")
    os.replace("/run/parley/clock.new", "/run/parley/clock")

tell()
Server(("127.0.0.1", 8080), World).serve_forever()
"""


class Ended(NamedTuple):
    """How a command in `main` ended, and how far it moved the world's clock."""

    code: int
    output: str
    moved: float
    real: float


class Pod:
    """A stand-in world and a `main`, in one network namespace."""

    def __init__(self, world: Any, main: Any) -> None:
        self.world = world
        self.main = main

    def elapsed(self) -> float:
        """The world's virtual time in seconds."""
        reply = self.world.exec_run(["curl", "-fsS", "http://api:8080/clock"]).output
        return float(json.loads(reply)["virtual_time"])

    def run(self, *command: str, under: tuple[str, ...] = (VIRTUAL,)) -> Ended:
        """Run a command in `main` as the agent does, on the world's clock unless `under` says otherwise."""
        before, began = self.elapsed(), time.monotonic()
        code, output = self.main.exec_run([*under, *command], user="agent")
        real = time.monotonic() - began
        return Ended(code, output.decode(), round(self.elapsed() - before, 6), real)

    def python(self, source: str, *options: str) -> Ended:
        """Run Python source in `main` on the world's clock."""
        return self.run("python3", *options, "-c", source)


def build_agent(client: Any) -> str:
    """Build the agent's image from docker/agent alone; its id."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        archive.add(ROOT / "docker" / "agent", "docker/agent")
    context.seek(0)
    image, _ = client.images.build(
        fileobj=context, custom_context=True, dockerfile="docker/agent/Dockerfile", buildargs={"BASE": BASE},
        tag="parley-test/agent", rm=True, forcerm=True,
    )  # fmt: skip
    return str(image.id)


@pytest.fixture(scope="module")
def pod() -> Iterator[Pod]:
    """A pod as the docker runtime makes one: no network, read-only roots, no capabilities."""
    # Not a plain import: to linters and type checkers `docker` is the folder of that name.
    client = import_module("docker").from_env()
    image = build_agent(client)
    locked: dict[str, Any] = {"detach": True, "init": True, "read_only": True, "cap_drop": ["ALL"]}
    locked["security_opt"] = ["no-new-privileges"]
    clock = client.volumes.create()
    world = client.containers.run(
        image, ["python3", "-c", WORLD], user="1001", network_mode="none", extra_hosts={"api": "127.0.0.1"},
        volumes={clock.name: {"bind": "/run/parley", "mode": "rw"}}, **locked,
    )  # fmt: skip
    main = client.containers.run(
        image, network_mode=f"container:{world.id}", volumes={clock.name: {"bind": "/run/parley", "mode": "ro"}},
        tmpfs={"/workspace": "size=16m,uid=1000,gid=1000", "/tmp": "size=16m"}, **locked,
    )  # fmt: skip
    try:
        wait_for_world(world)
        yield Pod(world, main)
    finally:
        main.remove(force=True)
        world.remove(force=True)
        clock.remove(force=True)
        client.close()


def wait_for_world(world: Any) -> None:
    """Return once the world answers; its log is the error."""
    deadline = time.monotonic() + 20
    while world.exec_run(["curl", "-fs", "http://api:8080/clock"]).exit_code:
        assert time.monotonic() < deadline, world.logs().decode()
        time.sleep(0.05)


READERS = {
    "date": ["date", "+%s"],
    "date in another zone": ["env", "TZ=America/New_York", "date", "+%s"],
    "bash variable": ["bash", "-c", "echo $EPOCHSECONDS"],
    "bash printf": ["bash", "-c", "printf '%(%s)T' -1"],
    "login shell": ["bash", "-lc", "date +%s"],
    "time.time": ["python3", "-c", "import time; print(int(time.time()))"],
    "datetime": ["python3", "-c", "import datetime as d; print(int(d.datetime.now(d.timezone.utc).timestamp()))"],
    "naive datetime": ["python3", "-c", "import datetime as d; print(int(d.datetime.now().timestamp()))"],
    "isolated python": ["python3", "-I", "-c", "import time; print(int(time.time()))"],
    "python without site": ["python3", "-S", "-c", "import time; print(int(time.time()))"],
}


@pytest.mark.parametrize("command", READERS.values(), ids=READERS.keys())
def test_every_reader_shows_the_worlds_time(pod: Pod, command: list[str]) -> None:
    """Shell, tools and Python in all its modes read what the world wrote, from the first command on."""
    expected = int(EPOCH + pod.elapsed())

    ended = pod.run(*command)

    assert (str(expected), 0) == (ended.output.strip(), ended.moved)


def test_milliseconds_are_kept(pod: Pod) -> None:
    """A quarter of a second is not lost between the world and `date`."""
    ended = pod.run("bash", "-c", "a=$(date +%s%3N); sleep 0.25; b=$(date +%s%3N); echo $((b - a))")

    assert ended.output.strip() == "250"


def test_a_background_command_keeps_the_worlds_time(pod: Pod) -> None:
    """A process that outlives the command that started it still reads the world's clock, bash included."""
    waits = "until [[ -e go ]]; do /usr/bin/sleep 0.05; done"
    pod.run("bash", "-c", f"setsid bash -c '{waits}; bash -c \"echo \\$EPOCHSECONDS\" > some; mv some late' >/dev/null 2>&1 &")
    pod.run("sleep", "1000")

    ended = pod.run("bash", "-c", "touch go; until [[ -e late ]]; do /usr/bin/sleep 0.05; done; cat late")

    assert str(int(EPOCH + pod.elapsed())) == ended.output.strip()


def test_sleep_moves_time_at_once(pod: Pod) -> None:
    """`sleep 300` costs 300 virtual seconds, and the next line of the script sees them."""
    ended = pod.run("bash", "-c", "a=$(date +%s); sleep 300; b=$(date +%s); echo $((b - a))")

    assert (ended.output.strip(), ended.moved) == ("300", 300)
    assert ended.real < 60


SPANS = {"1m 0.5s .25": 60.75, "0": 0, "0.0": 0, "0.5h": 1800, "1d": 86400, "2.": 2, "08": 8, "0.0001": 0.001, "1.5m 1": 91}


@pytest.mark.parametrize(("spans", "seconds"), SPANS.items())
def test_sleep_understands_gnu_spans(pod: Pod, spans: str, seconds: float) -> None:
    """Several spans add up, with suffixes and decimals, and a login shell finds the same `sleep`."""
    ended = pod.run("bash", "-lc", f"sleep {spans}")

    assert (0, "", seconds) == (ended.code, ended.output, ended.moved)


@pytest.mark.parametrize("spans", ["infinity", "999999999", "1e3", "-- 3"])
def test_other_spans_go_to_the_real_sleep(pod: Pod, spans: str) -> None:
    """What the shim does not understand waits for real and moves nothing."""
    ended = pod.run("bash", "-c", f"timeout 0.3 sleep {spans}")

    assert (ended.code, ended.moved) == (124, 0)


@pytest.mark.parametrize(
    ("spans", "words"), [("soon", "invalid time interval"), ("", "missing operand"), ("5 -1", "invalid option")]
)
def test_bad_spans_get_the_real_sleeps_words(pod: Pod, spans: str, words: str) -> None:
    """A mistake is reported by the sleep that everybody knows, and nothing moves."""
    ended = pod.run("bash", "-c", f"sleep {spans}")

    assert (ended.code, ended.moved) == (1, 0)
    assert words in ended.output


def test_a_refused_sleep_says_why(pod: Pod) -> None:
    """The world's own words reach the agent, and the exit code is 1."""
    ended = pod.run("sleep", "86401")

    assert ended[:3] == (1, 'sleep: the world refused: {"error": "too long a wait"}\n', 0)


def test_sleep_is_quick(pod: Pod) -> None:
    """Twenty sleeps of a minute take seconds."""
    ended = pod.run("bash", "-c", "for i in {1..20}; do sleep 60; done")

    assert ended.moved == 1200
    assert ended.real < 60


def test_a_monotonic_loop_costs_what_it_says(pod: Pod) -> None:
    """A loop on time.monotonic sleeps as often as on a real machine, however fast this one is."""
    source = "import time\nn, end = 0, time.monotonic() + 60\nwhile time.monotonic() < end: time.sleep(5); n += 1\nprint(n)"

    ended = pod.python(source)

    assert (ended.output.strip(), ended.moved) == ("12", 60)


@pytest.mark.parametrize("clock", ["monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns"])
def test_stopwatches_advance_by_what_was_slept(pod: Pod, clock: str) -> None:
    """Each of Python's stopwatches shows a sleep of 40 s as 40 s."""
    ended = pod.python(f"import time; a = time.{clock}(); time.sleep(40); print(time.{clock}() - a)")

    scale = 1e9 if clock.endswith("_ns") else 1
    assert pytest.approx(float(ended.output) / scale, abs=1) == 40


@pytest.mark.parametrize("options", [("-I",), ("-E",), ("-s",)])
def test_isolated_python_moves_time_too(pod: Pod, options: tuple[str, ...]) -> None:
    """The switch sits in the standard library's folder, out of the reach of Python's isolation options."""
    ended = pod.python("import time; time.sleep(7)", *options)

    assert (ended.code, ended.moved) == (0, 7)


def test_a_virtual_environment_moves_time_too(pod: Pod) -> None:
    """An environment the agent makes for itself shares the base's standard library, and so its time."""
    ended = pod.run("bash", "-c", "python3 -m venv --without-pip env && env/bin/python -c 'import time; time.sleep(7)'")

    assert ended[:3] == (0, "", 7)


def test_subprocess_timeouts_cost_nothing(pod: Pod) -> None:
    """Waiting for a real process with a timeout neither moves the clock nor ends early."""
    ended = pod.python("import subprocess; print(subprocess.run(['/usr/bin/sleep', '0.5'], timeout=10).returncode)")

    assert (ended.output.strip(), ended.moved) == ("0", 0)


def test_another_threads_sleep_expires_no_subprocess(pod: Pod) -> None:
    """A virtual sleep in one thread does not use up a real process's time limit in another."""
    source = """
import subprocess, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
print(subprocess.run(['/usr/bin/sleep', '0.5'], timeout=10).returncode)
"""
    ended = pod.python(source)

    assert (ended.output.strip(), ended.moved) == ("0", 300)


def test_multiprocessing_polls_cost_nothing(pod: Pod) -> None:
    """Pools and queues wait for real, and a sleep sent to another process moves the clock there."""
    source = """
import multiprocessing, queue, time
from concurrent.futures import ProcessPoolExecutor
try: multiprocessing.Queue().get(timeout=0.2)
except queue.Empty: pass
with ProcessPoolExecutor() as pool: pool.submit(time.sleep, 9).result()
"""
    ended = pod.python(source)

    assert ended[:3] == (0, "", 9)


def test_sleeping_threads_add_up(pod: Pod) -> None:
    """Eight threads that sleep ten seconds each move the world and the stopwatch by eighty."""
    source = """
import time
from concurrent.futures import ThreadPoolExecutor
began = time.monotonic()
with ThreadPoolExecutor(8) as pool: list(pool.map(time.sleep, [1] * 80))
print(round(time.monotonic() - began))
"""
    ended = pod.python(source)

    assert ended.moved == 80
    assert 80 <= int(ended.output) < 90


ODD_SLEEPS = """
import time
for odd in (-1, float("nan"), float("inf"), "x", None, 0, 0.0, False):
    try: print(time.sleep(odd))
    except Exception as error: print(type(error).__name__, error)
class Waiter:
    sleep = time.sleep
Waiter().sleep(0)
"""


def test_odd_sleeps_behave_as_ever(pod: Pod) -> None:
    """Negative, endless, zero and senseless sleeps do and say what Python's own sleep does."""
    expected = pod.run("python3", "-c", ODD_SLEEPS, under=())

    ended = pod.python(ODD_SLEEPS)

    assert expected[:3] == ended[:3]
    assert ended.code == 0


def test_a_refused_time_sleep_raises(pod: Pod) -> None:
    """A wait beyond the budget is an error in the program that asked for it."""
    ended = pod.python("import time; time.sleep(86401)")

    assert (ended.code, ended.moved) == (1, 0)
    assert 'RuntimeError: the world refused to wait 86401.0 s: {"error": "too long a wait"}' in ended.output


REAL_WAITS = {
    "timeout": "timeout 0.2 /usr/bin/sleep 9",
    "read -t": "read -t 0.2 < <(/usr/bin/sleep 1)",
    "asyncio": "python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0.2))'",
    "event": "python3 -c 'import threading; threading.Event().wait(0.2)'",
    "condition": "python3 -c 'import threading as t; c = t.Condition(); c.acquire(); c.wait(0.2)'",
    "select": "python3 -c 'import select; select.select([], [], [], 0.2)'",
}


@pytest.mark.parametrize("command", REAL_WAITS.values(), ids=REAL_WAITS.keys())
def test_other_waits_stay_real(pod: Pod, command: str) -> None:
    """A time limit lasts as long as it says on the machine's stopwatch, though the date stands still."""
    ended = pod.run("bash", "-c", command)

    assert ended.moved == 0
    assert 0.19 < ended.real < 30


def test_without_the_switch_nothing_changes(pod: Pod) -> None:
    """Agents that a harness installs in `main` keep their own clock, their sleeps and their Python."""
    source = "import time; print(type(time.sleep).__name__, type(time.monotonic).__name__)"

    assert abs(int(pod.run("date", "+%s", under=()).output) - time.time()) < 5
    assert pod.run("sleep", "0.2", under=()).moved == 0
    assert ("builtin_function_or_method " * 2).strip() == pod.run("python3", "-c", source, under=()).output.strip()
    assert pod.run("python3", "-c", "import time; time.sleep(0.1)", under=()).moved == 0


def test_main_stays_up_and_holds_no_secrets(pod: Pod) -> None:
    """The default command sleeps for ever; the agent is uid 1000, cannot set the clock and finds none of our code."""
    pod.main.reload()

    assert pod.main.status == "running"
    assert pod.run("id", "-u").output.strip() == "1000"
    assert pod.run("bash", "-c", "echo 0 > /run/parley/clock").code != 0
    assert pod.python("import worlds").code != 0
    assert pod.python("import httpx").code == 0


def test_harbors_first_process_sleeps(pod: Pod) -> None:
    """`sh -c "sleep infinity"` through PATH, with or without the switch, is a process that stays."""
    for under in ((), (VIRTUAL,)):
        assert pod.run("timeout", "0.3", "sh", "-c", "sleep infinity", under=under).code == 124
