"""Known models by name: provider, size and kind. The data are in parley/reports/models.toml.

A model that is not listed runs and is reported like any other, without these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import tomli
from pydantic import Field

from worlds.core.models import Strict

PATH = Path(__file__).with_name("models.toml")


class ModelEntry(Strict):
    """Entry of one model."""

    name: str
    """Name in reports."""

    id: str | None = None
    """LiteLLM id; None if the table has none."""

    aliases: tuple[str, ...] = ()
    """Other ids of the same model."""

    provider: str
    family: str
    kind: Literal["base", "instruct", "thinking"]
    total_b: float | None = Field(default=None, gt=0)
    active_b: float | None = Field(default=None, gt=0)
    price: Literal["litellm", "none"]
    """Source of its token price."""

    printed: Mapping[str, str]
    """Name in the paper of each family whose paper has the model."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Id and aliases."""
        return (*([self.id] if self.id else []), *self.aliases)

    @property
    def size(self) -> str | None:
        """Number of parameters as printed in a leaderboard: 397B/17B, 27B, 4B (eff.); None if undisclosed."""
        if self.total_b is None:
            return None if self.active_b is None else f"{self.active_b:g}B (eff.)"
        return f"{self.total_b:g}B" + ("" if self.active_b is None else f"/{self.active_b:g}B")


@cache
def known_models() -> tuple[ModelEntry, ...]:
    """Return every entry of models.toml, in file order."""
    listed = tomli.loads(PATH.read_text(encoding="utf-8"))["models"]
    return tuple(ModelEntry.model_validate(entry) for entry in listed)


@cache
def find_model(model: str | None) -> ModelEntry | None:
    """Return the entry of a model by its LiteLLM name, for any provider; None if it is not listed."""
    if model is None:
        return None
    asked = _spellings(model)
    return next((entry for entry in known_models() if any(asked & _spellings(one) for one in entry.ids)), None)


def printed_name(model: str | None, family: str) -> str | None:
    """Return the name that the paper of a family uses for a model; None if the paper does not name the model."""
    entry = find_model(model)
    return entry.printed.get(family) if entry else None


def _spellings(name: str) -> set[str]:
    """Return a name, the name without its provider, and its last part alone."""
    return {name, name.partition("/")[2], name.rpartition("/")[2]} - {""}
