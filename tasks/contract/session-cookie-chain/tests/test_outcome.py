"""The hidden validator: a log our world could have written, every contract kept, and the whole workflow taken."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_taken(episode: Episode) -> None:
    """Each of the ten steps was served, and then the completion; who took them shows in the cookies that they used."""
    for number in range(10):
        assert list(episode.served("GET", f"/api/workflow/step/{number + 1}")), number
    assert list(episode.served("POST", "/api/workflow/complete"))
