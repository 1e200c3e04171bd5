"""The hidden validator: a log our world could have written, every contract kept, every step taken, with keys that counted."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_taken_in_order(episode: Episode) -> None:
    """Each step was served once, in order, and the last one with the newest key."""
    steps = round(episode.opened.options["steps"])
    taken = [event for event in episode.requests if event.kind == "ok" and event.path.startswith("/api/step/")]
    keys = [made.artifact for event in episode.requests for made in event.issued]

    assert [f"/api/step/{number}" for number in range(1, steps + 1)] == [event.path for event in taken]
    assert (keys[-1],) == taken[-1].used
