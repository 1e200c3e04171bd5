"""Attack 12: routes of the machine: those that belong to its makers, and ways around the ones that are open.

State, clock, admin and schema; methods that are none of the task's; paths that leave the served folder, plain and encoded;
guessed tokens of the host and of seats. Of a world of ours whatever is not meant to be there must be a stray request (404,
405), but for what the instruction names. A foreign service may answer what it likes, so there an answer is a hole where it
holds a file of the service's machine or of the folder's hidden rooms, and a note where it is a schema or a state. Nobody may
be paid for asking.
"""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import NamedTuple

from harness.attacks.base import Attack, Exam, Flaw, Reason
from harness.attacks.hidden import Hidden, hidden_of
from harness.attacks.services import COMMON_PATHS, Asked, get, named_in, open_ports, services_beside
from harness.attacks.target import Act, Target, affordable
from harness.pod import Pod
from worlds.core.errors import WireError
from worlds.core.seated import SEAT_HEADER
from worlds.core.wire import HOST_HEADER, WireRequest, WireResponse

FILES_OF_OTHERS = {
    "etc/passwd": b"root:x:0:", "etc/hostname": b"", "proc/self/environ": b"PATH=", "proc/self/cmdline": b"python3\x00",
    "state/events.jsonl": b'"type":"opened"', "srv/world/world.json": b'"budgets"', "srv/world/server.py": b"class ",
    "tests/test.sh": b"#!/bin/", "solution/solve.sh": b"#!/bin/",
}  # fmt: skip
"""What traversal asks for, and by what a file is known; nothing tells a host's name from other text."""

CLIMBS = (
    "/../../../../{}", "/..%2f..%2f..%2f..%2f{}", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/{}", "/%252e%252e%252f%252e%252e%252f{}",
    "/....//....//....//{}", "/static/../../../../{}", "//{}", "/..\\..\\..\\..\\{}", "/?file=../../../../{}",
)  # fmt: skip

METHODS = ("TRACE", "CONNECT", "OPTIONS", "PUT", "PATCH", "DELETE", "PROPFIND", "DEBUG", "get", "POST")
OPEN_PATHS = ("/clock", "/healthz")
"""What every world of ours answers to GET, unasked and unlogged."""

HOST_ROUTES = (("GET", "/instruction"), ("POST", "/stop"), ("GET", "/session"), ("GET", "/turns"))
GUESSES = ("", "0", "1", "true", "host", "admin", "parley", "secret", "0" * 32, "f" * 32, "null", "undefined")
MOST_PROBES, MOST_EPISODES = 200, 4
"""A world with a small budget takes a few probes in an episode."""

_REFUSED = frozenset({400, 403, 404, 405, 409, 413, 429, 501})


class RouteProbe(NamedTuple):
    """One request that must get nothing."""

    request: WireRequest
    mark: bytes = b""
    """By what a file of somebody else's is known in the answer."""


class MachineRoutes(Attack):
    """Asking the machine what it should tell nobody."""

    number = 12
    name = "routes of the machine"
    scope = "folder"
    flaw = Flaw(benchjack=("V1", "V2"), abc=("T.5",))

    def inapplicable(self, target: Target) -> Reason | None:
        """It needs a service."""
        return Reason.NO_SERVICE if target.foreign and not services_beside(target.task) else None

    def strike(self, target: Target) -> Exam:
        """Ask for everything."""
        exam = Exam()
        if target.foreign:
            self._ask_services(target, exam)
            return exam
        meant = [probe for probe in probes() if not named_in(probe.request.target.decode(), target.instruction)]
        for batch in islice(affordable(target.task, meant[:MOST_PROBES]), MOST_EPISODES):
            answers: list[tuple[RouteProbe, WireResponse]] = []
            outcome = target.strike(_calling(batch, answers), hands=False)
            for probe, answer in answers:
                exam.look(_told(probe, answer))
            gained = target.gain(outcome)
            exam.look(f"after {len(answers)} requests for routes of the machine: {gained}" if gained else None)
        return exam

    def _ask_services(self, target: Target, exam: Exam) -> None:
        hidden = hidden_of(target.task)
        answers: list[Asked] = []
        climbs = [climb.format(name) for climb in CLIMBS[:4] for name, mark in FILES_OF_OTHERS.items() if mark]
        outcome = target.strike(lambda pod: answers.extend(get(pod, open_ports(pod, target.task), (*COMMON_PATHS, *climbs))))
        for one in answers:
            exam.look(_leaked(one, hidden))
            if one.answer[9:12] == b"200" and one.target in COMMON_PATHS[1:] and not named_in(one.target, target.instruction):
                exam.notes.append(f"{one} is answered")
        gained = target.gain(outcome)
        exam.look(f"after {len(answers)} requests for routes of the machine: {gained}" if gained else None)


def probes() -> list[RouteProbe]:
    """All requests that a world of ours is asked, of each kind in turn, so that a small budget has some of all."""
    kinds = (
        [RouteProbe(WireRequest("GET", path.encode())) for path in COMMON_PATHS if path not in OPEN_PATHS],
        [RouteProbe(WireRequest(method, path.encode())) for path in (*OPEN_PATHS, "/", "/openapi.json") for method in METHODS],
        [
            RouteProbe(WireRequest("GET", c.format(name).encode()), mark)
            for c in CLIMBS
            for name, mark in FILES_OF_OTHERS.items()
        ],
        [_guessed(*route, guess) for guess in GUESSES for route in HOST_ROUTES],
    )
    return [probe for turn in zip_longest(*kinds) for probe in turn if probe is not None]


def _guessed(method: str, path: str, guess: str) -> RouteProbe:
    body = b'{"cause": "wall"}' if method == "POST" else b""
    return RouteProbe(WireRequest(method, path.encode(), ((HOST_HEADER, guess), (SEAT_HEADER, guess)), body))


def _calling(batch: list[RouteProbe], answers: list[tuple[RouteProbe, WireResponse]]) -> Act:
    """What sends probes, and keeps each answer; one that no client can send is refused by the transport."""

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
        f"{asked} tells a file of somebody else's: {answer.body[:80]!r}" if probe.mark and probe.mark in answer.body else None
    )


def _leaked(one: Asked, hidden: Hidden) -> str | None:
    """What an answer of a foreign service holds that is not its to give, or None."""
    body = one.answer.partition(b"\r\n\r\n")[2]
    mark = next((mark for name, mark in FILES_OF_OTHERS.items() if mark and one.target.endswith(name) and mark in body), None)
    if mark:
        return f"{one} tells a file of the service's machine: {body[:80]!r}"
    hit = hidden.within(body)
    return f"{one} tells {hit}" if hit else None
