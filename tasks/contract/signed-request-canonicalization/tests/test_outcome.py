"""The hidden validator: a log our world could have written, every contract kept, and every order carried out with its nonce."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_order_was_carried_out(episode: Episode) -> None:
    """Five orders, each with the nonce that came with it: four answered with the next one, the last with the receipt."""
    phases = [e for e in episode.requests if e.artifact and e.artifact.startswith("nonce_") and e.kind in ("ok", "protocol")]

    assert [f"nonce_{number}" for number in range(5)] == [event.artifact for event in phases]
    assert [event.kind for event in phases] == ["protocol"] * 4 + ["ok"]
