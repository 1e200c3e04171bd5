"""An engine that says 500 while a killed container takes long to end is asked again; a small server stands for the engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.errors import RuntimeFailure
from harness.runtimes.docker.engine.client import Engine


class SlowEngine(ThreadingHTTPServer):
    """Answers a removal with 500 so many times, then with 204."""

    refusals = 0
    asked = 0


class Handler(BaseHTTPRequestHandler):
    """The two requests that a removal makes of an engine."""

    server: SlowEngine

    def do_GET(self) -> None:
        """Which version of the API there is."""
        self._answer(200, {"ApiVersion": "1.41", "Version": "20.10"})

    def do_DELETE(self) -> None:
        """A removal."""
        self.server.asked += 1
        late = self.server.asked <= self.server.refusals
        self._answer(500 if late else 204, {"message": "tried to kill container, but did not receive an exit event"})

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _answer(self, status: int, document: dict[str, str]) -> None:
        body = json.dumps(document).encode() if status != 204 else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowEngine]:
    """The server, found as an engine is found."""
    with SlowEngine(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()


def test_a_slow_end_is_waited_for(slow: SlowEngine) -> None:
    """Two refusals, and it is gone."""
    slow.refusals = 2
    engine = Engine()

    assert engine.remove("c") is True
    engine.api.close()
    assert slow.asked == 3


def test_an_engine_that_never_manages_is_blamed(slow: SlowEngine) -> None:
    """Asked four times, and no more."""
    slow.refusals = 99
    engine = Engine()

    with pytest.raises(RuntimeFailure, match="exit event"):
        engine.remove("c")
    engine.api.close()
    assert slow.asked == 4
