"""A local server for the pages of a site: loopback only, GET and HEAD only, and no answer to a page of somebody else.

1. It binds to a loopback address or not at all. A request whose Host is not that address and port is refused, so that no name
   that leads here (DNS rebinding) lets a page from elsewhere read what is served.
2. There is no route that writes, and none that reads outside the folders of the runs (`harness.viewing.site`).
3. What is sent may be used as what it says it is and nothing else (nosniff), in no frame, and is kept by no cache.
"""

from __future__ import annotations

import errno
import ipaddress
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from harness.errors import UsageError
from harness.viewing.rendering import POLICY
from harness.viewing.site import Site

PORT = 8642
"""Where pages are served unless another port is asked for."""

_SECONDS = 30
"""How long a connection may say nothing."""

_MOST_FIELDS = 40
_PLAIN = "text/plain"


class PageServer(ThreadingHTTPServer):
    """Serves one site until it is closed."""

    daemon_threads = True
    # whoever interrupts does not wait for a browser that holds its connection
    block_on_close = False

    def __init__(self, site: Site, host: str, port: int) -> None:
        """Listen; raises OSError where the port is taken."""
        self.site = site
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle of an answer is no error; a mistake of ours is told in full."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may name as its Host."""
        host, port = self.server_address[:2]
        return f"{host!s}:{port}", f"localhost:{port}"

    @property
    def url(self) -> str:
        """The address of the first page."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"


def open_server(site: Site, host: str = "127.0.0.1", port: int | None = None) -> PageServer:
    """A server that listens; any free port where none is named and the usual one is taken.

    Raises UsageError for an address that others can reach, and for a port that was named and is taken.
    """
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_ours = ipaddress.ip_address(address).is_loopback and ":" not in address
    except ValueError:
        is_ours = False
    if not is_ours:
        raise UsageError(
            f"pages are served to this machine alone, and {host} is no loopback address (127.0.0.1)",
            hint="harness view RUNS --bundle DIR, and publish DIR",
        )
    try:
        return PageServer(site, address, PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return PageServer(site, address, 0)
        raise UsageError(
            f"port {port or PORT} cannot be served on: {error.strerror}", hint="harness view RUNS --port 0"
        ) from None
    except OverflowError:
        raise UsageError(f"{port} is no port", hint="harness view RUNS --port 0") from None


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "parley", ""
    timeout: ClassVar[int] = _SECONDS

    def do_GET(self) -> None:
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            self._send(421, _PLAIN, b"This server answers to its own address alone.\n")
            return
        target = urlsplit(self.path)
        try:
            query = dict(parse_qsl(target.query, max_num_fields=_MOST_FIELDS))
        except ValueError:
            query = {}
        answer = self.server.site.answer(unquote(target.path).removeprefix("/"), query)
        if answer is None:
            self._send(404, _PLAIN, b"There is no such page.\n")
        else:
            self._send(200 if answer.is_whole else 422, answer.media, answer.body)

    do_HEAD = do_GET  # noqa: N815 - the base class finds methods by these names

    def do_POST(self) -> None:
        # what came with it is not read, so the connection is of no more use
        self.close_connection = True
        self._send(405, _PLAIN, b"Nothing can be written here.\n", Allow="GET, HEAD")

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_POST  # noqa: N815 - likewise

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request at all, as the base class tells it."""
        self.close_connection = True
        self._send(code, _PLAIN, f"{message or 'This is no request.'}\n".encode(errors="replace"))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """A viewer says nothing of each page."""

    def _send(self, status: int, media: str, body: bytes, **more: str) -> None:
        headers = {
            "Content-Type": f"{media}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            **more,
        }
        if self.close_connection:
            headers["Connection"] = "close"
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
