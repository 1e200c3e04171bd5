"""One episode as an ASGI app: a request, as raw bytes, goes to what serves its path, and through the referee.

1. `answer` is the whole app: a request in, a response out, and nothing to wait for. ASGI is the shell that a server needs;
   in process there is none, so a request costs what its rule costs.
2. Every response leaves through `_answer`, which stamps the virtual `Date` and `X-Virtual-Time`; a server adds no header.
3. A request that breaks off, or whose body is too long, is an event like any other; an answer to a turn is none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from worlds.core import desk
from worlds.core.calls import Call, Reply
from worlds.core.referee import Referee
from worlds.core.routes import Found, at_desk, find, schema
from worlds.core.seated import SeatedWorld
from worlds.core.wire import MAX_BODY_BYTES, WireRequest, WireResponse
from worlds.core.world import World

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
"""As ASGI 3 has them."""


class App:
    """The app of one episode, with its own referee."""

    def __init__(self, world: World) -> None:
        self.referee = Referee(world)
        self._seated = isinstance(world, SeatedWorld)
        for rule, _ in world.rules():
            world.manifest.cost_ms(rule.cost)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        body = await _whole(receive)
        answer = self.answer(_request(scope, body or b""), whole=body is not None)
        headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    def answer(self, request: WireRequest, *, whole: bool = True) -> WireResponse:
        """Serve one request; `whole` is False where its client left before its body had ended."""
        found = self._found(request.method, unquote(request.path.decode("latin-1")))
        if whole and len(request.body) <= MAX_BODY_BYTES:
            return _answer(self.referee, found.serve(self.referee, Call(request, found.params)))
        status, why = (413, f"the body is longer than {MAX_BODY_BYTES} bytes") if whole else (400, "the body ended early")
        if self._seated and found.serve in (desk.answer, desk.turns):
            # turns are no requests of the agent's
            return _answer(self.referee, Reply({"error": why}, status))
        return _answer(self.referee, self.referee.unreadable(Call(request._replace(body=b"")), status, why))

    def openapi(self) -> dict[str, Any]:
        """The schema of the routes, for fuzzers; no route serves it."""
        return schema(type(self.referee.world))

    def _found(self, method: str, path: str) -> Found:
        return (self._seated and at_desk(method, path)) or find(type(self.referee.world), method, path)


def create_app(world: World) -> App:
    """The ASGI app of one episode; raises ManifestError if a rule names a cost that task.toml does not."""
    return App(world)


async def _whole(receive: Receive) -> bytes | None:
    """The body of a request, None where its client left; of one that is too long no more than shows that."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        # what is too long is read to its end, so that the client gets to read its answer
        if len(body) <= MAX_BODY_BYTES:
            body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def _request(scope: Scope, body: bytes) -> WireRequest:
    """The raw wire request behind an ASGI scope."""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"])
    return WireRequest(scope["method"], target, headers, body)


def _answer(referee: Referee, reply: Reply) -> WireResponse:
    """A reply with everything that stands above it."""
    body, media_type = reply.encoded()
    clock = referee.world.clock
    content = (("content-type", media_type), ("content-length", str(len(body)))) if reply.status not in (204, 304) else ()
    said = [(name.lower(), value) for name, value in reply.headers] if reply.headers else ()
    time = (("date", clock.http_date), ("x-virtual-time", clock.seconds_text))
    return WireResponse(reply.status, (*content, *said, *time), body)
