"""The hidden validator: a log our world could have written, every contract kept, and the job done before its result was had."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_result_was_fetched_after_the_job(episode: Episode) -> None:
    """The job was started, and its result served when its seconds had passed."""
    starts = [event.vt for event in episode.served("POST", "/api/job")]
    results = [event.vt for event in episode.served("GET", "/api/data")]

    assert starts
    assert results
    assert episode.opened.options["job_seconds"] * 1000 <= results[0] - starts[0]


def test_result_had_an_issued_token(episode: Episode) -> None:
    """What authorised the result is a token that was asked for in this episode."""
    issued = [made.artifact for event in episode.served("POST", "/token") for made in event.issued]
    used = [event.artifact for event in episode.served("GET", "/api/data")]

    assert used
    assert set(used) <= set(issued)
