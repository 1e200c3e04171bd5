"""The hidden validator: a log our world could have written, every contract kept, and every order carried out with its nonce."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_order_was_carried_out(episode: Episode) -> None:
    """The parameters were taken, and then five orders carried out, each with the nonce that came with it."""
    nonces = [event.artifact for event in episode.requests if (event.artifact or "").startswith("nonce_")]

    assert list(episode.served("GET", "/api/signing-params"))
    assert [f"nonce_{number}" for number in range(5)] == nonces
