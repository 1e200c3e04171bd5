"""Mutation tests of the prover: ways to spoil any certified deck, and the check that must fail for each.

Each is the smallest change that works on every certified deck, whatever its mechanism. So a mutant that passes shows a fault of
the prover, never of the mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from oracles.hidden_profile.decks import PAIRS, hidden_keys
from worlds.hidden_profile.rules.deck import KINDS, Card, Deck, Draws
from worlds.hidden_profile.rules.scenario import Words


class DeckMutant(NamedTuple):
    """One spoiled deck."""

    name: str
    check: str
    """The check that must fail; others may fail too."""

    deck: Deck


def make_deck_mutants(deck: Deck) -> tuple[DeckMutant, ...]:
    """Return the mutants of a certified deck."""
    return tuple(DeckMutant(name, check, spoil(deck)) for name, check, spoil in _SPOILS)


def _note_says_nothing(deck: Deck) -> Deck:
    first = next(card for card in deck.of_scope("private") if any(words.asserts for words in card.texts))
    return _changed(deck, {first.id: {"texts": _texts(first, asserts=[])}})


def _all_on_two_hands(deck: Deck) -> Deck:
    rest = {card.id: {"holders": sorted({2, *card.holders})} for card in deck.of_scope("private") if 1 not in card.holders}
    return _changed(deck, rest)


def _idle_note_speaks(deck: Deck) -> Deck:
    note = deck.of_scope("noise")[0]
    return _changed(deck, {note.id: {"texts": _texts(note, weights={deck.option_ids[0]: 1})}})


def _idle_notes_name_one_option(deck: Deck) -> Deck:
    key = hidden_keys(Draws(deck))[0]
    return _changed(deck, {note.id: {"texts": _texts(note, about=[key])} for note in deck.of_scope("noise")})


def _cue_fires_elsewhere(deck: Deck) -> Deck:
    first, second = deck.of_scope("private")[:2]
    return _changed(deck, {first.id: {"texts": _texts(first, cues=[[first.texts[0].text], [second.texts[0].text]])}})


def _verdict(deck: Deck) -> Deck:
    card = deck.of_scope("private")[0]
    said = f"{card.texts[0].text} {deck.options[0].label} is the only one."
    return _changed(deck, {card.id: {"texts": [_words(card.texts[0], text=said), *_texts(card)[1:]]}})


def _one_key_only(deck: Deck) -> Deck:
    draws = Draws(deck)
    key = hidden_keys(draws)[0]
    kept = [draw.versions for draw in draws.of_kind("hidden") if draw.key == key]
    return _changed(deck, deals={"hidden": kept, "manifest": deck.deals.manifest})


def _told_by_a_word(deck: Deck) -> Deck:
    """Add one word to a shared card if the leader is correct, so that a reader who knows the deck knows the kind."""
    card = next(card for card in deck.of_scope("shared") if len(card.texts) == 1)
    place = sum(other.id != card.id and deck.cards.index(other) < deck.cards.index(card) for other in deck.open_cards)
    deals = {
        kind: [f"{versions[:place]}{digit}{versions[place:]}" for versions in deck.deals.of_kind(kind)]
        for kind, digit in zip(KINDS, "01", strict=True)
    }
    marked = _words(card.texts[0], text=f"{card.texts[0].text} Indeed.")
    return _changed(deck, {card.id: {"texts": [*_texts(card), marked]}}, deals=deals)


def _lengthened(deck: Deck) -> Deck:
    card = deck.of_scope("private")[0]
    return _changed(deck, {card.id: {"texts": [_words(one, text=f"{one.text} {one.text.upper()}") for one in card.texts]}})


def _in_first_person(deck: Deck) -> Deck:
    card = deck.of_scope("private")[-1]
    return _changed(deck, {card.id: {"texts": [_words(one, text=f"I saw it. {one.text}") for one in card.texts]}})


_SPOILS: tuple[tuple[str, str, Callable[[Deck], Deck]], ...] = (
    ("an idle note is nobody's", "C0", lambda deck: _changed(deck, {deck.of_scope("noise")[0].id: {"holders": []}})),
    ("a private card asserts nothing", "C1", _note_says_nothing),
    (
        "one seat holds every private card",
        "C2",
        lambda deck: _changed(deck, {one.id: {"holders": [1]} for one in deck.of_scope("private")}),
    ),
    ("two seats hold every private card", PAIRS, _all_on_two_hands),
    ("an idle note counts as private", "C3", lambda deck: _changed(deck, {deck.of_scope("noise")[0].id: {"scope": "private"}})),
    ("an idle note suggests something", "C4", _idle_note_speaks),
    ("idle notes touch one option alone", "C5", _idle_notes_name_one_option),
    ("a cue fires on another card", "C6", _cue_fires_elsewhere),
    ("a private text gives a verdict", "C7", _verdict),
    (
        "hidden deals are listed as manifest",
        "C8",
        lambda deck: _changed(deck, deals={"hidden": deck.deals.manifest, "manifest": deck.deals.hidden}),
    ),
    ("one option alone is ever right", "C8", _one_key_only),
    ("a shared card tells the kind", "C9", _told_by_a_word),
    ("a private card is lengthened", "C10", _lengthened),
    ("a private card speaks in the first person", "C10", _in_first_person),
)


def _words(words: Words, **changes: Any) -> dict[str, Any]:
    return words.model_dump() | changes


def _texts(card: Card, **changes: Any) -> list[dict[str, Any]]:
    return [_words(words, **changes) for words in card.texts]


def _changed(deck: Deck, cards: Mapping[str, Mapping[str, Any]] | None = None, **changes: Any) -> Deck:
    """Return the deck with changed cards and fields; it is validated anew, since a copy would keep derived values."""
    document = deck.model_dump(by_alias=True)
    document["cards"] = [card | (cards or {}).get(card["id"], {}) for card in document["cards"]]
    return Deck.model_validate(document | changes)
