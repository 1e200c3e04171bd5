"""What the engine says of paths that an agent made, as we hear it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.runtime import DockerRuntime

pytestmark = pytest.mark.docker
MAKE = "cd /tmp; ln -s loop loop; ln -s to fro; ln -s fro to; touch made; exec /usr/bin/sleep 60"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The engine of this host."""
    runtime = DockerRuntime()
    yield runtime.engine
    runtime.engine.api.close()


def test_a_loop_of_links_is_no_file(engine: Engine) -> None:
    """An agent that leaves a link to itself where a file was asked for has left none; it is no failure of the engine's."""
    container = engine.create("parley/agent:1", ["bash", "-c", MAKE], host={}, entrypoint=[])
    try:
        engine.start(container)
        while engine.archive(container, "/tmp/made", 1 << 20) is None:
            time.sleep(0.05)
        assert [engine.archive(container, f"/tmp/{name}", 1 << 20) for name in ("loop", "fro", "loop/x", "nothing")] == [
            None
        ] * 4
    finally:
        engine.remove(container)
