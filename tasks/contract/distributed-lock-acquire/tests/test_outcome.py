"""The hidden validator: a log our world could have written, every contract kept, and the lost step undone and done again."""

import re

from validators.contract.claims import test_contracts_kept, test_log_is_sound
from validators.episode import Episode


def test_work_was_done_once_each(episode: Episode) -> None:
    """Each of the four steps was served exactly once, in order, and then the work was completed."""
    done = [e.path for e in episode.requests if e.kind == "ok" and e.path.startswith(("/work/step/", "/work/complete"))]

    assert [*(f"/work/step/{number}" for number in range(1, 5)), "/work/complete"] == done


def test_lost_step_was_undone_before_the_lock_was_taken_again(episode: Episode) -> None:
    """The step that lost its lease was undone next, and only then came the second acquisition."""
    acts = [f"{e.kind} {e.path}" for e in episode.requests if e.path.startswith(("/work/step/", "/work/undo/", "/lock"))]

    assert re.search(r"protocol /work/step/(\d); ok /work/undo/\1; ok /lock;", "; ".join(acts))
