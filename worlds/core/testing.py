"""The public test kit: a whole world in this process, spoken to in raw bytes or through a synchronous httpx client.

`InProcess(world)` is a `Transport`: it hands a request to the app as a server would, without any event loop, because the app
never waits for anything.
`client(transport)` is the `api` that solutions receive (`worlds.core.clients`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from worlds.core.app import create_app
from worlds.core.clients import client
from worlds.core.events import Event, EventLog
from worlds.core.loading import open_world
from worlds.core.manifest import OptionValue
from worlds.core.wire import API_HOST, WireRequest, WireResponse, check_sendable
from worlds.core.world import World

__all__ = ["InProcess", "client", "world_in_process"]


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


def world_in_process(folder: Path, *, seed: int = 0, overrides: Mapping[str, OptionValue] | None = None) -> InProcess:
    """An episode of the task whose environment/api folder is `folder`."""
    return InProcess(open_world(folder, seed=seed, overrides=overrides))
