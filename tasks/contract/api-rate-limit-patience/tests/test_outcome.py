"""The hidden validator: a log our world could have written, every contract kept, and every page read in order."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_page_was_served_in_order(episode: Episode) -> None:
    """Each page was served once, with its own cursor, before the submission."""
    pages = round(episode.opened.options["pages"])
    served = [event.artifact for event in episode.served("GET", "/api/data")]

    assert [f"cursor_{page}" for page in range(pages)] == served
