"""Table of how servers say that a prompt is longer than the model's context.

A code counts more than a phrase, and neither depends on the HTTP status or on LiteLLM's exception classes. Bodies with these
wordings, and where each was published, are in tests/agents/context_bodies.toml. docs/providers.md lists the servers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from harness.agents.llm.error_body import ErrorBody


class Wording(NamedTuple):
    """One way of saying it."""

    server: str
    pattern: str
    """A code, or a regular expression in lower case."""


CODES = (
    Wording("OpenAI, Azure, Groq", "context_length_exceeded"),
    Wording("llama.cpp", "exceed_context_size_error"),
    Wording("Anthropic", "request_too_large"),
    Wording("Z.ai", "model_context_window_exceeded"),
)

PHRASES = (
    Wording("OpenAI, Azure, DeepSeek, OpenRouter, vLLM, mlx", r"maximum context length(?: (?:is|of) (?:only )?\d|\W*$)"),
    Wording("OpenAI (responses)", r"exceeds? the context window"),
    Wording("OpenAI (one message)", r"invalid 'messages\[\d+\]\.content[^']*': string too long"),
    Wording("Azure", r"input tokens exceed the configured limit of \d"),
    Wording("OpenAI, Groq, Cerebras", r"reduce the length of the messages"),
    Wording("Anthropic, Fireworks, Vertex", r"\bprompt is too long\b"),
    Wording("Anthropic", r"input length and `?max_tokens`? exceed context limit"),
    Wording("Anthropic", r"request exceeds the maximum size"),
    Wording("Bedrock", r"input is too long for requested model"),
    Wording("Bedrock", r"too many input tokens\. max input tokens|number of input tokens exceeds maximum length"),
    Wording("Gemini, Vertex", r"input token count(?: \(\d+\))? exceeds the maximum number of tokens allowed"),
    Wording("Mistral", r"prompt contains \d+ tokens.*too large for model"),
    Wording("Cohere", r"too many tokens: .*(?:cannot exceed|limit exceeded|maximum)"),
    Wording("vLLM", r"is longer than the maximum model length of \d"),
    Wording("vLLM", r"max_(?:completion_)?tokens must be at least 1, got -\d"),
    Wording("SGLang", r"requested token count exceeds the model's maximum context length"),
    Wording("SGLang", r"is longer than the model's context length"),
    Wording("SGLang", r"input length \(\d+ tokens\) exceeds the maximum allowed length"),
    Wording("TGI, Together", r"`inputs` (?:tokens \+ `max_new_tokens` must be <=|must have less than) \d"),
    Wording("TensorRT-LLM", r"sum of prompt length \([\d.]+\)|prompt length \(\d+\) exceeds maximum \w+ length"),
    Wording("llama.cpp", r"exceeds the available context size|context size has been exceeded"),
    Wording("llama-cpp-python", r"requested tokens(?: \(\d+\))? exceed context window of \d"),
    Wording(
        "Ollama", r"input length exceeds the (?:maximum )?context length|prompt too long; exceeded (?:max )?context length"
    ),
    Wording("LM Studio", r"trying to keep the first \d+ tokens when context|to keep from the initial prompt is greater than"),
    Wording("LM Studio", r"input length \d+ exceeds context length \d"),
    Wording("xAI", r"maximum prompt length is \d"),
    Wording("Moonshot", r"exceeded model token limit"),
    Wording("MiniMax", r"context window exceeds limit"),
    Wording("Z.ai", r"prompt exceeds max length"),
    Wording("GitHub Copilot", r"prompt token count of \d+ exceeds the limit"),
    Wording("DashScope", r"range of input length should be"),
    Wording("Cerebras", r"current length is \d+ while limit is \d"),
    Wording("LiteLLM proxy", r"context window exceeded for given call"),
)

_CODES = frozenset(one.pattern for one in CODES)
_ANY_CODE = re.compile(rf"\b(?:{'|'.join(_CODES)})\b")
_ANY_PHRASE = re.compile("|".join(f"(?:{one.pattern})" for one in PHRASES), re.MULTILINE)
_TOKEN_RATE = re.compile(r"tokens per (?:min|minute|hour|day)\b|\bTP[MD]\b|too many tokens, please wait", re.IGNORECASE)
_LIMIT_AND_REQUESTED = re.compile(r"limit:? (\d+),? .*?requested:? (\d+)", re.IGNORECASE)
_TOO_LARGE_OTHER = re.compile(r"image|audio|video|file|attachment|document", re.IGNORECASE)


def is_context_full(status: int | None, body: ErrorBody) -> bool:
    """Return True where a body says that the prompt does not fit into the model's context.

    A 413 without a message of its own counts too: the request is larger than what a proxy before the model takes.
    """
    text = body.text.lower()
    if body.codes & _CODES or _ANY_CODE.search(text):
        return True
    if is_token_rate(body) or status in {401, 402, 403, 404, 429, 529}:
        return False
    return bool(_ANY_PHRASE.search(text)) or (status == 413 and not _TOO_LARGE_OTHER.search(text))


def is_token_rate(body: ErrorBody) -> bool:
    """Return True where a body speaks of a rate limit that counts tokens, whatever its status."""
    return "rate_limit_exceeded" in body.codes or bool(_TOKEN_RATE.search(body.text))


def never_fits(body: ErrorBody) -> bool:
    """Return True where one request asks for more tokens than a rate limit allows in a whole minute."""
    numbers = _LIMIT_AND_REQUESTED.search(body.text)
    return numbers is not None and int(numbers[2]) > int(numbers[1])
