"""The hidden validator: a log our world could have written, every contract kept, and one submit before its result."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_form_was_taken_once_and_then_its_result(episode: Episode) -> None:
    """One submit was accepted, with a token of its own and inside a precheck, and the result was fetched after it."""
    submits = list(episode.served("POST", "/api/submit"))
    results = list(episode.served("GET", "/api/result"))

    assert len(submits) == 1
    assert len(submits[0].used) == 2
    assert any(result.seq > submits[0].seq for result in results)
