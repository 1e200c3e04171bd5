"""What an authorization server keeps of a grant: consent and code, PKCE, and tokens that rotate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.worlds.contract.conftest import BareWorld
from worlds.contract.checks import sha256_hex
from worlds.contract.grants import Consent, TokenPair, check_challenge, check_parameters, check_verifier, s256
from worlds.core.calls import Violation

VERIFIER = "a-._~Z09" * 16


def told(check: Callable[[], object]) -> tuple[str, str | None]:
    """Label and second label that a check raises."""
    with pytest.raises(Violation) as caught:
        check()
    return caught.value.label, caught.value.also


def test_s256_is_that_of_the_rfc() -> None:
    """RFC 7636, appendix B."""
    assert "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" == s256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")


@pytest.mark.parametrize("challenge", [None, "", 1, VERIFIER, s256(VERIFIER) + "=", s256(VERIFIER)[:-1] + "+"])
def test_no_challenge(challenge: object) -> None:
    """Only 43 characters of base64url can be an S256 challenge."""
    assert ("WRONG_VALUE", None) == told(lambda: check_challenge(challenge))


@pytest.mark.parametrize(
    "verifier", [VERIFIER[:-1], VERIFIER + "a", VERIFIER[:-1] + "!", VERIFIER[:-1] + "a", VERIFIER[:-1] + "\n"]
)
def test_no_verifier(verifier: str) -> None:
    """Another length, another alphabet, another text."""
    check_challenge(s256(VERIFIER))
    check_verifier(VERIFIER, s256(VERIFIER))

    assert ("WRONG_VALUE", None) == told(lambda: check_verifier(verifier, s256(VERIFIER)))


def test_parameters() -> None:
    """All that are named must be there and right; others are nobody's business."""
    right = {"a": "1", "b": "2"}
    check_parameters({"b": "2", "a": "1", "c": None}, right)

    assert ("MISSING_CONSTRAINT", None) == told(lambda: check_parameters({"b": "2"}, right))
    assert ("WRONG_VALUE", None) == told(lambda: check_parameters({"a": 1, "b": "2"}, right))


def test_consent(world: BareWorld) -> None:
    """The nonce is proved by a digest, while it lives; wrong and late are told together."""
    consent = Consent(world, 3000, 4000)
    assert ("MISSING_CONSTRAINT", None) == told(consent.require)
    asked = consent.ask()
    consent.require()
    consent.check(sha256_hex(str(asked["consent_nonce"]), "state"), "proof", "state")

    assert ("WRONG_HASH", None) == told(lambda: consent.check(sha256_hex(consent.nonce), "proof", "state"))
    world.clock.wait(3)
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: consent.check(sha256_hex(consent.nonce, "s"), "proof", "s"))
    assert ("EXPIRED_BEFORE_USE", "WRONG_HASH") == told(lambda: consent.check("0", "proof", "state"))


def test_code_ends_with_its_use(world: BareWorld) -> None:
    """None before the first; then the newest, byte for byte, once."""
    consent = Consent(world, 3000, 4000)
    assert ("MISSING_CONSTRAINT", None) == told(lambda: consent.redeem("code", "code"))
    first, second = consent.grant()["code"], consent.grant()["code"]
    consent.redeem(second, "code")

    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: consent.redeem(first, "code"))
    assert ("MUTATED_TOKEN", None) == told(lambda: consent.redeem(str(second)[:-1], "code"))
    consent.spend()
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: consent.redeem(second, "code"))


def test_a_code_used_twice_ends_what_it_gave(world: BareWorld) -> None:
    """The tokens of the code that is used again, and of no other."""
    consent, pair = Consent(world, 3000, 4000), TokenPair(world, 8000, 60_000)
    old = consent.grant()["code"]
    consent.redeem(old, "code", pair.access, pair.refresh)
    consent.spend()
    new = consent.grant()["code"]
    consent.spend()
    access = pair.grant("a")["access_token"]

    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: consent.redeem(old, "code", pair.access, pair.refresh))
    pair.access.redeem(access, "token")
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: consent.redeem(new, "code", pair.access, pair.refresh))
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: pair.access.redeem(access, "token"))
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: pair.redeem_refresh(pair.refresh.text, "refresh_token"))


def test_pair_rotates(world: BareWorld) -> None:
    """Each pair takes the place of the one before; refreshes are counted from the first."""
    pair = TokenPair(world, 8000, 60_000)
    assert (0, 0) == (pair.early_ms, pair.refreshes)
    first = pair.grant("a")
    assert ("a", 8, 8000) == (first["scope"], first["expires_in"], pair.early_ms)
    world.clock.wait(8)
    pair.redeem_refresh(first["refresh_token"], "refresh_token")
    assert 0 == pair.early_ms

    second = pair.rotate("a", "b")

    assert ("a b", 1) == (second["scope"], pair.refreshes)
    assert {first["access_token"], first["refresh_token"]}.isdisjoint({second["access_token"], second["refresh_token"]})
    pair.access.redeem(second["access_token"], "token")
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: pair.access.redeem(first["access_token"], "token"))
    pair.grant("a")
    assert 0 == pair.refreshes


def test_replay_ends_the_pair(world: BareWorld) -> None:
    """A refresh token that was replaced ends what replaced it; mangled bytes do not."""
    pair = TokenPair(world, 8000, 60_000)
    old, new = pair.grant("a"), pair.rotate("a")
    assert ("MUTATED_TOKEN", None) == told(lambda: pair.redeem_refresh(str(new["refresh_token"])[:-1], "refresh_token"))
    pair.access.redeem(new["access_token"], "token")

    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: pair.redeem_refresh(old["refresh_token"], "refresh_token"))

    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: pair.access.redeem(new["access_token"], "token"))
    assert ("EXPIRED_BEFORE_USE", None) == told(lambda: pair.redeem_refresh(new["refresh_token"], "refresh_token"))


def test_scope(world: BareWorld) -> None:
    """A token reaches as far as it was granted."""
    pair = TokenPair(world, 8000, 60_000)
    pair.grant("a")
    pair.check_scope("a")

    assert ("MISSING_CONSTRAINT", None) == told(lambda: pair.check_scope("b"))
