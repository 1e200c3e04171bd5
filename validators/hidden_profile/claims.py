"""What every hidden-profile task claims of an episode, as a test that a hidden validator imports and so makes its own.

`from validators.hidden_profile.claims import test_log_is_true` is all that a test_outcome.py needs: how well a group decided
is the verdict's to say, and none decides so badly that its log may be wrong.
"""

from __future__ import annotations

from validators.episode import Episode
from validators.hidden_profile.replay import lies_of


def test_log_is_true(episode: Episode) -> None:
    """Every note follows from the replies, and every text that was delivered shows what its seat was to read."""
    assert not (lies := lies_of(episode)), lies
