"""The hidden validator: a log our world could have written, every contract kept, the whole workflow taken in one session."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_every_step_was_taken_in_order(episode: Episode) -> None:
    """The session was started once, each of the ten steps was served once, in order, then the completion; looks are free."""
    served = [event for event in episode.requests if event.kind == "ok" and event.path not in ("/submission", "/api/session")]

    assert [
        "/api/session/start",
        *(f"/api/workflow/step/{number}" for number in range(1, 11)),
        "/api/workflow/complete",
    ] == [event.path for event in served]


def test_one_step_used_the_pass(episode: Episode) -> None:
    """Every request carried the session and the second cookie; exactly one of them carried the pass."""
    steps = [event for event in episode.requests if event.kind == "ok" and event.path.startswith("/api/workflow/")]
    carried = sorted(len(event.used) for event in steps)

    assert [*[2] * 10, 3] == carried
