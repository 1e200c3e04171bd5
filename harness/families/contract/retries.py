"""The retries of failed episodes, by what they were told: nothing (`none`), the label earned (`correct`) or another (`wrong`).

A retry is known by its first attempt - run, task, seed, attempt - so that the same failure can be followed through the
conditions. A failure that was retried twice under one condition counts once, as first read.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from harness.records import HintMode
from harness.report.evidence import Group

MODES: tuple[HintMode, ...] = ("none", "wrong", "correct")


class Failure(NamedTuple):
    """The first attempt that is retried."""

    run: str
    task_id: str
    seed: int
    attempt: int


Outcomes = dict[HintMode, dict[Failure, bool]]
"""Whether each retry succeeded, by condition."""


class Retries(NamedTuple):
    """One group's retries."""

    outcomes: Outcomes
    labels: dict[Failure, str]
    """What each first attempt earned."""

    ungraded: Counter[HintMode]
    repeated: int
    """Retries left out because their failure had been retried under the same condition before."""


def read_retries(group: Group) -> Retries:
    """The retries of a group, sorted out."""
    outcomes: Outcomes = {mode: {} for mode in MODES}
    labels: dict[Failure, str] = {}
    ungraded: Counter[HintMode] = Counter()
    repeated = 0
    for result in group.retries:
        hint = result.hint
        if hint is None or result.status == "ungraded":
            ungraded.update([hint.mode] if hint else ())
            continue
        failure = Failure(hint.retry_of, result.task_id, result.seed, result.attempt)
        repeated += failure in outcomes[hint.mode]
        outcomes[hint.mode].setdefault(failure, result.success)
        labels[failure] = hint.first_label
    return Retries(outcomes, labels, ungraded, repeated)
