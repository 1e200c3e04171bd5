"""Test that every hidden-profile task runs; a hidden validator imports it.

`from validators.hidden_profile.claims import test_log_is_true` is the whole test_outcome.py of a task. The verdict measures how
well a group decided; the log must be correct however badly that was.
"""

from __future__ import annotations

from validators.episode import Episode
from validators.hidden_profile.replay import find_lies


def test_log_is_true(episode: Episode) -> None:
    """Every note follows from the replies, and every delivered text shows what its seat had to read."""
    assert not (lies := find_lies(episode)), lies
