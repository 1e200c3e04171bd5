"""The published fields of a hidden-profile task - one hidden text a person, prose and no logic - as a scenario of ours.

Options become o1 to oK and votes are matched on those; whether every label finds its way back through the ballot is tried here.
Nothing is proved: there are no atoms, rules, weights or cues, `origin` says `certified: false`, and no decoy is named, as in
the format. The rationale states the answer and has no place in a scenario.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, ValidationError, model_validator

from worlds.core.models import Lenient
from worlds.hidden_profile.rules.ballot import unvotable
from worlds.hidden_profile.rules.scenario import Scenario

Words = Annotated[str, StringConstraints(pattern=r"\S")]


class Fields(Lenient):
    """One task; what is not named here is not needed, and types are not guessed."""

    model_config = ConfigDict(strict=True)

    name: Words
    description: Words
    shared_information: list[Words] = Field(min_length=1)
    hidden_information: list[Words] = Field(min_length=3, max_length=8)
    """One text a person."""

    possible_answers: list[Words] = Field(min_length=3)
    correct_answer: str
    """Letter for letter one of the possible answers."""

    rationale: str = ""
    """Never for anybody who takes part."""

    @model_validator(mode="after")
    def _answerable(self) -> Fields:
        if self.correct_answer not in self.possible_answers:
            raise ValueError(f"correct_answer {self.correct_answer!r} is none of possible_answers")
        return self

    def digest(self) -> str:
        """SHA-256 of what takes part in the task: everything but the rationale."""
        document = self.model_dump(exclude={"rationale"})
        return hashlib.sha256(json.dumps(document, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def as_scenario(fields: Fields, identity: str, domain: str, origin: Mapping[str, Any]) -> Scenario:
    """The scenario; raises ValueError where an option could not be voted for without mistake."""
    ids = [f"o{place}" for place in range(1, len(fields.possible_answers) + 1)]
    key = ids[fields.possible_answers.index(fields.correct_answer)]
    shared = [_fact("s", place, text, "shared", []) for place, text in enumerate(fields.shared_information, 1)]
    private = [_fact("u", place, text, "private", [place]) for place, text in enumerate(fields.hidden_information, 1)]
    scenario = Scenario.model_validate(
        {
            "schema": "hidden-profile/1",
            "id": identity,
            "title": title(fields.name),
            "domain": domain,
            "agents": len(fields.hidden_information),
            "promise": "exactly_one_viable",
            "brief": fields.description,
            "options": [{"id": one, "label": label} for one, label in zip(ids, fields.possible_answers, strict=True)],
            "key": key,
            "atoms": {},
            "rules": [],
            "facts": [*shared, *private],
            "origin": {**origin, "sha256": fields.digest(), "certified": False},
        }
    )
    for wrong in unvotable(scenario):
        raise ValueError(wrong)
    return scenario


def title(name: str) -> str:
    """A name as people write it: evacuation_west_city is Evacuation west city."""
    words = " ".join(name.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def first_problem(error: ValueError) -> str:
    """The first thing that is wrong, in one clause that names the field."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    what = first["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def _fact(letter: str, place: int, text: str, scope: str, holders: list[int]) -> dict[str, Any]:
    return {"id": f"{letter}{place}", "scope": scope, "holders": holders, "text": text}
