"""A provider that redirects to another server: neither the key, in whichever header it stands, nor the prompt follows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import httpx
import pytest

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.wire import leads_elsewhere
from harness.errors import ProviderLost

KEY = "sk-redirected-0123456789"


class Redirecting(BaseHTTPRequestHandler):
    """Sends everything on, and keeps what arrives."""

    target: ClassVar[str] = ""
    arrived: ClassVar[list[tuple[int, str, str]]] = []

    def do_POST(self) -> None:
        """Redirect."""
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.arrived.append((self.server.server_port, str(self.headers), body))  # type: ignore[attr-defined]
        self.send_response(307)
        self.send_header("Location", f"{self.target}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def servers() -> Iterator[tuple[str, str]]:
    """The addresses of the provider and of whoever it sends on to; it is the same host by another name."""
    made = [ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) for _ in range(2)]
    threads = [threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}) for one in made]
    for thread in threads:
        thread.start()
    Redirecting.target, Redirecting.arrived[:] = f"http://localhost:{made[1].server_port}", []
    yield f"http://127.0.0.1:{made[0].server_port}", Redirecting.target
    for server, thread in zip(made, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai/x", "OPENAI_API_KEY"), ("anthropic/claude-x", "ANTHROPIC_API_KEY"), ("gemini/gemini-x", "GEMINI_API_KEY")],
)
def test_no_key_follows_a_redirect(servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch, name: str, variable: str) -> None:
    """The call ends the run, by a message with the new address, and the other server hears nothing."""
    monkeypatch.setenv(variable, KEY)
    base, target = servers
    client = ModelClient(ModelSettings(name, api_base=base, first_pause_s=0.01, timeout_s=5.0), say=lambda line: None)

    with pytest.raises(ProviderLost, match="redirects to another server, to which no key is sent") as failure:
        client.complete([{"role": "user", "content": "hello"}])

    assert KEY in "".join(headers for _, headers, _ in Redirecting.arrived)
    assert {port for port, _, _ in Redirecting.arrived} == {int(base.rpartition(":")[2])}
    assert target in str(failure.value)


@pytest.mark.parametrize(
    ("url", "location", "expected"),
    [
        ("https://a.example/v1", "/v2", False), ("https://a.example/v1", "https://a.example/v2", False),
        ("http://a.example/v1", "https://a.example/v1", False), ("https://a.example/v1", "https://b.example/v1", True),
        ("https://a.example/v1", "http://a.example/v1", True), ("https://a.example/v1", "//b.example/v1", True),
        ("https://a.example/v1", "https://a.example:8443/v1", True), ("https://a.example/v1", "https://[/v1", True),
    ],
)  # fmt: skip
def test_what_is_another_server(url: str, location: str, expected: bool) -> None:
    """Another host, another port, or plain HTTP; a path of the same server, or its HTTPS, is not."""
    assert leads_elsewhere(httpx.URL(url), {"location": location}) is expected
