"""Spending of a whole run and its limits. One meter counts for all threads, seats and parts of the run.

The meter is checked before each model call and updated after it. Once a limit is reached, no call is started. Calls in flight
(at most one per conversation) are finished and paid for. An episode that would need another call is left ungraded with the
cause `limit`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Annotated

from pydantic import Field

from harness.agent import Usage
from harness.errors import LimitReached
from worlds.core.models import Strict


class RunLimits(Strict):
    """Spending limits of a whole run, over all its sessions; None if there is no limit."""

    cost_usd: Annotated[float, Field(ge=0)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None


@dataclass(frozen=True)
class Spent:
    """Model calls, tokens and dollars of a run so far.

    `cost_usd` includes neither `unpriced` calls nor `kept` calls, which were answered from the cache.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    kept: int = 0
    kept_usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt + self.completion

    def __add__(self, other: Spent) -> Spent:
        """Return the sum of both."""
        return Spent(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class Meter:
    """Counter of a run's model calls, which enforces its limits."""

    def __init__(
        self,
        limits: RunLimits = RunLimits(),  # noqa: B008 - it is frozen, and so is the next
        spent: Spent = Spent(),
        note: Callable[[Spent], object] = lambda one: None,
    ) -> None:
        """Create the meter; `spent` is the spending of earlier sessions of the run, and `note` records each call."""
        self.limits = limits
        self._spent, self._note, self._lock = spent, note, threading.Lock()

    @property
    def spent(self) -> Spent:
        """Total spending so far."""
        return self._spent

    @property
    def reached(self) -> str | None:
        """Message about the limit that is reached; None while calls are allowed."""
        spent = self.spent
        if self.limits.cost_usd is not None and spent.cost_usd >= self.limits.cost_usd:
            return f"--max-cost of ${self.limits.cost_usd:g} is reached (${spent.cost_usd:.4f} spent)"
        if self.limits.tokens is not None and spent.tokens >= self.limits.tokens:
            return f"--max-tokens of {self.limits.tokens} is reached ({spent.tokens} spent)"
        return None

    def admit(self) -> None:
        """Raise LimitReached if no further call may be started."""
        if reached := self.reached:
            raise LimitReached(f"the run's {reached}")

    def add(self, usage: Usage) -> None:
        """Count one call."""
        unpriced = usage.calls if usage.cost_usd is None else 0
        one = Spent(usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost_usd or 0.0, unpriced)
        with self._lock:
            self._spent += one
        self._note(one)
