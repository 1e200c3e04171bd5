"""Credentials live through generations: what counts now, what counted before, and what never did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from worlds.contract.credentials import Credential
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Violation, get
from worlds.core.testing import InProcess
from worlds.core.wire import request

Bench = Callable[..., InProcess]

FIRST, SECOND = "first-token-0123456789", "second-token-abcdefghij"


class Tiny(ContractWorld):
    """A world with one credential, and one route that needs it."""

    def prepare(self) -> None:
        """Nothing is issued yet."""
        self.key = Credential(self, "key")

    def facts(self) -> Mapping[str, Any]:
        """What the instruction tells."""
        return {"secret": "none"}

    @get("/ok")
    def ok(self, call: Call) -> dict[str, Any]:
        """Serves the holder of the credential, and lets it live 5 s longer."""
        number = self.key.redeem(call.header("X-Key"), "header X-Key").number
        self.key.extend(5000)
        return {"generation": number}


@pytest.fixture
def world(bench: Bench) -> Tiny:
    """A world at its start."""
    made = bench(cls=Tiny).world
    assert isinstance(made, Tiny)
    return made


def broken(check: Callable[[], object]) -> Violation:
    """What a check raises."""
    with pytest.raises(Violation) as caught:
        check()
    return caught.value


def redeemed(world: Tiny, value: object) -> tuple[str, str | None, str]:
    """Label, second label and artifact of redeeming this value now."""
    try:
        made = world.key.redeem(value, "the key")
    except Violation as found:
        return found.label, found.also, found.detail["resource_id"]
    return "SUCCESS", None, made.contract.contract_id


def test_before_the_first(world: Tiny) -> None:
    """Nothing was issued, so whatever is given is missing, under the label that the caller wants."""
    assert (None, "") == (world.key.current, world.key.text)
    assert ["MISSING_TOKEN"] * 2 == [broken(lambda v=v: world.key.redeem(v, "the key")).label for v in (None, FIRST)]
    missing = broken(lambda: world.key.redeem(FIRST, "the key", missing=Label.MISSING_CONSTRAINT))
    assert ("MISSING_CONSTRAINT", "the key was never issued") == (missing.label, str(missing))


@pytest.mark.parametrize("given", [None, ""])
def test_absent(world: Tiny, given: object) -> None:
    """No value is no token."""
    world.key.renew(FIRST, 5000)

    assert "MISSING_TOKEN" == broken(lambda: world.key.redeem(given, "the key")).label


def test_window_is_half_open(world: Tiny) -> None:
    """The token counts from its issue, and at its last instant no longer."""
    made = world.key.renew(FIRST, 5000)
    world.clock.charge(4999)
    assert ("SUCCESS", None, "key_0") == redeemed(world, FIRST)
    world.clock.charge(1)

    assert ("EXPIRED_BEFORE_USE", None, "key_0") == redeemed(world, FIRST)
    assert (0, 5000) == (made.issued_at, made.expires_at)


def test_what_was_replaced_is_over(world: Tiny) -> None:
    """A new generation ends the one before at once, though its own window went on; its detail tells both instants."""
    world.key.renew(FIRST, 50_000)
    world.clock.charge(2000)
    world.key.renew(SECOND, 50_000)
    world.clock.charge(1000)

    found = broken(lambda: world.key.redeem(FIRST, "the key"))

    assert ("EXPIRED_BEFORE_USE", None, 410) == (found.label, found.also, found.status)
    assert {"resource_id": "key_0", "ttl_seconds": 2, "time_of_attempt": 3, "expired_by_seconds": 1} == found.detail
    assert ("SUCCESS", None, "key_1") == redeemed(world, SECOND)
    assert (SECOND, 1) == (world.key.text, world.key.current.number)


def test_grace(world: Tiny) -> None:
    """With a grace period both generations count for a while; the older one ends first."""
    world.key.renew(FIRST, 50_000)
    world.key.renew(SECOND, 50_000, grace_ms=3000)
    world.clock.charge(2999)
    assert [("SUCCESS", None, "key_0"), ("SUCCESS", None, "key_1")] == [redeemed(world, text) for text in (FIRST, SECOND)]
    world.clock.charge(1)

    assert [("EXPIRED_BEFORE_USE", None, "key_0"), ("SUCCESS", None, "key_1")] == [
        redeemed(world, text) for text in (FIRST, SECOND)
    ]


def test_grace_makes_no_window_longer(world: Tiny) -> None:
    """A token that would have ended sooner ends when it would have."""
    world.key.renew(FIRST, 1000)
    world.key.renew(SECOND, 50_000, grace_ms=3000)
    world.clock.charge(1000)

    assert "EXPIRED_BEFORE_USE" == redeemed(world, FIRST)[0]


def test_revoked(world: Tiny) -> None:
    """Nothing takes the place of a token that was taken back, and taking it back again changes nothing."""
    world.key.revoke()
    world.key.renew(FIRST, 50_000)
    world.clock.charge(1000)
    world.key.revoke()
    world.clock.charge(1000)
    world.key.revoke()

    assert 1 == broken(lambda: world.key.redeem(FIRST, "the key")).detail["expired_by_seconds"]
    assert FIRST == world.key.text


def test_extended(world: Tiny) -> None:
    """A window that slides ends later; one that is over, or was never opened, cannot be extended."""
    with pytest.raises(ValueError, match=r"^key must be in its window to be extended$"):
        world.key.extend(1000)
    world.key.renew(FIRST, 2000)
    world.clock.charge(1500)
    world.key.extend(2000)
    world.clock.charge(1999)
    assert "SUCCESS" == redeemed(world, FIRST)[0]
    world.clock.charge(1)

    assert "EXPIRED_BEFORE_USE" == redeemed(world, FIRST)[0]
    with pytest.raises(ValueError, match="in its window"):
        world.key.extend(1000)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (SECOND[:9], "MUTATED_TOKEN"),
        (f'"{SECOND}"', "MUTATED_TOKEN"),
        (SECOND.upper(), "MUTATED_TOKEN"),
        (SECOND[:8] + "...", "WRONG_VALUE"),
        ("unlike", "MUTATED_TOKEN"),
        ("é\u2026", "MUTATED_TOKEN"),
        (7, "MUTATED_TOKEN"),
        ([SECOND], "MUTATED_TOKEN"),
    ],
)
def test_never_issued(world: Tiny, value: object, label: str) -> None:
    """Bytes that resemble the newest token, or none, are judged as the newest, changed."""
    world.key.renew(FIRST, 50_000)
    world.key.renew(SECOND, 50_000)

    assert (label, None, "key_1") == redeemed(world, value)


def test_an_ended_token_is_told_how_it_ended(world: Tiny) -> None:
    """One whose time was up has expired; one that was replaced, or taken back, ended before."""
    world.key.renew(FIRST, 1000)
    world.clock.charge(1000)
    expired = broken(lambda: world.key.redeem(FIRST, "the key"))
    world.key.renew(SECOND, 5000)
    replaced = broken(lambda: world.key.redeem(FIRST, "the key"))
    world.key.revoke()
    revoked = broken(lambda: world.key.redeem(SECOND, "the key"))

    assert "the key has expired" == str(expired)
    assert ["the key was used, replaced or revoked before"] * 2 == [str(replaced), str(revoked)]


@pytest.mark.parametrize("value", [FIRST[:9], f'"{FIRST}"', FIRST[:11] + " " + FIRST[11:], f"Bearer {FIRST}"])
def test_mangled_and_over(world: Tiny, value: str) -> None:
    """A changed form of a token that is over is both, and validity is judged first."""
    world.key.renew(FIRST, 50_000)
    world.key.renew(SECOND, 50_000, grace_ms=1000)
    assert ("MUTATED_TOKEN", None, "key_0") == redeemed(world, value)
    world.clock.charge(1000)

    assert ("EXPIRED_BEFORE_USE", "MUTATED_TOKEN", "key_0") == redeemed(world, value)


def test_find(world: Tiny) -> None:
    """A token is found by its exact text, ended or not."""
    world.key.renew(FIRST, 5000)
    world.key.renew(SECOND, 5000)

    assert [0, 1] == [world.key.find(text).number for text in (FIRST, SECOND)]
    assert [None] * 3 == [world.key.find(value) for value in (FIRST[:-1], None, [])]


def test_the_log_tells_of_each_generation(bench: Bench) -> None:
    """What a request used and what it issued or extended stands in its event."""
    play = bench(cls=Tiny)
    play.world.key.renew(FIRST, 4000)
    answer = play(request("GET", "/ok", headers={"X-Key": FIRST}))
    event = play.events[-1]

    assert (200, ("key_0",)) == (answer.status, event.used)
    assert ("key_0", 0, 6000) == [(made.artifact, made.issued_at, made.expires_at) for made in event.issued][-1]
