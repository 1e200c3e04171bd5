"""Drafts of generated tasks: prompts, the formats of replies, and the parsing of replies (docs/hidden-profile.md).

formal: a certified outline of a deck; the model writes the text without changing the logic, so the result can be certified.
text:   the fields of the published format; the result is prose with one deal, which is not certified, but only played.

The prompts have the content of the published prompt, in our own words (rulings, part 3 row 1). Setting, example and outline are
drawn for each candidate from its own random stream, so that tasks are not all copies of one. Ids of options are shuffled,
because ballots show them and they must not reveal anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ConfigDict, Field, StringConstraints, ValidationError, model_validator

from harness import records
from harness.errors import UsageError
from oracles.hidden_profile.dealing import SHAPES, search_decks
from parley.families.hidden_profile.authoring.derived import CERTIFICATE
from worlds.core.chance import Stream
from worlds.core.loading import SCENARIO
from worlds.core.mending import read_reply
from worlds.core.models import Lenient
from worlds.core.replies import AnswerShape
from worlds.hidden_profile.rules.ballot import find_unvotable_forms
from worlds.hidden_profile.rules.deck import Deck, Draws, read_task, replace_cues, text_of
from worlds.hidden_profile.rules.hearing import fold_text, matches_cue
from worlds.hidden_profile.rules.scenario import Cues, Scenario, Words
from worlds.hidden_profile.rules.worlds import worlds_of

FOLDER = Path(__file__).with_name("prompts")

DOMAINS = (
    "a kitchen or a bakery", "a theatre, an orchestra or a choir", "a repair shop", "a garden, a farm or a wood",
    "a museum, an archive or a library", "a school", "a sports club", "a hospital ward or a surgery", "a newspaper",
    "a harbour or a boat", "a software or hardware fault", "a purchase by a small firm", "a hire or an appointment",
    "a laboratory", "a village hall or a council", "a film or a photograph", "a wedding, a fair or a festival",
    "a puzzling loss or mistake in the books", "a building site", "a journey that must be arranged",
)  # fmt: skip
"""Settings; two of the twenty are about the choice of a place or a route."""


def render(name: str, **values: Any) -> str:
    """Render one of the prompts."""
    # Prompts are plain text: escaping would change the JSON they show.
    environment = Environment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    return environment.get_template(f"{name}.j2").render(formal=name == "formal", **values).strip()


def digest() -> str:
    """Return the SHA-256 of the prompts' sources and the settings, which a resumed run must share."""
    total = hashlib.sha256(json.dumps(DOMAINS).encode())
    for path in sorted(FOLDER.glob("*.j2")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def as_fields(deck: Deck) -> str:
    """Return the first hidden deal of a deck in the published format: a text per person, and an elimination table as notes."""
    draw = Draws(deck).of_kind("hidden")[0]
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
    """Return the elimination table as text: for each private fact, the options ruled out by this fact and the facts before."""
    logic, known = worlds_of(scenario), list(scenario.of_scope("shared"))
    lines = []
    for fact in scenario.of_scope("private"):
        known.append(fact)
        gone = logic.excluded_options(known)
        out = ", ".join(scenario.label(option) for option in scenario.option_ids if option in gone) or "nothing"
        lines.append(f"{scenario.by_id[fact].text} Ruled out so far: {out}.")
    first = f"Decoy: {scenario.label(decoy)}. Table, each point added to those before:"
    return "\n".join((first, *lines, f"Left: {scenario.label(scenario.key)}."))


Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class Fields(Lenient):
    """Fields of a task; other fields are ignored, and types are not coerced."""

    model_config = ConfigDict(strict=True)

    name: Filled
    description: Filled
    shared_information: list[Filled] = Field(min_length=1)
    hidden_information: list[Filled] = Field(min_length=3, max_length=8)
    """A text per person."""

    possible_answers: list[Filled] = Field(min_length=3)
    correct_answer: str
    """Exactly one of the possible answers."""

    rationale: str = ""
    """Never shown to a participant."""

    @model_validator(mode="after")
    def _answerable(self) -> Fields:
        if self.correct_answer not in self.possible_answers:
            raise ValueError(f"correct_answer {self.correct_answer!r} is not one of possible_answers")
        return self

    def digest(self) -> str:
        """Return the SHA-256 of everything but the rationale."""
        document = self.model_dump(exclude={"rationale"})
        return hashlib.sha256(json.dumps(document, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def as_scenario(fields: Fields, identity: str, domain: str, origin: Mapping[str, Any]) -> Scenario:
    """Return the scenario. Raises ValueError if an option cannot be voted for unambiguously."""
    ids = [f"o{place}" for place in range(1, len(fields.possible_answers) + 1)]
    key = ids[fields.possible_answers.index(fields.correct_answer)]
    facts = [
        {"id": f"{letter}{place}", "scope": scope, "holders": [place] * (scope == "private"), "text": text}
        for letter, scope, texts in (("s", "shared", fields.shared_information), ("u", "private", fields.hidden_information))
        for place, text in enumerate(texts, 1)
    ]
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
            "facts": facts,
            "origin": {**origin, "sha256": fields.digest(), "certified": False},
        }
    )
    for wrong in find_unvotable_forms(scenario):
        raise ValueError(wrong)
    return scenario


def title(name: str) -> str:
    """Return a name as a title: evacuation_west_city becomes Evacuation west city."""
    words = " ".join(name.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def first_problem(error: ValueError) -> str:
    """Return the first error, in one clause that names the field."""
    if not isinstance(error, ValidationError):
        return str(error)
    return records.first_problem(error).replace("Value error, ", "", 1)


Json = dict[str, Any]

BLANK = "..."
_CUES, _ALTERNATIVES = 2, 5
AGENTS = (3, 4, 4, 4, 5, 6)
"""Possible numbers of people of an outline, if its shape can be dealt to them. Four is most likely, as in published tasks."""


def outline(draw: Stream) -> Deck:
    """Return a certified skeleton with shuffled options; its mechanism is the name of its shape."""
    name = draw.choice(sorted(SHAPES))
    agents = draw.choice([people for people in AGENTS if people in SHAPES[name].people])
    fillings = search_decks(name, agents)
    if not fillings:
        raise AssertionError(f"no filling of {name} for {agents} people is certified")
    return shuffled(draw.choice(fillings), draw)


def shuffled(deck: Deck, draw: Stream) -> Deck:
    """Return a deck of equal logic, with option ids reassigned and options sorted by id."""
    ids = list(deck.option_ids)
    draw.shuffle(ids)
    document = _renamed(json.loads(deck.to_json(with_cues=True)), dict(zip(deck.option_ids, ids, strict=True)))
    document["options"].sort(key=lambda option: option["id"])
    return Deck.model_validate(document)


def blanks(deck: Deck) -> str:
    """Return the outline for the model: a blank for every text and for cues, and no deals."""
    unsaid = {"text": BLANK, "cues": ((BLANK,),)}
    changes = {
        "title": BLANK,
        "domain": BLANK,
        "brief": BLANK,
        "options": tuple(option.model_copy(update={"label": BLANK}) for option in deck.options),
        "atoms": {name: atom.model_copy(update={"gloss": BLANK}) for name, atom in deck.atoms.items()},
        "cards": tuple(
            card.model_copy(update={"texts": tuple(words.model_copy(update=unsaid) for words in card.texts)})
            for card in deck.cards
        ),
    }
    return undealt(deck.model_copy(update=changes))


def undealt(deck: Deck) -> str:
    """Return the text of a deck's file for a model: without deals and origin."""
    return deck.to_json(with_cues=True, without={"deals", "origin", "difficulty"}).strip()


def excerpted(deck: Deck) -> Deck:
    """Return a deck with two cues per text and few alternatives in each, as an example short enough for a prompt."""
    texts = ((text_of(card.id, number), words) for card in deck.cards for number, words in enumerate(card.texts))
    return replace_cues(deck, {name: _few(words) for name, words in texts if words.cues})


def _few(words: Words) -> Cues:
    """Return some cues that match their own text, reduced to the alternatives that are most likely to occur in it."""
    firing = [cue for cue in words.cues if matches_cue(words.model_copy(update={"cues": (cue,)}), words.text)]
    parts = ([part.split("|") for part in cue if not part.startswith("!")] for cue in firing[:_CUES])
    said = fold_text(words.text)
    return tuple(
        tuple("|".join(sorted(part, key=lambda one: fold_text(one) not in said)[:_ALTERNATIVES]) for part in cue)
        for cue in parts
    )


def dressed(reply: str, bare: Deck) -> Deck:
    """Return the outline with the text of a reply. Raises ValueError if it is no deck, has blanks, or changes the logic."""
    given = _object(reply, "cards")
    ours = {"id": bare.id, "deals": bare.deals.model_dump(), "origin": {}, "difficulty": {}}
    deck = Deck.model_validate({**given, **ours})
    if changed := sorted(key for key, value in logic(deck).items() if value != logic(bare)[key]):
        raise ValueError(f"the logic was changed in {', '.join(changed)}")
    if blank := next(_blank(deck), ""):
        raise ValueError(f"{blank} was left blank")
    return deck


def logic(deck: Deck) -> Json:
    """Return a deck without its wording. The order of cards and of their texts is kept, because deals depend on it."""
    document = deck.model_dump(mode="json", by_alias=True)
    return {
        "options": sorted(deck.option_ids),
        "agents": deck.agents,
        "mechanism": deck.mechanism,
        "named": deck.named,
        "atoms": {name: (atom.prior, atom.derived) for name, atom in deck.atoms.items()},
        "rules": {one["id"]: (sorted(one["when"]), one["out"], one["then"]) for one in document["rules"]},
        "tally": document["tally"],
        "cards": [
            (one["id"], one["scope"], sorted(one["holders"]),
             [(sorted(words["asserts"]), words["weights"], sorted(words["about"])) for words in one["texts"]])
            for one in document["cards"]
        ],
    }  # fmt: skip


def _blank(deck: Deck) -> Iterator[str]:
    words = {"title": deck.title, "domain": deck.domain, "brief": deck.brief}
    words |= {f"option {option.id}": option.label for option in deck.options}
    words |= {f"atom {name}": atom.gloss for name, atom in deck.atoms.items()}
    texts = {text_of(card.id, number): one for card in deck.cards for number, one in enumerate(card.texts)}
    words |= {f"text {name}": one.text for name, one in texts.items()}
    words |= {f"cues of {name}": part for name, one in texts.items() for cue in one.cues for part in cue if part == BLANK}
    return (where for where, text in words.items() if text.strip() == BLANK)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a document with every string that is an old name, including keys, replaced by the new one."""
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def _object(reply: str, key: str) -> Json:
    """Return the JSON object with a key in a reply. Raises ValueError if there is none."""
    shape = AnswerShape(
        "one JSON object", lambda value: [value] if isinstance(value, dict) and key in value else [], key=key,
        single=lambda value: [value] if isinstance(value, dict) else [],
    )  # fmt: skip
    reading = read_reply(reply, shape)
    given: Json | None = reading.value
    if given is None:
        raise ValueError(f"no JSON object with {key}: {reading.problem}")
    return given


class Malformed(ValueError):
    """Error for a reply that is not a task, with the reason."""


@dataclass(frozen=True)
class Draft:
    """A candidate before the model has answered."""

    prompt: str
    drawn: dict[str, Any]
    """The drawn values by name, for the record."""

    agents: int
    example: str
    """The finished task in the prompt; the reply will be about as long."""

    handout: int
    """Number of characters that a fully informed person of the example reads; about the same number in the candidate."""

    parse: Callable[[str], Deck | Scenario]
    """Parser of the task in a reply; raises ValueError."""

    def read(self, reply: str) -> Deck | Scenario:
        """Return the task in a reply. Raises Malformed if the reply has none."""
        try:
            return self.parse(reply)
        except ValueError as error:
            raise Malformed(first_problem(error)) from None


def formal(draw: Stream, pool: Sequence[Deck]) -> Draft:
    """Return a draft with an outline to fill in."""
    domain, shown = draw.choice(DOMAINS), draw.choice(pool)
    bare, example = outline(draw), undealt(excerpted(shown))
    prompt = render("formal", domain=domain, example=example, outline=blanks(bare))
    drawn = {"domain": domain, "example": shown.id, "shape": bare.mechanism, "agents": bare.agents}
    return Draft(prompt, drawn, bare.agents, example, _handout(shown), lambda reply: dressed(reply, bare))


def text(draw: Stream, pool: Sequence[Deck]) -> Draft:
    """Return a draft in the published format, for three or four people; in its example, no two people share a private fact."""
    plain = [deck for deck in pool if all(len(card.holders) == 1 for card in deck.of_scope("private"))]
    domain, shown = draw.choice(DOMAINS), draw.choice(plain or pool)
    people, example = draw.choice((3, 4, 4, 4)), as_fields(shown)
    prompt = render("text", domain=domain, example=example, people=people)
    drawn = {"domain": domain, "example": shown.id, "agents": people}
    return Draft(prompt, drawn, people, example, _handout(shown), lambda reply: _prose(reply, people, domain))


TRACKS: dict[str, Callable[[Stream, Sequence[Deck]], Draft]] = {"formal": formal, "text": text}
"""Tracks by the name that `--format` gives them."""


def examples(root: Path) -> list[Deck]:
    """Return the decks in a folder of task folders that are recorded as certified. Raises UsageError if there are none."""
    folders = [path.parents[2] for path in sorted(root.glob(f"*/environment/api/{SCENARIO}"))]
    proved = [folder for folder in folders if _on_record(folder / CERTIFICATE)]
    pool = [one for folder in proved if isinstance(one := read_task(folder / "environment/api" / SCENARIO), Deck)]
    if not pool:
        raise UsageError(f"{root} holds no certified deck that could be shown as an example", hint="harness --tasks PATH ...")
    return pool


def _on_record(certificate: Path) -> bool:
    """Return True if the certificate says that its deck is certified; only `harness verify` checks that this is true."""
    try:
        return json.loads(certificate.read_bytes()).get("certified") is True
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def _handout(deck: Deck) -> int:
    return len(deck.brief) + sum(len(card.texts[0].text) for card in deck.cards)


def _prose(reply: str, people: int, domain: str) -> Scenario:
    fields = Fields.model_validate(_object(reply, "hidden_information"))
    if len(fields.hidden_information) != people:
        raise ValueError(f"{len(fields.hidden_information)} hidden texts for {people} people")
    if len({fold_text(one) for one in fields.hidden_information}) < people:
        raise ValueError("two people were given the same hidden text")
    return as_scenario(fields, "draft", domain, {})
