"""Over a real socket the world answers the same bytes, and writes the same log, as in process."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest

from harness.agents.solutions import players
from harness.registry import Task
from worlds.core.bridge import Connection
from worlds.core.clock import VirtualClock
from worlds.core.errors import WorldError
from worlds.core.events import Requested, read_log
from worlds.core.loading import open_world, setup_variables
from worlds.core.serve import open_from_environment, write_clock
from worlds.core.testing import InProcess, client, world_in_process
from worlds.core.wire import MAX_BODY_BYTES, Transport, WireRequest

SERVE = """
import resource, sys
from pathlib import Path
from worlds.core.serve import open_from_environment, serve
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
serve(open_from_environment(Path.cwd()), port=int(sys.argv[1]), local=Path(sys.argv[2]))
"""


class Served:
    """A world in a process of its own, its state in a folder."""

    def __init__(self, port: int, state: Path) -> None:
        self.send = Connection(("127.0.0.1", port))
        self.bridge = Connection(("127.0.0.1", 1), state / "bridge")
        self.port, self.state = port, state

    def log(self) -> bytes:
        """The log file as it stands."""
        return (self.state / "events.jsonl").read_bytes()


@contextmanager
def served(folder: Path, state: Path) -> Iterator[Served]:
    """Start the server of a world on a free port, and kill it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {
        "PARLEY_STATE": str(state),
        "PARLEY_CLOCK_FILE": str(state / "clock"),
        "PARLEY_HOST_TOKEN": "a-host-token",
    }
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(port), str(state / "bridge")], cwd=folder, env=env)
    try:
        made = Served(port, state)
        wait_until_up(made.send)
        yield made
        made.send.close()
        made.bridge.close()
    finally:
        process.kill()
        process.wait()


def wait_until_up(send: Transport) -> None:
    """Ask until the server answers."""
    for _ in range(1000):
        try:
            send(WireRequest("GET", b"/healthz"))
            return
        except OSError:
            time.sleep(0.02)
    raise TimeoutError("the server never came up")


@pytest.fixture(scope="module")
def twins(presigned: Task, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, InProcess]]:
    """One episode behind a socket and one in process, both given the same requests in the same order."""
    folder = tmp_path_factory.mktemp("world") / "api"
    shutil.copytree(presigned.world_folder, folder)
    generous = json.loads((folder / "world.json").read_text()) | {"budgets": {"steps": 1999, "virtual_seconds": 100_000}}
    (folder / "world.json").write_text(json.dumps(generous))
    with served(folder, tmp_path_factory.mktemp("state")) as far:
        yield far, InProcess(open_world(folder, host_token="a-host-token"))


RAW = [
    "/api/resource/a%2fb", "/api/resource/a%2Fb", "/a?x&&y", "/a?x=", "/a?", "/a;b?c;d", "//", "//task", "/task//", "/a/./../b",
    '/"<>\\^`{|}~', "/?%zz%", "/%ff%00", "/+?+=+", "/a?b?c", "/" + "a" * 40_000,
]  # fmt: skip
REQUESTS = [
    *(WireRequest("GET", target.encode()) for target in RAW),
    WireRequest("GET", b"/task"),
    WireRequest("GET", b"/healthz"),
    WireRequest("GET", b"/clock"),
    WireRequest("HEAD", b"/task"),
    WireRequest("OPTIONS", b"/task"),
    WireRequest("CONNECT", b"/task"),
    WireRequest("DELETE", b"/task"),
    WireRequest("get", b"/task"),
    WireRequest("M-SEARCH", b"/task"),
    WireRequest("POST", b"/clock/wait", (), b'{"seconds":0.5}'),
    WireRequest("POST", b"/clock/wait", (), b"\x00\xff"),
    WireRequest("GET", b"/task", (("X-A", "\xe9"), ("x-a", ""), ("X-Parley-Host", "wrong")), b"a body"),
    WireRequest("GET", b"/instruction", (("X-Parley-Host", "a-host-token"),)),
    WireRequest("POST", b"/a", (), b"x" * MAX_BODY_BYTES),
    WireRequest("POST", b"/a", (), b"x" * (MAX_BODY_BYTES + 1)),
    WireRequest("POST", b"/a", (), b"x" * 9_000_000),
    WireRequest("GET", b"/api/precheck"),
]


@pytest.mark.parametrize("made", REQUESTS, ids=lambda made: f"{made.method} {made.target[:30].decode()} {len(made.body)}")
def test_same_answer_over_a_socket(twins: tuple[Served, InProcess], made: WireRequest) -> None:
    """Status, the whole header list in its order, and body are equal, and so is the chain."""
    far, near = twins
    expected, answer = near(made), far.send(made)

    assert expected == answer
    assert near.log.trace_hash == read_log(far.log())[-1].hash


@pytest.mark.parametrize(
    "raw", [b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", b"hello\r\n\r\n", b"GET /a\nb HTTP/1.1\r\nHost: x\r\n\r\n"]
)
def test_what_no_client_sends_never_reaches_the_app(twins: tuple[Served, InProcess], raw: bytes) -> None:
    """The server refuses a malformed request line by itself: no event."""
    far, _ = twins
    before = far.log()
    with socket.create_connection(("127.0.0.1", far.port), timeout=10) as link:
        link.sendall(raw)
        status = link.recv(65_536).split()[1]

    assert (b"400", before) == (status, far.log())


def test_oracle_over_a_socket(presigned: Task, tmp_path: Path) -> None:
    """The oracle leaves the same log, byte for byte, as in process; the clock's file shows virtual time."""
    near = world_in_process(presigned.world_folder)
    with served(presigned.world_folder, tmp_path) as far:
        for send in (near, far.send):
            with client(send) as api:
                players(presigned)["solve"][1](api, near.world.instruction, lambda seconds: None)
        clock = (tmp_path / "clock").read_text(encoding="ascii")

    assert near.log.dump() == far.log()
    assert (f"{near.world.clock.now.timestamp():.3f}\n", "goal") == (clock, kind(far.log()))


@contextmanager
def many_files() -> Iterator[None]:
    """This process may open as many files as it can."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


HALVES = [b"", b"GET /task HTTP/1.1\r\nHost: a\r\nX: ", b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"]


@pytest.mark.property
@pytest.mark.parametrize("said", HALVES, ids=["silent", "half a head", "half a body"])
def test_a_crowd_of_half_open_connections_locks_nobody_out(presigned: Task, tmp_path: Path, said: bytes) -> None:
    """With more connections than a world has files, each silent or half-way, a new one is answered, and so is the bridge."""
    with served(presigned.world_folder, tmp_path) as far, many_files(), ExitStack() as stack:
        asked = WireRequest("GET", b"/clock")
        expected = far.bridge(asked)
        for _ in range(1500):
            link = stack.enter_context(socket.create_connection(("127.0.0.1", far.port), timeout=10))
            link.sendall(said)
        fresh = stack.enter_context(closing(Connection(("127.0.0.1", far.port))))

        assert [fresh(asked).status, far.send(asked).status, far.bridge(asked).status] == [200] * 3
        assert expected.status == 200


@pytest.mark.property
def test_a_connection_in_use_outlives_idle_ones(presigned: Task, tmp_path: Path) -> None:
    """Whoever gets an answer now and then keeps its connection, however many others come."""
    with served(presigned.world_folder, tmp_path) as far, many_files(), ExitStack() as stack:
        used = stack.enter_context(closing(HTTPConnection("127.0.0.1", far.port, timeout=10)))
        used.connect()
        used.auto_open = 0
        for number in range(1500):
            stack.enter_context(socket.create_connection(("127.0.0.1", far.port), timeout=10))
            if number % 100 == 0:
                used.request("GET", "/clock")
                with used.getresponse() as answer:
                    assert (answer.status, answer.read()[:1]) == (200, b"{")


def kind(log: bytes) -> str:
    """The kind of the last event, which must be a request."""
    last = read_log(log)[-1]
    assert isinstance(last, Requested)
    return last.kind


def test_a_log_is_never_written_over(presigned: Task, tmp_path: Path) -> None:
    """A world whose log is there already does not start."""
    (tmp_path / "events.jsonl").write_bytes(b"evidence")
    with pytest.raises(FileExistsError):
        open_from_environment(presigned.world_folder, {"PARLEY_STATE": str(tmp_path)})

    assert (tmp_path / "events.jsonl").read_bytes() == b"evidence"


def test_the_environment_says_which_episode(presigned: Task, tmp_path: Path) -> None:
    """Seed, key, options and token come from the environment, and the token does not stay in it."""
    environ = {
        "PARLEY_STATE": str(tmp_path), "PARLEY_SEED": "3", "PARLEY_KEY": "held-out", "PARLEY_HOST_TOKEN": "t",
        "PARLEY_OPTIONS": '{"window_seconds":30}',
    }  # fmt: skip
    world = open_from_environment(presigned.world_folder, environ)

    assert (3, "held-out", "t", 30.0) == (
        world.setup.seed,
        world.setup.key,
        world.setup.host_token,
        world.knob("window_seconds"),
    )
    assert "PARLEY_HOST_TOKEN" not in environ
    assert not world.setup.open_turns
    assert world.log.dump() == (tmp_path / "events.jsonl").read_bytes()


@pytest.mark.parametrize(("said", "opened"), [("1", True), ("0", False), ("", False)])
def test_turns_are_opened_by_the_environment(presigned: Task, tmp_path: Path, said: str, opened: bool) -> None:
    """Only the one word opens them."""
    world = open_from_environment(presigned.world_folder, {"PARLEY_STATE": str(tmp_path), "PARLEY_OPEN_TURNS": said})

    assert world.setup.open_turns is opened


@pytest.mark.parametrize("seed", ["-1", "1.5", "x", "\u00b2"])
def test_seed_must_be_a_whole_number(seed: str) -> None:
    """A seed that is no whole number from 0 is refused."""
    with pytest.raises(WorldError, match=rf"^PARLEY_SEED must be a whole number from 0, not '{seed}'$"):
        setup_variables({"PARLEY_SEED": seed})


@pytest.mark.property
def test_clock_file(tmp_path: Path) -> None:
    """The file holds seconds since 1970 to the millisecond; nothing half-written stays beside it."""
    clock = VirtualClock(datetime(2031, 1, 1, tzinfo=UTC))
    clock.charge(61_999)
    write_clock(clock, tmp_path / "clock")

    assert ["clock"] == [path.name for path in tmp_path.iterdir()]
    assert (tmp_path / "clock").read_text(encoding="ascii") == "1924992061.999\n"
