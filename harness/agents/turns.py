"""Host side of the Turn protocol: reads the seats and the open turns, and answers one turn at a time.

A reply over the length limit of a seat forfeits its turn as `malformed`, and the game goes on, because one seat's output must
not be blamed on the world or harm the other seats. The log contains the seat, the turn and the cause, but not the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import ValidationError
from pydantic_core import from_json

from harness.errors import WorldFailure
from harness.records import first_problem
from worlds.core.turns import OpenTurn, OpenTurns
from worlds.core.wire import WireRequest, WireResponse, request

LONGEST_REPLY = 256 << 10
"""Maximum bytes of a seat's reply: about 65,000 tokens, a quarter of the limit of a world.

A reply is shown to the other seats and sent again with every later turn, so a long reply is paid for many times.
"""


class GameHost(Protocol):
    """Connection through which a game is played: a pod, or any other way to its world."""

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Send a request with every seat's rights; raises as `Pod.call` does."""
        ...

    def stop(self, cause: str) -> None:
        """End the game, because a budget that only its host counts is used up."""
        ...


class TurnClient:
    """Game as seen from the host; raises WorldFailure if the world violates the protocol."""

    def __init__(self, pod: GameHost) -> None:
        self._pod = pod

    def session(self) -> dict[str, Any]:
        """Return the seats with their system prompts, and the information that every seat may know."""
        session: dict[str, Any] = from_json(_body(self._pod.call_as_host(request("GET", "/session"))))
        return session

    def open(self) -> Sequence[OpenTurn]:
        """Return the turns that are open now."""
        return _turns(self._pod.call_as_host(request("GET", "/turns")))

    def answer(self, turn: str, reply: str) -> Sequence[OpenTurn]:
        """Answer a turn, or forfeit it with a reply that is too long, and return what is open next."""
        if is_too_long(reply):
            return self.forfeit(turn, "malformed")
        return self._post(f"/turns/{turn}", reply)

    def forfeit(self, turn: str, cause: str) -> Sequence[OpenTurn]:
        """Forfeit a turn (timeout, provider, budget or malformed), and return the turns open next."""
        return self._post(f"/turns/{turn}?no_reply={cause}", "")

    def _post(self, target: str, body: str) -> Sequence[OpenTurn]:
        # half a surrogate pair has no bytes
        return _turns(self._pod.call_as_host(request("POST", target, body=body.encode(errors="replace"))))


def is_too_long(reply: str) -> bool:
    """Return True if a reply exceeds the limit of a seat, counted in bytes of UTF-8."""
    return len(reply) * 4 > LONGEST_REPLY and len(reply.encode(errors="replace")) > LONGEST_REPLY


def _turns(answer: WireResponse) -> Sequence[OpenTurn]:
    try:
        return OpenTurns.model_validate_json(_body(answer)).turns
    except ValidationError as error:
        raise WorldFailure(f"the world answered no turns: {first_problem(error)}") from None


def _body(answer: WireResponse) -> bytes:
    if answer.status != 200:
        raise WorldFailure(f"the world answered {answer.status} to a turn: {answer.body[:200].decode('utf-8', 'replace')}")
    return answer.body
