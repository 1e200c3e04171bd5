"""What every calendar task claims of an episode, as a test that a hidden validator imports and so makes its own.

`from validators.calendar.claims import test_log_is_true` is all that a test_outcome.py needs: how well the game was played is
the verdict's to say, and no game is played so badly that its log may be wrong.
"""

from __future__ import annotations

from validators.calendar.replay import lies_of
from validators.episode import Episode


def test_log_is_true(episode: Episode) -> None:
    """The rules say of every note and every delivered text what the world said."""
    assert not (lies := lies_of(episode)), lies
