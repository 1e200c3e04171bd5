"""A small world at its start, and a small game for the tests of turns: two barriers, one retry, one measurement."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from worlds.core.events import EventLog, Requested
from worlds.core.manifest import Budgets, Manifest
from worlds.core.seated import SeatedWorld
from worlds.core.testing import InProcess
from worlds.core.turns import Answer, Ask, Game
from worlds.core.wire import HOST_HEADER, MAX_BODY_BYTES, WireResponse
from worlds.core.world import WorldSetup

Sit = Callable[..., InProcess]
Bench = Callable[..., InProcess]
TOKEN = {HOST_HEADER: "a-host-token"}
LONG = b"x" * (MAX_BODY_BYTES + 1)


@pytest.fixture
def world(bench: Bench) -> InProcess:
    """A fresh small world."""
    return bench()


def error(answer: WireResponse) -> str:
    """What an error body tells."""
    return str(json.loads(answer.body)["error"])


def last(world: InProcess) -> Requested:
    """The last event, which must be a request."""
    event = world.events[-1]
    assert isinstance(event, Requested)
    return event


class AuctionWorld(SeatedWorld):
    """Three seats bid a number together; then the highest bidder is asked alone, and measured."""

    def prepare(self) -> None:
        """Nothing to draw."""

    def facts(self) -> Mapping[str, Any]:
        """Nothing to tell."""
        return {"secret": "none"}

    def systems(self) -> Sequence[str]:
        """One prompt a seat."""
        return [f"you are {seat}" for seat in range(3)]

    def public(self) -> Mapping[str, Any]:
        """How many sit here."""
        return {"bidders": 3}

    def game(self) -> Game:
        """Bids, then one more turn."""
        bids = yield [Ask(seat, "BID", 1, f"bid, {seat}", refuse=_no_number) for seat in range(3)]
        best = max(range(3), key=lambda seat: int(bids[seat][-1].text or 0))
        self.note("bids", best=best, tries=[len(bids[seat]) for seat in range(3)])
        self.clock.charge(5000)
        said = yield [Ask(best, "SPEECH", 1, "say why", ephemeral=True)]
        if said[best][-1].text == "break":
            raise KeyError("the game itself fails")


def _no_number(answers: Sequence[Answer]) -> str | None:
    last = answers[-1]
    if last.text == "break":
        raise KeyError("the rule itself fails")
    return None if last.no_reply or last.text.isdecimal() else f"a number, not {last.text}"


@pytest.fixture
def auction(tmp_path: Path) -> Sit:
    """What opens the game, with a host's token or without one, its turns open to anybody or not."""
    (tmp_path / "instruction.md.j2").write_text("Bid.\n", encoding="utf-8")
    manifest = Manifest(task_id="auction", family="contract", budgets=Budgets(steps=9, virtual_seconds=100))

    def opened(host_token: str | None = "host", *, open_turns: bool = False) -> InProcess:
        setup = WorldSetup(manifest, host_token=host_token, folder=tmp_path, open_turns=open_turns)
        return InProcess(AuctionWorld(setup, EventLog()))

    return opened
