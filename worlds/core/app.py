"""One episode as a function: a request, as raw bytes, goes to what serves its path, and through the referee.

1. `App.answer` is the whole of it: a request in, a response out, and nothing to wait for. In process there is no more, so a
   request costs what its rule costs; on a socket FastAPI stands around it (`worlds.core.served`).
2. Every response leaves through `_answer`, which stamps the virtual `Date` and `X-Virtual-Time`; a server adds no header.
3. A request that breaks off, or whose body is too long, is an event like any other; an answer to a turn is none.
"""

from __future__ import annotations

from urllib.parse import unquote

from worlds.core import desk
from worlds.core.calls import Call, Reply
from worlds.core.referee import Referee
from worlds.core.routes import Found, at_desk, find
from worlds.core.seated import SeatedWorld
from worlds.core.wire import MAX_BODY_BYTES, Headers, WireRequest, WireResponse
from worlds.core.world import World


class App:
    """The app of one episode, with its own referee."""

    def __init__(self, world: World) -> None:
        self.referee = Referee(world)
        self._seated = isinstance(world, SeatedWorld)
        for rule, _ in world.rules():
            world.manifest.cost_ms(rule.cost)

    def answer(self, request: WireRequest) -> WireResponse:
        """Find the handler of a request, and serve it."""
        return self.serve(self._found(request.method, unquote(request.path.decode("latin-1"))), request)

    def serve(self, handler: Found, request: WireRequest, *, whole: bool = True) -> WireResponse:
        """Serve a request with its handler; `whole` is False where the client left before the body had ended."""
        if whole and len(request.body) <= MAX_BODY_BYTES:
            return _answer(self.referee, handler.serve(self.referee, Call(request, handler.params)))
        status, why = (413, f"the body is longer than {MAX_BODY_BYTES} bytes") if whole else (400, "the body ended early")
        if self._seated and handler.serve in (desk.answer, desk.turns):
            # turns are no requests of the agent's
            return _answer(self.referee, Reply({"error": why}, status))
        return _answer(self.referee, self.referee.unreadable(Call(request._replace(body=b"")), status, why))

    def _found(self, method: str, path: str) -> Found:
        return (self._seated and at_desk(method, path)) or find(type(self.referee.world), method, path)


def create_app(world: World) -> App:
    """The app of one episode; raises ManifestError if a rule names a cost that task.toml does not."""
    return App(world)


def _answer(referee: Referee, reply: Reply) -> WireResponse:
    """A reply with everything that stands above it."""
    body, media_type = reply.encoded()
    clock = referee.world.clock
    content: Headers = (("content-type", media_type), ("content-length", str(len(body))))
    if reply.status in (204, 304):
        # these have no body (RFC 9110 sections 15.3.5 and 15.4.5), and no server sends one
        body, content = b"", ()
    said = [(name.lower(), value) for name, value in reply.headers] if reply.headers else ()
    time = (("date", clock.http_date), ("x-virtual-time", clock.seconds_text))
    return WireResponse(reply.status, (*content, *said, *time), body)
