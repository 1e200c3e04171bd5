"""The hidden validator: a log our world could have written, every contract kept, one order and its receipt."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_order_was_answered_after_a_retry(episode: Episode) -> None:
    """At least one answer got lost, every request for the order was the same, and the receipt was served for its id."""
    asked = [event for event in episode.requests if (event.method, event.path) == ("POST", "/api/orders")]
    placed = [event for event in asked if event.kind in ("protocol", "ok")]
    receipt = next(episode.served("GET", "/api/receipt"))

    assert [event.kind for event in placed[:-1]].count("protocol") in (1, 2)
    assert placed[-1].kind == "ok"
    assert len({event.body_sha256 for event in placed}) == 1
    assert receipt.artifact == "order_id"
