"""The guard of every server: which connections it holds, how long a request may take, and what it logs."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from worlds.core.connections import guarded_server

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
SHORT_OF_FILES = """
import os, resource, socket, sys
from worlds.core.connections import guarded_server
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
server = guarded_server(None)
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
held = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
server.run(sockets=[listening])
"""


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer everything once it is complete."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def served(**settings: Any) -> Iterator[int]:
    """The port of a server, on every loopback address."""
    with socket.create_server(("0.0.0.0", 0)) as listening:
        server = guarded_server(app, **settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def status(link: socket.socket) -> bytes:
    """The status of one response, read whole."""
    data = b""
    while not data.endswith(b"\r\n\r\nok"):
        data += link.recv(4096) or b"\r\n\r\nok"
    return data[:12]


def said(link: socket.socket) -> bytes:
    """Everything until the server closes."""
    data = b""
    try:
        while chunk := link.recv(65_536):
            data += chunk
    except ConnectionResetError:
        pass
    return data


@pytest.mark.property
@pytest.mark.parametrize(
    "part", [b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx", WHOLE + b"GET"]
)
def test_a_request_that_does_not_arrive_is_cut_off(part: bytes) -> None:
    """Silence, half a head, half a body and a second request that never ends: each for so long and no longer."""
    with served(request_s=0.1, timeout_keep_alive=0.1) as port, socket.create_connection(("127.0.0.1", port), 5) as link:
        link.sendall(part)
        began = time.monotonic()
        answers = said(link).count(b"200 OK")

        assert (answers, time.monotonic() - began < 3) == (part.count(WHOLE), True)


@pytest.mark.property
def test_a_request_in_pieces_is_answered_in_time() -> None:
    """The deadline is one request's: a connection in use outlives it."""
    with served(request_s=0.6) as port, socket.create_connection(("127.0.0.1", port), 5) as link:
        for _ in range(12):
            for piece in (WHOLE[:9], WHOLE[9:]):
                link.sendall(piece)
                time.sleep(0.03)
            assert status(link) == b"HTTP/1.1 200"


def test_one_address_cannot_crowd_another_out() -> None:
    """Of one address so many connections are held; another's first one stays, though it is silent too."""
    with served(each=3) as port, ExitStack() as stack:
        far = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5, ("127.0.0.2", 0)))
        links = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(7)]
        gone = [said(link) for link in links[:4]]
        for link in (far, *links[4:]):
            link.sendall(WHOLE)

        assert gone == [b""] * 4
        assert [status(link) for link in (far, *links[4:])] == [b"HTTP/1.1 200"] * 4


def test_those_without_a_request_are_closed_first() -> None:
    """A connection that has had a response outlives a later one that is silent."""
    with served(each=2) as port, ExitStack() as stack:
        used, silent = (stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(2))
        used.sendall(WHOLE)
        status(used)
        fresh = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        assert said(silent) == b""
        for link in (used, fresh):
            link.sendall(WHOLE)
            assert status(link) == b"HTTP/1.1 200"


def test_two_framings_are_answered_once_and_the_connection_is_closed() -> None:
    """Content-Length with Transfer-Encoding: nothing that follows is taken for a request (RFC 9112, 6.1)."""
    both = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with served() as port, socket.create_connection(("127.0.0.1", port), 5) as link:
        link.sendall(both + WHOLE)

        assert said(link).count(b"HTTP/1.1 200 OK") == 1


def test_a_shortage_of_files_is_logged_once() -> None:
    """Where files run out all the same, the log has one line, and no traceback for each that waits."""
    with subprocess.Popen([sys.executable, "-c", SHORT_OF_FILES], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        with ExitStack() as stack:
            for _ in range(60):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
            time.sleep(0.3)
            process.kill()
        log = process.communicate()[1].decode()

    assert (log.count("\n"), "connections have to wait: Too many open files" in log) == (1, True)
