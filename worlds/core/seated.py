"""A world whose agents sit at seats: each with its own system prompt, its own turns, and nobody else's.

1. A subclass says who sits there (`systems`) and how the game goes (`game`); `note` logs what happened in it.
2. `GET /session`, `GET /turns` and `POST /turns/{id}` are the whole protocol. They cost nothing and are no steps: time moves
   by the rules of the game.
3. Under our harness they are the host's, who plays each seat apart; a seat's own token opens that seat and no other. Where
   there is no host (under Harbor), or the host says so, they are open, and one agent holds every seat.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from worlds.core.calls import Call, Reply
from worlds.core.events import EventLog, Noted, Seated
from worlds.core.texts import Texts, texts_of
from worlds.core.turns import Game, TurnTable
from worlds.core.world import World, WorldSetup

SEAT_HEADER = "X-Parley-Seat"
"""Carries the token of one seat."""


class SeatedWorld(World):
    """One episode of a game with several seats."""

    takes_submission: ClassVar[bool] = False

    def __init__(self, setup: WorldSetup, log: EventLog) -> None:
        super().__init__(setup, log)
        self.seats = list(self.systems())
        self.log.append(Seated(seats=tuple(self.seats), public=dict(self.public())), vt=self.now)
        self.turns = TurnTable(self.game(), lambda event: self.log.append(event, vt=self.now))

    @cached_property
    def texts(self) -> Texts:
        """The texts of the family, those replaced that the set-up replaces; raises ManifestError for one that is refused."""
        return texts_of(self.manifest.family, self.setup.texts)

    def systems(self) -> Sequence[str]:
        """The system prompt of every seat."""
        raise NotImplementedError

    def public(self) -> Mapping[str, Any]:
        """What every seat may know of the game, for programs that play."""
        return {}

    def game(self) -> Game:
        """The game, barrier by barrier."""
        raise NotImplementedError

    def ended(self) -> None:
        """Answers that were waiting for others are evidence too."""
        self.turns.abandon()

    def judge_submission(self, call: Call) -> Reply:
        """There is none: the referee never asks."""
        raise NotImplementedError

    def note(self, what: str, seat: int | None = None, **data: Any) -> None:
        """Log something that happened in the game."""
        self.log.append(Noted(what=what, seat=seat, data=data), vt=self.now)


def seat_token(host_token: str, seat: int) -> str:
    """The token that opens one seat; whoever holds the host's can make it, and nobody else."""
    return hmac.new(host_token.encode(), b"seat %d" % seat, hashlib.sha256).hexdigest()[:32]


def seats_open_to(world: SeatedWorld, call: Call, *, is_host: bool) -> range | None:
    """The seats that a caller may hold: all for the host, or where there is none or turns are open; one for its token."""
    everybody = range(len(world.seats))
    token, shown = world.setup.host_token, call.header(SEAT_HEADER)
    if is_host or token is None or world.setup.open_turns:
        return everybody
    if shown is not None:
        for seat in everybody:
            if hmac.compare_digest(seat_token(token, seat).encode(), shown.encode()):
                return range(seat, seat + 1)
    return None
