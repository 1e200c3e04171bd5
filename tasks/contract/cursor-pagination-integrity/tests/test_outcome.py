"""The hidden validator: a log our world could have written, every contract kept, and every page read."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_cursor_was_followed(episode: Episode) -> None:
    """Cursors were issued, and each of them was used."""
    issued = {made.artifact for event in episode.requests for made in event.issued}

    assert issued == {name for event in episode.requests for name in event.used} != set()


def test_items_were_verified(episode: Episode) -> None:
    """The verification was served."""
    assert list(episode.served("POST", "/api/verify"))
