"""The hidden validator: a log our world could have written, every contract kept, and one submit before its result."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_the_form_was_taken_and_then_its_result(episode: Episode) -> None:
    """Page, precheck, submit and result were served, and nothing else."""
    served = {event.path for event in episode.requests if event.kind == "ok"}

    assert served == {"/task", "/api/precheck", "/api/submit", "/api/result"}
