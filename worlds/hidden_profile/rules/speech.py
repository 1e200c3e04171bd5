"""How a message looks to the others: nobody can speak in another's name, and a cited point is told in its own words."""

from __future__ import annotations

from collections.abc import Sequence

from worlds.hidden_profile.rules.scenario import Scenario


def indented(text: str) -> str:
    """A message on the lines that it is shown on; those after the first are indented, whatever ends a line."""
    return "\n    ".join(text.splitlines())


def publish(scenario: Scenario, public: dict[str, str], cites: Sequence[str]) -> str:
    """What follows a message that cites facts: a public handle for each, with its words when it is first cited.

    `public` maps handles to facts, and is given those that are new.
    """
    named = {fact: handle for handle, fact in public.items()}
    told: list[str] = []
    for fact in cites:
        if fact in named:
            told.append(named[fact])
            continue
        named[fact] = f"G{len(public) + 1}"
        public[named[fact]] = fact
        told.append(f'{named[fact]}: "{scenario.by_id[fact].text}"')
    return f" [cites {'; '.join(told)}]" if told else ""
