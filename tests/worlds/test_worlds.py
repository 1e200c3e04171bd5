"""No input breaks a world: whatever arrives, it answers below 500, and its log stays whole, one event a request.

Three ways in, over every task folder there is: what the app's own schema allows (schemathesis), the oracle's play with one
request bent, and raw garbage. Examples are derandomized, so a run is the same run every time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.agents.solutions import players
from harness.paths import ROOT
from harness.registry import Task, read_task
from worlds.core.errors import WireError
from worlds.core.events import read_log
from worlds.core.loading import open_world
from worlds.core.served import openapi
from worlds.core.testing import InProcess, client, world_in_process
from worlds.core.wire import MAX_BODY_BYTES, WireRequest, WireResponse, check_sendable

pytestmark = pytest.mark.property

TASKS = sorted(path.parents[1] for path in (ROOT / "tasks").glob("*/*/environment/api") if (path / "server.py").exists())
TASKS = [path for path in TASKS if (path / "environment/api/world.json").exists()]
FREE = {("GET", b"/clock"), ("GET", b"/healthz")}
EXAMPLES = 60
"""Of each kind, over all tasks together, so that a new task makes the suite no slower; `make proof` has 50 times as many."""

each_task = pytest.mark.parametrize("folder", TASKS, ids=lambda folder: folder.name)
each_effort = pytest.mark.parametrize("effort", [1, pytest.param(50, marks=pytest.mark.proof)])


def bounded(effort: int) -> settings:
    """Every run draws the same examples."""
    share = max(3, EXAMPLES * effort // len(TASKS))
    return settings(
        max_examples=share, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        print_blob=False,
    )  # fmt: skip


def fresh(folder: Path, seed: int = 0) -> InProcess:
    """A new episode."""
    return world_in_process(folder / "environment" / "api", seed=seed)


def send(world: InProcess, made: WireRequest) -> None:
    """Send one request and check what must hold after any; one that no client can send is left out."""
    try:
        check_sendable(made)
    except WireError:
        return
    referee, before = world.app.referee, len(world.events)
    expected = 0 if referee.closed_by is not None or (made.method, made.path) in FREE else 1
    answer: WireResponse = world(made)

    faults = [event.rule for event in world.events[before:] if getattr(event, "kind", "") == "fault"]

    assert faults == [], made
    assert answer.status < 500 or world.events[-1].kind in ("protocol", "violation"), (made, answer)
    assert expected == len(world.events) - before, made
    assert answer.header("x-virtual-time") == world.world.clock.seconds_text


def check_play(world: InProcess, sent: Sequence[WireRequest]) -> None:
    """Send all, then read the log as a verifier would."""
    for made in sent:
        send(world, made)

    assert world.events == read_log(world.log.dump())


@cache
def operations(folder: Path) -> st.SearchStrategy[Any]:
    """Requests that the app's own schema allows."""
    import schemathesis  # noqa: PLC0415 - a second, of which each collection of the tests would be longer

    schema = schemathesis.openapi.from_dict(openapi(open_world(folder / "environment" / "api")))
    return st.one_of([found.ok().as_strategy() for found in schema.get_all_operations()])


def wire(case: Any) -> WireRequest:
    """A schemathesis case as a raw request."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="http://api:8080")).prepare()
    body = prepared.body or b""
    kept = [(k, v) for k, v in prepared.headers.items() if k.lower() not in {"content-length", "transfer-encoding", "host"}]
    return WireRequest(
        str(prepared.method), prepared.path_url.encode(), tuple((_text(k), _text(v)) for k, v in kept),
        body if isinstance(body, bytes) else str(body).encode(),
    )  # fmt: skip


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


@each_task
@each_effort
def test_what_the_schema_allows(folder: Path, effort: int) -> None:
    """Runs of requests that schemathesis makes from the app's schema."""

    @bounded(effort)
    @given(st.lists(operations(folder).map(wire), min_size=1, max_size=8))
    def run(sent: list[WireRequest]) -> None:
        check_play(fresh(folder), sent)

    run()


@cache
def recorded(folder: Path) -> tuple[WireRequest, ...]:
    """The oracle's requests at seed 0, waits included."""
    task: Task = read_task(folder)
    world, sent = fresh(folder), []

    def transport(made: WireRequest) -> WireResponse:
        sent.append(made)
        return world(made)

    with client(transport) as api:
        players(task)["solve"][1](
            api, world.world.instruction, lambda seconds: api.post("/clock/wait", json={"seconds": seconds}) and None
        )
    return tuple(sent)


JUNK = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**400, 1e308, "", " ", "\x00", "é", "%", "a" * 5000, [], [[]], {}, {"a": {"b": []}}, ["a", 1]]
)
VALUES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_categories=["Cc"]), max_size=20)
BODIES = st.binary(max_size=30) | st.sampled_from(
    [b"[]", b"{}", b"null", b'{"a":NaN}', b"[" * 9999, b"\xff\xfe", b'{"\\ud800":"\\ud800"}', b"x" * (MAX_BODY_BYTES + 1)]
)
TEXTS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#"), max_size=30)


def bent_json(made: WireRequest, data: st.DataObject) -> WireRequest:
    """One value of a JSON body replaced, left out, or a key added."""
    try:
        value = json.loads(made.body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return made._replace(body=data.draw(BODIES))
    key = data.draw(st.sampled_from([*value, "extra"]))
    junk = data.draw(JUNK)
    changed = {**value, key: junk} if data.draw(st.booleans()) else {k: v for k, v in value.items() if k != key}
    return made._replace(body=json.dumps(changed).encode())


def bent_headers(made: WireRequest, data: st.DataObject) -> WireRequest:
    """One header left out, emptied, doubled, or replaced."""
    if not made.headers:
        return made.with_header("Authorization", data.draw(VALUES))
    place, value = data.draw(st.integers(0, len(made.headers) - 1)), data.draw(VALUES)
    name, old = made.headers[place]
    others = made.headers[:place] + made.headers[place + 1 :]
    return made._replace(
        headers=data.draw(st.sampled_from([others, (*others, (name, value)), (*made.headers, (name, old + value))]))
    )


def bent_target(made: WireRequest, data: st.DataObject) -> WireRequest:
    """The target cut, grown, or with a piece in its middle replaced."""
    text, place = data.draw(TEXTS).encode(), data.draw(st.integers(1, len(made.target)))
    return made._replace(
        target=data.draw(st.sampled_from([made.target[:place], made.target + text, made.target[:place] + text]))
    )


@each_task
@each_effort
def test_the_oracles_play_with_one_request_bent(folder: Path, effort: int) -> None:
    """Deep states are reached, too: the oracle's own requests, one of them changed, left out, doubled or out of order."""

    @bounded(effort)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        sent = list(recorded(folder))
        place = data.draw(st.integers(0, len(sent) - 1))
        bend = data.draw(st.sampled_from([bent_json, bent_headers, bent_target, None]))
        if bend is not None:
            sent[place] = bend(sent[place], data)
        other = data.draw(st.integers(0, len(sent) - 1))
        sent = data.draw(
            st.sampled_from([sent, sent[:place] + sent[place + 1 :], [*sent[: other + 1], sent[place], *sent[other:]]])
        )
        check_play(fresh(folder), sent)

    run()


@each_task
@each_effort
def test_raw_garbage(folder: Path, effort: int) -> None:
    """Any method, target, headers and body that can be put on the wire."""
    targets = TEXTS | st.sampled_from(
        sorted({made.target.decode() for made in recorded(folder)} | {"clock/wait", "submission", "stop"})
    )
    garbage = st.builds(
        WireRequest,
        st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW", "get"]),
        targets.map(lambda text: b"/" + text.lstrip("/").encode()),
        st.lists(
            st.tuples(st.sampled_from(["X-A", "Accept", "Authorization", "X-Parley-Host", "Cookie"]), VALUES), max_size=3
        ).map(tuple),
        BODIES,
    )

    @bounded(effort)
    @given(st.lists(garbage, min_size=1, max_size=12))
    def run(sent: list[WireRequest]) -> None:
        check_play(fresh(folder), sent)

    run()


@each_task
@pytest.mark.parametrize("seed", range(3))
def test_oracle_is_no_garbage(folder: Path, seed: int) -> None:
    """The invariants hold for right play, at other seeds too, or they would say nothing."""
    world = fresh(folder, seed)
    check_play(world, recorded(folder))

    assert len(world.events) > 1
