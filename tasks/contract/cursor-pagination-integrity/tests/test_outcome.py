"""The hidden validator: a log our world could have written, every contract kept, and every page read."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_cursor_was_followed(episode: Episode) -> None:
    """The first page was served, and each cursor led to its page before the items were verified."""
    pages = list(episode.served("GET", "/api/page"))
    verified = next(episode.served("POST", "/api/verify"))
    issued = {made.artifact for event in pages for made in event.issued}

    assert len(issued) >= 5
    assert issued == {event.artifact for event in pages if event.artifact and event.seq < verified.seq}
