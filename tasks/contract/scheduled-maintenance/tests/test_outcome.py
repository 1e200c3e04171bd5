"""The hidden validator: a log our world could have written, every contract kept, and the report served between the windows."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_report_was_served(episode: Episode) -> None:
    """A report was served; that its token came from a status is what a sound log has."""
    assert list(episode.served("GET", "/api/report"))
