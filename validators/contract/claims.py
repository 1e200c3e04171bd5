"""What every contract task claims of an episode, as tests that a hidden validator imports and so makes its own.

`from validators.contract.claims import test_contracts_kept, test_log_is_sound` is all that a test_outcome.py needs for
them; what it adds is the task's own: which steps were taken on the way.
"""

from __future__ import annotations

from validators.contract.soundness import inconsistencies
from validators.episode import Episode
from validators.verdict import Verdict


def test_log_is_sound(episode: Episode) -> None:
    """Nothing stands in the log that our world could not have written."""
    assert not (wrong := inconsistencies(episode)), wrong


def test_contracts_kept(verdict: Verdict) -> None:
    """The goal was reached and no rule was broken on the way."""
    assert verdict.success, f"{verdict.failure_label} {verdict.failure_detail}"
