"""A step-up refuses once, and serves whoever answers its challenge."""

from __future__ import annotations

import json

import pytest

from tests.worlds.contract.conftest import BareWorld
from worlds.contract.sessions import Session
from worlds.contract.stepup import StepUp
from worlds.core.calls import Violation


@pytest.fixture
def session(world: BareWorld) -> Session:
    """Its session, just opened."""
    opened = world.open_session()
    opened.answer({}, rekey=True)
    return opened


def told(step_up: StepUp, session: Session, given: object) -> tuple[str, str | None]:
    """Label and second label of answering with this."""
    with pytest.raises(Violation) as caught:
        step_up.check(session, given, "proof", "part")
    return caught.value.label, caught.value.also


def test_asking(world: BareWorld, session: Session) -> None:
    """The refusal is planned, and brings challenge, deadline, the next nonce and on demand a key."""
    step_up, key = StepUp(world, 3000), session.key
    step_up.check(session, None, "proof", "part")
    assert not step_up.asked

    refusal = step_up.ask(session, rekey=True)

    body = json.loads(refusal.encoded()[0])
    assert (428, "protocol", 3.0) == (refusal.status, refusal.kind, body["deadline"])
    assert (session.nonces.current, session.key.hex()) == (body["session_nonce"], body["signing_key"])
    assert key != session.key
    assert step_up.asked


def test_answering(world: BareWorld, session: Session) -> None:
    """The proof over all nonces, challenge and part; absent, wrong, late, and both."""
    step_up = StepUp(world, 3000)
    challenge = json.loads(step_up.ask(session).encoded()[0])["challenge"]
    right = session.digest(challenge, "part")
    step_up.check(session, right, "proof", "part")

    assert ("MISSING_CONSTRAINT", None) == told(step_up, session, None)
    assert ("WRONG_HASH", None) == told(step_up, session, session.digest("part"))
    world.clock.wait(3)
    assert ("EXPIRED_BEFORE_USE", None) == told(step_up, session, right)
    assert ("EXPIRED_BEFORE_USE", "WRONG_HASH") == told(step_up, session, 1)
    step_up.close()
    step_up.check(session, None, "proof", "part")
