"""The hidden validator: a log our world could have written, every contract kept, and every event acknowledged."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_event_was_acknowledged(episode: Episode) -> None:
    """The ack of each event was accepted, in order, and then one more for the last of them, which closed the deliveries."""
    expected = [f"event_{number + 1}" for number in range(round(episode.opened.options["events"]))]

    assert [*expected, expected[-1]] == [event.artifact for event in episode.served("POST", "/webhook/ack")]
