"""The test that all calendar tasks share; the hidden validator of each task imports it.

`from validators.calendar.claims import test_log_is_true` is the whole test_outcome.py of a task. The verdict measures how well
the game was played; the log must be correct however badly that was.
"""

from __future__ import annotations

from validators.calendar.replay import find_lies
from validators.episode import Episode


def test_log_is_true(episode: Episode) -> None:
    """Every note and every delivered text agrees with the rules."""
    assert not (lies := find_lies(episode)), lies
