"""One cluster for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from two_nodes import LIMIT_S, TwoNodes


@pytest.fixture(scope="session")
def cluster() -> Iterator[TwoNodes]:
    """Two nodes that play."""
    nodes = TwoNodes()
    yield nodes
    nodes.close()


@pytest.fixture(autouse=True)
def _ended(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test waits for ever."""
    signal.alarm(int(4 * LIMIT_S))
    yield
    signal.alarm(0)
