"""A world of the contract family without routes of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from worlds.contract.sessions import SessionWorld
from worlds.core.testing import InProcess


class BareWorld(SessionWorld):
    """Draws nothing, and has a secret to tell."""

    def prepare(self) -> None:
        """Draw nothing."""

    def facts(self) -> Mapping[str, Any]:
        """What the instruction tells."""
        return {"secret": "none"}


@pytest.fixture
def world(bench: Callable[..., InProcess]) -> BareWorld:
    """A world before its first request."""
    made = bench(cls=BareWorld).world
    assert isinstance(made, BareWorld)
    return made
