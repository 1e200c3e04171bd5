"""The figure that hidden profiles are ranked by: the accuracy after the talk by the average rule (paper, Figure 4)."""

from __future__ import annotations

from harness.headline import Headline
from harness.records import Result
from parley.families.hidden_profile.arms import CONDITIONS, HIDDEN, accuracy, condition_of, deal_of


def after_the_talk(result: Result) -> float:
    """Return the share of seats that vote right after the talk; 0 if the session broke off before."""
    return accuracy(result, "after", "average")


def _is_hidden(result: Result) -> bool:
    return condition_of(result) == CONDITIONS[0] and deal_of(result) == HIDDEN


MEANING = (
    "Ypost %: the share of seats that vote right after the talk, in sessions with hidden deals alone, as a mean over tasks. "
    "Success: every seat votes right, in sessions of any condition. Mean reward: the share of right seats, over all sessions"
)
HEADLINE = Headline(
    "accuracy after the talk, average rule", "Ypost %", after_the_talk, _is_hidden,
    "parley.families.hidden_profile.published:headline", MEANING,
)  # fmt: skip
