"""The address of one hosted game: loopback, unless a person typed another one; a thread serves it while the game is played."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from harness.errors import RuntimeFailure, UsageError
from harness.hosting.group import PageGroup
from harness.hosting.places import PagePlace
from harness.hosting.routes import PageRoutes

_NAMES = {"127.0.0.1": ("127.0.0.1", "localhost"), "::1": ("[::1]", "localhost")}
_EVERYWHERE = {"0.0.0.0", "::", ""}


class PageHost:
    """Serves a group its pages."""

    def __init__(self, group: PageGroup, title: str, family: str, *, address: str = "127.0.0.1", port: int = 0) -> None:
        """Takes the port (0: any that is free); raises UsageError for an address or a port that cannot be had."""
        if address in _EVERYWHERE:
            raise UsageError(f"--bind {address} names no address that people could type", hint="--bind 192.168.1.20")
        is_long = ":" in address
        try:
            self._socket = socket.create_server((address, port), family=socket.AF_INET6 if is_long else socket.AF_INET)
        except OSError as error:
            raise UsageError(f"{address}, port {port}, cannot be had: {error.strerror}", hint="another --port, or 0") from None
        self.group = group
        self.port: int = self._socket.getsockname()[1]
        names = _NAMES.get(address, (f"[{address}]" if is_long else address,))
        self.url = f"http://{names[0]}:{self.port}"
        self._routes = PageRoutes(group, title, family, frozenset(f"{name}:{self.port}" for name in names))

    def link(self, place: PagePlace) -> str:
        """What one person types."""
        return f"{self.url}/t/{place.token}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer requests for the time of the context; raises RuntimeFailure where that does not end."""
        config = uvicorn.Config(self._routes.app(), log_level="error", access_log=False, lifespan="off", server_header=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [self._socket]}, name="pages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(5)
            self._socket.close()
        if thread.is_alive():
            raise RuntimeFailure("the pages are still being served")
