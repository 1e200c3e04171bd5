"""The hidden validator: a log our world could have written, every contract kept, one order and its receipt."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_order_was_asked_for_again_under_its_key(episode: Episode) -> None:
    """The first request for the order made it, and what followed used its key."""
    placed = [event for event in episode.requests if event.path == "/api/orders" and event.kind in ("protocol", "ok")]

    assert list(dict.fromkeys(event.artifact for event in placed)) == [None, "idempotency_key"]


def test_its_receipt_was_served(episode: Episode) -> None:
    """The receipt was asked for by the id of the order, which only its answer has."""
    assert "order_id" in [event.artifact for event in episode.served("GET", "/api/receipt")]
