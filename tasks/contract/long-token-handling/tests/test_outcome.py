"""The hidden validator: a log our world could have written, every contract kept, and the long link used in time."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_file_was_served_through_the_link(episode: Episode) -> None:
    """The one link that the page issued was used with a precheck, and before it ended."""
    issued = [made for event in episode.served("GET", "/task") for made in event.issued]
    assert len(issued) == 1, "the page was never loaded"
    downloads = list(episode.served("GET", f"/api/resource/{issued[0].artifact}"))

    assert downloads
    assert all(event.vt < issued[0].expires_at and "precheck_token" in event.used for event in downloads)
