"""Cheating does not pay: a strategy that needs no understanding of a task wins only where its rules allow it, which is listed.

A strategy is a path between the oracle and the world: the oracle goes on as if all were well, and the path leaves a request
out, swallows its waits, asks before it, repeats it, shows it an older answer, or hands in something else. None knows a task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime
from parley.proof.plays import SOLVE, Play, judge, play
from worlds.core.wire import Transport, WireRequest, WireResponse

pytestmark = pytest.mark.property

Path = Callable[[Transport], Transport]
CONSTANTS = (b"", b"0", b"{}", b'{"status":"ok"}', b"SUCCESS")
PLAIN = {"date", "x-virtual-time", "content-type", "content-length", "retry-after"}
"""Headers that carry no value of the task's own."""

CLOCK, WAIT, SUBMISSION = b"/clock", b"/clock/wait", b"/submission"

SKIPPED = {
    "constraint-overload-protocol": ({"GET /docs"}, "the rules are the same whoever reads them"),
    "content-negotiation-chain": ({"OPTIONS"}, "asking for a type beforehand is free, and tells but what is accepted"),
    "cursor-pagination-integrity": ({"GET /api/docs"}, "the rules are the same whoever reads them"),
    "distributed-lock-acquire": ({"GET /work/estimate"}, "the estimate only tells how long the steps take"),
    "etag-conditional-get": ({"GET /api/resource"}, "of several looks at a document that changes the newest one counts"),
    "event-sourced-consistency": ({"POST /aggregate"}, "a submission that is refused as planned changes nothing that counts"),
    "idempotency-key-retry": (
        {"POST /api/orders"},
        "who takes the answer for lost sends the order again, which is made then",
    ),
    "presigned-url-download": ({"GET /task"}, "a second look at the page shows what the first one did"),
    "retry-backoff-compliance": (
        {"GET /api/data"},
        "the ladder starts at the first request that comes, whatever was believed",
    ),
    "scheduled-maintenance": (
        {"GET /api/status"},
        "the first status only tells windows, which are planned",
    ),
}
"""Requests that a client may leave out if it knows what they would have told, by how they begin, and why."""

UNWAITED = {"etag-conditional-get": "looking again takes as long as the wait would have, and shows the next version as well"}
ASKED_FIRST = {
    "constraint-overload-protocol": "one more look at the rules fits into the session's time",
    "content-negotiation-chain": "a second token and a second path begin anew, with all their time",
    "distributed-lock-acquire": "the estimate comes first anyhow",
    "extreme-url-length": "page and precheck come again, the link stays as it is and lives long",
    "long-token-handling": "page and precheck come again, the link stays as it is and lives long",
    "multi-service-saga": "the saga has nothing to be read",
    "multi-turn-recall": "every step may be taken again, and the link lives for four more requests",
    "presigned-url-integrity": "page and precheck come again, with time for a few detours",
    "url-trap-ellipsis": "page and precheck come again, the link stays as it is and lives long",
}
STALE = {"api-key-rotation": "the key changes once; what else comes twice is the path of the next step, which is known"}
TWICE = {
    "basic-oauth-token": "a second token ends the first and is the one that is used; a job is started once",
    "extreme-url-length": "page, precheck and download may be repeated while the windows last",
    "long-token-handling": "page, precheck and download may be repeated while the windows last",
    "multi-turn-recall": "every step may be taken again, and the link lives for four more requests",
    "presigned-url-integrity": "page, precheck and download may be repeated while the windows last",
    "url-trap-ellipsis": "page, precheck and download may be repeated while the windows last",
}
"""Task -> why its rules allow it."""


def cheated(task: Task, path: Path, seed: int = 0) -> Play:
    """The oracle's episode on this path."""
    played = Play(SOLVE, seed)
    with InProcessRuntime().open(EpisodeSpec("cheat", f"cheat-{seed}", task, seed)) as pod:
        SolutionAgent(transport=path).play(task, seed, pod, Budget(), Report(agent="cheat"))
        played.log = pod.finish()
    return played


def wins(task: Task, *paths: Path) -> list[int]:
    """Which of these paths lead to success, by number."""
    plays = [cheated(task, path) for path in paths]
    judge(task, plays)
    return [number for number, played in enumerate(plays) if played.outcome.success]


def asked(task: Task) -> list[WireRequest]:
    """What the oracle asks, in order, without the clock and the submission."""
    requests = [exchange.request for exchange in play(task, SOLVE, 0).exchanges]
    return [one for one in requests if one.path not in (CLOCK, WAIT, SUBMISSION)]


def handing_in(body: bytes) -> Path:
    """Every submission is this one."""

    def path(inner: Transport) -> Transport:
        return lambda request: inner(request._replace(body=body) if request.path == SUBMISSION else request)

    return path


def without(number: int, answers: list[WireResponse]) -> Path:
    """The request with this number is not sent; the client is shown the answer of another episode of this seed."""

    def path(inner: Transport) -> Transport:
        count = iter(range(10_000))

        def send(request: WireRequest) -> WireResponse:
            if request.path in (CLOCK, WAIT, SUBMISSION) or next(count) != number:
                return inner(request)
            return answers[number]

        return send

    return path


def unwaited(inner: Transport) -> Transport:
    """No wait is waited; the client believes that it was."""
    return lambda request: WireResponse(200, (), b"{}") if request.path == WAIT else inner(request)


def asking_first(reads: list[WireRequest]) -> Path:
    """All that can be read is asked for before anything else, as the oracle asked for it."""

    def path(inner: Transport) -> Transport:
        begun = iter([True])

        def send(request: WireRequest) -> WireResponse:
            if next(begun, False):
                for read in reads:
                    inner(read)
            return inner(request)

        return send

    return path


def twice(inner: Transport) -> Transport:
    """Every request is sent twice, and the second answer counts; so it is with a submission."""

    def send(request: WireRequest) -> WireResponse:
        if request.path not in (CLOCK, WAIT):
            inner(request)
        return inner(request)

    return send


class Stale:
    """Of a text that an answer gives anew under a name that an earlier one used, the client keeps the old one."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}
        self.kept = 0
        """How often a newer text was lost to an older one."""

    def __call__(self, inner: Transport) -> Transport:
        """The path."""

        def send(request: WireRequest) -> WireResponse:
            answer = inner(request)
            headers = tuple((name, self.old(name.lower(), value)) for name, value in answer.headers)
            with suppress(ValueError):
                return answer._replace(headers=headers, body=json.dumps(self.old("", json.loads(answer.body))).encode())
            return answer._replace(headers=headers)

        return send

    def old(self, name: str, value: Any) -> Any:
        """What the client takes for this value."""
        if isinstance(value, dict):
            return {key: self.old(key, one) for key, one in value.items()}
        if not isinstance(value, str) or name in PLAIN:
            return value
        self.kept += self.first.setdefault(name, value) != value
        return self.first[name]


def reads(task: Task) -> Iterator[WireRequest]:
    """Each GET of the oracle, once."""
    yield from dict.fromkeys(one for one in asked(task) if one.method == "GET")


def test_constants_pay_nothing(task: Task) -> None:
    """All is done as it should be, and five constants are handed in in place of the result."""
    assert wins(task, *map(handing_in, CONSTANTS)) == []


def test_no_request_can_be_left_out(task: Task) -> None:
    """The oracle without one of its requests, whichever, fails even if it knows what the answer would have said."""
    exchanges = [one for one in play(task, SOLVE, 0).exchanges if one.request.path not in (CLOCK, WAIT, SUBMISSION)]
    answers = [one.response for one in exchanges]
    spared = wins(task, *(without(number, answers) for number in range(len(answers))))
    names = {f"{exchanges[number].request.method} {exchanges[number].request.path.decode()}" for number in spared}
    allowed, _ = SKIPPED.get(task.task_id, (set(), ""))

    assert {name for name in names if not name.startswith(tuple(allowed))} == set()
    assert {start for start in allowed if not any(name.startswith(start) for name in names)} == set()


def test_waits_are_waited(task: Task) -> None:
    """Who believes to have waited and did not fails, where there is anything to wait for."""
    if not any(exchange.request.path == WAIT for exchange in play(task, SOLVE, 0).exchanges):
        pytest.skip("the oracle never waits")
    assert wins(task, unwaited) == ([0] if task.task_id in UNWAITED else [])


def test_asking_everything_first_fails(task: Task) -> None:
    """All GETs of the oracle before its first request, and then its own way."""
    assert wins(task, asking_first(list(reads(task)))) == ([0] if task.task_id in ASKED_FIRST else [])


def test_stale_values_fail(task: Task) -> None:
    """The first value of each name is kept, whatever a later answer says, and that loses wherever one was kept."""
    path = Stale()
    won = wins(task, path)
    if not path.kept:
        pytest.skip("no name has two values")

    assert won == ([0] if task.task_id in STALE else [])


def test_every_request_twice_fails(task: Task) -> None:
    """A retry of everything, without any cause."""
    assert wins(task, twice) == ([0] if task.task_id in TWICE else [])
