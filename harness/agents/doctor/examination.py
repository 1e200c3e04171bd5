"""The state of one examination, and the calls that its checks make."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.agents.doctor.diagnosis import Diagnosis
from harness.agents.doctor.wire import Wire
from harness.agents.llm.completion import Completion
from harness.agents.llm.failures import NoApi, Transient, Unconnected
from harness.agents.llm.model import ModelClient

CALL_S = 15.0
"""Seconds after which a call is given up."""

TOKENS = 32
"""Output tokens of a call whose answer does not matter."""

_PAUSE_S = 1.0

Messages = Sequence[dict[str, Any]]


@dataclass
class Examination:
    """One model at one server, while it is examined."""

    client: ModelClient
    diagnosis: Diagnosis
    wire: Wire
    deadline: float
    """On the monotonic clock."""

    overfills: bool = False
    """Whether too long a prompt is sent where the context is large."""

    first: Completion | None = None
    """The answer to the first call."""

    called: Completion | None = None
    """The answer to the offer of a tool; None where the server drops or refuses tools."""

    quickest_s: float = math.inf
    """Seconds of the quickest call."""

    @property
    def by_text(self) -> bool:
        """True where a run will use no tool calls."""
        return self.diagnosis.flags.get("protocol") == "text"

    def call(self, messages: Messages, tools: Messages = (), limit: int = TOKENS) -> Completion:
        """Make one call, and twice again where it fails in a way that may pass; raises CallFailure and SetupFault."""
        for left in (2, 1, 0):
            began = time.monotonic()
            try:
                said = self.client.once(messages, tools, limit=limit, timeout_s=CALL_S)
                self.quickest_s = min(self.quickest_s, time.monotonic() - began)
                return said
            except Transient as failure:
                pause = _PAUSE_S if failure.retry_after is None else failure.retry_after
                if not left or isinstance(failure, Unconnected | NoApi) or time.monotonic() + pause > self.deadline:
                    raise
                time.sleep(pause)
        raise AssertionError("returned or raised")
