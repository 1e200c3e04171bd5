"""The two tracks of generation: what one candidate is asked for, and how the answer is read.

formal: a proved outline, which the model dresses in words (`dressing`); the result can be certified.
text:   the fields of the published format (`fields`); the result is prose, and only its execution speaks for it.
Everything that differs between candidates - setting, example, outline - is drawn from the candidate's own stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.families.hidden_profile.authoring.dressing import blanks, dressed, outline
from harness.families.hidden_profile.authoring.fields import Fields, as_scenario, first_problem
from harness.families.hidden_profile.authoring.prompting import DOMAINS, as_document, as_fields, render
from oracles.hidden_profile.prover import prove
from worlds.core.chance import Stream
from worlds.core.loading import SCENARIO
from worlds.core.replies import parse_reply
from worlds.hidden_profile.rules.hearing import fold
from worlds.hidden_profile.rules.scenario import Scenario, read_scenario
from worlds.hidden_profile.rules.worlds import LIMIT


class Malformed(ValueError):
    """A reply that is no scenario; the message says why."""


@dataclass(frozen=True)
class Draft:
    """One candidate before the model has answered."""

    prompt: str
    drawn: dict[str, Any]
    """What was drawn, by name, for the record."""

    read: Callable[[str], Scenario]
    """The scenario in a reply; raises Malformed."""


def formal(draw: Stream, pool: Sequence[Scenario]) -> Draft:
    """An outline to be dressed."""
    domain, example = draw.choice(DOMAINS), draw.choice(pool)
    shape, bare = outline(draw)
    prompt = render("formal", domain=domain, example=as_document(example), outline=blanks(bare))
    return Draft(prompt, {"domain": domain, "example": example.id, "shape": shape, "agents": bare.agents}, _formal(bare))


def text(draw: Stream, pool: Sequence[Scenario]) -> Draft:
    """The published fields, for three or four people as in the published tasks."""
    domain, example = draw.choice(DOMAINS), draw.choice(pool)
    people = draw.choice((3, 4, 4, 4))
    prompt = render("text", domain=domain, example=as_fields(example), people=people)
    return Draft(prompt, {"domain": domain, "example": example.id, "agents": people}, _text(people, domain))


TRACKS: dict[str, Callable[[Stream, Sequence[Scenario]], Draft]] = {"formal": formal, "text": text}
"""Tracks by the name that `--format` gives them."""


def examples(root: Path) -> list[Scenario]:
    """The certified scenarios of the task folders in a folder; raises UsageError where there is none to show."""
    scenarios = [read_scenario(path) for path in sorted(root.glob(f"*/environment/api/{SCENARIO}"))]
    certified = [one for one in scenarios if len(one.base) <= LIMIT and prove(one).certified]
    if not certified:
        raise UsageError(
            f"{root} holds no certified scenario that could be shown as an example", hint="harness --tasks PATH ..."
        )
    return certified


def _formal(bare: Scenario) -> Callable[[str], Scenario]:
    def read(reply: str) -> Scenario:
        try:
            return dressed(reply, bare)
        except ValueError as error:
            raise Malformed(first_problem(error)) from None

    return read


def _text(people: int, domain: str) -> Callable[[str], Scenario]:
    def read(reply: str) -> Scenario:
        value = parse_reply(reply).value
        if not isinstance(value, dict):
            raise Malformed("no JSON object")
        try:
            fields = Fields.model_validate(value)
            if len(fields.hidden_information) != people:
                raise ValueError(f"{len(fields.hidden_information)} hidden texts for {people} people")
            if len({fold(one) for one in fields.hidden_information}) < people:
                raise ValueError("two people were given the same hidden text")
            return as_scenario(fields, "draft", domain, {})
        except ValueError as error:
            raise Malformed(first_problem(error)) from None

    return read
