"""What each seat of a hidden profile earned: 1 where its last vote is the key, else 0.

The mean over the seats is the reward of the session, to the last digit.
"""

from __future__ import annotations

from harness.env.verdict import JudgedLog
from validators.episode import Episode
from validators.hidden_profile.replay import replay
from worlds.core.events import read_log


def seat_rewards(judged: JudgedLog) -> tuple[float, ...]:
    """By seat, from 0 to 1; 0 for all where the session broke off."""
    rebuilt = replay(Episode(tuple(read_log(judged.log))))
    opening = rebuilt.opening
    if not rebuilt.finished or rebuilt.after is None:
        return (0.0,) * len(opening.seats)
    return tuple(float(vote.option == opening.scenario.key) for vote in rebuilt.after)
