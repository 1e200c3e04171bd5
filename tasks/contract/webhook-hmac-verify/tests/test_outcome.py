"""The hidden validator: a log our world could have written, every contract kept, and every event fetched and acknowledged."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_event_was_fetched_and_acknowledged(episode: Episode) -> None:
    """Each event was delivered once, and its ack accepted; the last acknowledgement closed the deliveries."""
    expected = [f"event_{number + 1}" for number in range(round(episode.opened.options["events"]))]
    delivered = [made.artifact for event in episode.served("GET", "/webhook/event") for made in event.issued]
    acked = [event.artifact for event in episode.served("POST", "/webhook/ack")]

    assert expected == delivered
    assert [*expected, expected[-1]] == acked
