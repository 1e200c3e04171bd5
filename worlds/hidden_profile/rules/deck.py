"""Decks of hidden-profile tasks: facts with alternative texts, and deals that choose one text of each.

The file is `environment/api/scenario.json`, schema `hidden-profile/2` (docs/hidden-profile.md, "Decks"). It names no key: the
public rules and the facts of a deal decide which option is correct. The cues that detect texts are longer than the texts, so
they are in a file of their own, `cues.json`. `sizes.json` lists the hands for other numbers of people; `harness sync` makes it
from the results of the prover (`oracles.hidden_profile.certificate`).

Deals of a kind are equally likely, and each kind has half of the weight, whatever its number of deals. A seat that knows the
deck by heart believes in an option according to the weight of the deals that fit its knowledge.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StringConstraints, TypeAdapter, ValidationError, model_validator

from worlds.core.models import Lenient, Strict
from worlds.hidden_profile.rules.scenario import (
    Cues,
    Fact,
    FactSheet,
    Frame,
    Id,
    Lit,
    Scenario,
    Scope,
    Text,
    Words,
    check_holders,
    check_known,
    check_unique,
    first_error,
    format_document,
    read_scenario,
)
from worlds.hidden_profile.rules.worlds import Worlds, best_remaining, worlds_of

Kind = Literal["hidden", "manifest"]
DECK = "hidden-profile/2"
CUES = "cues.json"
KINDS: tuple[Kind, ...] = ("hidden", "manifest")

Versions = Annotated[str, StringConstraints(pattern=r"^[0-8]+$")]
"""One digit for each card with several texts, in the file's order: the text that a deal shows."""

_SHEET = TypeAdapter(dict[str, Cues])
_ORDER = (
    "schema", "id", "title", "domain", "mechanism", "agents", "promise", "named", "brief", "untold", "options", "atoms",
    "rules", "tally", "cards", "deals", "difficulty", "origin",
)  # fmt: skip


class Card(Strict):
    """One fact before the draw: its holders, and its possible texts."""

    id: Id
    scope: Scope
    holders: tuple[StrictInt, ...] = ()
    texts: tuple[Words, ...] = Field(min_length=1, max_length=9)

    @model_validator(mode="after")
    def _held_tidily(self) -> Card:
        check_holders(self.id, self.scope, self.holders)
        check_unique(f"texts of {self.id}", [one.text for one in self.texts])
        return self

    def with_text(self, version: int, name: str = "") -> Fact:
        """Return the fact with one of the card's texts, under the card's name or another."""
        # all of it was validated with the deck
        words = {field: getattr(self.texts[version], field) for field in self.texts[version].model_fields_set}
        others = tuple(
            Words.model_construct(text=one.text, cues=one.cues) for number, one in enumerate(self.texts) if number != version
        )
        return Fact.model_construct(id=name or self.id, scope=self.scope, holders=self.holders, others=others, **words)


class Deals(Strict):
    """All deals of each kind; one that is listed twice is twice as likely."""

    hidden: tuple[Versions, ...] = Field(min_length=1)
    manifest: tuple[Versions, ...] = Field(min_length=1)

    def of_kind(self, kind: Kind) -> tuple[Versions, ...]:
        """Return the deals of one kind."""
        return self.hidden if kind == "hidden" else self.manifest


class Deck(Frame):
    """One task of the hidden-profile family whose logic is known."""

    schema_: Literal["hidden-profile/2"] = Field(alias="schema")
    mechanism: Text
    """Mechanism that makes an option correct, for authors and tables: `match`, `and`, `chain`, `tally`..."""

    named: StrictBool = False
    """True if the brief names its people one by one, so that their number is fixed."""

    untold: Text | None = None
    """The brief of the natural edition: it tells no rule that rules an option out, since common sense has them."""

    cards: tuple[Card, ...] = Field(min_length=1)
    deals: Deals

    @model_validator(mode="after")
    def _consistent(self) -> Deck:
        check_unique("cards", [card.id for card in self.cards])
        check_unique("texts", [text_of(card.id, n) for card in self.cards for n in range(len(card.texts))])
        for card in self.cards:
            check_known(f"card {card.id}", card.holders, self.seats, "seat")
            for words in card.texts:
                words.check(f"card {card.id}", self)
        for versions in (*self.deals.hidden, *self.deals.manifest):
            if len(versions) != len(self.open_cards):
                raise ValueError(
                    f"deal {versions} has {len(versions)} digits, and {len(self.open_cards)} cards have several texts"
                )
            for card, digit in zip(self.open_cards, versions, strict=True):
                if int(digit) >= len(card.texts):
                    raise ValueError(f"deal {versions} wants text {digit} of {card.id}, which has {len(card.texts)}")
        return self

    @property
    def has_open_rules(self) -> bool:
        """Always True: the brief tells what rules options out, but does not say that nothing else does."""
        return True

    @cached_property
    def settled_atoms(self) -> Mapping[str, bool]:
        """The base atoms that shared cards with one text assert, and none of them denies."""
        said = {literal for card in self.of_scope("shared") if len(card.texts) == 1 for literal in card.texts[0].asserts}
        names = (name for name in self.base_atoms if (name in said) != (f"!{name}" in said))
        return {name: name in said for name in names}

    @cached_property
    def open_cards(self) -> tuple[Card, ...]:
        """The cards that have more than one text, in the file's order."""
        return tuple(card for card in self.cards if len(card.texts) > 1)

    @cached_property
    def asserted_literals(self) -> Mapping[str, tuple[Lit, ...]]:
        """Literals that each text of each card asserts, by text name (`u1_t0`)."""
        return {fact.id: fact.asserts for fact in self.sheet.facts}

    @cached_property
    def sheet(self) -> FactSheet:
        """All texts together, as if all could be true, for seats that must find out which ones they hold."""
        every = (card.with_text(n, text_of(card.id, n)) for card in self.cards for n in range(len(card.texts)))
        return FactSheet(facts=tuple(every), **self.frame)

    @property
    def frame(self) -> Mapping[str, Any]:
        """The fields that a deck and its deals share."""
        return {name: getattr(self, name) for name in Frame.model_fields}

    def of_scope(self, scope: Scope) -> tuple[Card, ...]:
        """Return the cards of one scope, in the file's order."""
        return tuple(card for card in self.cards if card.scope == scope)

    def cards_seen_by(self, seat: int) -> tuple[Card, ...]:
        """Return the cards whose text a seat reads: the shared ones and its own; seats count from 1."""
        return tuple(card for card in self.cards if card.scope == "shared" or seat in card.holders)

    def numbers(self, versions: str) -> dict[str, int]:
        """Return the text number that a deal shows for each card."""
        drawn = dict(zip((card.id for card in self.open_cards), map(int, versions), strict=True))
        return {card.id: drawn.get(card.id, 0) for card in self.cards}

    def texts(self, versions: str, cards: Sequence[Card] | None = None) -> tuple[str, ...]:
        """Return the texts that a deal shows of these cards, or of all, by the names of `asserted_literals`."""
        numbers = self.numbers(versions)
        return tuple(text_of(card.id, numbers[card.id]) for card in (self.cards if cards is None else cards))

    def scenario(self, versions: str, key: str, leader: str) -> Scenario:
        """Return the scenario of a deal: its facts leave the option `key`, and its shared facts favour `leader`."""
        numbers = self.numbers(versions)
        return Scenario(
            schema="hidden-profile/1", dealt=True, key=key, decoy=leader if leader != key else None,
            facts=tuple(card.with_text(numbers[card.id]) for card in self.cards), **self.frame,
        )  # fmt: skip

    @property
    def cues(self) -> dict[str, Cues]:
        """The cues of each text that has any, by text name."""
        texts = ((text_of(card.id, number), words) for card in self.cards for number, words in enumerate(card.texts))
        return {name: words.cues for name, words in texts if words.cues}

    def to_json(self, *, with_cues: bool = False, without: Collection[str] = ()) -> str:
        """Return the text of scenario.json: one option, atom, rule, card or text per line; no defaults or `without` fields."""
        document = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for words in (words for card in document["cards"] for words in card["texts"] if not with_cues):
            words.pop("cues", None)
        return format_document(document, [name for name in _ORDER if name not in without])

    def cues_json(self) -> str:
        """Return the text of cues.json, one cue per line."""
        blocks = (
            f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(cue, ensure_ascii=False)}" for cue in cues) + "\n ]"
            for name, cues in self.cues.items()
        )
        return "{\n" + ",\n".join(blocks) + "\n}\n"


def text_of(card: str, number: int) -> str:
    """Return the name of one text of a card."""
    return f"{card}_t{number}"


def read_task(path: Path) -> Deck | Scenario:
    """Read a task's file, and the cues beside it; raises ValueError with file and field, OSError if the file is missing."""
    text = path.read_bytes()
    try:
        if _Schema.model_validate_json(text).schema_ != DECK:
            return read_scenario(path)
        deck = Deck.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(f"{path}: {first_error(error)}") from None
    return with_cues(deck, path)


def with_cues(deck: Deck, path: Path) -> Deck:
    """Return a deck with the cues in the file beside it, if any; raises ValueError with file and field."""
    beside = path.with_name(CUES)
    if not beside.exists():
        return deck
    try:
        return replace_cues(deck, _SHEET.validate_json(beside.read_bytes(), strict=True))
    except ValidationError as error:
        raise ValueError(f"{beside}: {first_error(error)}") from None
    except ValueError as error:
        raise ValueError(f"{beside}: {error}") from None


def replace_cues(deck: Deck, sheet: Mapping[str, Cues]) -> Deck:
    """Return a deck with exactly these cues, by text name; raises ValueError for an unknown text."""
    document = json.loads(deck.to_json())
    texts = {text_of(card["id"], number): words for card in document["cards"] for number, words in enumerate(card["texts"])}
    for name, cues in sheet.items():
        if name not in texts:
            raise ValueError(f"{name} is no text of the deck")
        texts[name]["cues"] = cues
    return Deck.model_validate_json(json.dumps(document))


class _Schema(Lenient):
    schema_: str = Field(alias="schema")


@dataclass(frozen=True, slots=True)
class Draw:
    """One deal of a deck."""

    kind: Kind
    """Kind in the file."""

    versions: str
    key: str | None
    """The option that all facts and the promise leave; None if they leave none, or several."""

    leader: str | None
    """The option that the shared facts favour; None on a tie."""

    times: int
    """Number of times that the file lists it."""


class Draws:
    """Every deal of a deck, once each, in the file's order; raises ValueError if the deck has too many atoms for a table."""

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.worlds: Worlds = worlds_of(deck)
        self.all = tuple(
            Draw(kind, versions, key_of(deck, self.worlds, versions), leader_of(deck, versions), times)
            for kind in KINDS
            for versions, times in Counter(deck.deals.of_kind(kind)).items()
        )

    def of_kind(self, kind: Kind) -> tuple[Draw, ...]:
        """Return the deals of one kind."""
        return tuple(draw for draw in self.all if draw.kind == kind)

    @cached_property
    def chance(self) -> Mapping[Draw, Fraction]:
        """Probability of each deal among those of its kind."""
        listed = Counter({kind: len(self.deck.deals.of_kind(kind)) for kind in KINDS})
        return {draw: Fraction(draw.times, listed[draw.kind]) for draw in self.all}

    def option_probabilities(self, texts: Iterable[str]) -> dict[str, Fraction] | None:
        """Return the probability of each option over the deals that show all these texts; None if no deal does."""
        known = frozenset(texts)
        chances = dict.fromkeys(self.deck.option_ids, Fraction(0))
        for draw, chance in self.chance.items():
            if draw.key is not None and known <= self._shown[draw.versions]:
                chances[draw.key] += chance
        total = sum(chances.values())
        return {option: chance / total for option, chance in chances.items()} if total else None

    @cached_property
    def _shown(self) -> dict[str, frozenset[str]]:
        return {draw.versions: frozenset(self.deck.texts(draw.versions)) for draw in self.all}


def key_of(deck: Deck, worlds: Worlds, versions: str) -> str | None:
    """Return the only option that a deal's facts and the promise leave; None for none or several."""
    return worlds.settled_option(deck.texts(versions))


def leader_of(deck: Deck, versions: str, seat: int | None = None) -> str | None:
    """Return the option that the shared facts, or the hand of a seat (from 1), favour; None on a tie."""
    return leading_option(deck, versions, deck.of_scope("shared") if seat is None else deck.cards_seen_by(seat))


def leading_option(deck: Deck, versions: str, cards: Iterable[Card]) -> str | None:
    """Return the option that these cards favour; None on a tie."""
    numbers = deck.numbers(versions)
    score = dict.fromkeys(deck.option_ids, 0)
    for card in cards:
        for option, weight in card.texts[numbers[card.id]].weights.items():
            score[option] += weight
    return best_remaining(score, frozenset())


SIZES = "sizes.json"
Hands = tuple[tuple[str, ...], ...]
"""For each person, its own cards: private ones and noise."""

_FILE: TypeAdapter[dict[int, Hands]] = TypeAdapter(dict[int, Hands])
_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def read_sizes(folder: Path) -> dict[int, Hands]:
    """Return the hands for other numbers of people in a folder; empty if there are none; raises ValueError if invalid."""
    path = folder / SIZES
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        raise ValueError(f"{path}: {error.errors()[0]['msg']}; run: harness sync") from None


def resize_deck(deck: Deck, hands: Sequence[Sequence[str]]) -> Deck:
    """Return the deck with these hands; raises ValueError if they are invalid."""
    document = deck.model_dump(by_alias=True)
    for card in document["cards"]:
        if card["scope"] != "shared":
            card["holders"] = [person for person, hand in enumerate(hands, start=1) if card["id"] in hand]
    briefs = {name: replace_count(text, deck.agents, len(hands)) for name in ("brief", "untold") if (text := document[name])}
    return Deck.model_validate({**document, "agents": len(hands), **briefs})


def without_rules(read: Deck | Scenario) -> Deck:
    """Return the natural edition of a deck; raises ValueError if it has none."""
    if isinstance(read, Scenario) or read.untold is None:
        raise ValueError(f"{read.id} has no brief without rules; play those that have one: --preset hidden-natural")
    return read.model_copy(update={"brief": read.untold})


def deck_for_size(deck: Deck, size: int, known: Mapping[int, Hands]) -> Deck:
    """Return the deck for `size` people, 0 for its own number; raises ValueError, with the possible numbers, for any other."""
    if size in {0, deck.agents}:
        return deck
    if size not in known:
        numbers = ", ".join(map(str, sorted({deck.agents, *known})))
        raise ValueError(f"{deck.id} is for {numbers} people, not for {size}: elsewhere its certificate does not hold")
    return resize_deck(deck, known[size])


def replace_count(text: str, people: int, size: int) -> str:
    """Replace the count of people in a brief."""
    before, after = _WORDS[people], _WORDS[size]

    def changed(count: re.Match[str]) -> str:
        return count[0].replace(before, after).replace(before.capitalize(), after.capitalize())

    return re.sub(rf"\b{before} of you\b|\b[Yy]ou {before}\b", changed, text, flags=re.IGNORECASE)


def has_other_count(text: str, people: int) -> bool:
    """Return True if a text counts people in a form that `replace_count` does not know, for example `the four of us`."""
    word = _WORDS[people]
    left = replace_count(text, people, 2 if people != 2 else 3)
    return bool(re.search(rf"\b(are|as|you,) the {word}\b|\b{word} of us\b|\b(us|we) {word}\b", left, re.IGNORECASE))
