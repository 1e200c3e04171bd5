"""The hidden validator: a log our world could have written, every contract kept, and a new reading after each conflict."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_balance_was_taken(episode: Episode) -> None:
    """A submission got the receipt."""
    assert list(episode.served("POST", "/aggregate"))


def test_every_submission_had_its_own_reading(episode: Episode) -> None:
    """Pages were read under the stream token of each submission, of the planned refusals and of the one that was taken."""
    submitted = {event.artifact for event in episode.requests if event.path == "/aggregate"}
    read = {event.artifact for event in episode.served("GET", "/events")}

    assert submitted <= read
