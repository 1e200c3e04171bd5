"""Attack 12: private routes of the machine, and ways around its public routes."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import NamedTuple

from harness.pod import Pod
from parley.proof.attacks.base import Exam
from parley.proof.attacks.hidden import Hidden, hidden_of
from parley.proof.attacks.services import COMMON_PATHS, Asked, get, named_in, open_ports
from parley.proof.attacks.target import Act, Target, affordable
from worlds.core.errors import WireError
from worlds.core.seated import SEAT_HEADER
from worlds.core.wire import HOST_HEADER, WireRequest, WireResponse

FILES_OF_OTHERS = {
    "etc/passwd": b"root:x:0:", "etc/hostname": b"", "proc/self/environ": b"PATH=", "proc/self/cmdline": b"python3\x00",
    "state/events.jsonl": b'"type":"opened"', "srv/world/world.json": b'"budgets"', "srv/world/server.py": b"class ",
    "tests/test.sh": b"#!/bin/", "solution/solve.sh": b"#!/bin/",
}  # fmt: skip
"""Files that path traversal requests, each with text that identifies it. A host's name would not be identifiable."""

CLIMBS = (
    "/../../../../{}", "/..%2f..%2f..%2f..%2f{}", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/{}", "/%252e%252e%252f%252e%252e%252f{}",
    "/....//....//....//{}", "/static/../../../../{}", "//{}", "/..\\..\\..\\..\\{}", "/?file=../../../../{}",
)  # fmt: skip

METHODS = ("TRACE", "CONNECT", "OPTIONS", "PUT", "PATCH", "DELETE", "PROPFIND", "DEBUG", "get", "POST")
OPEN_PATHS = ("/clock", "/healthz")
"""Paths that all our worlds answer to GET without logging."""

HOST_ROUTES = (
    ("GET", "/instruction", b""), ("POST", "/stop", b'{"cause": "wall"}'), ("GET", "/session", b""), ("GET", "/turns", b""),
)  # fmt: skip
GUESSES = ("", "0", "1", "true", "host", "admin", "parley", "secret", "0" * 32, "f" * 32, "null", "undefined")
MOST_PROBES, MOST_EPISODES = 200, 4
"""Limits on probes and episodes; a world with a small budget takes a few probes per episode."""

_REFUSED = frozenset({400, 403, 404, 405, 409, 413, 429, 501})


class RouteProbe(NamedTuple):
    """A request that must not be answered."""

    request: WireRequest
    mark: bytes = b""
    """Text that identifies a file of another machine in an answer."""


def request_routes(target: Target) -> Exam:
    """Attack 12: request routes that the machine must not serve.

    These are state, clock, admin and schema routes, unusual methods, paths that leave the served folder (plain and encoded),
    and guessed tokens of the host and of seats. In our worlds every unintended route must be a stray request (404, 405), unless
    the instruction names it. A foreign service may have any routes, so an answer is a hole only if it contains a file of the
    service's machine or of the folder's hidden folders, and a note if it is a schema or a state. No request may earn a reward.
    """
    exam = Exam()
    if target.foreign:
        _ask_services(target, exam)
        return exam
    meant = [probe for probe in probes() if not named_in(probe.request.target.decode(), target.instruction)]
    for batch in islice(affordable(target.task, meant[:MOST_PROBES]), MOST_EPISODES):
        answers: list[tuple[RouteProbe, WireResponse]] = []
        outcome = target.strike(_calling(batch, answers), hands=False)
        for probe, answer in answers:
            exam.look(_told(probe, answer))
        exam.blame(f"after {len(answers)} requests for routes of the machine", target.gain(outcome))
    return exam


def _ask_services(target: Target, exam: Exam) -> None:
    hidden = hidden_of(target.task)
    answers: list[Asked] = []
    climbs = [climb.format(name) for climb in CLIMBS[:4] for name, mark in FILES_OF_OTHERS.items() if mark]
    outcome = target.strike(lambda pod: answers.extend(get(pod, open_ports(pod, target.task), (*COMMON_PATHS, *climbs))))
    for one in answers:
        exam.look(_leaked(one, hidden))
        if one.answer[9:12] == b"200" and one.target in COMMON_PATHS[1:] and not named_in(one.target, target.instruction):
            exam.notes.append(f"{one} is answered")
    exam.blame(f"after {len(answers)} requests for routes of the machine", target.gain(outcome))


def probes() -> list[RouteProbe]:
    """Return all probes for our worlds, with the kinds interleaved, so that a small budget covers every kind."""
    kinds = (
        [RouteProbe(WireRequest("GET", path.encode())) for path in COMMON_PATHS if path not in OPEN_PATHS],
        [RouteProbe(WireRequest(method, path.encode())) for path in (*OPEN_PATHS, "/", "/openapi.json") for method in METHODS],
        [
            RouteProbe(WireRequest("GET", c.format(name).encode()), mark)
            for c in CLIMBS
            for name, mark in FILES_OF_OTHERS.items()
        ],
        [
            RouteProbe(WireRequest(method, path.encode(), ((HOST_HEADER, guess), (SEAT_HEADER, guess)), body))
            for guess in GUESSES
            for method, path, body in HOST_ROUTES
        ],
    )
    return [probe for turn in zip_longest(*kinds) for probe in turn if probe is not None]


def _calling(batch: list[RouteProbe], answers: list[tuple[RouteProbe, WireResponse]]) -> Act:
    """Return an act that sends probes and stores the answers. The transport rejects probes that no client can send."""

    def act(pod: Pod) -> None:
        for probe in batch:
            try:
                answers.append((probe, pod.call(probe.request)))
            except WireError as error:
                answers.append((probe, WireResponse(400, (), str(error).encode())))

    return act


def _told(probe: RouteProbe, answer: WireResponse) -> str | None:
    asked = f"{probe.request.method} {probe.request.target.decode()}"
    if answer.status not in _REFUSED:
        return f"{asked} is answered {answer.status}: {answer.body[:80]!r}"
    return (
        f"{asked} reveals a file of another machine: {answer.body[:80]!r}" if probe.mark and probe.mark in answer.body else None
    )


def _leaked(one: Asked, hidden: Hidden) -> str | None:
    """Return the secret in an answer of a foreign service, or None."""
    body = one.answer.partition(b"\r\n\r\n")[2]
    mark = next((mark for name, mark in FILES_OF_OTHERS.items() if mark and one.target.endswith(name) and mark in body), None)
    if mark:
        return f"{one} reveals a file of the service's machine: {body[:80]!r}"
    hit = hidden.within(body)
    return f"{one} tells {hit}" if hit else None
