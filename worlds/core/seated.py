"""World whose agents have seats: each seat has its own system prompt and its own turns.

1. A subclass defines the system prompts (`systems`) and the course of the game (`game`); `note` logs events of the game.
2. The Turn protocol has three routes. They cost nothing and are no steps: time moves by the rules of the game.

    GET  /session     {"seats": [{"seat", "system"}], "public": {...}}
    GET  /turns       {"turns": [{"id", "seat", "phase", "round", "attempt", "text", "ephemeral"}], "over"}
    POST /turns/{id}  takes the raw reply as body; returns GET /turns with "accepted", which is true if the turn was open.
                      With ?no_reply=CAUSE (`NO_REPLY_CAUSES`), host only, the turn is forfeited for that cause.

3. Under the harness these routes belong to the host, which runs each seat separately; a seat's own token opens that seat only.
Without a host (under Harbor), or with open turns, every caller may use them, and one agent holds every seat.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic_core import to_json

from worlds.core.calls import Call, Reply, Unreadable
from worlds.core.events import Closed, EventLog, Noted, Seated
from worlds.core.referee import Referee
from worlds.core.texts import Texts, load_texts
from worlds.core.turns import NO_REPLY_CAUSES, Answer, Game, OpenTurns, TurnTable
from worlds.core.world import World, WorldSetup

SEAT_HEADER = "X-Parley-Seat"
"""Header that carries the token of one seat."""


CLOSING = (
    "Time here is virtual and moves by the {moves} alone. Turns cost nothing and are no requests; any other request costs a "
    "second, and there are {steps} of them."
)


def _for_seats(handle: Callable[[Referee, Call, SeatedWorld, range], Reply]) -> Callable[[Referee, Call], Reply]:
    """Return a handler that passes on the seats that the caller holds; for a caller without seats the route does not exist."""

    @wraps(handle)
    def served(referee: Referee, call: Call) -> Reply:
        world = referee.world
        if not isinstance(world, SeatedWorld):
            return referee.judge(call, None, None)
        seats = seats_open_to(world, call, is_host=referee.is_host(call))
        return referee.judge(call, None, None) if seats is None else handle(referee, call, world, seats)

    return served


@_for_seats
def _session(_referee: Referee, _call: Call, world: SeatedWorld, seats: range) -> Reply:
    """Handle GET /session."""
    shown = [{"seat": seat, "system": world.seats[seat]} for seat in seats]
    return Reply({"seats": shown, "public": dict(world.public())})


@_for_seats
def _turns(referee: Referee, _call: Call, world: SeatedWorld, seats: range) -> Reply:
    """Handle GET /turns."""
    return _open_turns(referee, world, seats)


@_for_seats
def _answer(referee: Referee, call: Call, world: SeatedWorld, seats: range) -> Reply:
    """Handle POST /turns/{id}."""
    given = _given_answer(referee, call)
    if given is None:
        return Reply({"error": f"no_reply must be one of {', '.join(sorted(NO_REPLY_CAUSES))}, and is the host's to say"}, 400)
    name = call.params["turn"]
    mine = referee.closed_by is None and world.turns.seat_of(name) in seats
    accepted = mine and _accept(referee, world, name, given)
    if accepted is None:
        return Reply({"error": "the world failed"}, 500)
    return _open_turns(referee, world, seats, accepted=accepted)


def _accept(referee: Referee, world: SeatedWorld, name: str, given: Answer) -> bool | None:
    """Return True if the answer was accepted; None if the game itself failed, which is logged as the world's fault."""
    try:
        accepted = world.turns.answer(name, given)
    except Exception:  # noqa: BLE001 - any failure of the game's rules
        referee.closed_by = "fault"
        world.turns.abandon()
        world.log.append(Closed(cause="fault"), vt=world.now)
        return None
    if world.turns.over and referee.closed_by is None:
        referee.closed_by = "game"
    return accepted


def _given_answer(referee: Referee, call: Call) -> Answer | None:
    """Return the reply in a request; None for a forfeit with an unknown cause or from a caller other than the host."""
    try:
        cause = call.query("no_reply") if call.request.query else None
    except Unreadable:
        return None
    if cause is None:
        return Answer(call.body.decode("utf-8", "replace"))
    setup = referee.world.setup
    allowed = referee.is_host(call) or setup.host_token is None
    return Answer("", cause) if allowed and cause in NO_REPLY_CAUSES else None


def _open_turns(referee: Referee, world: SeatedWorld, seats: range, *, accepted: bool | None = None) -> Reply:
    turns = tuple(turn for turn in world.turns.open if turn.seat in seats) if referee.closed_by is None else ()
    shown = OpenTurns(accepted=accepted, turns=turns, over=referee.closed_by is not None)
    return Reply(to_json(shown, exclude_none=True), media_type="application/json")


class SeatedWorld(World):
    """One episode of a game with several seats."""

    takes_submission: ClassVar[bool] = False
    turn_handlers = MappingProxyType({"session": _session, "turns": _turns, "answer": _answer})

    def __init__(self, setup: WorldSetup, log: EventLog) -> None:
        super().__init__(setup, log)
        self.seats = list(self.systems())
        self.log.append(Seated(seats=tuple(self.seats), public=dict(self.public())), vt=self.now)
        self.turns = TurnTable(self.game(), lambda event: self.log.append(event, vt=self.now))

    @cached_property
    def texts(self) -> Texts:
        """The texts of the family, with the overrides of the setup; raises ManifestError for an invalid override."""
        return load_texts(self.manifest.family, self.setup.texts)

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

    def render_instruction(self) -> str:
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
