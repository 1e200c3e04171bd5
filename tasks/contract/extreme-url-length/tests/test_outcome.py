"""The hidden validator: a log our world could have written, every contract kept, and only the live link followed."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_only_the_live_link_was_followed(episode: Episode) -> None:
    """Of all mirrors one was asked, the one whose link the page issued."""
    live = {made.artifact for event in episode.served("GET", "/task") for made in event.issued}
    asked = {event.path.removeprefix("/api/resource/") for event in episode.requests if "/api/resource/" in event.path}

    assert len(live & asked) == len(live | asked) == 1
