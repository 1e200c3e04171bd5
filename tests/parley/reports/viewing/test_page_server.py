"""The page server: this machine alone, reading alone, and each answer only what it says it is."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from harness.errors import UsageError
from harness.paths import ROOT
from parley.reports.viewing import Library, Site, open_server
from tests.parley.reports.recorded import CONTRACT, Recorded


@pytest.fixture(scope="module")
def port(recorded: Recorded) -> Iterator[int]:
    """A server of all recorded runs."""
    with open_server(Site(Library([recorded.folder])), port=0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.port
        server.shutdown()
        thread.join()


def asked(port: int, method: str, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one request, sent as it is written."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, target, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("target", ["/", "/index.html", "/runs/late/index.html?status=failure&page=1", "/static/style.css"])
def test_pages_are_served_under_a_strict_policy(port: int, target: str) -> None:
    """Whatever is answered may load this site's own files only, stand in no frame, and be taken for nothing else."""
    status, headers, body = asked(port, "GET", target)

    assert (status, headers["content-length"]) == (200, str(len(body)))
    assert headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


def test_head_is_get_without_its_body(port: int) -> None:
    """HEAD has the headers of GET."""
    _, headers, body = asked(port, "GET", "/runs/late/index.html")

    assert asked(port, "HEAD", "/runs/late/index.html") == (200, headers, b"")
    assert body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(port: int, method: str) -> None:
    """There is no write route, and a body that came with a request is not taken for the next one."""
    status, headers, _ = asked(port, method, "/index.html")

    assert (status, headers["allow"], headers["connection"]) == (405, "GET, HEAD", "close")


@pytest.mark.parametrize("method", ["BREW", "TRACE", "CONNECT"])
def test_unknown_methods_are_refused(port: int, method: str) -> None:
    """So is whatever else a client may ask."""
    status, headers, body = asked(port, method, "/index.html")

    assert status in {405, 501}
    assert headers["content-type"].startswith("text/plain")
    assert b"<" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost", "127.0.0.1:1", ""])
def test_another_host_is_refused(port: int, host: str) -> None:
    """A name that was made to lead here reads nothing."""
    status, _, body = asked(port, "GET", "/index.html", Host=host)

    assert status == 421
    assert b"Runs" not in body


def test_its_own_names_are_answered(port: int) -> None:
    """The address and localhost are its names; two hosts at once are none."""
    assert asked(port, "GET", "/index.html", Host=f"localhost:{port}")[0] == 200
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "target",
    [
        "/../../../../etc/passwd", "/static/%2e%2e/site.py", "/static/..%2fsite.py", "//etc/passwd", "/runs/late/run.json",
        f"/episodes/late/contract/{CONTRACT}/s0-a1/..%2f..%2f..%2f..%2frun.json.txt",
        "/index.html%00", "/runs/%2e%2e/index.html",
    ],
)  # fmt: skip
def test_nothing_outside_is_served(port: int, target: str) -> None:
    """However a path is written, it leads to a page of the site or nowhere."""
    assert asked(port, "GET", target)[0] == 404


def test_files_are_plain_text(port: int, recorded: Recorded) -> None:
    """A file of an episode comes as it was recorded, as text that no browser takes for a page."""
    status, headers, body = asked(port, "GET", f"/episodes/late/contract/{CONTRACT}/s0-a1/events.jsonl.txt")

    assert (status, headers["content-type"], headers["x-content-type-options"]) == (200, "text/plain; charset=utf-8", "nosniff")
    assert body == (recorded.episode("late", CONTRACT) / "events.jsonl").read_bytes()


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.0.2.7", "example.com", "::1"])
def test_only_this_machine_is_served(recorded: Recorded, host: str) -> None:
    """An address that others can reach is refused before anything listens."""
    with pytest.raises(UsageError, match="is not a loopback address"):
        open_server(Site(Library([recorded.folder])), host=host, port=0)


def test_a_port_that_is_taken(port: int, recorded: Recorded) -> None:
    """One that was asked for is refused with a hint."""
    with pytest.raises(UsageError, match=f"cannot listen on port {port}") as failure:
        open_server(Site(Library([recorded.folder])), port=port)

    assert failure.value.hint == "harness view RUNS --port 0"


@pytest.mark.property
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_at_once(recorded: Recorded, number: int) -> None:
    """The command prints its address, answers there, and ends when interrupted though a browser holds a connection."""
    command = [sys.executable, "-m", "harness", "view", str(recorded.folder), "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as viewer:
        assert viewer.stdout
        url = viewer.stdout.readline().strip()
        number_of_port = int(url.split(":")[2].partition("/")[0])
        held = socket.create_connection(("127.0.0.1", number_of_port))
        status = asked(number_of_port, "GET", "/index.html")[0]
        begun = time.monotonic()
        viewer.send_signal(number)
        code = viewer.wait(timeout=20)
        held.close()

        assert (status, code) == (200, 0)
        assert time.monotonic() - begun < 10
