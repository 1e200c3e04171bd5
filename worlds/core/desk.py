"""The three routes of the Turn protocol; a caller sees only the seats that it may hold.

GET  /session       {"seats": [{"seat", "system"}], "public": {...}}
GET  /turns         {"turns": [{"id", "seat", "phase", "round", "attempt", "text", "ephemeral"}], "over"}
POST /turns/{id}    takes the raw reply as body; returns GET /turns with "accepted", which is true if the turn was open.
     With ?no_reply=CAUSE (`worlds.core.turns.NO_REPLY_CAUSES`), host only, the turn is forfeited for that cause.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from pydantic_core import to_json

from worlds.core.calls import Call, Reply, Unreadable
from worlds.core.events import Closed
from worlds.core.referee import Referee
from worlds.core.seated import SeatedWorld, seats_open_to
from worlds.core.turns import NO_REPLY_CAUSES, Answer, OpenTurns

Handler = Callable[[Referee, Call, SeatedWorld, range], Reply]


def _for_seats(handle: Handler) -> Callable[[Referee, Call], Reply]:
    """Return a route for callers that hold seats, which it passes on; for any other caller it does not exist."""

    @wraps(handle)
    def served(referee: Referee, call: Call) -> Reply:
        world = referee.world
        if not isinstance(world, SeatedWorld):
            return referee.judge(call, None, None)
        seats = seats_open_to(world, call, is_host=referee.is_host(call))
        return referee.judge(call, None, None) if seats is None else handle(referee, call, world, seats)

    return served


@_for_seats
def session(_referee: Referee, _call: Call, world: SeatedWorld, seats: range) -> Reply:
    """Handle GET /session."""
    shown = [{"seat": seat, "system": world.seats[seat]} for seat in seats]
    return Reply({"seats": shown, "public": dict(world.public())})


@_for_seats
def turns(referee: Referee, _call: Call, world: SeatedWorld, seats: range) -> Reply:
    """Handle GET /turns."""
    return _open(referee, world, seats)


@_for_seats
def answer(referee: Referee, call: Call, world: SeatedWorld, seats: range) -> Reply:
    """Handle POST /turns/{id}."""
    given = _answer(referee, call)
    if given is None:
        return Reply({"error": f"no_reply must be one of {', '.join(sorted(NO_REPLY_CAUSES))}, and is the host's to say"}, 400)
    name = call.params["turn"]
    mine = referee.closed_by is None and world.turns.seat_of(name) in seats
    accepted = mine and _accept(referee, world, name, given)
    if accepted is None:
        return Reply({"error": "the world failed"}, 500)
    return _open(referee, world, seats, accepted=accepted)


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


def _answer(referee: Referee, call: Call) -> Answer | None:
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


def _open(referee: Referee, world: SeatedWorld, seats: range, *, accepted: bool | None = None) -> Reply:
    turns = tuple(turn for turn in world.turns.open if turn.seat in seats) if referee.closed_by is None else ()
    shown = OpenTurns(accepted=accepted, turns=turns, over=referee.closed_by is not None)
    return Reply(to_json(shown, exclude_none=True), media_type="application/json")
