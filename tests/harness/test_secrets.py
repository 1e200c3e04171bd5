"""No key, token or password of this host reaches a file, stdout or stderr, whatever a provider sends back."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

KEY, OTHER, PASSWORD, QUERY = "sk-planted/4f1c+9a77e3", "planted-token-b81d02c6", "planted:word@55aa10", "planted-query-77c3e9"
SHORTEST = 10
"""Letters of a secret that may not be seen in a row."""

ENV = {"OPENAI_API_KEY": KEY, "SOME_OTHER_TOKEN": OTHER, "PGPASSWD": PASSWORD}


class Echo(BaseHTTPRequestHandler):
    """A provider whose refusals hold all that it was sent, further to the right each time, and secrets that it cannot know."""

    asked = 0

    def do_POST(self) -> None:
        """Refuse."""
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).asked += 1
        told = f"{'.' * (37 * self.asked % 300)} {self.path} {list(self.headers.items())} {OTHER} {PASSWORD} {QUERY}"
        body = json.dumps({"error": {"message": told, "type": "invalid_request_error", "code": None}}).encode()
        self.send_response(400 if self.asked % 2 else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Where it listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def pieces(secret: str) -> set[bytes]:
    """Every part of a secret that is long enough to give it away, as it is and as headers and addresses carry it."""
    said = (secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode(), json.dumps(secret)[1:-1])
    return {one[start : start + SHORTEST].encode() for one in said for start in range(len(one) - SHORTEST + 1)}


@pytest.mark.property
def test_planted_secrets_reach_no_file(harness: Command, address: str, tmp_path: Path) -> None:
    """Keys of the environment, and user, password and query of --api-base, are echoed in every refusal and seen nowhere."""
    base = f"http://me:{quote(PASSWORD, safe='')}@{address}/v1?key={QUERY}"
    who = ("--model", "openai/any", "--interface", "tool", "--runtime", "inprocess", "--api-base", base, "--no-probe")
    run = ("run", "presigned-url-download", *who, "--seeds", "0-11", "-v", "--out", tmp_path / "run")
    said = [harness(*run, env=ENV), harness(*run, "--json", env=ENV)]
    said += [
        harness("run", "--resume", tmp_path / "run", "--api-base", base, "--no-probe", "--jsonl", tmp_path / "events", env=ENV)
    ]
    said += [harness("runs", tmp_path), harness("runs", tmp_path, "--json"), harness("show", tmp_path / "run")]
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written |= {f"output {number}": (done.stdout + done.stderr).encode() for number, done in enumerate(said)}
    secrets = (KEY, OTHER, PASSWORD, QUERY, f"me:{PASSWORD}")
    seen = [(name, piece) for name, data in written.items() for one in secrets for piece in pieces(one) if piece in data]

    assert Echo.asked >= 2
    assert any(b"[secret]" in data for data in written.values()), said[0].stderr
    assert {"run/run.json", "events"} <= set(written)
    assert seen == []
