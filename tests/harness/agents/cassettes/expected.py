"""What has to become of an episode whose server behaves as each cassette."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from harness.causes import CAUSES, CauseName


class Expected(NamedTuple):
    """How an episode ends."""

    ended_by: CauseName | None = None
    """None: the model solves the task, or the game is played to its end."""

    reward: float | None = 1.0
    """None: ungraded."""

    model: str = "openai/any"
    """The LiteLLM provider whose client is used."""


SOLVED, PLAYED = Expected(), Expected(reward=0.9)
CONTRACT: dict[str, Expected] = {
    "always-cut-off": Expected("always_cut_off", None),
    "anthropic-empty-content": SOLVED,
    "anthropic-overflow-at-once": Expected("context_too_small", None, "anthropic/claude-sonnet-4-5"),
    "azure-filtered-prompt": Expected("content_filter", None),
    "azure-filtered-reply": Expected("content_filter", None),
    "deepseek-reasoning-content": SOLVED,
    "gemini-empty-reply": SOLVED,
    "gemini-malformed-call": SOLVED,
    "gemini-native-malformed-call": Expected("provider_error", None, "gemini/gemini-2.0-flash-lite"),
    "gpt-oss-harmony-name": SOLVED,
    "groq-tokens-per-minute": Expected("provider_refusal", None),
    "groq-tokens-used-up": SOLVED,
    "groq-tool-use-failed": SOLVED,
    "legacy-function-call": SOLVED,
    "llamacpp-context-at-once": Expected("context_too_small", None),
    "lmstudio-overflow": Expected("context", 0.0),
    "mistral-call-ids": SOLVED,
    "mistral-list-content": SOLVED,
    "odd-usage": SOLVED,
    "ollama-no-tools": Expected("tools_not_seen", None),
    "openai-refusal": Expected("refusal", 0.0),
    "openrouter-finish-error": SOLVED,
    "openrouter-reasoning-details": SOLVED,
    "proxy-html-502": SOLVED,
    "qwen-unclosed-think": SOLVED,
    "retry-after-date": SOLVED,
    "roles-must-alternate": Expected("provider_refusal", None),
    "sglang-overflow": Expected("context", 0.0),
    "tgi-overflow": Expected("context", 0.0),
    "together-error-in-200": SOLVED,
    "truncated-body": SOLVED,
    "vllm-no-tool-parser": Expected("tools_not_parsed", None),
    "vllm-overflow": Expected("context", 0.0),
}
"""By tools, at a task of contract."""

SEATS: dict[str, Expected] = {
    "gemini-empty-reply": PLAYED,
    "llamacpp-context-at-once": Expected("context_too_small", None),
    "openrouter-finish-error": PLAYED,
    "proxy-html-502": PLAYED,
    "roles-must-alternate": Expected("provider_refusal", None),
    "together-error-in-200": PLAYED,
    "truncated-body": PLAYED,
}
"""At the seats of a calendar, where the scripted models earn 0.9 when nothing is odd."""

HEAD = ("| cassette | what the server does | an episode of contract | a game |", "|---|---|---|---|")


def outcome(expected: Expected | None, solved: str) -> str:
    """How an episode ends, in a few words."""
    if expected is None:
        return ""
    if expected.ended_by is None:
        return solved
    blamed = CAUSES[expected.ended_by].responsible
    return f"`{expected.ended_by}`: " + (f"ungraded, {blamed}" if expected.reward is None else "graded 0")


def table(about: Mapping[str, str]) -> str:
    """The table of docs/cassettes.md, from the names of cassettes and what each is about."""
    ends = {name: (outcome(CONTRACT.get(name), "solved"), outcome(SEATS.get(name), "played to its end")) for name in about}
    rows = (f"| `{name}` | {about[name]} | {' | '.join(ends[name])} |" for name in sorted(about))
    return "\n".join((*HEAD, *rows)) + "\n"
