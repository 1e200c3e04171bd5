"""What is known of models by name: who serves them, how large they are, of what kind. The file is harness/models.toml.

A model that is not listed runs and is reported all the same, without these columns.
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
    """One model."""

    name: str
    """How reports call it."""

    id: str | None = None
    """As LiteLLM takes it; None where none is pinned."""

    aliases: tuple[str, ...] = ()
    """Other ids of the same model."""

    provider: str
    family: str
    kind: Literal["base", "instruct", "thinking"]
    total_b: float | None = Field(default=None, gt=0)
    active_b: float | None = Field(default=None, gt=0)
    price: Literal["litellm", "none"]
    """Where the price of its tokens comes from."""

    printed: Mapping[str, str]
    """Its name in the paper of each family that has it."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Its id and its aliases."""
        return (*([self.id] if self.id else []), *self.aliases)

    @property
    def size(self) -> str | None:
        """Parameters as a leaderboard prints them: 397B/17B, 27B, 4B (eff.); None where undisclosed."""
        if self.total_b is None:
            return None if self.active_b is None else f"{self.active_b:g}B (eff.)"
        return f"{self.total_b:g}B" + ("" if self.active_b is None else f"/{self.active_b:g}B")


@cache
def known_models() -> tuple[ModelEntry, ...]:
    """Every entry of models.toml, in its order."""
    listed = tomli.loads(PATH.read_text(encoding="utf-8"))["models"]
    return tuple(ModelEntry.model_validate(entry) for entry in listed)


@cache
def find_model(model: str | None) -> ModelEntry | None:
    """The entry of a model as LiteLLM names it, whoever serves it; None for an unlisted one."""
    if model is None:
        return None
    asked = _spellings(model)
    return next((entry for entry in known_models() if any(asked & _spellings(one) for one in entry.ids)), None)


def printed_name(model: str | None, family: str) -> str | None:
    """What the paper of a family calls a model as LiteLLM names it; None where it has no such model."""
    entry = find_model(model)
    return entry.printed.get(family) if entry else None


def _spellings(name: str) -> set[str]:
    """A name, without its provider, and without whatever else stands before its last part."""
    return {name, name.partition("/")[2], name.rpartition("/")[2]} - {""}
