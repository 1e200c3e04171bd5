"""The hidden validator: a log our world could have written, every contract kept, and the lost step undone and done again."""

from validators.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_work_was_done_once_each(episode: Episode) -> None:
    """Each of the four steps was served exactly once, in order."""
    done = [e.path for e in episode.requests if e.kind == "ok" and e.path.startswith("/work/step/")]

    assert [f"/work/step/{number}" for number in range(1, 5)] == done


def test_lost_step_was_undone_before_the_lock_was_taken_again(episode: Episode) -> None:
    """The step that lost its lease was undone next, and only then came the second acquisition."""
    lost = [event for event in episode.requests if event.kind == "protocol"]
    assert len(lost) == 1
    after = [(e.path, e.kind) for e in episode.requests if e.seq > lost[0].seq and e.path.startswith(("/lock", "/work/undo/"))]

    assert [(lost[0].path.replace("step", "undo"), "ok"), ("/lock", "ok")] == after[:2]
