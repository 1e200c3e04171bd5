"""Checks of the context: how many tokens it has, and whether a run recognises what the server says when it is full."""

from __future__ import annotations

import re

from harness.agents.doctor.examination import CALL_S, TOKENS, Examination
from harness.agents.llm.failures import CallFailure, ContextFull, Refused, Transient
from harness.agents.llm.provider import library

_LEAST, _ROOMY, _CHEAP = 4096, 16_384, 32_768
"""Tokens that a contract task needs at least, that most of them need, and that are filled without being told to."""

_UNKNOWN = 8192
"""Tokens that are sent where nothing is known of the size."""

_SIZE = re.compile(r"(?:context|maximum|limit|n_ctx)\D{0,60}?(\d[\d,]{2,})", re.IGNORECASE)


def context(tried: Examination) -> None:
    """Read the size where the server, LiteLLM's table or an error says it, and overfill it where that is cheap."""
    size, source = tried.wire.context_size() or _listed(tried.client.name)
    if tried.overfills or (size <= _CHEAP if size else tried.client.price is None):
        size, source = _overfilled(tried, size, source)
    else:
        tried.diagnosis.add("overflow", "not tried", "a prompt that is too long would cost its tokens", "--overfill tries it")
    if 0 < size < _LEAST:
        seen = f"the context of {size} tokens ({source}) is too small: a contract task needs at least {_LEAST}"
        tried.diagnosis.rule_out("context size", seen, "serve the model with a larger context")
    elif 0 < size < _ROOMY:
        tried.diagnosis.add("context size", "note", f"{size} tokens ({source}): long episodes will be stopped by it")
    elif size:
        tried.diagnosis.add("context size", "yes", f"{size} tokens ({source})")
    else:
        tried.diagnosis.add("context size", "note", f"not known{source}", "--context N, if you know it")


def _listed(model: str) -> tuple[int, str]:
    try:
        return int(library().get_model_info(model)["max_input_tokens"] or 0), "LiteLLM's table"
    except Exception:  # noqa: BLE001 - it has many ways of not knowing a model
        return 0, ""


def _overfilled(tried: Examination, size: int, source: str) -> tuple[int, str]:
    """Send a prompt that does not fit and report what comes back; the size and its source, as far as they are known then."""
    words = int(1.25 * (size or _UNKNOWN))
    try:
        said = tried.client.once([{"role": "user", "content": "word " * words}], limit=TOKENS, timeout_s=CALL_S)
    except ContextFull as full:
        tried.diagnosis.add("overflow", "yes", f"recognised: {full}")
        return (size, source) if size else (_named(full), "an error of the server")
    except Transient as failure:
        tried.diagnosis.add("overflow", "not tried", f"the call failed: {failure}")
        return size, source
    except Refused as refusal:
        size, source = (size, source) if size else (_named(refusal), "an error of the server")
        tried.diagnosis.add("overflow", "no", f"not recognised: {refusal}", **({"context": size} if size else {}))
        return size, source
    if not size:
        tried.diagnosis.add("overflow", "note", f"a prompt of {said.usage.prompt_tokens} tokens is accepted")
        return 0, f", at least {said.usage.prompt_tokens} tokens"
    tried.diagnosis.add("overflow", "no", "a prompt that is too long is accepted, so the server cuts it", context=size)
    return size, source


def _named(failure: CallFailure) -> int:
    """The size that an error names, 0 where it names none."""
    match = _SIZE.search(str(failure))
    return int(match[1].replace(",", "")) if match else 0
