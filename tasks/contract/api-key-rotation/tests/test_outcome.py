"""The hidden validator: a log our world could have written, every contract kept, and every step taken."""

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_taken_in_order(episode: Episode) -> None:
    """Each step was served once, and in order."""
    steps = round(episode.opened.options["steps"])
    served = [event.path for event in episode.requests if event.kind == "ok"]

    assert [f"/api/step/{number}" for number in range(1, steps + 1)] == served
