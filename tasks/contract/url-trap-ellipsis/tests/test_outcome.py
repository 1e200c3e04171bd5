"""The hidden validator: a log our world could have written, every contract kept, and the link followed after a precheck."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_link_was_followed(episode: Episode) -> None:
    """The page was seen, then its link was used with a precheck token, and the file served."""
    link = next(made.artifact for event in episode.served("GET", "/task") for made in event.issued)
    used = {name for event in episode.served("GET", f"/api/resource/{link}") for name in event.used}

    assert {link, "precheck_token"} == used
