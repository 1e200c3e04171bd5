"""The host's end of the Turn protocol reads what a world writes, and blames a world that writes anything else."""

from __future__ import annotations

from typing import Any

import pytest

from harness.agents.turns import TurnClient
from harness.errors import WorldFailure
from worlds.core.turns import OpenTurn, OpenTurns
from worlds.core.wire import WireRequest, WireResponse

TURN = OpenTurn(id="1-0-1", seat=0, phase="TALK", round=1, attempt=1, text="who speaks é?", ephemeral=False)


class Answering:
    """A pod whose world answers everything the same way."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.answer = WireResponse(status, (), body)

    def call_as_host(self, _: WireRequest) -> WireResponse:
        """The answer."""
        return self.answer


def client(body: bytes, status: int = 200) -> TurnClient:
    """A client of such a world."""
    pod: Any = Answering(body, status)
    return TurnClient(pod)


def test_turns_survive_the_wire() -> None:
    """What a world shows is what the host reads, key by key in the order of old."""
    shown = OpenTurns(turns=(TURN,), over=False).model_dump_json(exclude_none=True)

    assert shown == (
        '{"turns":[{"id":"1-0-1","seat":0,"phase":"TALK","round":1,"attempt":1,"text":"who speaks é?","ephemeral":false}],'
        '"over":false}'
    )
    assert OpenTurns.model_validate_json(shown) == OpenTurns(turns=(TURN,), over=False)
    assert client(shown.encode()).open() == (TURN,)


def test_an_answer_says_first_whether_it_was_taken() -> None:
    """As the protocol has it."""
    shown = OpenTurns(accepted=True, turns=(), over=True).model_dump_json(exclude_none=True)

    assert shown == '{"accepted":true,"turns":[],"over":true}'
    assert client(shown.encode()).answer("1-0-1", "me") == ()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"turns":[{}],"over":false}', b'{"turns":[],"over":false,"hint":1}', b"\xff"]
)
def test_a_world_that_answers_no_turns_is_to_blame(body: bytes) -> None:
    """Not the seat, and not us."""
    with pytest.raises(WorldFailure, match="no turns"):
        client(body).open()


def test_a_world_that_refuses_is_to_blame() -> None:
    """Whatever its answer holds."""
    with pytest.raises(WorldFailure, match="answered 500"):
        client(b'{"turns":[],"over":true}', 500).open()
