"""pass^k of a group: the share of instances at which all of k attempts succeed; trust is this, and not the mean.

It is unbiased where more than k attempts were graded: C(c, k) / C(n, k) for each (task, seed), averaged over those with n >= k.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.records import Result
from harness.report.evidence import Group
from harness.report.statistics import pass_hat


def pass_k(cells: Iterable[Sequence[Result]], k: int) -> float | None:
    """pass^k over the instances that have k graded attempts; None where none has."""
    counted = [(sum(result.success for result in cell), len(cell)) for cell in cells if len(cell) >= k]
    return sum(pass_hat(passed, n, k) for passed, n in counted) / len(counted) if counted else None


def reliability(group: Group) -> float | None:
    """pass^k of a group at the k that was planned."""
    return pass_k(group.cells.values(), group.attempts)
