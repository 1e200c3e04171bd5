"""The public test kit: a whole world in this process, spoken to in raw bytes or through a synchronous httpx client.

`InProcess(world)` is a `Transport`: it hands a request to the app as a server would, without any event loop, because the app
never waits for anything.
`client(transport)` is the `api` that solutions receive.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from worlds.core.app import create_app
from worlds.core.events import Event, EventLog
from worlds.core.loading import open_world
from worlds.core.manifest import OptionValue
from worlds.core.wire import API_HOST, API_URL, Transport, WireRequest, WireResponse, check_sendable
from worlds.core.world import World

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
        return self.send(request)

    def send(self, request: WireRequest) -> WireResponse:
        """Send a request that was checked when it was made."""
        answer = self.app.answer(_as_served(request))
        return answer if request.method != "HEAD" else answer._replace(body=b"")


def _as_served(request: WireRequest) -> WireRequest:
    """The request as a server hands it on: names in lower case, framing headers added, no question mark without a query."""
    headers = [(name.lower(), value) for name, value in request.headers]
    framed = (("host", API_HOST), *headers, ("content-length", str(len(request.body))))
    return WireRequest(request.method, request.target if request.query else request.path, framed, request.body)


class WireTransport(httpx.BaseTransport):
    """An httpx transport over our raw one: the target goes through exactly as httpx would write it on a socket."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send what httpx would send; framing headers belong to the transport."""
        headers = tuple((k, v) for k, v in request.headers.multi_items() if k.lower() not in _FRAMING)
        answer = self._transport(WireRequest(request.method, request.url.raw_path, headers, request.read()))
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)


class _Cookies(httpx.Cookies):
    """Looks for cookies in answers that set one: to look takes as long as a world takes to answer."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Keep what the answer sets."""
        if "set-cookie" in response.headers:
            super().extract_cookies(response)


class _Client(httpx.Client):
    """Puts the base URL before a path itself: to join the two, httpx parses URLs four times a request."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._cookies = _Cookies()

    def build_request(self, method: str, url: httpx.URL | str, **given: Any) -> httpx.Request:
        """The request for a path, or for a whole URL."""
        return super().build_request(method, API_URL + url if isinstance(url, str) and url.startswith("/") else url, **given)


def client(transport: Transport) -> httpx.Client:
    """The synchronous client that solutions get, with the world's base URL."""
    return _Client(transport=WireTransport(transport), base_url=API_URL, trust_env=False)


def world_in_process(folder: Path, *, seed: int = 0, overrides: Mapping[str, OptionValue] | None = None) -> InProcess:
    """An episode of the task whose environment/api folder is `folder`."""
    return InProcess(open_world(folder, seed=seed, overrides=overrides))
