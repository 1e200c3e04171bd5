"""What tests of agents share: the runtimes in which a game at a table must be the one that it is in process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.pod import Runtime
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.docker.runtime import DockerRuntime


@pytest.fixture(params=[pytest.param("docker", marks=pytest.mark.docker),
                        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)])  # fmt: skip
def sandbox(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Both runtimes with a sandbox."""
    made = DockerRuntime() if request.param == "docker" else BubblewrapRuntime()
    yield made
    if isinstance(made, DockerRuntime):
        made.engine.api.close()
