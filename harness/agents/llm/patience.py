"""How long one question is asked again: after which pauses, and when its patience is used up.

Patience is the time of a question's own attempts and pauses. Waiting for others at the provider's gate is no part of it, since
there the provider answers somebody; where it answers nobody, all questions share one patience.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential
from tenacity.nap import sleep_using_event

from harness.agents.llm.failures import Transient
from harness.agents.llm.gate import ProviderGate

_LONGEST_PAUSE_S = 60.0


class Patience:
    """One question with its attempts: since when it is asked, and for how long somebody else's turn came first."""

    def __init__(self, gate: ProviderGate, patience_s: float, first_pause_s: float) -> None:
        self._gate, self._patience_s = gate, patience_s
        self._exponential = wait_random_exponential(multiplier=first_pause_s, max=_LONGEST_PAUSE_S)
        self._began, self._queued_s, self._attempts = time.monotonic(), 0.0, 0
        self.waited_s = 0.0
        """Real seconds before the last attempt that are the provider's: failed attempts, pauses, and the queue at the gate."""

    @property
    def seconds(self) -> float:
        """Real seconds since it was asked."""
        return time.monotonic() - self._began

    def begins(self, queued_s: float) -> None:
        """Another attempt is made, after some time in the queue."""
        self._attempts += 1
        self._queued_s += queued_s
        self.waited_s = self.seconds if self._attempts > 1 else queued_s

    def attempts(
        self, may_pass: Callable[[BaseException], bool], announce: Callable[[RetryCallState], None], halt: threading.Event
    ) -> Retrying:
        """Attempts to go through, for as long as failures may pass and patience lasts; `halt` ends a pause."""
        return Retrying(
            retry=retry_if_exception(may_pass), stop=self._is_over, wait=self._pause, before_sleep=announce,
            sleep=sleep_using_event(halt), reraise=True,
        )  # fmt: skip

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, Transient) and error.retry_after is not None:
            return error.retry_after
        return self._exponential(state)

    def _is_over(self, state: RetryCallState) -> bool:
        own_s = self.seconds - self._queued_s
        return max(own_s, self._gate.unanswered_s) + state.upcoming_sleep >= self._patience_s
