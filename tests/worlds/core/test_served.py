"""The FastAPI application on a socket and the function in process are one world: the same bytes answered, the same log.

Each kind of world stands twice, in a process behind a socket and in this one, and both get the same requests in the same order:
raw targets, odd methods, doubled headers, long bodies, the play of the oracle, and that play with one request bent at a time.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from harness.agents.solutions import players
from harness.paths import ROOT
from harness.registry import Task, read_task
from harness.trust import admitted
from parley.proof.sync import new_task
from tests.worlds.core.ordinary_app import ASKED, FAULTS, shop_task
from tests.worlds.core.test_serve import RAW, Served, served
from worlds.core.errors import WireError
from worlds.core.events import read_log
from worlds.core.loading import load_world, open_world
from worlds.core.routes import find_handler, routes
from worlds.core.served import ServedWorld
from worlds.core.testing import InProcess, client, world_in_process
from worlds.core.wire import MAX_BODY_BYTES, WireRequest, WireResponse, check_sendable

pytestmark = pytest.mark.property

TASKS = ROOT / "tasks"
KINDS = ("contract/presigned-url-download", "contract/content-negotiation-chain", "calendar/*", "hidden-profile/*", "fastapi")
Twins = tuple[Served, InProcess, list[WireRequest]]


@pytest.fixture(scope="module", params=KINDS)
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """An episode behind a socket, the same one here, and requests that a right client sends."""
    if request.param == "fastapi":
        task = admitted(read_task(new_task(tmp_path_factory.mktemp("new"), "contract", "an-app", "fastapi")))
    else:
        task = read_task(min(TASKS.glob(request.param)))
    sent = played(task)
    folder = tmp_path_factory.mktemp("world") / "api"
    shutil.copytree(task.world_folder, folder)
    generous = json.loads((folder / "world.json").read_text()) | {"budgets": {"steps": 1999, "virtual_seconds": 1_000_000}}
    (folder / "world.json").write_text(json.dumps(generous))
    with served(folder, tmp_path_factory.mktemp("state")) as far:
        yield far, InProcess(open_world(folder, host_token="a-host-token")), sent


def played(task: Task) -> list[WireRequest]:
    """What the oracle sends at seed 0, but for the submission, which would end the episode."""
    world, sent = world_in_process(task.world_folder), []

    def transport(made: WireRequest) -> WireResponse:
        sent.append(made)
        return world(made)

    with client(transport) as api:
        players(task)["solve"][1](api, world.world.instruction, lambda seconds: None)
    return [made for made in sent if made.path != b"/submission"]


def agree(far: Served, near: InProcess, made: WireRequest) -> None:
    """Both answer the same bytes, headers in the same order, and have the same log."""
    expected, answer = near(made), far.send(made)
    last = json.loads(far.log().rsplit(b"\n", 2)[-2])

    assert expected == answer, made
    assert near.log.trace_hash == last["hash"], made


METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "Post", "M-SEARCH", "BREW")
HEADERS = (
    (("Authorization", "a"), ("authorization", "b")), (("X-Seed-Slice", ""), ("x-seed-slice", "\xe9\xff")),
    (("Expect-CT", "x"), ("X-HTTP-Method-Override", "DELETE")), (("X-Forwarded-Prefix", "/api"), ("X-Parley-Host", "wrong")),
    (("Content-Type", "application/json; charset=utf-16"),), (("Content-Encoding", "gzip"), ("Range", "bytes=0-1")),
    (("Accept", "text/html"), ("If-None-Match", "*"), ("X-Parley-Seat", "0" * 32)), (("Cookie", "a=b; a=c"), ("Cookie", "d")),
)  # fmt: skip
BODIES = (
    b"", b"{}", b"[]", b"null", b"\xff\xfe\x00", b'{"seconds":1e999}', b'{"a":NaN}', b"[" * 9999, b"a=b&a=c", b"\r\n\r\n",
    b"x" * MAX_BODY_BYTES, b"x" * (MAX_BODY_BYTES + 1),
)  # fmt: skip
TARGETS = (
    *RAW, "/docs", "/redoc", "/openapi.json", "/docs/", "/clock/", "/clock/wait/", "/clock%0A", "/CLOCK", "/healthz/..",
    "/session%0A", "/turns/", "/turns/a%2Fb", "/turns/a%0A", "/turns/1-0-1?no_reply=timeout", "/stop", "/instruction", "/?",
)  # fmt: skip


def bent(sent: list[WireRequest], draw: random.Random) -> WireRequest:
    """A request of a right client with one part of it exchanged."""
    made = draw.choice(sent) if sent else WireRequest("GET", b"/turns")
    place = draw.randrange(1, len(made.target) + 1)
    return draw.choice(
        (
            made._replace(method=draw.choice(METHODS)),
            made._replace(body=draw.choice(BODIES)),
            made._replace(headers=(*made.headers, *draw.choice(HEADERS))),
            made._replace(headers=draw.choice(HEADERS)),
            made._replace(target=made.target[:place] + draw.choice((b"", b"/", b"%0A", b"%2F", b"?a=b&a", b"//", b"%FF"))),
            made._replace(target=made.target[:place] + draw.choice((b"%0A", b"%0D", b"%00")) + made.target[place:]),
            made._replace(target=made.target[:place] + bytes(draw.choices(range(0x21, 0x7F), k=4)) + made.target[place:]),
            WireRequest(draw.choice(METHODS), draw.choice(TARGETS).encode(), draw.choice(HEADERS), draw.choice(BODIES)),
        )
    )


def sendable(made: WireRequest) -> bool:
    """Whether a client can put it on the wire."""
    try:
        check_sendable(made)
    except WireError:
        return False
    return True


@pytest.mark.parametrize("effort", [40, *(pytest.param(effort, marks=pytest.mark.property) for effort in (150, 600))])
def test_a_wide_set_of_requests(twins: Twins, effort: int) -> None:
    """The first half of right play, many bent requests, and the other half; the same ones in every run."""
    far, near, sent = twins
    draw = random.Random(effort)
    half = len(sent) // 2
    for made in (*sent[:half], *(WireRequest("GET", target.encode()) for target in TARGETS)):
        agree(far, near, made)
    for made in (bent(sent, draw) for _ in range(effort)):
        if sendable(made):
            agree(far, near, made)
    for made in sent[half:]:
        agree(far, near, made)

    assert near.log.dump() == far.log()
    assert near.app.referee.closed_by in (None, "submission", "game")


@contextmanager
def raw(far: Served, data: bytes) -> Iterator[socket.socket]:
    """Bytes on a socket of their own."""
    with socket.create_connection(("127.0.0.1", far.port), timeout=10) as link:
        link.sendall(data)
        yield link


def until(far: Served, before: bytes) -> None:
    """Ask until the log has grown."""
    for _ in range(2000):
        if far.log() != before:
            return
        far.send(WireRequest("GET", b"/clock"))
    raise TimeoutError("nothing was logged")


@pytest.mark.parametrize("target", ["/nowhere", "/clock", "/submissions", "/api/tickets"])
def test_a_body_that_breaks_off(twins: Twins, target: str) -> None:
    """A client that leaves in the middle of its body leaves the event that the function leaves for one."""
    far, near, _ = twins
    before = far.log()
    with raw(far, f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx".encode()):
        pass
    until(far, before)
    handler = find_handler(type(near.app.referee.world), "POST", target)
    near.app.serve(handler, WireRequest("POST", target.encode()), whole=False)

    assert near.log.trace_hash == read_log(far.log())[-1].hash


def test_a_head_that_breaks_off_is_no_request(twins: Twins) -> None:
    """Half a request line or half a head leaves no trace in either."""
    far, near, _ = twins
    before = far.log()
    for half in (b"GET /no", b"GET /nowhere HTTP/1.1\r\nHost: a\r\nX-A: "):
        with raw(far, half):
            pass
    agree(far, near, WireRequest("GET", b"/clock"))

    assert before == far.log()


def test_a_body_in_chunks(twins: Twins) -> None:
    """How a body was framed on the wire is in neither answer nor log."""
    far, near, _ = twins
    data = b"POST /nowhere HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1\r\n \r\n0\r\n\r\n"
    with raw(far, data) as link:
        status = link.recv(65_536).split()[1]
    answer = near(WireRequest("POST", b"/nowhere", (), b"{} "))

    assert int(status) == answer.status
    assert near.log.trace_hash == read_log(far.log())[-1].hash


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=() if fault == "/cancel" else pytest.mark.property) for fault in FAULTS]
)
def test_everything_that_an_app_can_do(fault: str, tmp_path: Path) -> None:
    """Each operation of an ordinary app is the same on a socket and in process, and so is a fault, which ends the episode."""
    task = shop_task(tmp_path)
    near = world_in_process(task.world_folder)
    with served(task.world_folder, tmp_path) as far:
        for made in (*ASKED, WireRequest("GET", fault.encode())):
            agree(far, near, made)


@pytest.mark.parametrize("folder", sorted(TASKS.glob("contract/*/environment/api"))[:6], ids=lambda path: path.parents[1].name)
def test_every_rule_is_a_route_of_a_fastapi_app(folder: Path) -> None:
    """The application has one route a rule, named and described as its author did, and no page of its own."""
    world = open_world(folder)
    app = ServedWorld(world)
    made = [route for route in app.routes if isinstance(route, APIRoute)]

    assert isinstance(app, FastAPI)
    assert [(route.path_regex, route.name) for route in made] == [(r.path, r.name) for r in routes(load_world(folder))]
    assert len(made) == len(app.routes)
    assert all(operation["description"] for path in app.openapi()["paths"].values() for operation in path.values())
