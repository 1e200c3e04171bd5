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

from harness.secrets import ALLOWED, host_of, public_address, scrub, secrets_of
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, ScriptedCall, ScriptedReply

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


ECHOED = "I was given sk-planted/4f1c+9a77e3 and planted-token-b81d02c6."


@pytest.mark.property
def test_secrets_in_a_good_reply_are_recorded_nowhere(harness: Command, tmp_path: Path) -> None:
    """A model that repeats keys in texts, thoughts and calls: trajectory, cache, wire, log and events hold none of them."""
    call = json.dumps({"method": "GET", "path": f"/api/{KEY}", "body": ECHOED})
    script = Script(
        play=lambda messages: ScriptedReply(
            text=ECHOED, reasoning=ECHOED, tool_calls=(ScriptedCall(name="http_request", arguments=call),)
        )
    )
    with OpenAIServer(script) as server:
        who = ("--model", "openai/any", "--interface", "tool", "--runtime", "inprocess", "--api-base", server.url, "--no-probe")
        kept = ("--cache", tmp_path / "cache", "--record-wire", "--turns", "3", "--out", tmp_path / "run")
        said = harness("run", "presigned-url-download", *who, *kept, env=ENV)
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written["output"] = (said.stdout + said.stderr).encode()
    seen = [name for name, data in written.items() for one in (KEY, OTHER) for piece in pieces(one) if piece in data]

    assert len(server.requests) >= 1, said.stderr
    assert any(b"I was given [secret]" in data for name, data in written.items() if "trajectory" in name), said.stderr
    assert any(b"I was given [secret]" in data for name, data in written.items() if name.startswith("cache"))
    assert seen == []


@pytest.mark.property
def test_folder_with_a_secret_is_not_published(harness: Command, tmp_path: Path) -> None:
    """pack, each export and view --bundle name the file and how to go on, and write nothing; so is a key by its shape."""
    run = tmp_path / "run"
    harness("run", "presigned-url-download", "--agent", "oracle", "--runtime", "inprocess", "--out", run)
    log = next(run.glob("episodes/*/*/*/agent.log"))
    commands = [
        ("pack", run, "--out", tmp_path / "a.run.parquet"),
        ("view", run, "--bundle", tmp_path / "out"),
        ("export", "episodes", run),
    ]
    commands += [("export", kind, run, "--out", tmp_path / "out") for kind in ("trace", "inspect", "harbor-job", "scout")]
    for planted, what in ((OTHER, "the value of SOME_OTHER_TOKEN"), (f"sk-{'a1' * 20}", "what looks like an API key (sk-...)")):
        log.write_text(f"it said {planted}", encoding="utf-8")
        for words in commands:
            said = harness(*words, env=ENV)
            assert (said.returncode, said.stdout) == (2, ""), words
            assert f"{log} contains {what}, so it is not published" in said.stderr.replace(str(run.resolve()), str(run)), words
            assert planted not in said.stderr
            assert not [path for path in tmp_path.iterdir() if path.name != "run"]
    assert harness("pack", run, "--out", tmp_path / "a.run.parquet", env=ENV | {ALLOWED: "1"}).returncode == 0


@pytest.mark.property
def test_packed_run_with_a_secret_is_not_published(harness: Command, tmp_path: Path) -> None:
    """A run that somebody else packed is read through before its pages are written."""
    run = tmp_path / "run"
    harness("run", "presigned-url-download", "--agent", "oracle", "--runtime", "inprocess", "--out", run)
    next(run.glob("episodes/*/*/*/agent.log")).write_text(OTHER, encoding="utf-8")
    assert harness("pack", run, "--out", tmp_path / "a.run.parquet").returncode == 0

    said = harness("view", tmp_path / "a.run.parquet", "--bundle", tmp_path / "out", env=ENV)
    assert (said.returncode, "agent.log contains the value of SOME_OTHER_TOKEN" in said.stderr) == (2, True)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://h/v1/sk-abcdefghijklmnopqrstuvwxyz012345/openai", "https://h/v1/[secret]/openai"),
        ("https://h/v1/0123456789abcdef0123456789abcdef", "https://h/v1/[secret]"),
        ("https://h/openai/deployments/gpt-4o-mini-2024-07-18-long-name/v1", None),
        ("http://127.0.0.1:8000/v1", None),
    ],
)
def test_key_in_the_path_of_an_address_is_not_shown(address: str, shown: str | None) -> None:
    """What looks like a key is left out of records and messages; names of models and routes stay."""
    assert public_address(address) == (shown or address)
    hidden = shown is not None
    assert any("[secret]" in text for text in (host_of(address), scrub(f"POST {address}", secrets_of(address)))) is hidden


def test_short_key_is_blanked_as_a_word() -> None:
    """A model's key of less than 8 characters is not printed, and words that hold it stay whole."""
    assert scrub("key abc12, abc123, (abc12)", ("abc12",)) == "key [secret], abc123, ([secret])"
    assert scrub("a value of 1", ("1",)) == "a value of 1"
