"""A deck for another number of people: the same cards, deals and rules, its private cards on fewer hands or on more.

Fewer people hold whole hands together, more people hold parts of one hand each; which is said in the file `sizes.json` beside
the deck, made by `harness sync` from what the prover holds (`oracles.hidden_profile.deck_certificate`). The shared facts, and
so the option that leads, stay as they are. A brief that counts the people (`the four of you`, `you four`) counts the others
instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from worlds.hidden_profile.rules.deck import Deck

SIZES = "sizes.json"
Hands = tuple[tuple[str, ...], ...]
"""By person, the cards that are its own: private ones and idle notes."""

_FILE: TypeAdapter[dict[int, Hands]] = TypeAdapter(dict[int, Hands])
_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def read_sizes(folder: Path) -> dict[int, Hands]:
    """How the deck in a folder is dealt to other numbers of people; empty where it is to none, raises ValueError."""
    path = folder / SIZES
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        raise ValueError(f"{path}: {error.errors()[0]['msg']}; run: harness sync") from None


def resized(deck: Deck, hands: Sequence[Sequence[str]]) -> Deck:
    """The deck with these hands; raises ValueError where they are not those of a deck."""
    document = deck.model_dump(by_alias=True)
    for card in document["cards"]:
        if card["scope"] != "shared":
            card["holders"] = [person for person, hand in enumerate(hands, start=1) if card["id"] in hand]
    return Deck.model_validate({**document, "agents": len(hands), "brief": recounted(deck.brief, deck.agents, len(hands))})


def sized(deck: Deck, size: int, known: Mapping[int, Hands]) -> Deck:
    """The deck for so many people, 0 for its own number; raises ValueError, with the numbers there are, for any other."""
    if size in {0, deck.agents}:
        return deck
    if size not in known:
        numbers = ", ".join(map(str, sorted({deck.agents, *known})))
        raise ValueError(f"{deck.id} is for {numbers} people, not for {size}: elsewhere its certificate does not hold")
    return resized(deck, known[size])


def recounted(text: str, people: int, size: int) -> str:
    """A brief that counts its readers, with another count."""
    before, after = _WORDS[people], _WORDS[size]

    def changed(count: re.Match[str]) -> str:
        return count[0].replace(before, after).replace(before.capitalize(), after.capitalize())

    return re.sub(rf"\b{before} of you\b|\b[Yy]ou {before}\b", changed, text, flags=re.IGNORECASE)


def counted_otherwise(text: str, people: int) -> bool:
    """Whether a text counts people in words that `recounted` does not know: `you are the four stewards`, `the four of us`."""
    word = _WORDS[people]
    left = recounted(text, people, 2 if people != 2 else 3)
    return bool(re.search(rf"\b(are|as|you,) the {word}\b|\b{word} of us\b|\b(us|we) {word}\b", left, re.IGNORECASE))
