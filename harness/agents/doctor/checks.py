"""`harness doctor --model`: the checks in order, made through the client that plays, within a minute.

A check adds one row or two. What a server refuses leads to a flag; what the client works around is a note; what no flag helps
against rules the server out. A call that fails for another reason leaves its row "not tried".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from harness.agents.doctor import server_checks, tool_checks
from harness.agents.doctor.connection import connect
from harness.agents.doctor.context_checks import context
from harness.agents.doctor.diagnosis import Diagnosis
from harness.agents.doctor.examination import CALL_S, TOKENS, Examination
from harness.agents.doctor.wire import Wire
from harness.agents.llm.failures import CallFailure
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.errors import BoundaryError, UsageError

MINUTE_S = 60.0
"""Seconds after which no check is begun that might take as long as a call may take."""

CHECKS: dict[str, Callable[[Examination], None]] = {
    "tools seen": tool_checks.tools, "tool results": tool_checks.results, "reasoning": tool_checks.reasoning,
    "empty content": tool_checks.empty_content, "parallel calls": tool_checks.parallel_calls,
    "system role": server_checks.system_role, "parameters": server_checks.parameters, "usage": server_checks.usage,
    "price": server_checks.price, "concurrency": server_checks.concurrency, "streaming": server_checks.streaming,
    "speed": server_checks.speed, "context size": context,
}  # fmt: skip


def examine(settings: ModelSettings, say: Callable[[str], None], *, overfill: bool = False) -> Diagnosis:
    """Try a model at a server; `overfill`: send too long a prompt also where the context is large, which costs its tokens."""
    diagnosis = Diagnosis(settings.name, settings.api_base)
    client = ModelClient(replace(settings, max_tokens=TOKENS, timeout_s=CALL_S), say=say)
    try:
        client.check()
    except UsageError as wrong:
        diagnosis.rule_out("settings", str(wrong), wrong.hint)
        return diagnosis
    with Wire() as wire:
        tried = Examination(client, diagnosis, wire, time.monotonic() + MINUTE_S - CALL_S, overfills=overfill)
        if connect(tried):
            for name, check in CHECKS.items():
                _try(tried, name, check)
    return diagnosis


def _try(tried: Examination, name: str, check: Callable[[Examination], None]) -> None:
    if time.monotonic() > tried.deadline:
        tried.diagnosis.add(name, "not tried", "the minute is over")
        return
    try:
        check(tried)
    except (CallFailure, BoundaryError) as failure:
        tried.diagnosis.add(name, "not tried", f"the call failed: {failure}")
