"""One session at a time: nonces, numbers, signing keys, and the proof over all that was kept."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import pytest

from tests.worlds.contract.conftest import BareWorld
from worlds.contract.sessions import KEY_BYTES, RECEIPT_CHARS, Session
from worlds.core.calls import Call, Violation
from worlds.core.wire import request


def call(**headers: str) -> Call:
    """A request with these headers, named as in Python."""
    return Call(
        request("POST", "/x", headers={name.replace("_", "-"): text for name, text in headers.items()}, body=b'{"a": 1}')
    )


def label(check: Callable[[], object]) -> str:
    """The label that a check raises."""
    with pytest.raises(Violation) as caught:
        check()
    return caught.value.label


def placed(session: Session) -> dict[str, str]:
    """The headers of a request in its place."""
    return {"X_Session_Nonce": session.nonces.current, "X_Request_Sequence": str(session.number)}


def test_answers_bring_nonce_and_number(world: BareWorld) -> None:
    """The answer that opens brings the first nonce, each further one the next; the one before no longer counts."""
    session = world.open_session()
    first = session.answer({"a": 1})
    headers = placed(session)
    session.check_place(call(**headers))

    second = session.answer({})

    assert {"a": 1, "session_nonce": headers["X_Session_Nonce"]} == first
    assert first["session_nonce"] != second["session_nonce"]
    assert "2" == placed(session)["X_Request_Sequence"]
    assert "VERSION_CONFLICT" == label(lambda: session.check_place(call(**headers)))
    assert "WRONG_VALUE" == label(lambda: session.check_place(call(**{**headers, "X_Request_Sequence": "2"})))
    session.check_place(call(**placed(session)))


def test_signature_is_under_the_newest_key(world: BareWorld) -> None:
    """The key is the bytes of its hex; only some answers bring one, and it counts until the next."""
    session = world.open_session()
    old = session.answer({}, rekey=True)["signing_key"]
    assert "signing_key" not in session.answer({})

    def signed(key: bytes) -> Call:
        return call(X_Body_Signature=hmac.new(key, b'{"a": 1}', hashlib.sha256).hexdigest())

    session.check_signature(signed(bytes.fromhex(str(old))))
    new = bytes.fromhex(str(session.answer({}, rekey=True)["signing_key"]))
    session.check_signature(signed(new))

    assert KEY_BYTES == len(new)
    assert "SIGNATURE_MISMATCH" == label(lambda: session.check_signature(signed(bytes.fromhex(str(old)))))
    assert "SIGNATURE_MISMATCH" == label(lambda: session.check_signature(signed(new.hex().encode())))
    assert "MISSING_CONSTRAINT" == label(lambda: session.check_signature(call()))


def test_previous_nonce(world: BareWorld) -> None:
    """It is the one before the newest; with the first nonce there is none, so nothing is right."""
    session = world.open_session()
    first = str(session.answer({})["session_nonce"])
    assert "WRONG_VALUE" == label(lambda: session.check_previous(call(X_Previous_Nonce=first)))
    second = str(session.answer({})["session_nonce"])

    session.check_previous(call(X_Previous_Nonce=first))

    assert "WRONG_VALUE" == label(lambda: session.check_previous(call(X_Previous_Nonce=second)))
    assert "MISSING_CONSTRAINT" == label(lambda: session.check_previous(call()))


def test_cumulative_digest(world: BareWorld) -> None:
    """All nonces, oldest first, and then the parts."""
    session = world.open_session()
    nonces = [str(session.answer({})["session_nonce"]) for _ in range(3)]

    assert hashlib.sha256(("".join(nonces) + "xy").encode()).hexdigest() == session.digest("x", "y")


def test_opening_again_ends_the_session(world: BareWorld) -> None:
    """It breaks the contract and ends what was open; the next one is new, with other nonces and from number 1."""
    nonce = world.open_session().answer({})["session_nonce"]

    assert "VERSION_CONFLICT" == label(world.open_session)
    assert "MISSING_CONSTRAINT" == label(lambda: world.enter(call()))
    again = world.open_session()
    assert nonce != again.answer({})["session_nonce"]
    assert 1 == again.number


def test_entering_needs_session_and_headers(world: BareWorld) -> None:
    """No session, no nonce, no number, none of the task's own headers: each is missing."""
    missing = [lambda: world.enter(call(X_Session_Nonce="n", X_Request_Sequence="1"))]
    assert ["MISSING_CONSTRAINT"] == [label(check) for check in missing]
    session = world.open_session()

    missing = [
        lambda: world.enter(call(X_Request_Sequence="1")),
        lambda: world.enter(call(X_Session_Nonce="n")),
        lambda: world.enter(call(X_Session_Nonce="n", X_Request_Sequence="1"), "X-Own"),
    ]

    assert ["MISSING_CONSTRAINT"] * 3 == [label(check) for check in missing]
    assert session is world.enter(call(X_Session_Nonce="n", X_Request_Sequence="1", X_Own="o"), "X-Own")


def test_steps_in_order(world: BareWorld) -> None:
    """A step that was left out is missing."""
    world.require_step("step 8", taken=True)

    assert "MISSING_CONSTRAINT" == label(lambda: world.require_step("step 8", taken=False))


def test_only_the_next_is_due(world: BareWorld) -> None:
    """Any other one, and any at all once none is left, is out of turn."""
    world.due = ["b", "a"]
    world.check_due("b")
    assert "VERSION_CONFLICT" == label(lambda: world.check_due("a"))

    world.due = []

    assert "VERSION_CONFLICT" == label(lambda: world.check_due("b"))


def test_receipt_is_the_result(world: BareWorld) -> None:
    """What is given out is what must be handed in."""
    receipt = world.receipt()

    assert RECEIPT_CHARS == len(receipt)
    assert receipt.encode() == world.deliverable
