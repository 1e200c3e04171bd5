"""One model at one server while it is examined: the calls, the rows of the report, and the flags that follow from them."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from harness.agents.doctor.wire import WireTap
from harness.agents.llm.completion import Completion
from harness.agents.llm.failures import NoApi, Transient, Unconnected
from harness.agents.llm.model import ModelClient
from harness.agents.llm.provider import public_address

CALL_S = 15.0
"""Seconds after which a call is given up."""

TOKENS = 32
"""Output tokens of a call whose answer does not matter."""

Verdict = Literal["yes", "no", "note", "not tried"]
"""`note`: it works in an unusual way, which a run allows for, or it does not matter to a run."""

Messages = Sequence[dict[str, Any]]


class CheckRow(NamedTuple):
    """One check; `advice` is empty where there is nothing to do."""

    check: str
    verdict: Verdict
    seen: str
    advice: str = ""


@dataclass
class Examination:
    """What is known so far."""

    client: ModelClient
    deadline: float
    """On the monotonic clock."""

    overfills: bool
    """Whether too long a prompt is sent also where the context is large."""

    wire: WireTap = field(default_factory=WireTap)
    rows: list[CheckRow] = field(default_factory=list)
    flags: dict[str, Any] = field(default_factory=dict)
    """Flags of `harness run`, without dashes in front, beside the model and its address."""

    unusable: str = ""
    """Why no run can work; empty where one can."""

    called: Completion | None = None
    """The answer to the offer of a tool; None where the server drops or refuses tools."""

    quickest_s: float = math.inf
    """Seconds of the quickest call."""

    def add(self, check: str, verdict: Verdict, seen: str, advice: str = "", **flags: Any) -> None:
        """Add a row, and the flags that it asks for."""
        self.flags |= flags
        self.rows.append(CheckRow(check, verdict, seen, advice or " ".join(_typed(flags))))

    def rule_out(self, check: str, seen: str, advice: str) -> None:
        """Add the row of a fault that no flag helps against."""
        self.unusable = self.unusable or seen
        self.add(check, "no", seen, advice)

    @property
    def settings(self) -> dict[str, Any]:
        """The model, its address and the flags, as a file of settings has them."""
        base = self.client.settings.api_base
        return {"model": self.client.name, **({"api-base": public_address(base)} if base else {}), **self.flags}

    @property
    def command(self) -> str:
        """A run of one small task with all flags."""
        return shlex.join(["harness", "run", "presigned-url-download", "--interface", "tool", *_typed(self.settings)])

    def call(self, messages: Messages, tools: Messages = (), limit: int = TOKENS) -> Completion:
        """Make one call, and twice again where it fails in a way that may pass; raises CallFailure and SetupFault."""
        for left in (2, 1, 0):
            began = time.monotonic()
            try:
                said = self.client.once(messages, tools, limit=limit, timeout_s=CALL_S)
                self.quickest_s = min(self.quickest_s, time.monotonic() - began)
                return said
            except Transient as failure:
                pause = 1.0 if failure.retry_after is None else failure.retry_after
                if not left or isinstance(failure, Unconnected | NoApi) or time.monotonic() + pause > self.deadline:
                    raise
                time.sleep(pause)
        raise AssertionError("returned or raised")


def _typed(flags: Mapping[str, Any]) -> list[str]:
    return [word for name, value in flags.items() for word in (f"--{name}", f"{value}")]
