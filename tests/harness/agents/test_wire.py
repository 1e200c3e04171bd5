"""The recorded wire: true bytes, no secrets, bounded, in the right episode, and played back as it is."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from harness.agents.llm import wire, wire_log
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.provider import library
from harness.agents.llm.wire import (
    Cassette,
    RecordedRequest,
    RecordedResponse,
    WireCall,
    WireRule,
    listening,
    read_cassette,
)
from harness.agents.llm.wire_log import WireLog, keep_wire
from harness.errors import ProviderFailure
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import script
from tests.harness.agents.cassettes.playing import TASK, Fallback, Script, harness, play

SECRET = "sk-sentinel-0123456789abcdef"
_TOLD = {"error": {"message": f"not with {SECRET}", "api_key": "another-key-of-it"}}
DENIED = WireCall(response=RecordedResponse(status=400, body=_TOLD), times=0)
QUIET = {"patience_s": 0.5, "first_pause_s": 0.01}


def recorded(log: WireLog) -> Cassette:
    """What would be written of a log."""
    return Cassette.model_validate_json(log.dump(failed=True))


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("openai/any", "/v1/chat/completions"),
        ("anthropic/claude-sonnet-4-5", "/v1/messages"),
        ("gemini/gemini-2.0-flash", "/v1:generateContent"),
    ],
)
def test_providers_and_secrets(model: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM's clients of three kinds are recorded to the byte, and the key stands nowhere: header, query, echo in a reply."""
    monkeypatch.setenv("PARLEY_SENTINEL_KEY", SECRET)
    log, denied = WireLog(), DENIED.model_copy(update={"request": RecordedRequest(path=path)})
    with OpenAIServer(cassette=Cassette(calls=(denied,))) as server, log.recording():
        settings = ModelSettings(model, server.url, SECRET, temperature=None, **QUIET)
        with pytest.raises(ProviderFailure):
            ModelClient(settings, say=lambda line: None).complete([{"role": "user", "content": "Grüße"}])
        received = server.requests[-1]

    data, (call, *_) = log.dump(failed=True), recorded(log).calls
    assert SECRET.encode() not in data
    assert b"another-key-of-it" not in data
    assert call.response is not None
    assert re.split("[/:]", call.request.path.partition("?")[0])[-1] == re.split("[/:]", path)[-1]
    assert "Grüße" in json.dumps(json.loads(call.request.body), ensure_ascii=False)
    assert len(call.request.body.encode()) == int(received.headers["content-length"])
    assert (call.response.status, "[secret]" in str(call.response.body)) == (400, True)


def test_installed_twice() -> None:
    """A call is recorded once, also where LiteLLM was set up anew in the same process."""
    log = WireLog()
    wire.install()
    with OpenAIServer(Script(play=lambda messages: "ready")) as server, log.recording():
        ModelClient(ModelSettings("openai/any", server.url, "k" * 9, **QUIET)).complete([{"role": "user", "content": "hello"}])

    assert len(recorded(log).calls) == 1


def test_a_connection_that_breaks() -> None:
    """A call without a response says how it failed, and a replay breaks the connection too."""
    log = WireLog()
    with OpenAIServer(cassette=Cassette(calls=(WireCall(times=0),))) as server, log.recording():
        client = ModelClient(ModelSettings("openai/any", server.url, "k" * 9, **QUIET), say=lambda line: None)
        with pytest.raises(ProviderFailure):
            client.complete([{"role": "user", "content": "hello"}])

    assert all(call.response is None and call.error for call in recorded(log).calls)


class _Odd(BaseHTTPRequestHandler):
    """Answers with compressed bytes, or with bytes that are not UTF-8."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        is_packed = self.path.startswith("/gzip")
        body = gzip.compress(b'{"a": 1}') if is_packed else b"\xff\xfe"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def odd() -> Iterator[str]:
    """The address of a server of odd bodies."""
    library()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Odd)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_bodies(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed bodies are recorded plain, other bytes in Latin-1, long ones with head and tail; other requests are not."""
    monkeypatch.setattr(wire, "BODY_BYTES", 40)
    log = WireLog()
    with httpx.Client(trust_env=False) as client, log.recording():
        client.post(f"{odd}/gzip?api_key=abc&b=2", content=b"not a model call")
        with listening(str):
            client.post(f"{odd}/gzip?api_key=abc&b=2", content=b"x" * 50 + b"y" * 50)
            client.post(f"{odd}/bytes", content=b"")

    packed, raw = recorded(log).calls
    assert packed.request.path == "/gzip?api_key=[secret]&b=2"
    assert packed.request.body == "x" * 10 + "\n[60 bytes left out]\n" + "y" * 30
    assert packed.response is not None
    assert raw.response is not None
    assert (packed.response.body, raw.response.body, raw.response.encoding) == ('{"a": 1}', "ÿþ", "latin-1")


def test_only_the_last_calls_are_kept(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight of them, fewer where they are long; those before an unreadable reply whatever comes later; else nothing."""

    def sent(log: WireLog, *bodies: bytes) -> None:
        with log.recording(), listening(str), httpx.Client(trust_env=False) as client:
            for body in bodies:
                client.post(f"{odd}/gzip", content=body)
                if body == b"bad":
                    keep_wire()

    last, long, kept, whole = WireLog(), WireLog(), WireLog(), WireLog(keeps_all=True)
    sent(last, *(b"%d" % number for number in range(20)))
    sent(kept, b"1", b"bad", *(b"%d" % number for number in range(20)))
    sent(whole, *(b"%d" % number for number in range(20)))
    monkeypatch.setattr(wire_log, "MOST_BYTES", 100)
    sent(long, b"a" * 60, b"b" * 60)

    assert [call.request.body for call in recorded(last).calls] == [str(number) for number in range(12, 20)]
    assert last.dump(failed=False) == b""
    assert [call.request.body for call in Cassette.model_validate_json(kept.dump(failed=False)).calls] == ["1", "bad"]
    assert len(Cassette.model_validate_json(whole.dump(failed=False)).calls) == 20
    assert [call.request.body for call in recorded(long).calls] == ["b" * 60]


@pytest.mark.property
def test_record_wire_and_replay(tmp_path: Path) -> None:
    """Four episodes at once: each file has all calls of its own episode, is packed with it, and plays the episode again."""
    with OpenAIServer(Script(play=Fallback())) as server:
        flags = ("--model", "openai/any", "--interface", "tool", "--runtime", "inprocess", "--api-base", server.url)
        flags += ("--no-probe", "--out", str(tmp_path / "run"))
        harness("run", TASK, *flags, "--seeds", "0-3", "--workers", "4", "--record-wire")
    files = sorted(tmp_path.glob("run/episodes/*/*/*/wire.json"))
    cassettes = [read_cassette(file) for file in files]
    again = play(cassettes[0].model_copy(update={"rules": ()}), tmp_path / "again", "--interface", "tool")
    harness("pack", tmp_path / "run", "--out", tmp_path / "packed.run.parquet")
    harness("unpack", tmp_path / "packed.run.parquet", "--out", tmp_path / "unpacked")

    assert len(files) == 4
    assert sum(len(one.calls) for one in cassettes) == len(server.requests)
    for file, one in zip(files, cassettes, strict=True):
        tasks = {httpx.Response(200, text=call.request.body).json()["messages"][1]["content"] for call in one.calls}
        assert len(tasks) == 1
        assert (tmp_path / "unpacked" / file.relative_to(tmp_path / "run")).read_bytes() == file.read_bytes()
    assert again.result.reward == 1.0
    assert len(again.requests) == len(cassettes[0].calls)
    assert again.wire is None


@pytest.mark.property
def test_a_failure_plays_again(tmp_path: Path) -> None:
    """The file of an episode that its provider ended is a bug report: a server that answers from it ends it likewise."""
    refused = RecordedResponse(status=400, body={"error": {"message": "no such thing", "type": "invalid_request_error"}})
    rules = (WireRule(after=2, response=refused),)
    first = play(Cassette(rules=rules), tmp_path / "first", "--interface", "tool")
    assert first.wire is not None
    again = play(first.wire, tmp_path / "again", "--interface", "tool")

    said = [str(one.result.error).rpartition("refused the request")[2] for one in (first, again)]
    assert said == [": no such thing (400)"] * 2
    assert first.result.cause == "provider"
    assert again.wire is not None
    assert [call.response for call in first.wire.calls][-1].status == 400  # type: ignore[union-attr]
    assert [call.request.body for call in first.wire.calls] == [call.request.body for call in again.wire.calls]


def test_rules_and_counts() -> None:
    """Rules come first and say after how many answers; calls are taken in order, as often as each says, by the path's end."""
    cassette = Cassette(
        calls=(
            WireCall(response=RecordedResponse(status=201), times=2),
            WireCall(request=RecordedRequest(path="/v1/messages"), response=RecordedResponse(status=202)),
        ),
        rules=(WireRule(has="forbidden", response=RecordedResponse(status=403)),
               WireRule(lacks="please", after=4, response=RecordedResponse(status=428))),
    )  # fmt: skip
    said = []
    with OpenAIServer(script("a word"), cassette=cassette) as server, httpx.Client(trust_env=False) as client:

        def ask(text: str, path: str = "/chat/completions") -> None:
            body = {"messages": [{"role": "user", "content": text}]}
            said.append(client.post(server.url + path, json=body).status_code)

        for text in ("forbidden", "1", "2"):
            ask(text)
        ask("3", "/else/messages")
        ask("4, please")
        ask("5")

    assert said == [403, 201, 201, 202, 200, 428]
