"""A run whose model nobody serves ends at its first request, in one clause, and can be gone on with."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.testing.openai_server import OpenAIServer
from harness.testing.scripts import script

Command = Callable[..., subprocess.CompletedProcess[str]]
RUN = ("run", "presigned-url-download", "--runtime", "inprocess", "--seeds", "0-9")
MODEL = ("--model", "openai/any", "--interface", "tool")


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.property
def test_a_dead_address_ends_the_run(harness: Command, tmp_path: Path) -> None:
    """Exit 3 within seconds, no episode recorded; once somebody listens there, `--resume` plays all of them."""
    port = free_port()
    base = f"http://127.0.0.1:{port}/v1"
    started = time.monotonic()
    dead = harness(*RUN, *MODEL, "--api-base", base, "--out", tmp_path / "run")
    took = time.monotonic() - started
    with OpenAIServer(script("I give up."), port=port) as server:
        again = harness("run", "--resume", tmp_path / "run", "--api-base", base)

    assert (dead.returncode, dead.stdout) == (3, "")
    assert dead.stderr.splitlines()[-2:] == [
        f"harness: openai/any: nobody answers at {base}: [Errno 111] Connection refused",
        "  try: start that server, or type another --api-base URL",
    ]
    assert took < 60
    assert again.returncode == 0, again.stderr
    assert len(server.requests) == len(list(tmp_path.glob("run/episodes/*/*/*/result.json"))) == 10


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
    assert (dead.returncode, "nobody answers at" in dead.stderr) == (3, True)
    assert again.returncode == 0, again.stderr
    assert len(typed.requests) == 10
