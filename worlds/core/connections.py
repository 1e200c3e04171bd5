"""Connection limits for every server of the project: how many it holds, which it closes, and how long a request may take.

1. A new connection is always accepted. Above `most` in total, or `each` per address, one is closed: the oldest without a
complete request, otherwise the one that has waited longest since its last response. `most` is at most a quarter of the files
that this process may open, so that records can still be written.
2. A request that is not complete within `request_s` is aborted.
3. A shortage of file descriptors is logged once.
Connections on a Unix socket (the harness's own bridge) are neither counted nor closed.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 512
SHARE = 4
"""At most one in this many of the files that a process may open is a connection."""

BATCH, QUEUE = 64, 1024
"""Connections accepted at once, each of which needs a free file, and length of the listen queue, which needs none."""

REQUEST_S = 30.0
"""Real seconds within which a request must arrive, including its body."""

FRAMINGS = {b"content-length", b"transfer-encoding"}


class GuardedProtocol(H11Protocol):
    """One connection among at most `most`; `guarded_server` makes a subclass for each server."""

    most = each = MAX_CONNECTIONS
    request_s = REQUEST_S
    held: dict[GuardedProtocol, None]
    """Counted connections, ordered by the time of their last response."""

    _address: object = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Register a new connection, and close another if there are too many."""
        super().connection_made(transport)
        if transport.get_extra_info("socket").family == socket.AF_UNIX:
            return
        self._address = _network(transport.get_extra_info("peername")[0])
        self._watch()
        others = [one for one in self.held if one._address == self._address]  # noqa: SLF001 - of the same class
        self.held[self] = None
        if len(others) >= self.each or (others := list(self.held)[:-1])[self.most - 1 :]:
            self._close_one(others)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        self.held.pop(self, None)
        self._forget_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Start the deadline of a request, or cancel it if the request is complete."""
        super().data_received(data)
        self._watch()

    def handle_events(self) -> None:
        """Close after a request with both framings (RFC 9112, 6.1), because another parser may split the bytes differently."""
        super().handle_events()
        if self.cycle is not None and {name for name, _ in self.cycle.scope["headers"]} >= FRAMINGS:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Move the connection to the end of the queue after its response."""
        if self in self.held:
            del self.held[self]
            self.held[self] = None
        super().on_response_complete()

    def _watch(self) -> None:
        is_arriving = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if self._address is None or not is_arriving or self.transport.is_closing():
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.request_s, self.transport.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_one(self, others: list[GuardedProtocol]) -> None:
        chosen = next((one for one in others if one._deadline is not None), others[0])  # noqa: SLF001 - of the same class
        del self.held[chosen]
        chosen.transport.abort()


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_once())
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(QUEUE)


def guarded_server(
    app: Any, *, each: int | None = None, request_s: float = REQUEST_S, server: type[uvicorn.Server] = _Server, **settings: Any
) -> uvicorn.Server:
    """Return a server with a limited number of connections; `each` is the limit per address, by default half of the total."""
    most = max_connections()
    own: dict[str, Any] = {"most": most, "each": each or most // 2, "request_s": request_s, "held": {}}
    usual = {"interface": "asgi3", "loop": "asyncio", "ws": "none", "lifespan": "off", "backlog": BATCH}
    quiet = {"access_log": False, "log_level": "error", "server_header": False}
    guard = type("Guarded", (GuardedProtocol,), own)
    return server(uvicorn.Config(app, http=guard, **{**usual, **quiet, **settings}))


def max_connections() -> int:
    """Return the number of connections that a server in this process may hold."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else max(2, min(MAX_CONNECTIONS, files // SHARE))


def _network(address: str) -> object:
    """Return the key that identifies a client address: for IPv6, the 64-bit prefix of one subscriber."""
    return socket.inet_pton(socket.AF_INET6, address.partition("%")[0])[:8] if ":" in address else address


def _once() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return an event loop's exception handler that logs a shortage of files once; asyncio logs each waiting connection."""
    seen: set[str] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        message, error = context["message"], context.get("exception")
        if not isinstance(error, OSError) or "accept" not in message:
            loop.default_exception_handler(context)
        elif message not in seen:
            seen.add(message)
            logging.getLogger("uvicorn.error").error("connections have to wait: %s", error.strerror)

    return handle
