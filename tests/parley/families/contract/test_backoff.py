"""Back-off middleware waits exactly as long as was asked, for the path that was asked, and for nothing else."""

from __future__ import annotations

import json

import pytest

from parley.families.contract.path import BackOff
from worlds.core.wire import Headers, WireRequest, WireResponse


class Server:
    """Answers with given headers once, and keeps a clock that waits move."""

    def __init__(self, headers: Headers = ()) -> None:
        self.headers, self.now, self.waits, self.paths = headers, 10.0, [], []

    def __call__(self, request: WireRequest) -> WireResponse:
        """One answer, stamped."""
        if request.path == b"/clock/wait":
            self.waits.append(json.loads(request.body)["seconds"])
            self.now += self.waits[-1]
        elif request.path != b"/clock":
            self.paths.append(request.path)
        headers, self.headers = (self.headers, ()) if request.path == b"/a" else ((), self.headers)
        return WireResponse(200, (*headers, ("X-Virtual-Time", f"{self.now}")))


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ((("Retry-After", "7"),), [7.0]),
        ((("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "5")), [5.0]),
        ((("X-RateLimit-Remaining", "1"), ("X-RateLimit-Reset", "5")), []),
        ((("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"),), []),
        ((), []),
    ],
)
def test_wait_before_the_next_request(headers: Headers, waits: list[float]) -> None:
    """Retry-After in seconds, or a used-up quota's reset, is waited out once; what asks for nothing is not waited for."""
    server = Server(headers)
    send = BackOff(server)
    for _ in range(3):
        send(WireRequest("GET", b"/a"))

    assert (server.waits, server.paths) == (waits, [b"/a"] * 3)


def test_other_paths_go_through() -> None:
    """A wait that one path asks for holds up no other."""
    server = Server((("Retry-After", "7"),))
    send = BackOff(server)
    for path in (b"/a", b"/b", b"/submission"):
        send(WireRequest("GET", path))

    assert server.waits == []


def test_time_that_passed_anyway_counts() -> None:
    """Only what is left of the wait is waited."""
    server = Server((("Retry-After", "7"),))
    send = BackOff(server)
    send(WireRequest("GET", b"/a"))
    server.now += 4
    send(WireRequest("GET", b"/a"))

    assert server.waits == [3.0]
