"""The hidden validator: a log our world could have written, every contract kept, and each file of the page served."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_file_of_the_page_was_served_by_deadline(episode: Episode) -> None:
    """Each link that the page issued was followed, first the one that ended first."""
    issued = [made for event in episode.served("GET", "/task") for made in event.issued]
    by_deadline = [made.artifact for made in sorted(issued, key=lambda made: made.expires_at)]
    served = [e.path.removeprefix("/api/resource/") for e in episode.requests if e.kind == "ok" and "/resource/" in e.path]

    assert list(dict.fromkeys(served)) == by_deadline != []
