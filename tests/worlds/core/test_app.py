"""Every kind of request becomes the right event, and every response carries virtual time and nothing real."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.worlds.core.conftest import LONG, Bench, error, last
from worlds.core.calls import Call, get
from worlds.core.errors import ManifestError, WorldError
from worlds.core.events import Closed, Opened, Requested, read_log
from worlds.core.manifest import STANDARD
from worlds.core.seated import SeatedWorld
from worlds.core.served import ServedWorld, openapi
from worlds.core.testing import InProcess
from worlds.core.wire import WireRequest, request
from worlds.core.world import TIME_NOTE, World


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "kind"),
    [
        ("GET", "/ok?a=1", b"", 200, "ok"),
        ("PUT", "/late", b"", 200, "ok"),
        ("GET", "/challenge", b"", 428, "protocol"),
        ("GET", "/broken", b"", 403, "violation"),
        ("GET", "/busy", b"", 429, "violation"),
        ("POST", "/submission", b"wrong", 403, "violation"),
        ("POST", "/submission", b"unreadable", 400, "stray"),
        ("POST", "/submission", LONG, 413, "stray"),
        ("POST", "/echo", b"[]", 400, "stray"),
        ("POST", "/echo", b'{"a":"\\udfff"}', 400, "stray"),
        ("POST", "/echo", LONG, 413, "stray"),
        ("POST", "/turns/1-0-1", LONG, 413, "stray"),
        ("GET", "/nowhere", b"", 404, "stray"),
        ("GET", "/ok/", b"", 404, "stray"),
        ("GET", "//ok", b"", 404, "stray"),
        ("POST", "/ok", b"", 405, "stray"),
        ("HEAD", "/ok", b"", 405, "stray"),
        ("GET", "/clock/wait", b"", 405, "stray"),
        ("POST", "/clock", b"", 405, "stray"),
        ("get", "/ok", b"", 405, "stray"),
        ("GET", "/openapi.json", b"", 404, "stray"),
        ("GET", "/docs", b"", 404, "stray"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_one_event_of_the_right_kind(world: InProcess, method: str, target: str, body: bytes, status: int, kind: str) -> None:
    """A request that reaches the app is exactly one event, and its status is what the caller saw."""
    answer = world(request(method, target, body=body))

    assert (status, 2, status, kind) == (answer.status, len(world.events), last(world).status, last(world).kind)


def test_goal(world: InProcess) -> None:
    """The right submission is the goal."""
    secret = world.world.instruction.split("is ")[1][:8]
    answer = world(request("POST", "/submission", body=secret))

    assert (answer.status, last(world).kind, last(world).label) == (200, "goal", None)


def test_violation_is_logged_whole_and_told_in_part(world: InProcess) -> None:
    """The log has label, second label and detail; the caller gets the rule only."""
    answer, event = world(request("GET", "/broken")), last(world)

    assert answer.body == b'{"error":"the token is not as issued"}'
    assert (
        event.label, event.also, event.detail, event.rule,
    ) == ("MUTATED_TOKEN", "WRONG_VALUE", {"resource_id": "token"}, "the token is not as issued")  # fmt: skip


@pytest.mark.parametrize(("target", "name", "value"), [("/busy", "Retry-After", "3"), ("/challenge", "X-Challenge", "c")])
def test_refusals_carry_their_headers(world: InProcess, target: str, name: str, value: str) -> None:
    """A violation and a planned refusal can say how long to stay away."""
    assert value == world(request("GET", target)).header(name)


def test_event_holds_digests_of_the_raw_bytes(world: InProcess) -> None:
    """Target and body are in the log as SHA-256 of the bytes as sent, the path in the clear."""
    world(request("POST", "/%65cho?x=%2f", body='{"a": 1}'))
    event = last(world)

    assert ("/%65cho", hashlib.sha256(b"/%65cho?x=%2f").hexdigest(), hashlib.sha256(b'{"a": 1}').hexdigest()) == (
        event.path, event.target_sha256, event.body_sha256,
    )  # fmt: skip


def test_long_path_is_cut(world: InProcess) -> None:
    """A path is shown up to 200 characters."""
    world(request("GET", "/" + "a" * 500))

    assert last(world).path == "/" + "a" * 199 + "..."


def test_issued_and_used_artifacts_are_noted(world: InProcess) -> None:
    """What a response hands out and what a request uses stand in their own events only."""
    for target in ("/ok", "/use", "/challenge"):
        world(request("GET", target))
    issued = [(event.artifact, [made.artifact for made in event.issued]) for event in world.events[1:]]

    assert issued == [(None, ["token"]), ("token", []), (None, [])]


@pytest.mark.parametrize(
    ("target", "decoded"), [("/item/a%20b", b"a b"), ("/item/%C3%A9", "é".encode()), ("/item/%FF", "\ufffd".encode())]
)
def test_path_parameters_are_decoded(world: InProcess, target: str, decoded: bytes) -> None:
    """A handler gets decoded parameters beside the raw target."""
    assert decoded == world(request("GET", target)).body


@pytest.mark.parametrize("target", ["/fault", "/unsendable", "/unloggable"])
def test_fault(world: InProcess, target: str) -> None:
    """A rule that fails, or answers what cannot be sent or logged, is the world's fault: 500, and closed."""
    first, second = world(request("GET", target)), world(request("GET", "/ok"))

    assert ((500, "fault"), Closed, (409, "the episode is closed (fault)")) == (
        (first.status, world.events[1].kind), type(world.events[2]), (second.status, error(second)),
    )  # fmt: skip
    assert len(world.events) == 3
    read_log(world.log.dump())


@pytest.mark.parametrize(("target", "ms"), [("/ok", 1000), ("/item/x", 2500), ("/nowhere", 1000), ("/broken", 1000)])
def test_cost_is_charged_before_the_rule(world: InProcess, target: str, ms: int) -> None:
    """A request's event stands at the time after its cost, and `issued` counts from there."""
    world(request("GET", target))

    assert (ms, [ms]) == (last(world).vt, [made.issued_at for made in last(world).issued] or [ms])


@pytest.mark.parametrize("target", ["/clock", "/healthz", "/clock?x=1"])
def test_free_routes(world: InProcess, target: str) -> None:
    """The clock and the health check cost nothing and leave no trace."""
    answer = world(request("GET", target))

    assert (answer.status, len(world.events), world.world.now) == (200, 1, 0)


def test_clock_tells_the_time(world: InProcess) -> None:
    """GET /clock has seconds, date and instant."""
    world(request("GET", "/item/x"))
    told, clock = json.loads(world(request("GET", "/clock")).body), world.world.clock

    assert {"virtual_time": 2.5, "date": clock.http_date, "now": clock.now.isoformat()} == told


@pytest.mark.parametrize(
    "made",
    [
        WireRequest("GET", b"/ok"),
        WireRequest("GET", b"/nowhere"),
        WireRequest("POST", b"/ok"),
        WireRequest("GET", b"/broken"),
        WireRequest("GET", b"/fault"),
        WireRequest("POST", b"/echo", (), LONG),
        WireRequest("GET", b"/clock"),
        WireRequest("GET", b"/healthz"),
    ],
    ids=lambda made: f"{made.method} {made.target.decode()}",
)
def test_every_response_carries_virtual_time(world: InProcess, made: WireRequest) -> None:
    """Date and X-Virtual-Time come last, virtual, on errors too, and no server names itself."""
    answer, clock = world(made), world.world.clock
    names = [name for name, _ in answer.headers]

    assert (["content-type", "content-length", "date", "x-virtual-time"], clock.http_date, clock.seconds_text) == (
        names, answer.header("date"), answer.header("x-virtual-time"),
    )  # fmt: skip
    assert 2031 <= clock.now.year <= 2040


def test_head_has_no_body(world: InProcess) -> None:
    """The answer to HEAD is a head."""
    assert world(request("HEAD", "/clock")).body == b""


def test_instruction_ends_with_the_note_on_time(world: InProcess) -> None:
    """The rendered instruction ends with one paragraph on virtual time."""
    assert world.world.instruction.endswith(f".\n\n{TIME_NOTE}\n")


def test_opened_says_everything_that_shaped_the_episode(bench: Bench) -> None:
    """The first event has task, seed, options, budgets and the instruction."""
    opened = bench(seed=3, steps=7, virtual_seconds=1.5, overrides={"mode": "b"}).events[0]

    assert isinstance(opened, Opened)
    assert (
        opened.task_id, opened.seed, opened.budgets, opened.options,
    ) == ("bench", 3, {"steps": 7, "virtual_ms": 1500}, {**STANDARD, "mode": "b", "ttl": 5.0})  # fmt: skip


def test_seed_decides_everything(bench: Bench) -> None:
    """Equal seeds open with equal hashes, other seeds with others."""
    hashes = [bench(seed=seed).log.trace_hash for seed in (0, 0, 1)]

    assert hashes[0] == hashes[1] != hashes[2]


def test_template_with_an_unknown_variable(bench: Bench, bench_class: type[World]) -> None:
    """An instruction that cannot be rendered stops the world before it opens."""

    class Forgetful(bench_class):  # type: ignore[valid-type,misc]
        def facts(self) -> dict[str, Any]:
            return {}

    with pytest.raises(WorldError, match=r"instruction\.md\.j2: the instruction cannot be rendered: 'secret' is undefined$"):
        bench(cls=Forgetful)


def test_rule_with_an_unknown_cost(bench: Bench, bench_class: type[World]) -> None:
    """A rule whose cost task.toml does not name stops the app before it serves."""

    class Dear(bench_class):  # type: ignore[valid-type,misc]
        @get("/dear", cost="gold")
        def dear(self, call: Call) -> str:
            return ""

    with pytest.raises(ManifestError, match=r"^bench names no cost 'gold'; it has request, slow$"):
        bench(cls=Dear)


def test_overridden_rule_is_the_new_one(bench: Bench, bench_class: type[World]) -> None:
    """A subclass may declare a route anew: its cost and its handler count."""

    class Slower(bench_class):  # type: ignore[valid-type,misc]
        @get("/ok", cost="slow")
        def ok(self, call: Call) -> str:
            return "slower"

    world = bench(cls=Slower)

    assert (world(request("GET", "/ok")).body, world.world.now) == (b"slower", 2500)


def test_schema_names_what_rules_declare(world: InProcess) -> None:
    """Fuzzers see each route with its declared parameters and body."""
    paths = openapi(world.world)["paths"]

    assert [parameter["name"] for parameter in paths["/ok"]["get"]["parameters"]] == ["a", "b"]
    assert (paths["/item/{name}"]["get"]["parameters"][0]["name"], "requestBody" in paths["/echo"]["post"]) == ("name", True)


def leave(world: InProcess, path: str) -> None:
    """Ask over ASGI, and leave in the middle of the body."""

    async def receive() -> dict[str, object]:
        return parts.pop(0)

    async def send(_: object) -> None:
        """Nobody listens."""

    parts: list[dict[str, object]] = [
        {"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"},
    ]  # fmt: skip
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": []}
    anyio.run(ServedWorld(world.world), scope, receive, send)


def test_request_that_breaks_off_is_an_event(world: InProcess) -> None:
    """A client that leaves in the middle of its body has still asked."""
    leave(world, "/echo")

    assert (last(world).kind, last(world).rule, last(world).status) == ("stray", "the body ended early", 400)
    assert world.world.now == 1000


def test_answer_that_breaks_off_is_none(auction: Callable[[], InProcess]) -> None:
    """A turn whose answer did not arrive whole is still open, and nothing is logged."""
    game = auction()
    before = len(game.events)
    leave(game, "/turns/1-0-1")

    assert len(game.events) == before
    assert isinstance(game.world, SeatedWorld)
    assert game.world.turns.seat_of("1-0-1") == 0


@pytest.mark.parametrize(("token", "status"), [(None, 200), ("host", 404)])
def test_instruction_is_open_where_there_is_no_host(auction: Bench, token: str | None, status: int) -> None:
    """Under Harbor a solution reads its seed's instruction from the world, free of charge; elsewhere the host hands it in."""
    world = auction(host_token=token)
    answer = world(request("GET", "/instruction"))

    assert answer.status == status
    assert (answer.body.decode() == world.world.instruction) is (token is None)
    assert [event.kind for event in world.events if isinstance(event, Requested)] == ([] if token is None else ["stray"])
