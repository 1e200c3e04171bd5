"""An ordinary FastAPI app is a world: what its operations do is stamped, charged, judged and logged like any rule."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.worlds.core.ordinary_app import ASKED, FAULTS, JSON, ORDER, SERVER
from worlds.core.errors import ManifestError, WorldError
from worlds.core.events import Requested, read_log
from worlds.core.loading import load_world
from worlds.core.manifest import Budgets, Manifest
from worlds.core.served import openapi
from worlds.core.testing import InProcess, world_in_process
from worlds.core.wire import WireRequest, request

Brought = Callable[[str], Path]


@pytest.fixture
def brought(tmp_path: Path) -> Brought:
    """Writes a world's folder around a server.py."""
    manifest = Manifest(
        task_id="shop", family="contract", budgets=Budgets(steps=500, virtual_seconds=5000), costs={"request": 1, "slow": 2.5}
    )
    (tmp_path / "world.json").write_text(manifest.to_json(), encoding="utf-8")
    (tmp_path / "instruction.md.j2").write_text("The price is {{ price }}.\n", encoding="utf-8")

    def write(source: str) -> Path:
        (tmp_path / "server.py").write_text(source, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def shop(brought: Brought) -> InProcess:
    """An episode of the shop."""
    return world_in_process(brought(SERVER))


def last(world: InProcess) -> Requested:
    """The last event, which must be a request."""
    event = world.events[-1]
    assert isinstance(event, Requested)
    return event


@pytest.mark.parametrize(
    ("made", "status", "kind", "body"),
    [
        (request("GET", "/coin"), 200, "ok", None),
        (request("POST", "/orders", headers=JSON, body=ORDER), 201, "ok", ORDER),
        (request("GET", "/greeting?times=2", headers={"X-Name": "A"}), 200, "ok", b'"Hello AHello A"'),
        (request("GET", "/shelf/a%20b/c"), 200, "ok", b'{"name":"a b/c"}'),
        (request("GET", "/stream"), 200, "ok", b"one two"),
        (request("GET", "/teapot"), 418, "protocol", b"short and stout"),
        (request("GET", "/later"), 503, "protocol", b'{"error":"come back later"}'),
        (request("GET", "/broken"), 403, "violation", b'{"error":"this is forbidden"}'),
        (request("GET", "/odd"), 400, "stray", b'{"error":"it must be even"}'),
        (request("POST", "/price"), 405, "stray", b'{"error":"this route has another method"}'),
        (request("GET", "/price/"), 404, "stray", b'{"error":"there is no such route"}'),
        (request("GET", "/openapi.json"), 404, "stray", None),
        (request("GET", "/docs"), 404, "stray", None),
        (request("GET", "/redoc"), 404, "stray", None),
        (request("GET", "/docs/oauth2-redirect"), 404, "stray", None),
        (request("POST", "/submission", body="wrong"), 403, "violation", None),
    ],
    ids=lambda value: f"{value.method} {value.target.decode()}" if isinstance(value, WireRequest) else None,
)
def test_one_event_of_the_right_kind(shop: InProcess, made: WireRequest, status: int, kind: str, body: bytes | None) -> None:
    """Whatever an operation does, it is one event, and what the caller saw stands in it."""
    answer = shop(made)

    assert (status, 2, status, kind) == (answer.status, len(shop.events), last(shop).status, last(shop).kind)
    assert answer.body == body or body is None
    assert [name for name, _ in answer.headers][-2:] == ["date", "x-virtual-time"]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (request("POST", "/orders", headers=JSON), "body is missing"),
        (request("POST", "/orders", headers=JSON, body=b'{"count":1}'), "body item is missing"),
        (
            request("POST", "/orders", headers=JSON, body=b'{"item":"cup","count":0}'),
            "body count is not as declared (greater_than)",
        ),
        (
            request("POST", "/orders", headers=JSON, body=b'{"item":"x","count":1}'),
            "body item is not as declared (literal_error)",
        ),
        (request("POST", "/orders", body=ORDER), "body is not as declared (model_attributes_type)"),
        (request("GET", "/greeting"), "header x-name is missing"),
        (
            request("GET", "/greeting?times=many", headers={"X-Name": "A"}),
            "query times is not as declared (int_parsing)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_validation_refuses_is_stray(shop: InProcess, made: WireRequest, why: str) -> None:
    """A request that does not fit its declaration is charged and logged, and the rule is named, not the value."""
    answer = shop(made)

    assert (422, "stray", why, json.dumps({"error": why}, separators=(",", ":")).encode()) == (
        answer.status, last(shop).kind, last(shop).rule, answer.body,
    )  # fmt: skip


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"item":"cup","count":NaN}', b'{"item":"\\ud800","count":1}', b"[" * 9999])
def test_bodies_that_are_no_json(shop: InProcess, body: bytes) -> None:
    """A body that could not be logged or sent back never gets as far as the app."""
    answer = shop(request("POST", "/orders", headers=JSON, body=body))

    assert (400, "stray", "the body must be JSON") == (answer.status, last(shop).kind, last(shop).rule)


def test_violation_is_logged_whole(shop: InProcess) -> None:
    """A Violation out of an operation has label and detail in the log, and its headers in the answer."""
    answer = shop(request("GET", "/broken"))

    assert ("WRONG_VALUE", {"field": "all"}, "rule") == (last(shop).label, last(shop).detail, answer.header("x-why"))


def test_headers_come_through(shop: InProcess) -> None:
    """Headers of a response, and of a planned refusal, reach the caller."""
    assert ("3", "3") == (
        shop(request("GET", "/later")).header("retry-after"),
        shop(request("GET", "/shelf/a")).header("x-shelf"),
    )


def test_costs_and_the_clock(shop: InProcess) -> None:
    """An operation costs what it says, before it runs, and sees virtual time."""
    shop(request("GET", "/greeting", headers={"X-Name": "A"}))
    told = json.loads(shop(request("GET", "/price")).body)

    assert ("3.500", 3500) == (told["at"], last(shop).vt)


def test_cleaning_up_and_background_tasks_belong_to_the_request(shop: InProcess) -> None:
    """What a dependency does after the answer, and what was put off, is done before the next request."""
    sold = []
    for made in (request("POST", "/orders", headers=JSON, body=ORDER), request("GET", "/stream")):
        shop(made)
        sold.append(vars(shop.world)["sold"])

    assert sold == [1, 50]


def test_an_answer_without_a_body_has_none(shop: InProcess) -> None:
    """A body that a server would never send is not there in process either."""
    answer = shop(request("GET", "/empty"))

    assert (204, b"", None) == (answer.status, answer.body, answer.header("content-length"))


@pytest.mark.parametrize(
    ("target", "name"), list(zip(FAULTS, ("RealWait", "KeyError", "WorldError", "WireError"), strict=True))
)
def test_faults(shop: InProcess, target: str, name: str) -> None:
    """An operation that waits for real time, fails, or answers with what is no header is the world's fault."""
    answer = shop(request("GET", target))

    assert (500, b'{"error":"the world failed"}') == (answer.status, answer.body)
    assert [getattr(event, "rule", None) for event in shop.events[1:]] == [name, None]
    read_log(shop.log.dump())


def test_episodes_share_nothing(brought: Brought) -> None:
    """What one episode leaves at the top of the module, the next does not see, nor does one beside it."""
    folder = brought(SERVER)
    first, second = world_in_process(folder), world_in_process(folder)
    answers = [world(request("GET", f"/seen/{name}")).body for world, name in ((first, "a"), (second, "b"), (first, "c"))]

    assert answers == [b'["a"]', b'["b"]', b'["a","c"]']


def test_same_answers_inside_an_event_loop(brought: Brought) -> None:
    """Where a server's loop runs in this thread, every operation answers and is logged as where none does."""
    folder = brought(SERVER)
    near, far = world_in_process(folder), world_in_process(folder)

    async def inside() -> list[object]:
        return [far(made) for made in ASKED]

    assert [near(made) for made in ASKED] == asyncio.run(inside())
    assert near.log.dump() == far.log.dump()


@pytest.mark.property
def test_apps_are_built_one_after_the_other(brought: Brought) -> None:
    """FastAPI mutes a warning for the whole process while it builds a route; openings side by side must not trip over it."""
    folder, before = brought(SERVER), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda seed: world_in_process(folder, seed=seed), range(40)))
    finally:
        sys.setswitchinterval(before)

    assert len({id(one.world) for one in opened}) == 40


def test_episodes_in_threads(brought: Brought) -> None:
    """Episodes that are opened and played at once leave one and the same log."""
    folder, logs = brought(SERVER), []

    def play() -> None:
        world = world_in_process(folder)
        for _ in range(5):
            world(request("POST", "/orders", headers=JSON, body=ORDER))
        logs.append(world.log.dump())

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (4, 1) == (len(logs), len(set(logs)))


def test_a_router_alone_will_do(brought: Brought) -> None:
    """A module with a router and no app is a world as well."""
    alone = SERVER.replace("app = FastAPI()", "other = APIRouter()").replace("@app.", "@other.")
    alone = alone.replace("app.include_router(router)\n", "")

    assert world_in_process(brought(alone))(request("GET", "/shelf/a")).body == b'{"name":"a"}'


@pytest.mark.property
def test_openapi_describes_the_operations(shop: InProcess) -> None:
    """Contributors see the app's own parameters and models, and the routes that every world has."""
    document = openapi(shop.world)

    assert {"/orders", "/shelf/{name}", "/submission", "/clock"} <= set(document["paths"])
    assert document["paths"]["/greeting"]["get"]["parameters"][0]["name"] == "times"
    assert "Order" in document["components"]["schemas"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("app.add_middleware(Middle)", "the app has middleware"),
        ("app.mount('/files', APIRouter())", "Mount /files is no path operation"),
        ("app.websocket('/ws')(seen)", "APIWebSocketRoute /ws is no path operation"),
        ("app.get('/clock')(seen_all)", "GET /clock stands before GET /clock, which every world has"),
        ("app.post('/{rest:path}')(seen_all)", "POST /{rest:path} stands before POST /turns/{turn}, which every world has"),
        ("app.exception_handler(Violation)(seen_all)", "the app handles Violation, which is the referee's to judge"),
        ("app.exception_handler(BaseException)(seen_all)", "the app handles BaseException"),
        ("app.router.add_event_handler('startup', seen_all)", "the app has something to do at its start or end"),
    ],
)
def test_what_would_never_run_is_refused(brought: Brought, more: str, why: str) -> None:
    """Parts of an app that a world could not honour stop it when it is loaded."""
    extra = '''

class Middle:
    """Stands between."""


def seen_all() -> None:
    """Sees all."""


'''
    folder = brought(SERVER + extra + more + "\n")

    with pytest.raises(WorldError) as raised:
        load_world(folder)

    assert str(raised.value).startswith(f"{folder / 'server.py'}: {why}")


def test_an_unknown_cost(brought: Brought) -> None:
    """An operation whose cost task.toml does not name stops the world before it serves."""
    with pytest.raises(ManifestError, match=r"^shop names no cost 'gold'; it has request, slow$"):
        world_in_process(brought(SERVER.replace('cost("slow")', 'cost("gold")')))
