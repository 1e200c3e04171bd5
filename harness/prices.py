"""Token prices for models missing from LiteLLM's table: `--prices FILE`, a TOML table of models.

    ["openai/my-model"]      # as typed after --model
    input = 0.5              # US dollars per million prompt tokens
    output = 1.5             # per million completion tokens
    cached = 0.05            # per million prompt tokens that the provider had in its cache; default: same as input

A price in the file takes precedence over LiteLLM's, and is recorded in run.json with the request.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tomli
from pydantic import Field, ValidationError

from harness.errors import UsageError
from harness.limits import SETTINGS_BYTES
from harness.safe_read import read_given
from worlds.core.models import Strict

HINT = '--prices FILE, in which ["MODEL"] has input = and output =, in US dollars per million tokens'

Dollars = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
"""Price in US dollars per million tokens."""


class Price(Strict):
    """Token prices of one model, in US dollars per million."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    """Price of cached prompt tokens; None if they cost the same as others."""

    def dollars(self, prompt: float, completion: float, cached: float = 0) -> float:
        """Return the price of these tokens; `cached` is the part of the prompt that the provider had in its cache."""
        cheaper = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * cheaper + completion * self.output) / 1e6

    @property
    def told(self) -> str:
        """Prices as shown to people: $1.25 in, $10 out per million tokens."""
        return f"${self.input:g} in, ${self.output:g} out per million tokens"


def read_prices(path: Path) -> dict[str, Price]:
    """Read the prices in a file by model; raises UsageError naming the wrong model and key."""
    try:
        table = tomli.loads(read_given(path, SETTINGS_BYTES).decode())
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path} is not a valid file of prices: {why}", hint=HINT) from None
    return {model: _price(model, entry, path) for model, entry in table.items()}


def _price(model: str, entry: object, path: Path) -> Price:
    try:
        return Price.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join((model, *map(str, first["loc"])))
        raise UsageError(f"{path}: {where}: {first['msg']}", hint=HINT) from None
