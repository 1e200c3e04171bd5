"""A local server for the pages of a site: loopback only, GET and HEAD only, and same origin only.

1. The server binds to a loopback address only. It refuses requests whose Host is not that address and port, so that pages of
other sites cannot read the served data by DNS rebinding.
2. No route writes, and none reads outside the folders of the runs (`parley.reports.viewing.site`).
3. Responses forbid content sniffing (nosniff), framing and caching.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

from harness.errors import UsageError
from parley.reports.viewing.pages import POLICY
from parley.reports.viewing.site import Served, Site
from worlds.core.connections import QUEUE, guarded_server

PORT = 8642
"""Default port."""

_MOST_FIELDS = 40
_PLAIN = "text/plain"
_GRACE_S = 2


class PageServer:
    """Server of one site until it is closed."""

    def __init__(self, site: Site, host: str, port: int) -> None:
        """Listen on a port. Raises OSError if it is taken."""
        self._site = site
        self._socket = socket.create_server((host, port), backlog=QUEUE)
        self.host, self.port = self._socket.getsockname()[:2]
        self._hosts = {f"{name}:{self.port}".encode() for name in (self.host, "localhost")}
        # an interrupt does not wait for browsers that keep their connections open
        self._server = guarded_server(self._serve, date_header=False, timeout_graceful_shutdown=_GRACE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._socket.close()

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{self.host}:{self.port}/"

    def serve_forever(self) -> None:
        """Answer requests until interrupted, or until `shutdown` is called from another thread."""
        self._server.run(sockets=[self._socket])

    def shutdown(self) -> None:
        """Make `serve_forever` return."""
        self._server.should_exit = True

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI request."""
        if scope["method"] not in {"GET", "HEAD"}:
            # the request's body is not read, so the connection cannot be reused
            more = {"Allow": "GET, HEAD", "Connection": "close"}
            await _answer(send, 405, Served(_PLAIN, b"Nothing can be written here.\n"), **more)
        elif dict(scope["headers"]).get(b"host") not in self._hosts:
            await _answer(send, 421, Served(_PLAIN, b"This server answers to its own address alone.\n"))
        else:
            page = await asyncio.to_thread(self._page, scope["path"], scope["query_string"])
            missing = Served(_PLAIN, b"There is no such page.\n")
            await _answer(send, 404 if page is None else 200 if page.is_whole else 422, page or missing)

    def _page(self, path: str, query: bytes) -> Served | None:
        try:
            fields = dict(parse_qsl(query.decode("latin-1"), max_num_fields=_MOST_FIELDS))
        except ValueError:
            fields = {}
        return self._site.answer(path.removeprefix("/"), fields)


async def _answer(send: Any, status: int, served: Served, **more: str) -> None:
    headers = {
        "Content-Type": f"{served.media}; charset=utf-8",
        "Content-Length": str(len(served.body)),
        "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        **more,
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": served.body})


def open_server(site: Site, host: str = "127.0.0.1", port: int | None = None) -> PageServer:
    """Return a listening server; without a `port`, on the default port, or on any free one if that is taken.

    Raises UsageError for an address that is not loopback, and for a named port that is taken.
    """
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_ours = ipaddress.ip_address(address).is_loopback and ":" not in address
    except ValueError:
        is_ours = False
    if not is_ours:
        raise UsageError(
            f"{host} is not a loopback address, such as 127.0.0.1, and pages are served only to this machine",
            hint="harness view RUNS --bundle DIR, and publish DIR",
        )
    try:
        return PageServer(site, address, PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return PageServer(site, address, 0)
        raise UsageError(f"cannot listen on port {port or PORT}: {error.strerror}", hint="harness view RUNS --port 0") from None
    except OverflowError:
        raise UsageError(f"{port} is not a port number", hint="harness view RUNS --port 0") from None
