"""A proved outline and its words, kept apart: a model writes the words, and cannot touch the logic.

An outline is a skeleton (`oracles.hidden_profile.skeletons`) whose options go by shuffled ids, because ids are shown wherever
votes are asked and must tell nothing. What comes back is read as a scenario; stripped of its words it must be the outline.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from oracles.hidden_profile.skeletons import SHAPES, search
from worlds.core.chance import Stream
from worlds.core.replies import parse_reply
from worlds.hidden_profile.rules.scenario import Scenario

Json = dict[str, Any]

BLANK = "..."
AGENTS = (3, 4, 4, 4, 5, 6)
"""How many people an outline may have; four is likeliest, as in the published tasks."""

GRADES = ("A", "B", "B", "B")
"""Grades wanted; about a quarter of grade A, where the key looks worst."""

VARIETY = 12
"""Of how many certified fillings of one shape the outline is drawn."""


def outline(draw: Stream) -> tuple[str, Scenario]:
    """A certified skeleton, its options shuffled, and the name of its shape."""
    name = draw.choice(sorted(SHAPES))
    agents, grade = draw.choice(AGENTS), draw.choice(GRADES)
    fillings = list(islice(search(SHAPES[name], agents, grade), VARIETY)) or list(islice(search(SHAPES[name], agents), VARIETY))
    if not fillings:
        raise AssertionError(f"no filling of {name} for {agents} people is certified")
    return name, shuffled(draw.choice(fillings), draw)


def shuffled(scenario: Scenario, draw: Stream) -> Scenario:
    """A scenario of equal logic, its option ids dealt anew and its options in the order of their ids."""
    ids = list(scenario.option_ids)
    draw.shuffle(ids)
    renamed = dict(zip(scenario.option_ids, ids, strict=True))
    renamed |= {f"doubt_{old}": f"doubt_{new}" for old, new in renamed.items()}
    document = _renamed(json.loads(scenario.to_json()), renamed)
    document["options"].sort(key=lambda option: option["id"])
    return Scenario.model_validate(document)


def blanks(scenario: Scenario) -> str:
    """The outline as the model gets it: a blank for every word, and for the cues of private and noise facts."""
    changes = {
        "title": BLANK,
        "domain": BLANK,
        "brief": BLANK,
        "options": tuple(option.model_copy(update={"label": BLANK}) for option in scenario.options),
        "atoms": {name: atom.model_copy(update={"gloss": BLANK}) for name, atom in scenario.atoms.items()},
        "facts": tuple(
            fact.model_copy(update={"text": BLANK} | ({} if fact.scope == "shared" else {"cues": ((BLANK,),)}))
            for fact in scenario.facts
        ),
    }
    return scenario.model_copy(update=changes).to_json().strip()


def dressed(reply: str, bare: Scenario) -> Scenario:
    """The outline in the words of a reply; raises ValueError where it is none, has blanks left, or another logic."""
    value = parse_reply(reply).value
    given = value.get("scenario", value) if isinstance(value, dict) else None
    if not isinstance(given, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - a reply is a value, whatever is in it
    scenario = Scenario.model_validate({**given, "id": bare.id, "origin": {}, "difficulty": {}})
    if changed := sorted(key for key, value in logic(scenario).items() if value != logic(bare)[key]):
        raise ValueError(f"the logic was changed in {', '.join(changed)}")
    if blank := next(_blank(scenario), ""):
        raise ValueError(f"{blank} was left blank")
    return scenario


def logic(scenario: Scenario) -> Json:
    """Everything but the words; orders do not matter."""
    document = scenario.model_dump(mode="json", by_alias=True)
    return {
        "options": sorted(scenario.option_ids),
        "key": scenario.key,
        "decoy": scenario.decoy,
        "agents": scenario.agents,
        "atoms": {name: (atom.prior, atom.derived) for name, atom in scenario.atoms.items()},
        "rules": {one["id"]: (sorted(one["when"]), one["out"], one["then"]) for one in document["rules"]},
        "facts": {
            one["id"]: (one["scope"], sorted(one["holders"]), sorted(one["asserts"]), one["weights"], sorted(one["about"]))
            for one in document["facts"]
        },
    }


def _blank(scenario: Scenario) -> Any:
    words = {"title": scenario.title, "domain": scenario.domain, "brief": scenario.brief}
    words |= {f"option {option.id}": option.label for option in scenario.options}
    words |= {f"atom {name}": atom.gloss for name, atom in scenario.atoms.items()}
    words |= {f"fact {fact.id}": fact.text for fact in scenario.facts}
    words |= {f"cues of {fact.id}": part for fact in scenario.facts for cue in fact.cues for part in cue if part == BLANK}
    return (where for where, text in words.items() if text.strip() == BLANK)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """A document in which every string that is an old name, keys too, is the new one."""
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value
