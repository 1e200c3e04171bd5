"""How many connections a world keeps, and which one it lets go of when there are more: the longest without an answer.

An agent can open connections and say nothing, or half a request, until a server has no file left to accept another with, and
is deaf to the agent's next command. So the number is bounded. A new connection always gets in; the one that was opened, or
got its last answer, before all others goes. Connections on a path (the harness's own bridge) are neither counted nor let go.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 512
"""Well below the number of files that a process may open, 1,024 almost everywhere."""


class BoundedProtocol(H11Protocol):
    """One connection among at most `most`; a process that serves has one class of its own, from `bounded`."""

    most = MOST_CONNECTIONS
    kept: dict[BoundedProtocol, None]
    """Those that are counted, the longest without an answer first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Let one go where there are too many."""
        super().connection_made(transport)
        if transport.get_extra_info("socket").family == socket.AF_UNIX:
            return
        self.kept[self] = None
        if len(self.kept) > self.most:
            longest = next(iter(self.kept))
            del self.kept[longest]
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no longer."""
        self.kept.pop(self, None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """After an answer a connection is as good as a new one."""
        if self in self.kept:
            del self.kept[self]
            self.kept[self] = None
        super().on_response_complete()


def bounded(most: int = MOST_CONNECTIONS) -> type[BoundedProtocol]:
    """A class of connections of which one server keeps at most so many."""
    own: dict[str, Any] = {"most": most, "kept": {}}
    return type("Bounded", (BoundedProtocol,), own)
