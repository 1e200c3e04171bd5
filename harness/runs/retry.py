"""Retries of failed episodes within a run. A table has, for each cause, the number of attempts and the time for them.

Only failures that may be temporary are retried (`Result.may_pass`): a provider that exceeded the timeout of a call, a container
that did not start. Actions of an agent, and failures of the world that they cause, are graded and never replayed. A provider's
refusal, a missing verdict, an interrupt and a reached limit stay ungraded until the run is resumed. Other episodes are played
during a pause; earlier attempts are kept under attempts/.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from harness.causes import Responsible
from harness.records import Key, Result


class RetryPolicy(NamedTuple):
    """Retry policy of one cause."""

    tries: int
    """Maximum number of attempts at one episode, including the first."""

    first_pause_s: float
    """Real seconds before the second attempt; doubled for each further one."""

    total_s: float
    """Real seconds after the first failure within which an attempt may still start."""


POLICIES: Mapping[Responsible, RetryPolicy] = {
    "provider": RetryPolicy(tries=3, first_pause_s=10.0, total_s=900.0),
    "runtime": RetryPolicy(tries=3, first_pause_s=2.0, total_s=300.0),
}


class EpisodeRetries:
    """Counter of the attempts at the episodes of one session."""

    def __init__(self, policies: Mapping[Responsible, RetryPolicy], clock: Callable[[], float] = time.monotonic) -> None:
        self._policies, self._clock = policies, clock
        self._tries: dict[Key, int] = {}
        self._failed_at: dict[Key, float] = {}

    def note(self, result: Result) -> None:
        """Count one attempt."""
        self._tries[result.key] = self._tries.get(result.key, 0) + 1
        if result.status == "ungraded":
            self._failed_at.setdefault(result.key, self._clock())

    def due(self, results: Iterable[Result]) -> dict[Key, float]:
        """Return the episodes to retry, with the seconds to wait before."""
        return {result.key: pause for result in results if (pause := self._pause(result)) is not None}

    def _pause(self, result: Result) -> float | None:
        policy = self._policies.get(result.cause) if result.cause and result.may_pass else None
        tries = self._tries.get(result.key, 0)
        if policy is None or result.status == "graded" or not 0 < tries < policy.tries:
            return None
        pause = policy.first_pause_s * 2.0 ** (tries - 1)
        return pause if self._clock() + pause - self._failed_at[result.key] <= policy.total_s else None
