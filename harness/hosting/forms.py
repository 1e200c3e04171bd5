"""A turn as a form: a family may offer choices to click where a model has to write JSON.

A family's part `people` has `form(turn)`, which gives a `Form` or None for a turn that is answered in words, and `HOSTED`, the
options that a hosted session has unless somebody sets them. What a person clicks becomes the text that a model would have
written, so the world reads, refuses and logs both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.modules import family_part_or_none
from worlds.core.turns import OpenTurn


@dataclass(frozen=True)
class Form:
    """One question with choices and a line of reasons."""

    text: str
    """What is asked, without how a program would have to write it."""

    choices: tuple[tuple[str, str], ...]
    """What is sent, and what is shown."""

    why: str
    """What the reasons are called."""

    reply: Callable[[str, str], str]
    """The reply that a choice and its reasons mean."""


def form_of(family: str, turn: OpenTurn) -> Form | None:
    """The form that a family has for a turn."""
    part = family_part_or_none(family, "people")
    form: Form | None = part.form(turn) if part else None
    return form


def hosted_options(family: str) -> Mapping[str, str]:
    """The options that a family's hosted sessions have unless somebody sets them."""
    part = family_part_or_none(family, "people")
    options: Mapping[str, str] = part.HOSTED if part else {}
    return options
