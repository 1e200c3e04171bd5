"""The public test kit: a whole world in this process, spoken to in raw bytes or through a synchronous httpx client.

`InProcess(world)` is a `Transport`: it builds the ASGI scope from the bytes as a server would, and drives the app by hand,
which works without any event loop because the app never waits for anything.
`client(transport)` is the `api` that solutions receive.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx

from worlds.core.app import create_app
from worlds.core.errors import WorldError
from worlds.core.events import Event, EventLog
from worlds.core.loading import open_world
from worlds.core.manifest import OptionValue
from worlds.core.wire import Transport, WireRequest, WireResponse, check_sendable
from worlds.core.world import World

BASE_URL = "http://api:8080"
"""The world's address in every runtime."""

_FRAMING = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})


class InProcess:
    """A world's app called directly: no sockets, no loop, one request after the other."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app = create_app(world)

    @property
    def log(self) -> EventLog:
        """The world's event log."""
        return self.world.log

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        return self.world.log.events

    def __call__(self, request: WireRequest) -> WireResponse:
        """Send one request; raises WireError for what no client can send."""
        check_sendable(request)
        exchange = _Exchange(request)
        _drive(self.app(exchange.scope(), exchange.receive, exchange.send))
        return exchange.response()


class _Exchange:
    """One request and response in ASGI's terms."""

    def __init__(self, request: WireRequest) -> None:
        self.request = request
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.body = b""

    def scope(self) -> MutableMapping[str, Any]:
        path, query = self.request.path, self.request.query
        pairs = [("host", "api:8080"), *self.request.headers, ("content-length", str(len(self.request.body)))]
        return {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
            "method": self.request.method, "path": unquote(path.decode("ascii")), "raw_path": path, "query_string": query,
            "root_path": "", "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in pairs],
            "client": ("127.0.0.1", 1), "server": ("api", 8080), "state": {},
        }  # fmt: skip

    async def receive(self) -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": self.request.body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in message["headers"])
        elif message["type"] == "http.response.body" and self.request.method != "HEAD":
            self.body += message.get("body", b"")

    def response(self) -> WireResponse:
        return WireResponse(self.status, self.headers, self.body)


def _drive(running: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never suspends, to its end."""
    try:
        running.send(None)
    except StopIteration:
        return
    running.close()
    raise WorldError("the app waited for something; a world's handlers must not")


class WireTransport(httpx.BaseTransport):
    """An httpx transport over our raw one: the target goes through exactly as httpx would write it on a socket."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send what httpx would send; framing headers belong to the transport."""
        headers = tuple((k, v) for k, v in request.headers.multi_items() if k.lower() not in _FRAMING)
        answer = self._transport(WireRequest(request.method, request.url.raw_path, headers, request.read()))
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)


def client(transport: Transport) -> httpx.Client:
    """The synchronous client that solutions get, with the world's base URL."""
    return httpx.Client(transport=WireTransport(transport), base_url=BASE_URL, trust_env=False)


def world_in_process(folder: Path, *, seed: int = 0, overrides: Mapping[str, OptionValue] | None = None) -> InProcess:
    """An episode of the task whose environment/api folder is `folder`."""
    return InProcess(open_world(folder, seed=seed, overrides=overrides))
