"""Which option a text names: its id, its exact label or both as they are shown, after folding; anything else is none."""

from __future__ import annotations

from worlds.hidden_profile.rules.hearing import fold
from worlds.hidden_profile.rules.scenario import Scenario


def option_of(scenario: Scenario, text: str) -> str | None:
    """The option that a text names, or None."""
    wanted = fold(text).strip(" .[]\"'")
    for choice in scenario.options:
        if wanted in (choice.id, fold(choice.label).strip(" .[]\"'"), fold(f"[{choice.id}] {choice.label}").strip(" .[]\"'")):
            return choice.id
    return None
