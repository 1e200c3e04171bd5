"""Waits, budgets, caps, the last act, and what only the host may do."""

from __future__ import annotations

import json

import pytest

from tests.worlds.core.conftest import LONG, TOKEN, Bench, error, last
from worlds.core.events import Closed, Opened, Requested, Stopped, Waited
from worlds.core.testing import InProcess
from worlds.core.wire import HOST_HEADER, request


@pytest.mark.parametrize(("seconds", "ms"), [("1", 1000), ("0.0005", 1), ("1e-10", 1), ("2.5", 2500), ("100000", 100_000_000)])
def test_wait(world: InProcess, seconds: str, ms: int) -> None:
    """A wait is one event, costs exactly itself, rounded up to the millisecond."""
    answer = world(request("POST", "/clock/wait", body=f'{{"seconds":{seconds}}}'))
    event = world.events[-1]

    assert isinstance(event, Waited)
    assert (200, ms, ms, 2) == (answer.status, event.ms, event.vt, len(world.events))


@pytest.mark.parametrize(
    "seconds", ["0", "-1", "100000.5", "true", '"1"', "null", "[]", "1e400", "NaN", "9" * 5000, "10" * 400]
)
def test_bad_wait(world: InProcess, seconds: str) -> None:
    """A wait that is no number in range is a stray request: it costs one request and waits nothing."""
    answer = world(request("POST", "/clock/wait", body=f'{{"seconds":{seconds}}}'))

    assert (answer.status, last(world).kind, world.world.now) == (400, "stray", 1000)


def test_wait_is_no_step(bench: Bench) -> None:
    """Waits do not use up steps."""
    world = bench(steps=1)
    waits = [world(request("POST", "/clock/wait", body='{"seconds":1}')).status for _ in range(5)]

    assert (waits, world(request("GET", "/ok")).status) == ([200] * 5, 200)


def test_step_budget(bench: Bench) -> None:
    """The request after the last step closes the episode with one event, and is not judged."""
    world = bench(steps=2)
    answers = [world(request("GET", "/ok")) for _ in range(5)]

    assert [answer.status for answer in answers] == [200, 200, 403, 403, 403]
    assert ([Opened, Requested, Requested, Closed], "steps") == ([type(e) for e in world.events], world.events[-1].cause)
    assert error(answers[-1]) == "the budget of 2 steps is used up"


@pytest.mark.parametrize(("budget", "served"), [(2.0, 2), (1.999, 1), (0.5, 0)])
def test_time_budget(bench: Bench, budget: float, served: int) -> None:
    """A request may end exactly at the limit, and not a millisecond after it."""
    world = bench(virtual_seconds=budget)
    answers = [world(request("GET", "/ok")) for _ in range(4)]

    assert served == sum(answer.status == 200 for answer in answers)
    assert (world.events[-1].cause, error(answers[-1])) == ("virtual_time", "the time budget is used up")


def test_waiting_beyond_the_time_budget(bench: Bench) -> None:
    """A wait past the limit closes the episode like a request would, so nobody waits for ever."""
    world = bench(virtual_seconds=10)
    statuses = [world(request("POST", "/clock/wait", body='{"seconds":6}')).status for _ in range(4)]

    assert ([200, 403, 403, 403], [Opened, Waited, Closed]) == (statuses, [type(event) for event in world.events])


def test_request_cap(bench: Bench) -> None:
    """After 2,000 logged requests, waits among them, comes one closed event, then 429 and silence."""
    world = bench(steps=1999)
    wait = request("POST", "/clock/wait", body='{"seconds":0.001}')
    statuses = [world(made).status for made in [request("GET", "/ok")] * 1000 + [wait] * 1000 + [wait, request("GET", "/ok")]]

    assert statuses == [200] * 2000 + [429, 429]
    assert (len(world.events), world.events[-1].cause) == (2002, "request_cap")


@pytest.mark.parametrize("body", [b"wrong", b"unreadable"])
def test_first_submission_closes(world: InProcess, body: bytes) -> None:
    """Right or wrong, the first submission is the last event."""
    world(request("POST", "/submission", body=body))
    later = [world(made) for made in (request("GET", "/ok"), request("POST", "/submission"), request("GET", "/nowhere"))]
    waited = world(request("POST", "/clock/wait", body='{"seconds":1}'))

    assert ([answer.status for answer in (*later, waited)], len(world.events)) == ([409] * 4, 2)
    assert error(waited) == "the episode is closed (submission)"


def test_submission_too_long_closes_nothing(world: InProcess) -> None:
    """A submission that never became readable may be handed in again."""
    world(request("POST", "/submission", body=LONG))

    assert world(request("GET", "/ok")).status == 200


def test_free_routes_after_the_end(world: InProcess) -> None:
    """The clock still tells the time once the episode is closed."""
    world(request("POST", "/submission"))

    assert world(request("GET", "/clock")).status == 200


@pytest.mark.parametrize("headers", [{}, {HOST_HEADER: "wrong"}, {HOST_HEADER: ""}, {HOST_HEADER: "\xe9"}])
@pytest.mark.parametrize(("method", "target"), [("GET", "/instruction"), ("POST", "/stop")])
def test_host_routes_do_not_exist_for_others(world: InProcess, method: str, target: str, headers: dict[str, str]) -> None:
    """Without the token a host route is one stray 404 like any unknown one."""
    answer = world(request(method, target, headers=headers, body=b'{"cause":"wall"}'))

    assert (answer.status, error(answer), last(world).kind, len(world.events)) == (404, "there is no such route", "stray", 2)


def test_host_reads_the_instruction(world: InProcess) -> None:
    """The host gets the instruction, free and unlogged."""
    answer = world(request("GET", "/instruction", headers=TOKEN))

    assert (world.world.instruction, 1, 0) == (answer.body.decode(), len(world.events), world.world.now)


@pytest.mark.parametrize("cause", ["wall", "tokens", "cost", "turns", "context", "cancelled"])
def test_stop(world: InProcess, cause: str) -> None:
    """The host's stop is one event with its cause; a second one changes nothing."""
    first, second = (world(request("POST", "/stop", headers=TOKEN, body=json.dumps({"cause": cause}))) for _ in range(2))

    assert ((200, first.body), [Opened, Stopped]) == ((second.status, second.body), [type(event) for event in world.events])
    assert (cause, 409) == (world.events[-1].cause, world(request("GET", "/ok")).status)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"cause":"bored"}', b'{"cause":[]}', b'{"cause":{}}'])
def test_bad_stop(world: InProcess, body: bytes) -> None:
    """A stop without a known cause is refused, unlogged."""
    answer = world(request("POST", "/stop", headers=TOKEN, body=body))

    assert (answer.status, len(world.events), world(request("GET", "/ok")).status) == (400, 1, 200)


def test_stop_after_a_submission_changes_nothing(world: InProcess) -> None:
    """An episode ends once."""
    world(request("POST", "/submission"))
    answer = world(request("POST", "/stop", headers=TOKEN, body=b'{"cause":"wall"}'))

    assert (answer.body, len(world.events)) == (b'{"closed_by":"submission"}', 2)


def test_stop_on_violation(bench: Bench) -> None:
    """The standard option ends an episode at its first broken rule, the submission included."""
    world, handed_in = bench(overrides={"stop_on_violation": True}), bench(overrides={"stop_on_violation": "true"})
    statuses = [world(request("GET", target)).status for target in ("/ok", "/broken", "/ok")]
    handed_in(request("POST", "/submission", body=b"wrong"))

    assert (statuses, world.events[-1].cause, handed_in.events[-1].cause) == ([200, 403, 409], "violation", "violation")
