"""`harness doctor --model`: the checks in order, made through the client that plays, within a minute.

What a server refuses leads to a flag; what the client works around is a note; a fault that no flag helps against rules the
server out. A call that fails for another reason leaves its row "not tried".
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import replace

from harness.agents.doctor import server_checks, tool_checks
from harness.agents.doctor.examination import CALL_S, TOKENS, Examination
from harness.agents.llm.failures import CallFailure
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.probing import PROBE
from harness.agents.llm.provider import public_address
from harness.errors import BoundaryError, HarnessError, Unreachable, UsageError

_MINUTE_S = 60.0

CHECKS: dict[str, Callable[[Examination], None]] = {
    "tools seen": tool_checks.tools, "tool results": tool_checks.results, "reasoning": tool_checks.reasoning,
    "system role": server_checks.requests, "concurrency": server_checks.concurrency, "speed": server_checks.speed,
    "context size": server_checks.context,
}  # fmt: skip
"""By the first row that they add."""


def examine(settings: ModelSettings, say: Callable[[str], None], *, overfill: bool = False) -> Examination:
    """Try a model at a server; `overfill`: send too long a prompt also where the context is large, which costs its tokens."""
    client = ModelClient(replace(settings, max_tokens=TOKENS, timeout_s=CALL_S), say=say)
    tried = Examination(client, time.monotonic() + _MINUTE_S - CALL_S, overfill)
    try:
        client.check()
    except UsageError as wrong:
        tried.rule_out("key and model", str(wrong), wrong.hint)
        return tried
    with tried.wire:
        for name, check in CHECKS.items() if _connected(tried) else ():
            if time.monotonic() > tried.deadline:
                tried.add(name, "not tried", "the minute is over")
                continue
            try:
                check(tried)
            except (CallFailure, BoundaryError) as failure:
                tried.add(name, "not tried", f"the call failed: {failure}")
    return tried


def _connected(tried: Examination) -> bool:
    """Make a run's first calls, at another address or with another model where that helps; False where none is answered."""
    try:
        tried.client.probe()
        tried.call(PROBE)
    except (CallFailure, BoundaryError) as failure:
        if _corrected(tried):
            return _connected(tried)
        hint = failure.hint if isinstance(failure, HarnessError) else "see the log of the server"
        tried.rule_out("reachable" if isinstance(failure, Unreachable) else "key and model", str(failure), hint)
        return False
    tried.add("reachable", "yes", "a first small call was answered")
    tried.add("key and model", "yes", "accepted")
    return True


def _corrected(tried: Examination) -> bool:
    """Take the model that the server has instead, or append /v1 to its address; False where neither is possible."""
    settings, wanted = tried.client.settings, str(tried.wire.sent.get("model", ""))
    names = list(tried.wire.models())
    if near := names if len(names) == 1 else difflib.get_close_matches(wanted, names, n=1):
        settings = replace(settings, name=settings.name.removesuffix(wanted) + near[0])
        told = ("model", f"the server has no {wanted!r}, but {near[0]!r}", f"--model {settings.name}")
    elif settings.api_base is not None and tried.wire.models("v1/models"):
        settings = replace(settings, api_base=f"{settings.api_base.rstrip('/')}/v1")
        told = ("address", "the API lies below /v1", f"--api-base {public_address(settings.api_base or '')}")
    else:
        return False
    if settings == tried.client.settings:
        return False
    tried.add(told[0], "no", *told[1:])
    tried.client = ModelClient(settings, say=tried.client.say)
    return True
