"""A proved outline and its words, kept apart: a model writes the words, and cannot touch the logic.

An outline is a skeleton (`oracles.hidden_profile.skeletons`) whose options go by shuffled ids, because ids are shown wherever
votes are asked and must tell nothing. Its deals stay with us. What comes back is read as a deck with these deals; stripped of
its words it must be the outline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oracles.hidden_profile.skeletons import SHAPES, search
from worlds.core.chance import Stream
from worlds.core.mending import read_reply
from worlds.core.replies import AnswerShape
from worlds.hidden_profile.rules.deck import Deck, cued, text_of
from worlds.hidden_profile.rules.hearing import fires, fold
from worlds.hidden_profile.rules.scenario import Cues, Words

Json = dict[str, Any]

BLANK = "..."
_OUTLINE = AnswerShape(
    "one JSON object", lambda value: [value] if isinstance(value, dict) and "cards" in value else [], key="cards",
    single=lambda value: [value] if isinstance(value, dict) else [],
)  # fmt: skip
_CUES, _ALTERNATIVES = 2, 5
AGENTS = (3, 4, 4, 4, 5, 6)
"""How many people an outline may have, where its shape can be dealt to them; four is likeliest, as in the published tasks."""


def outline(draw: Stream) -> Deck:
    """A certified skeleton, its options shuffled; its mechanism is the name of its shape."""
    name = draw.choice(sorted(SHAPES))
    agents = draw.choice([people for people in AGENTS if people in SHAPES[name].people])
    fillings = search(name, agents)
    if not fillings:
        raise AssertionError(f"no filling of {name} for {agents} people is certified")
    return shuffled(draw.choice(fillings), draw)


def shuffled(deck: Deck, draw: Stream) -> Deck:
    """A deck of equal logic, its option ids dealt anew and its options in the order of their ids."""
    ids = list(deck.option_ids)
    draw.shuffle(ids)
    document = _renamed(json.loads(deck.to_json(with_cues=True)), dict(zip(deck.option_ids, ids, strict=True)))
    document["options"].sort(key=lambda option: option["id"])
    return Deck.model_validate(document)


def blanks(deck: Deck) -> str:
    """The outline as the model gets it: a blank for every word and for cues, and no deals."""
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
    """The text of a deck's file as a model reads it: without deals, and without where it comes from."""
    return deck.to_json(with_cues=True, without={"deals", "origin", "difficulty"}).strip()


def excerpted(deck: Deck) -> Deck:
    """A deck with two cues a text and few alternatives in each, as an example: ours have too many words for a prompt."""
    texts = ((text_of(card.id, number), words) for card in deck.cards for number, words in enumerate(card.texts))
    return cued(deck, {name: _few(words) for name, words in texts if words.cues})


def _few(words: Words) -> Cues:
    """Some of a text's cues that fire on the text itself, cut to the alternatives that are likeliest to stand in it."""
    firing = [cue for cue in words.cues if fires(words.model_copy(update={"cues": (cue,)}), words.text)]
    parts = ([part.split("|") for part in cue if not part.startswith("!")] for cue in firing[:_CUES])
    said = fold(words.text)
    return tuple(
        tuple("|".join(sorted(part, key=lambda one: fold(one) not in said)[:_ALTERNATIVES]) for part in cue) for cue in parts
    )


def dressed(reply: str, bare: Deck) -> Deck:
    """The outline in the words of a reply; raises ValueError where it is none, has blanks left, or another logic."""
    reading = read_reply(reply, _OUTLINE)
    if (given := reading.value) is None:
        raise ValueError(f"no JSON object with cards: {reading.problem}")
    ours = {"id": bare.id, "deals": bare.deals.model_dump(), "origin": {}, "difficulty": {}}
    deck = Deck.model_validate({**given, **ours})
    if changed := sorted(key for key, value in logic(deck).items() if value != logic(bare)[key]):
        raise ValueError(f"the logic was changed in {', '.join(changed)}")
    if blank := next(_blank(deck), ""):
        raise ValueError(f"{blank} was left blank")
    return deck


def logic(deck: Deck) -> Json:
    """Everything but the words; orders do not matter, but for those of cards and of their texts, on which deals rest."""
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
    """A document in which every string that is an old name, keys too, is the new one."""
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value
