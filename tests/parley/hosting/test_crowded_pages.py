"""Pages that a crowd of idle connections asks for: people and readers are served, and records are written."""

from __future__ import annotations

import json
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from harness.paths import ROOT
from tests.parley.hosting.hosted import Somebody
from tests.parley.hosting.test_hosting import labels

pytestmark = pytest.mark.property

CROWD = 2000
UNFINISHED = [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"POST /t/x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"]


@contextmanager
def command(*words: str, files: int = 300) -> Iterator[subprocess.Popen[str]]:
    """A command of the harness that may have so many files open."""
    limited = ["bash", "-c", f'ulimit -n {files}; exec "$@"', "limited", sys.executable, "-m", "harness", *words]
    with subprocess.Popen(limited, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def crowd(port: int) -> Iterator[None]:
    """Two thousand connections that never finish a request; those that the server closes come again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    links: deque[socket.socket] = deque()
    ended = threading.Event()

    def come() -> None:
        links.append(socket.create_connection(("127.0.0.1", port), timeout=20))
        links[-1].sendall(UNFINISHED[len(links) % len(UNFINISHED)])

    def come_again() -> None:
        while not ended.wait(0.005):
            links.popleft().close()
            come()

    for _ in range(CROWD):
        come()
    thread = threading.Thread(target=come_again)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for link in links:
            link.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_crowd_keeps_nobody_from_a_game(tmp_path: Path) -> None:
    """With 300 files and 2,000 unfinished requests, two people play to a verdict, and little is logged."""
    run = tmp_path / "run"
    seats = ("--seat", "2=pool", "--seat", "3=pool")
    with command("host", "bakery-switch", *seats, "--runtime", "inprocess", "--out", str(run)) as process:
        assert process.stderr
        links: list[str] = []
        while len(links) < 2:
            line = process.stderr.readline()
            assert line, "the command ended"
            links += re.findall(r"http\S+/t/\S+", line)
        port = int(links[0].split(":")[2].partition("/")[0])
        with crowd(port), ExitStack() as stack:
            people = [stack.enter_context(closing(Somebody(link))) for link in links]
            for one in people:
                one.post(do="join")
            option = labels(people[0])[0]
            for one in people:
                one.vote(option)
            for one in people:
                one.until('name="said"')
                one.post(do="finish")
            for one in people:
                one.vote(option)
            for one in people:
                one.until("It is over")
        said = process.communicate(timeout=60)[1]

    (result,) = run.glob("episodes/*/*/*/result.json")
    assert (process.returncode, json.loads(result.read_text())["status"]) == (0, "graded")
    assert len(said) < 5000


def test_a_crowd_keeps_nobody_from_recorded_runs(tmp_path: Path) -> None:
    """So it is with the pages of recorded runs."""
    with command("run", "presigned-url-download", "--runtime", "inprocess", "--out", str(tmp_path / "run")) as process:
        assert process.wait(timeout=60) == 0
    with command("view", str(tmp_path), "--port", "0", "--no-browser") as process:
        assert process.stdout
        assert process.stderr
        url = process.stdout.readline().strip()
        with crowd(int(url.split(":")[2].partition("/")[0])):
            took = []
            for _ in range(20):
                began = time.monotonic()
                assert httpx.get(url, timeout=20).status_code == 200
                took.append(time.monotonic() - began)
        process.terminate()
        said = process.communicate(timeout=60)[1]

    assert sorted(took)[10] < 2
    assert len(said) < 2000
