"""The hidden validator: a log our world could have written, every contract kept, and the report served between the windows."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_report_was_served_for_a_token_of_the_status(episode: Episode) -> None:
    """A report was served, with a token that a status had given out before it."""
    given_out = [made.artifact for event in episode.served("GET", "/api/status") for made in event.issued]
    presented = [event.artifact for event in episode.served("GET", "/api/report")]

    assert presented
    assert set(presented) <= set(given_out)
