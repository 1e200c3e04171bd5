"""The app factory: FastAPI routes that hand every request, as raw bytes, to the referee.

1. A World class's rules become routes, once; their declared parameters become the app's schema (not served to the agent).
   An episode adds its own referee to the scope of each request, so that opening one costs next to nothing.
2. Unknown routes and wrong methods reach the referee too, through the exception handler.
3. Every response leaves through `_headers`, which stamps the virtual `Date` and `X-Virtual-Time`; a server adds no header.
4. Turns of a game go to the desk without routing: they are most of a game's requests, and routing most of their cost.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from worlds.core import desk
from worlds.core.calls import Call, Reply, Rule
from worlds.core.referee import Referee
from worlds.core.wire import MAX_BODY_BYTES, WireRequest
from worlds.core.world import World, rules_of


class _AnyPath(PathConvertor):
    """`{name:any}`: the rest of a path whatever it holds, line feeds too, which `{name:path}` does not match."""

    regex = r"[\s\S]*"


register_url_convertor("any", _AnyPath())

Serve = Callable[[Referee, Call], Reply]
Endpoint = Callable[[Request], Awaitable[Response]]

_REFEREE = "parley.referee"


class App:
    """One episode as an ASGI app: the routes of its World class, and its own referee."""

    def __init__(self, world: World) -> None:
        self.referee = Referee(world)
        self.routes = routes(type(world))  # type: ignore[arg-type]  # mypy reads the hash of an instance here
        for rule, _ in world.rules():
            world.manifest.cost_ms(rule.cost)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["path"].startswith("/turns") and (found := _turn_route(scope["method"], scope["path"])):
            await self._direct(*found, scope, receive, send)
            return
        scope[_REFEREE] = self.referee
        await self.routes(scope, receive, send)

    async def _direct(self, serve: Serve, params: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            if len(body) <= MAX_BODY_BYTES:
                body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        reply = Reply({"error": f"the body is longer than {MAX_BODY_BYTES} bytes"}, 413)
        if len(body) <= MAX_BODY_BYTES:
            reply = serve(self.referee, _call(scope, bytes(body), params))
        content, headers = _headers(self.referee, reply)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def openapi(self) -> dict[str, Any]:
        """The schema of the routes, for fuzzers; no route serves it."""
        return self.routes.openapi()


def create_app(world: World) -> App:
    """The ASGI app of one episode; raises ManifestError if a rule names a cost that task.toml does not."""
    return App(world)


@lru_cache(maxsize=256)
def routes(cls: type[World]) -> FastAPI:
    """The FastAPI app of a World class; it belongs to no episode."""
    app = FastAPI(title=cls.__name__, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for rule, name in rules_of(cls):
        _add(app, rule, _judged(rule, name))
    for rule, serve in _BUILTIN:
        _add(app, rule, serve)
    app.add_exception_handler(HTTPException, _stray)  # type: ignore[arg-type]
    return app


def _judged(rule: Rule, name: str) -> Serve:
    return lambda referee, call: referee.judge(call, rule, getattr(referee.world, name))


def _host_only(serve: Serve) -> Serve:
    """A host-only route: for anybody else it does not exist."""
    return lambda referee, call: serve(referee, call) if referee.is_host(call) else referee.judge(call, None, None)


def _plain(method: str, path: str) -> Rule:
    return Rule(method, path, "request", (), (), body=method == "POST")


_BUILTIN: tuple[tuple[Rule, Serve], ...] = (
    (_plain("GET", "/clock"), lambda referee, call: Reply(referee.time())),
    (_plain("GET", "/healthz"), lambda referee, call: Reply({"ok": True})),
    (_plain("POST", "/clock/wait"), Referee.wait),
    (_plain("POST", "/submission"), Referee.submit),
    (_plain("GET", "/session"), desk.session),
    (_plain("GET", "/turns"), desk.turns),
    (_plain("POST", "/turns/{turn}"), desk.answer),
    (_plain("GET", "/instruction"), _host_only(lambda referee, call: Reply(referee.world.instruction))),
    (_plain("POST", "/stop"), _host_only(Referee.stop)),
)


def _add(app: FastAPI, rule: Rule, serve: Serve) -> None:
    async def endpoint(request: Request) -> Response:
        return await _serve(request, serve)

    app.add_api_route(rule.path, endpoint, methods=[rule.method], response_class=Response, openapi_extra=_schema(rule))


async def _stray(request: Request, error: HTTPException) -> Response:
    wrong_method = "this route has another method" if error.status_code == 405 else ""
    return await _serve(request, lambda referee, call: referee.judge(call, None, None, wrong_method))


async def _serve(request: Request, serve: Serve) -> Response:
    referee: Referee = request.scope[_REFEREE]
    params = request.scope.get("path_params", {})
    body = bytearray()
    try:
        async for chunk in request.stream():
            # what is too long is read to its end, so that the client gets to read its answer
            if len(body) <= MAX_BODY_BYTES:
                body += chunk
    except ClientDisconnect:
        return _respond(referee, referee.unreadable(_call(request.scope, b"", params), 400, "the body ended early"))
    if len(body) > MAX_BODY_BYTES:
        too_long = f"the body is longer than {MAX_BODY_BYTES} bytes"
        return _respond(referee, referee.unreadable(_call(request.scope, b"", params), 413, too_long))
    return _respond(referee, serve(referee, _call(request.scope, bytes(body), params)))


def _respond(referee: Referee, reply: Reply) -> Response:
    body, headers = _headers(referee, reply)
    response = Response(body, reply.status)
    response.raw_headers = headers
    return response


def _headers(referee: Referee, reply: Reply) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The body of a reply, and everything that stands above it."""
    body, media_type = reply.encoded()
    clock = referee.world.clock
    content = [(b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode())]
    return body, [
        *(content if reply.status not in (204, 304) else ()),
        *((name.lower().encode(), value.encode("latin-1")) for name, value in reply.headers),
        (b"date", clock.http_date.encode()),
        (b"x-virtual-time", clock.seconds_text.encode()),
    ]


def _turn_route(method: str, path: str) -> tuple[Serve, dict[str, str]] | None:
    if (method, path) == ("GET", "/turns"):
        return desk.turns, {}
    name = path.removeprefix("/turns/")
    return (desk.answer, {"turn": name}) if method == "POST" and name != path and name and "/" not in name else None


def _call(scope: Scope, body: bytes, params: Mapping[str, str]) -> Call:
    """The raw wire request behind an ASGI scope, and the path parameters that routing found."""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"])
    return Call(WireRequest(scope["method"], target, headers, body), params)


def _schema(rule: Rule) -> dict[str, Any]:
    """The OpenAPI operation for what a rule declares, so that fuzzers know what to vary."""
    named = [("path", name, True) for name in re.findall(r"{(\w+)", rule.path)]
    named += [("query", name, False) for name in rule.query] + [("header", name, False) for name in rule.headers]
    schema: dict[str, Any] = {
        "parameters": [{"in": where, "name": n, "required": need, "schema": {"type": "string"}} for where, n, need in named]
    }
    if rule.body:
        schema["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return schema
