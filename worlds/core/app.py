"""The app of one episode: it routes a raw request to its handler and passes the result through the referee.

1. `App.answer` is synchronous: it takes a request and returns a response. In process it is called directly; on a socket
FastAPI wraps it (`worlds.core.served`).
2. Every response leaves through `_answer`, which stamps the virtual `Date` and `X-Virtual-Time`. The server adds no header.
3. A truncated or oversized request is logged like any other. An answer to a turn is not logged as a request.
"""

from __future__ import annotations

from urllib.parse import unquote

from worlds.core.calls import Call, Reply
from worlds.core.referee import Referee
from worlds.core.routes import ANSWER, TURNS, Found, find_handler, find_turn_route
from worlds.core.wire import MAX_BODY_BYTES, Headers, WireRequest, WireResponse
from worlds.core.world import World


class App:
    """The app of one episode, with its own referee; raises ManifestError if a rule's cost is not declared in task.toml."""

    def __init__(self, world: World) -> None:
        self.referee = Referee(world)
        self._seated = bool(world.turn_handlers)
        for rule, _ in world.rules():
            world.manifest.cost_ms(rule.cost)

    def answer(self, request: WireRequest) -> WireResponse:
        """Find the handler of a request and serve it."""
        method, path = request.method, unquote(request.path.decode("latin-1"))
        handler = (self._seated and find_turn_route(method, path)) or find_handler(type(self.referee.world), method, path)
        return self.serve(handler, request)

    def serve(self, handler: Found, request: WireRequest, *, whole: bool = True) -> WireResponse:
        """Serve a request with its handler; `whole` is False if the client disconnected before the end of the body."""
        if whole and len(request.body) <= MAX_BODY_BYTES:
            return _answer(self.referee, handler.serve(self.referee, Call(request, handler.params)))
        status, why = (413, f"the body is longer than {MAX_BODY_BYTES} bytes") if whole else (400, "the body ended early")
        if self._seated and handler.serve in (ANSWER, TURNS):
            # turns are no requests of the agent's
            return _answer(self.referee, Reply({"error": why}, status))
        return _answer(self.referee, self.referee.unreadable(Call(request._replace(body=b"")), status, why))


def _answer(referee: Referee, reply: Reply) -> WireResponse:
    body, media_type = reply.encoded()
    clock = referee.world.clock
    content: Headers = (("content-type", media_type), ("content-length", str(len(body))))
    if reply.status in (204, 304):
        # these have no body (RFC 9110 sections 15.3.5 and 15.4.5), and no server sends one
        body, content = b"", ()
    said = [(name.lower(), value) for name, value in reply.headers] if reply.headers else ()
    time = (("date", clock.http_date), ("x-virtual-time", clock.seconds_text))
    return WireResponse(reply.status, (*content, *said, *time), body)
