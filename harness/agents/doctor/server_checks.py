"""Checks of what a run works around by itself, of limits, of speed, and of the context."""

from __future__ import annotations

import math
import re
import time
from concurrent.futures import ThreadPoolExecutor

from harness.agent import TIMEOUT_S, WALL_S
from harness.agents.doctor.examination import CALL_S, TOKENS, Examination
from harness.agents.llm.failures import CallFailure, ContextFull, Crowded, Refused, Transient
from harness.agents.llm.probing import PROBE
from harness.agents.llm.provider import library

_AT_ONCE = 2
"""Calls at the same time: as many as `harness run` makes unless told otherwise."""

_LONG_REPLY, _LONG_EPISODE = 4096, 8192
"""Output tokens of a long reply, and of a long episode of a contract task."""

_COUNT = ({"role": "user", "content": "Count from 1 to 60 in digits, separated by blanks. Write nothing else."},)
_COUNT_TOKENS = 128
_LEAST, _ROOMY, _CHEAP, _UNKNOWN = 4096, 16_384, 32_768, 8192
"""Tokens of context: that a contract task needs; that most need; that are overfilled unasked; sent where nothing is known."""

_SIZE = re.compile(r"(?:context|maximum|limit|n_ctx)\D{0,60}?(\d[\d,]{2,})", re.IGNORECASE)


def requests(tried: Examination) -> None:
    """Send a system message, and report what the client works around and knows of tokens and prices."""
    client = tried.client
    try:
        said = tried.call([{"role": "system", "content": "You are brief."}, *PROBE])
    except Refused as refusal:
        tried.rule_out("system role", f"a system message is refused: {refusal}", "serve the model with another chat template")
        return
    effective, price = client.effective, client.price
    folded = "refused; a run puts the text in front of the first user message"
    tried.add("system role", *(("note", folded) if client.quirks.refuses_system else ("yes", "accepted")))
    if "temperature" in client.requested and "temperature" not in effective:
        tried.add("temperature", "no", "refused; a run leaves it out", temperature="default")
    else:
        tried.add("temperature", "yes", "accepted")
    if "max_tokens" in effective:
        tried.add("output limit", "yes", "max_tokens is accepted")
    else:
        sent = "a run sends max_completion_tokens" if "max_completion_tokens" in effective else "--reply-tokens has no effect"
        tried.add("output limit", "note", f"max_tokens is refused; {sent}")
    uncounted = "no token counts; a run estimates them and marks them as estimated"
    tried.add("usage", *(("note", uncounted) if said.usage.estimated else ("yes", "token counts are reported")))
    if price is None:
        tried.add("price", "note", "unknown", "--prices FILE, where --cost or --max-cost is wanted")
    else:
        tried.add("price", "yes", f"${price.input:g} in, ${price.output:g} out per million tokens")


def concurrency(tried: Examination) -> None:
    """Make calls at the same time, and report the headers on limits; request a streamed answer, which a run never does."""

    def is_crowded(_: int) -> bool:
        try:
            tried.client.once(PROBE, limit=TOKENS, timeout_s=CALL_S)
        except Crowded:
            return True
        return False

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        crowded = any(list(pool.map(is_crowded, range(_AT_ONCE))))
    limits = tried.wire.rate_limits()
    if crowded:
        seen = f"a second call at the same time gets 429 ({limits or 'it does not say for how long'})"
        tried.add("concurrency", "no", seen, workers=1)
    else:
        tried.add("concurrency", "yes", f"{_AT_ONCE} calls at the same time; headers on limits: {limits or 'none'}")
    tried.add("streaming", "note", f"{'accepted' if tried.wire.streams() else 'not accepted'}; a run does not use it")


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
    needed = {"timeout": (_LONG_REPLY / rate, TIMEOUT_S), "wall": (_LONG_EPISODE / rate, WALL_S)}
    flags = {name: 120 * math.ceil(seconds / 60) for name, (seconds, default) in needed.items() if seconds > default}
    seen = f"{about} {rate:.0f} tokens per second; a small call takes {tried.quickest_s:.1f} s"
    tried.add("speed", "note" if flags else "yes", seen, "", **flags)


def context(tried: Examination) -> None:
    """Report the size, as the server, LiteLLM's table or an error gives it, after overfilling it where that is cheap."""
    size = tried.wire.context_size() or _listed(tried.client.name)
    if tried.overfills or (size <= _CHEAP if size else tried.client.price is None):
        size = _overfilled(tried, size)
    else:
        tried.add("overflow", "not tried", "a prompt that is too long would cost its tokens", "--overfill tries it")
    if 0 < size < _LEAST:
        seen = f"the context of {size} tokens is too small: a contract task needs at least {_LEAST}"
        tried.rule_out("context size", seen, "serve the model with a larger context")
    elif size:
        short = "" if size >= _ROOMY else ", which will stop long episodes"
        tried.add("context size", "note" if short else "yes", f"{size} tokens{short}")
    else:
        tried.add("context size", "note", "not known", "--context N, if you know it")


def _listed(model: str) -> int:
    try:
        return int(library().get_model_info(model)["max_input_tokens"] or 0)
    except Exception:  # noqa: BLE001 - it has many ways of not knowing a model
        return 0


def _overfilled(tried: Examination, size: int) -> int:
    """Send a prompt that does not fit and report what comes back; the size, where it is known then."""
    prompt = [{"role": "user", "content": "word " * int(1.25 * (size or _UNKNOWN))}]
    try:
        said = tried.client.once(prompt, limit=TOKENS, timeout_s=CALL_S)
    except ContextFull as full:
        size = size or _named(full)
        tried.add("overflow", "yes", f"recognised: {full}")
    except Refused as refusal:
        size = size or _named(refusal)
        tried.add("overflow", "no", f"not recognised: {refusal}", "", **({"context": size} if size else {}))
    except Transient as failure:
        tried.add("overflow", "not tried", f"the call failed: {failure}")
    else:
        seen = f"a prompt of {said.usage.prompt_tokens} tokens is accepted"
        if size:
            tried.add("overflow", "no", f"{seen}, so the server cuts it", context=size)
        else:
            tried.add("overflow", "note", seen)
    return size


def _named(failure: CallFailure) -> int:
    """The size that an error names, 0 where it names none."""
    match = _SIZE.search(str(failure))
    return int(match[1].replace(",", "")) if match else 0
