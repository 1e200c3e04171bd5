"""The hidden validator: a log our world could have written, every contract kept, and the result that of a job."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_result_came_from_a_job_that_was_accepted(episode: Episode) -> None:
    """A token was given, the job accepted (202), and its result served; nothing else was."""
    served = {(event.method, event.path, event.status) for event in episode.requests if event.kind == "ok"}

    assert served == {("POST", "/token", 200), ("POST", "/api/job", 202), ("GET", "/api/data", 200)}
