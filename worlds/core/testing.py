"""Public test kit: a whole world in this process, accessible in raw bytes or through a synchronous httpx client.

`InProcess(world)` is a `Transport`: it passes a request to the app as a server would, without an event loop, because the app
never blocks. `client(transport)` is the `api` that solutions receive (`worlds.core.clients`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from worlds.core.clients import client
from worlds.core.events import Event, EventLog
from worlds.core.loading import open_world
from worlds.core.manifest import OptionValue
from worlds.core.routes import App
from worlds.core.wire import API_HOST, WireRequest, WireResponse, check_sendable
from worlds.core.world import World

__all__ = ["InProcess", "client", "world_in_process"]


class InProcess:
    """Transport that calls a world's app directly: no sockets, no event loop, one request at a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app = App(world)

    @property
    def log(self) -> EventLog:
        """The world's event log."""
        return self.world.log

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        return self.world.log.events

    def __call__(self, request: WireRequest) -> WireResponse:
        """Send one request; raises WireError if no HTTP client could send it."""
        check_sendable(request)
        return self.send(request)

    def send(self, request: WireRequest) -> WireResponse:
        """Send a request that has already been checked."""
        answer = self.app.answer(_as_served(request))
        return answer if request.method != "HEAD" else answer._replace(body=b"")


def _as_served(request: WireRequest) -> WireRequest:
    """Return the request as a server receives it: lower-case names, framing headers, no question mark without a query."""
    headers = [(name.lower(), value) for name, value in request.headers]
    framed = (("host", API_HOST), *headers, ("content-length", str(len(request.body))))
    return WireRequest(request.method, request.target if request.query else request.path, framed, request.body)


def world_in_process(folder: Path, *, seed: int = 0, overrides: Mapping[str, OptionValue] | None = None) -> InProcess:
    """Open an episode of the task whose environment/api folder is `folder`."""
    return InProcess(open_world(folder, seed=seed, overrides=overrides))
