"""LiteLLM's table of models and prices, read from its package without importing it; None for missing information."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from harness.agent import LOCAL
from harness.agents.llm.local import FREE
from harness.errors import UsageError
from harness.prices import Price

_FILE = "model_prices_and_context_window_backup.json"
KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY",),
    "cohere": ("COHERE_API_KEY",),
}
"""Environment variables for the key of each provider, the usual one first. One of them must be set."""

_BARE = frozenset({"openai", "anthropic"})
"""Providers whose models LiteLLM knows without a prefix."""


def missing_key(model: str) -> str | None:
    """Return the variable of a key that a model certainly needs and the environment lacks; None if that is uncertain."""
    names = KEYS.get(provider_of(model) or "", ())
    return None if any(os.environ.get(name, "").strip() for name in names) else next(iter(names), None)


def require_key(model: str) -> None:
    """Raise UsageError for a model whose key is certainly needed and not set."""
    if name := missing_key(model):
        raise no_key(model, [name])


def no_key(model: str, names: Sequence[str]) -> UsageError:
    """Return the error for a model whose keys are not set."""
    hint = f"export {names[0]}=..., or --api-base URL for a server that takes any key"
    return UsageError(f"{model} needs {' and '.join(names)}, which is not set", hint=hint)


def provider_of(model: str) -> str | None:
    """Return the provider of a model by its prefix or, for a bare name, by the table; None if it is unknown."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return prefix if prefix in KEYS else None
    provider = _table().get(model, {}).get("litellm_provider")
    return provider if provider in _BARE and not model.startswith("ft:") else None


def listed_price(model: str) -> Price | None:
    """Return the price of a model in the table; None if there is none."""
    if model == LOCAL:
        return FREE
    prefix, _, bare = model.partition("/")
    row = _table().get(model, {})
    if not row and (other := _table().get(bare, {})).get("litellm_provider") == prefix:
        row = other
    names = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
    given, taken, cached = (None if row.get(name) is None else row[name] * 1e6 for name in names)
    return None if given is None or taken is None else Price(input=given, output=taken, cached=cached)


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows by model; empty if LiteLLM is not installed or has no table."""
    spec = importlib.util.find_spec("litellm")
    try:
        table = from_json((Path(spec.origin).parent / _FILE).read_bytes()) if spec and spec.origin else {}
    except (OSError, ValueError):
        return {}
    return {name: row for name, row in table.items() if isinstance(row, dict) and name != "sample_spec"}
