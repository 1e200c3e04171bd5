"""Which option a text names: its id, its exact label or both as they are shown, after folding; anything else is none."""

from __future__ import annotations

from collections.abc import Iterator

from worlds.hidden_profile.rules.hearing import fold
from worlds.hidden_profile.rules.scenario import Scenario


def unvotable(scenario: Scenario) -> Iterator[str]:
    """What a vote may say for an option - its id, its label, or both - and would be read as another one, or as none."""
    for choice in scenario.options:
        for text in (choice.id, choice.label, f"[{choice.id}] {choice.label}"):
            if (read := option_of(scenario, text)) != choice.id:
                yield f"a vote for {text!r} would be read as one for {read}"


def option_of(scenario: Scenario, text: str) -> str | None:
    """The option that a text names, or None."""
    wanted = fold(text).strip(" .[]\"'")
    for choice in scenario.options:
        if wanted in (choice.id, fold(choice.label).strip(" .[]\"'"), fold(f"[{choice.id}] {choice.label}").strip(" .[]\"'")):
            return choice.id
    return None
