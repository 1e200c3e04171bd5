"""One episode as a FastAPI application: its router finds the route of a request, and the referee answers it.

1. Every rule is one `RefereedRoute`, with path, method, name and description, as web developers and OpenAPI expect.
2. A route passes raw method, target, headers and body to the function that is called in process (`worlds.core.routes`). FastAPI
adds nothing: no parameters, no middleware, no redirect of slashes, no 404, 405 or 422 of its own.
3. No route serves the OpenAPI document or its pages; an agent learns of the API from its instruction.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Response
from fastapi.routing import APIRoute

from worlds.core.calls import Rule
from worlds.core.operations import adopted_app
from worlds.core.routes import MISUSED, NOWHERE, App, Found, Route, routes, starlette_path
from worlds.core.wire import MAX_BODY_BYTES, WireRequest
from worlds.core.world import World

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
"""Types of ASGI 3."""


class ServedWorld(FastAPI):
    """Application of one episode; raises ManifestError if a rule names a cost that task.toml does not declare."""

    def __init__(self, world: World) -> None:
        cls = type(world)
        super().__init__(title=world.manifest.task_id, description=cls.__doc__ or "", openapi_url=None, redirect_slashes=False)
        self.refereed, self._operations = App(world), adopted_app(cls)
        self.router.default = partial(self._serve, NOWHERE)
        self.router.routes.extend(RefereedRoute(route, self._serve) for route in routes(cls))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request without FastAPI's middleware, which could answer in place of the referee."""
        await self.router(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the routes as an OpenAPI document; the operations of a contributor's app keep that app's descriptions."""
        document = super().openapi()
        if self._operations is None:
            return document
        theirs = self._operations.openapi()
        paths = {path: {**document["paths"].get(path, {}), **methods} for path, methods in theirs["paths"].items()}
        return {**document, **theirs, "info": document["info"], "paths": {**document["paths"], **paths}}

    async def _serve(self, handler: Found, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _whole(receive)
        answer = self.refereed.serve(handler, _request(scope, body or b""), whole=body is not None)
        headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})


class RefereedRoute(APIRoute):
    """Route that FastAPI's router finds and the referee serves."""

    def __init__(self, route: Route, serve: Callable[[Found, Scope, Receive, Send], Awaitable[None]]) -> None:
        rule = route.rule
        super().__init__(
            starlette_path(rule.path), _described, methods=[rule.method], name=route.name, description=route.about,
            response_class=Response, openapi_extra=_declared(rule),
        )  # fmt: skip
        # as they were declared: FastAPI writes methods in capitals, and knows no `any`
        self.methods, self.path_regex = {rule.method}, route.path
        self._route, self._serve = route, serve

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose path matches this route; its method may differ."""
        match = self._route.path.match(scope["path"])
        fits = match and scope["method"] == self._route.rule.method
        handler = Found(self._route.serve, match.groupdict()) if match and fits else MISUSED
        await self._serve(handler, scope, receive, send)


def openapi(world: World) -> dict[str, Any]:
    """Return the routes of a world as an OpenAPI document, for contributors and fuzzers."""
    return ServedWorld(world).openapi()


def _described() -> None:
    """Stand in as the endpoint of a route; never called, because the referee answers."""


async def _whole(receive: Receive) -> bytes | None:
    """Read the body of a request; None if the client disconnected. A body over the limit is not stored completely."""
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
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"])
    return WireRequest(scope["method"], target, headers, body)


def _declared(rule: Rule) -> dict[str, Any]:
    """Return the OpenAPI operation for the declarations of a rule, so that fuzzers know which inputs to vary."""
    named = [("path", name, True) for name in re.findall(r"{(\w+)", rule.path)]
    named += [("query", name, False) for name in rule.query] + [("header", name, False) for name in rule.headers]
    operation: dict[str, Any] = {
        "parameters": [{"in": where, "name": n, "required": need, "schema": {"type": "string"}} for where, n, need in named]
    }
    if rule.body:
        operation["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return operation
