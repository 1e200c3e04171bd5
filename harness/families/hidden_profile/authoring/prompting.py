"""What a model is asked when it makes a task: the recipe, one certified example, a setting, and, for `formal`, an outline.

Everything that the published prompt carries is here in our own words (rulings, part 3 row 1): the task, six rules, a recipe of
three steps, the checks alone, together and with one piece missing, advice, a table in the notes, the fields of the answer. The
example and the setting are drawn for each call, so that not every task copies one. What is published has one deal, so there an
example is the first hidden deal of a deck.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from oracles.hidden_profile.logic import Tabulated
from worlds.hidden_profile.rules.deck import Deck
from worlds.hidden_profile.rules.draws import Draws
from worlds.hidden_profile.rules.scenario import Scenario

FOLDER = Path(__file__).with_name("prompts")

DOMAINS = (
    "a kitchen or a bakery", "a theatre, an orchestra or a choir", "a repair shop", "a garden, a farm or a wood",
    "a museum, an archive or a library", "a school", "a sports club", "a hospital ward or a surgery", "a newspaper",
    "a harbour or a boat", "a software or hardware fault", "a purchase by a small firm", "a hire or an appointment",
    "a laboratory", "a village hall or a council", "a film or a photograph", "a wedding, a fair or a festival",
    "a puzzling loss or mistake in the books", "a building site", "a journey that must be arranged",
)  # fmt: skip
"""Settings; two of twenty are choices of a place or a way."""


def render(name: str, **values: Any) -> str:
    """One of the prompts."""
    # Prompts are plain text: escaping would change the JSON they show.
    environment = Environment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    return environment.get_template(f"{name}.j2").render(formal=name == "formal", **values).strip()


def digest() -> str:
    """SHA-256 over the prompts' sources and the settings: part of what a run that goes on must share."""
    total = hashlib.sha256(json.dumps(DOMAINS).encode())
    for path in sorted(FOLDER.glob("*.j2")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def as_fields(deck: Deck) -> str:
    """The first hidden deal of a deck in the published fields, a text a person, with an elimination table as notes."""
    draw = Draws(deck).of("hidden")[0]
    scenario = deck.scenario(draw.versions, draw.key or "", draw.leader or "")
    fields = {
        "rationale": notes(scenario, draw.leader or ""),
        "name": scenario.title,
        "description": scenario.brief,
        "shared_information": [scenario.by_id[one].text for one in scenario.of_scope("shared")],
        "hidden_information": [" ".join(scenario.by_id[one].text for one in scenario.hand(seat)) for seat in scenario.seats],
        "possible_answers": [option.label for option in scenario.options],
        "correct_answer": scenario.label(scenario.key),
    }
    return json.dumps(fields, ensure_ascii=False, indent=1)


def notes(scenario: Scenario, decoy: str) -> str:
    """The elimination table in words: for each private fact what is ruled out once it and those before are known."""
    logic, known = Tabulated(scenario), list(scenario.of_scope("shared"))
    lines = []
    for fact in scenario.of_scope("private"):
        known.append(fact)
        gone = logic.excluded(known)
        out = _labels(scenario, (option for option in scenario.option_ids if option in gone))
        lines.append(f"{scenario.by_id[fact].text} Ruled out so far: {out}.")
    first = f"Decoy: {scenario.label(decoy)}. Table, each point added to those before:"
    return "\n".join((first, *lines, f"Left: {scenario.label(scenario.key)}."))


def _labels(scenario: Scenario, options: Iterable[str]) -> str:
    return ", ".join(scenario.label(option) for option in options) or "nothing"
