"""Reward of each seat of a hidden profile: 1 if its last vote is for the right option, else 0.

The mean over the seats equals the reward of the session exactly.
"""

from __future__ import annotations

from parley.training.verdict import JudgedLog
from validators.episode import Episode
from validators.hidden_profile.replay import replay
from worlds.core.events import read_log


def seat_rewards(judged: JudgedLog) -> tuple[float, ...]:
    """Return the rewards by seat, from 0 to 1; 0 for all if the session broke off."""
    rebuilt = replay(Episode(tuple(read_log(judged.log))))
    opening = rebuilt.opening
    if not rebuilt.finished or rebuilt.after is None:
        return (0.0,) * len(opening.seats)
    return tuple(float(vote.option == opening.scenario.key) for vote in rebuilt.after)
