"""A run whose model nobody serves ends at its first request, in one clause, and can be gone on with."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, script

Command = Callable[..., subprocess.CompletedProcess[str]]
RUN = ("run", "presigned-url-download", "--runtime", "inprocess", "--seeds", "0-9")
MODEL = ("--model", "openai/any", "--interface", "tool")


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


AN_EPISODE_EACH = (11, 12)
"""Calls of ten episodes that ask once, and one without tools for each of the two that end first."""


@pytest.mark.property
def test_a_dead_address_ends_the_run(harness: Command, tmp_path: Path) -> None:
    """Exit 3 within seconds, also without the probe, no episode recorded; once somebody listens there, `--resume` plays all."""
    port = free_port()
    base = f"http://127.0.0.1:{port}/v1"
    started = time.monotonic()
    probed = harness(*RUN, *MODEL, "--api-base", base, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    dead = harness(*RUN, *MODEL, "--api-base", base, "--no-probe", "--out", tmp_path / "run")
    took = time.monotonic() - started
    with OpenAIServer(script("I give up."), port=port) as server:
        again = harness("run", "--resume", tmp_path / "run", "--api-base", base)

    told = f"harness: openai/any: no server answers at {base}: [Errno 111] Connection refused"
    hint = "  try: start that server, or use another --api-base URL"
    assert {(one.returncode, one.stdout) for one in (probed, dead)} == {(3, "")}
    assert probed.stderr.splitlines() == [told, hint]
    assert dead.stderr.splitlines()[-2:] == [
        told,
        f"{hint}; then harness run --resume {tmp_path}/run --api-base {base}",
    ]
    assert took < 60
    assert again.returncode == 0, again.stderr
    assert len(list(tmp_path.glob("run/episodes/*/*/*/result.json"))) == 10
    assert len(server.requests) in AN_EPISODE_EACH


@pytest.mark.property
def test_a_retry_speaks_to_the_typed_address(harness: Command, tmp_path: Path) -> None:
    """Also where the first run's server is gone: the typed one is asked, and a dead typed one is not waited for."""
    with OpenAIServer(script("I give up.")) as first:
        done = harness(*RUN, *MODEL, "--api-base", first.url, "--out", tmp_path / "first")
    retry = ("run", "presigned-url-download", "--runtime", "inprocess", "--retry-of", tmp_path / "first")
    dead = harness(*retry, "--api-base", f"http://127.0.0.1:{free_port()}/v1", "--out", tmp_path / "dead")
    with OpenAIServer(script("I give up.")) as typed:
        again = harness(*retry, "--api-base", typed.url, "--out", tmp_path / "again")

    assert done.returncode == 0, done.stderr
    assert (dead.returncode, "no server answers at" in dead.stderr) == (3, True)
    assert again.returncode == 0, again.stderr
    assert len(typed.requests) in AN_EPISODE_EACH


@pytest.mark.property
def test_a_key_that_is_withdrawn_ends_the_run(harness: Command, tmp_path: Path) -> None:
    """The third episode is told that the key is wrong: exit 3, two episodes stay, and the printed line plays the others."""
    withdrawn = Fault(status=401, body='{"error":{"message":"Incorrect API key","type":"x","code":"invalid_api_key"}}')
    weather = lambda number, seconds: withdrawn if number > 3 else None  # noqa: E731
    with OpenAIServer(script("I give up."), weather=weather) as server:
        run = harness(*RUN, *MODEL, "--api-base", server.url, "--workers", "1", "--out", tmp_path / "run")
        kept = len(list(tmp_path.glob("run/episodes/*/*/*/result.json")))
        server.weather = None
        again = run.stderr.splitlines()[-1].partition("; then harness ")[2].split()
        done = harness(*again, "--timeout", "9", "--patience", "1", "--breaker", "2")

    assert f"\n0 of 2 succeeded, mean reward 0.0; 8 of 10 not played; run in {tmp_path}/run (" in run.stderr
    assert (run.returncode, kept) == (3, 2)
    assert f"openai/any: {server.url} does not accept the key: Incorrect API key (401)" in run.stderr
    assert (done.returncode, len(list(tmp_path.glob("run/episodes/*/*/*/result.json")))) == (0, 10)


@pytest.mark.property
def test_how_long_a_provider_is_waited_for_is_recorded(harness: Command, tmp_path: Path) -> None:
    """In the request, and not in the identity of the run."""
    run = ("run", "presigned-url-download", "--runtime", "inprocess", *MODEL)
    with OpenAIServer(script("I give up.")) as server:
        waiting = ("--timeout", "7", "--patience", "8", "--breaker", "9")
        done = harness(*run, "--api-base", server.url, *waiting, "--out", tmp_path / "run")
    record = json.loads((tmp_path / "run/run.json").read_text(encoding="utf-8"))

    assert done.returncode == 0, done.stderr
    assert record["request"]["breaker"] == 9
    assert [record["request"]["agents"][0][name] for name in ("timeout_s", "patience_s")] == [7.0, 8.0]
    assert not {"timeout_s", "patience_s", "breaker"} & {*record["identity"], *record["identity"]["agent"]}
