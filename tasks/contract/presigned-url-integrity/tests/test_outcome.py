"""The hidden validator: a log our world could have written, every contract kept, and one link issued and used."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_link_was_followed(episode: Episode) -> None:
    """The page issued one link, once, and it led to the file."""
    (link,) = [made.artifact for event in episode.served("GET", "/task") for made in event.issued]

    assert list(episode.served("GET", f"/api/resource/{link}"))
