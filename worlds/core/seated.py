"""World whose agents have seats: each seat has its own system prompt and its own turns.

1. A subclass defines the system prompts (`systems`) and the course of the game (`game`); `note` logs events of the game.
2. `GET /session`, `GET /turns` and `POST /turns/{id}` are the whole protocol. They cost nothing and are no steps: time moves
by the rules of the game.
3. Under the harness these routes belong to the host, which runs each seat separately; a seat's own token opens that seat only.
Without a host (under Harbor), or with open turns, every caller may use them, and one agent holds every seat.
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
"""Header that carries the token of one seat."""


CLOSING = (
    "Time here is virtual and moves by the {moves} alone. Turns cost nothing and are no requests; any other request costs a "
    "second, and there are {steps} of them."
)


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
        """The texts of the family, with the overrides of the setup; raises ManifestError for an invalid override."""
        return texts_of(self.manifest.family, self.setup.texts)

    def systems(self) -> Sequence[str]:
        """Return the system prompt of every seat."""
        raise NotImplementedError

    def public(self) -> Mapping[str, Any]:
        """Return the information about the game that every seat may have, for programs that play."""
        return {}

    def game(self) -> Game:
        """Return the game as a generator of barriers."""
        raise NotImplementedError

    def ended(self) -> None:
        """Log the answers that were still waiting for others."""
        self.turns.abandon()

    def judge_submission(self, call: Call) -> Reply:
        """Raise NotImplementedError; the referee never calls this, because a game has no submission."""
        raise NotImplementedError

    def note(self, what: str, seat: int | None = None, **data: Any) -> None:
        """Log an event of the game."""
        self.log.append(Noted(what=what, seat=seat, data=data), vt=self.now)


class TextWorld(SeatedWorld):
    """Game whose instruction is one of the family's texts, so that all of its tasks share it."""

    moves_time: ClassVar[str]
    """What moves time, for the closing note: the rounds of the game."""

    def worded(self) -> str:
        """Render the instruction, which the whole family shares."""
        return self.texts.render("instruction", **self.facts())

    def closing_notes(self) -> tuple[str, ...]:
        """Return the closing note on time and requests."""
        return (CLOSING.format(moves=self.moves_time, steps=self.manifest.budgets.steps),)

    def spend(self, cost: str) -> None:
        """Advance the clock by a named cost."""
        self.clock.charge(self.manifest.cost_ms(cost))


def seat_token(host_token: str, seat: int) -> str:
    """Return the token that opens one seat; it is derived from the host's token, which only the host holds."""
    return hmac.new(host_token.encode(), b"seat %d" % seat, hashlib.sha256).hexdigest()[:32]


def seats_open_to(world: SeatedWorld, call: Call, *, is_host: bool) -> range | None:
    """Return the seats that a caller may hold; None if there are none.

    The host holds all seats, and so does every caller without a host or with open turns. A seat's token opens that seat.
    """
    everybody = range(len(world.seats))
    token, shown = world.setup.host_token, call.header(SEAT_HEADER)
    if is_host or token is None or world.setup.open_turns:
        return everybody
    if shown is not None:
        for seat in everybody:
            if hmac.compare_digest(seat_token(token, seat).encode(), shown.encode()):
                return range(seat, seat + 1)
    return None
