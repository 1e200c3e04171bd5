"""The two tracks of generation: what one candidate is asked for, and how the answer is read.

formal: a proved outline of a deck, which the model dresses in words (`dressing`); the result can be certified.
text:   the fields of the published format (`fields`); the result is prose with one deal, uncertified: only its execution
        speaks for it.
Everything that differs between candidates - setting, example, outline - is drawn from the candidate's own stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.families.hidden_profile.authoring.derived import CERTIFICATE
from harness.families.hidden_profile.authoring.dressing import blanks, dressed, excerpted, outline, undealt
from harness.families.hidden_profile.authoring.fields import Fields, as_scenario, first_problem
from harness.families.hidden_profile.authoring.prompting import DOMAINS, as_fields, render
from worlds.core.chance import Stream
from worlds.core.loading import SCENARIO
from worlds.core.mending import read_reply
from worlds.core.models import Lenient
from worlds.core.replies import AnswerShape
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.hearing import fold
from worlds.hidden_profile.rules.scenario import Scenario

_FIELDS = AnswerShape(
    "one JSON object", lambda value: [value] if isinstance(value, dict) and "hidden_information" in value else [],
    key="hidden_information", single=lambda value: [value] if isinstance(value, dict) else [],
)  # fmt: skip


class Malformed(ValueError):
    """A reply that is no task; the message says why."""


@dataclass(frozen=True)
class Draft:
    """One candidate before the model has answered."""

    prompt: str
    drawn: dict[str, Any]
    """What was drawn, by name, for the record."""

    agents: int
    example: str
    """The finished task in the prompt: what is answered will be about as long."""

    handout: int
    """How many characters a person of the example reads who is told everything; a person of the candidate about as many."""

    read: Callable[[str], Deck | Scenario]
    """The task in a reply; raises Malformed."""


def formal(draw: Stream, pool: Sequence[Deck]) -> Draft:
    """An outline to be dressed."""
    domain, shown = draw.choice(DOMAINS), draw.choice(pool)
    bare, example = outline(draw), undealt(excerpted(shown))
    prompt = render("formal", domain=domain, example=example, outline=blanks(bare))
    drawn = {"domain": domain, "example": shown.id, "shape": bare.mechanism, "agents": bare.agents}
    return Draft(prompt, drawn, bare.agents, example, _handout(shown), _formal(bare))


def text(draw: Stream, pool: Sequence[Deck]) -> Draft:
    """The published fields, for three or four people as in the published tasks; no point of the example is two people's."""
    plain = [deck for deck in pool if all(len(card.holders) == 1 for card in deck.of_scope("private"))]
    domain, shown = draw.choice(DOMAINS), draw.choice(plain or pool)
    people, example = draw.choice((3, 4, 4, 4)), as_fields(shown)
    prompt = render("text", domain=domain, example=example, people=people)
    drawn = {"domain": domain, "example": shown.id, "agents": people}
    return Draft(prompt, drawn, people, example, _handout(shown), _text(people, domain))


TRACKS: dict[str, Callable[[Stream, Sequence[Deck]], Draft]] = {"formal": formal, "text": text}
"""Tracks by the name that `--format` gives them."""


class _Certified(Lenient):
    certified: bool = False


def examples(root: Path) -> list[Deck]:
    """The decks of the task folders in a folder that are on record as certified; raises UsageError where there is none."""
    folders = [path.parents[2] for path in sorted(root.glob(f"*/environment/api/{SCENARIO}"))]
    proved = [folder for folder in folders if _on_record(folder / CERTIFICATE)]
    pool = [one for folder in proved if isinstance(one := read_task(folder / "environment/api" / SCENARIO), Deck)]
    if not pool:
        raise UsageError(f"{root} holds no certified deck that could be shown as an example", hint="harness --tasks PATH ...")
    return pool


def _on_record(certificate: Path) -> bool:
    """Whether the certificate that `harness sync` wrote says so; `harness verify` is what proves it."""
    try:
        return _Certified.model_validate_json(certificate.read_bytes()).certified
    except (OSError, ValueError):
        return False


def _handout(deck: Deck) -> int:
    return len(deck.brief) + sum(len(card.texts[0].text) for card in deck.cards)


def _formal(bare: Deck) -> Callable[[str], Deck]:
    def read(reply: str) -> Deck:
        try:
            return dressed(reply, bare)
        except ValueError as error:
            raise Malformed(first_problem(error)) from None

    return read


def _text(people: int, domain: str) -> Callable[[str], Scenario]:
    def read(reply: str) -> Scenario:
        reading = read_reply(reply, _FIELDS)
        if reading.value is None:
            raise Malformed(f"no JSON object with hidden_information: {reading.problem}")
        try:
            fields = Fields.model_validate(reading.value)
            if len(fields.hidden_information) != people:
                raise ValueError(f"{len(fields.hidden_information)} hidden texts for {people} people")
            if len({fold(one) for one in fields.hidden_information}) < people:
                raise ValueError("two people were given the same hidden text")
            return as_scenario(fields, "draft", domain, {})
        except ValueError as error:
            raise Malformed(first_problem(error)) from None

    return read
