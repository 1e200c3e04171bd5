"""Checks of what a run works around by itself, of limits, and of speed."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from harness.agent import TIMEOUT_S, WALL_S
from harness.agents.doctor.examination import CALL_S, TOKENS, Examination
from harness.agents.llm.failures import Crowded, Refused, Transient
from harness.agents.llm.probing import PROBE

_AT_ONCE = 2
"""Calls at the same time: as many as `harness run` makes unless told otherwise."""

_LONG_REPLY, _LONG_EPISODE = 4096, 8192
"""Output tokens of a long reply, and of a long episode of a contract task."""

_COUNT = ({"role": "user", "content": "Count from 1 to 60 in digits, separated by blanks. Write nothing else."},)
_COUNT_TOKENS = 128


def system_role(tried: Examination) -> None:
    """Send a system message."""
    try:
        tried.call([{"role": "system", "content": "You are brief."}, *PROBE])
    except Refused as refusal:
        tried.diagnosis.rule_out("system role", f"a system message is refused: {refusal}", "serve it with another chat template")
        return
    if tried.client.quirks.refuses_system:
        seen = "refused; a run puts the text in front of the first user message"
        tried.diagnosis.add("system role", "note", seen)
    else:
        tried.diagnosis.add("system role", "yes", "accepted")


def parameters(tried: Examination) -> None:
    """Report what became of temperature and output limit, which every call so far had."""
    effective = tried.client.effective
    if "temperature" in tried.client.requested and "temperature" not in effective:
        tried.diagnosis.add("temperature", "no", "refused; a run leaves it out", temperature="default")
    else:
        tried.diagnosis.add("temperature", "yes", "accepted")
    if "max_tokens" in effective:
        tried.diagnosis.add("output limit", "yes", "max_tokens is accepted")
    elif "max_completion_tokens" in effective:
        tried.diagnosis.add("output limit", "note", "max_tokens is refused; a run sends max_completion_tokens")
    else:
        tried.diagnosis.add("output limit", "note", "refused, so --reply-tokens has no effect")


def usage(tried: Examination) -> None:
    """Report whether the server counts tokens."""
    if tried.first is not None and tried.first.usage.estimated:
        tried.diagnosis.add("usage", "note", "no token counts; a run estimates them and marks them as estimated")
    else:
        tried.diagnosis.add("usage", "yes", "token counts are reported")


def price(tried: Examination) -> None:
    """Report what tokens cost."""
    if (known := tried.client.price) is None:
        tried.diagnosis.add("price", "note", "unknown", "--prices FILE, where --cost or --max-cost is wanted")
    else:
        tried.diagnosis.add("price", "yes", f"${known.input:g} in, ${known.output:g} out per million tokens")


def concurrency(tried: Examination) -> None:
    """Make calls at the same time, and report the headers that speak of limits."""

    def is_crowded(_: int) -> bool:
        try:
            tried.client.once(PROBE, limit=TOKENS, timeout_s=CALL_S)
        except Crowded:
            return True
        return False

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        crowded = any(list(pool.map(is_crowded, range(_AT_ONCE))))
    limits = ", ".join(f"{name}: {value}" for name, value in sorted(tried.wire.rate_limits().items())[:4])
    if crowded:
        seen = f"a second call at the same time gets 429 ({limits or 'it does not say for how long'})"
        tried.diagnosis.add("concurrency", "no", seen, workers=1)
    else:
        tried.diagnosis.add("concurrency", "yes", f"{_AT_ONCE} calls at the same time; headers on limits: {limits or 'none'}")


def streaming(tried: Examination) -> None:
    """Request a streamed answer, which a run never does."""
    try:
        streams = tried.wire.streams({"model": tried.wire.model, "messages": list(PROBE)})
    except httpx.HTTPError:
        streams = False
    tried.diagnosis.add("streaming", "note", f"{'accepted' if streams else 'not accepted'}; a run does not use it")


def speed(tried: Examination) -> None:
    """Measure tokens per second in one longer answer."""
    began, about = time.monotonic(), "about"
    try:
        tokens = tried.client.once(_COUNT, limit=_COUNT_TOKENS, timeout_s=CALL_S).usage.completion_tokens
    except Transient:
        if time.monotonic() - began < CALL_S / 2:
            raise
        tokens, about = _COUNT_TOKENS, "fewer than"
    rate = max(tokens, 1) / max(time.monotonic() - began, 0.001)
    flags = {"timeout": _minutes(_LONG_REPLY / rate)} if _LONG_REPLY / rate > TIMEOUT_S else {}
    flags |= {"wall": _minutes(_LONG_EPISODE / rate)} if _LONG_EPISODE / rate > WALL_S else {}
    seen = f"{about} {rate:.0f} tokens per second; a small call takes {tried.quickest_s:.1f} s"
    tried.diagnosis.add("speed", "note" if flags else "yes", seen, **flags)


def _minutes(seconds: float) -> int:
    """Twice as many seconds, in whole minutes."""
    return 60 * math.ceil(2 * seconds / 60)
