"""Outlines, their words and the prompts: what a model is asked, and what of its answer can reach the logic (nothing)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from oracles.hidden_profile.decks import prove_deck
from parley.families.hidden_profile.authoring.drafts import DOMAINS, TRACKS, Draft, Malformed, as_fields, digest, logic, outline
from parley.families.hidden_profile.authoring.skeleton import STARTER
from tests.parley.families.hidden_profile.scripted_writers import dressed, fields
from worlds.core.chance import Chance, Stream
from worlds.hidden_profile.rules.deck import Deck, Draws
from worlds.hidden_profile.rules.scenario import Scenario

pytestmark = pytest.mark.property

STARTING = Deck.model_validate_json(STARTER.read_bytes())


def stream(number: int) -> Stream:
    """A stream of chance."""
    return Chance("key", "generation", 0)(f"candidate-{number}")


def draft(track: str, number: int = 0) -> Draft:
    """A draft with one example to show."""
    return TRACKS[track](stream(number), [STARTING])


def test_outlines_are_certified_and_their_ids_tell_nothing() -> None:
    """Every outline passes all checks, and the leader has not always the same id."""
    found = [outline(stream(number)) for number in range(12)]

    assert [prove_deck(one).failed_checks for one in found] == [()] * 12
    assert len({draw.leader for one in found for draw in Draws(one).all}) > 1
    assert len({(one.agents, len(one.options), len(one.rules)) for one in found}) > 4


def test_dressed_outline_is_the_outline_in_words() -> None:
    """A model's words on an outline give a deck of the same logic and the same deals, certified like the outline."""
    made = draft("formal")
    deck = made.read(json.dumps({"notes": "n", "scenario": dressed(made.prompt)}))
    bare = outline(_after_setting(0))

    assert isinstance(deck, Deck)
    assert (logic(deck), deck.deals) == (logic(bare), bare.deals)
    assert prove_deck(deck).failed_checks == ()
    assert deck.title == "Birds and mice"


def test_no_deal_is_in_a_prompt() -> None:
    """Neither those of the outline nor those of the example: they are ours, and no word depends on them."""
    made = draft("formal")

    assert '"deals"' not in made.prompt
    assert outline(_after_setting(0)).deals.hidden[0] not in made.prompt


def _after_setting(number: int) -> Stream:
    """The stream of a draft, past its setting and example."""
    draw = stream(number)
    draw.choice(DOMAINS)
    draw.choice([STARTING])
    return draw


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda d: d["cards"][0]["texts"][0].update(text="..."), "text s1_t0 was left blank"),
        (lambda d: d["cards"][-1]["texts"][0].update(cues=[["..."]]), "cues of n"),
        (lambda d: d["cards"][0]["texts"][0].update(weights={}), "the logic was changed in cards"),
        (lambda d: _first_private(d)["texts"].reverse(), "the logic was changed in cards"),
        (lambda d: d["atoms"].update(b={"gloss": "another matter"}), "the logic was changed in atoms"),
        (lambda d: d.update(mechanism="luck"), "the logic was changed in mechanism"),
        (lambda d: d.update(rationale="the key it is"), "rationale: Extra inputs"),
        (lambda d: d["options"][0].update(label=d["options"][1]["label"]), "two labels are called"),
        (lambda d: d.pop("brief"), "brief: Field required"),
    ],
)
def test_reply_that_is_not_the_outline_is_malformed(spoil: Callable[[dict[str, Any]], Any], why: str) -> None:
    """Blanks, changed logic, unknown keys and missing words are refused, by name."""
    made = draft("formal")
    document = dressed(made.prompt)
    spoil(document)

    with pytest.raises(Malformed, match=why):
        made.read(json.dumps(document))


def _first_private(document: dict[str, Any]) -> dict[str, Any]:
    card: dict[str, Any] = next(card for card in document["cards"] if card["scope"] == "private")
    return card


@pytest.mark.parametrize("reply", ["I would rather not.", "[]", '{"scenario": 3}', ""])
def test_reply_without_a_document_is_malformed(reply: str) -> None:
    """Both tracks refuse what holds no object."""
    for track in TRACKS:
        with pytest.raises(Malformed):
            draft(track).read(reply)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"hidden_information": ["one", "two", "three", "four", "five"]}, "5 hidden texts for"),
        ({"hidden_information": ["Same.", "same. ", "third", "fourth"]}, "the same hidden text"),
        ({"possible_answers": ["Kestrel", "Dormouse"]}, "possible_answers"),
        ({"correct_answer": "kestrel"}, "is not one of possible_answers"),
        ({"possible_answers": ["Kestrel", "Dormouse", "kestrel."]}, "would be read as one for o1"),
        ({"description": "  "}, "description"),
    ],
)
def test_published_fields_that_make_no_task_are_malformed(changes: dict[str, Any], why: str) -> None:
    """Wrong numbers of texts, doubled texts, an answer that is no option: each is refused by name."""
    number = next(n for n in range(50) if draft("text", n).drawn["agents"] == 4)

    with pytest.raises(Malformed, match=why):
        draft("text", number).read(json.dumps(fields(4, **changes)))


def test_text_draft_becomes_an_uncertified_scenario() -> None:
    """The paper's fields give one private fact a seat, no logic, and no rationale."""
    made = draft("text")
    people = made.drawn["agents"]
    scenario = made.read(json.dumps(fields(people)))

    assert isinstance(scenario, Scenario)
    assert (scenario.agents, scenario.key, scenario.origin["certified"]) == (people, "o2", False)
    assert [one.holders for one in scenario.facts if one.scope == "private"] == [(seat,) for seat in scenario.seats]
    assert "table" not in scenario.to_json()


@pytest.mark.parametrize("track", TRACKS)
def test_prompt_carries_everything(track: str) -> None:
    """Six rules, three steps, three checks, advice, the table, the fields, an example and a setting stand in the prompt."""
    made = draft(track)
    wanted = ["6. ", "3. Write", "Alone:", "Together:", "One missing:", "Advice:", "make a table", made.drawn["domain"]]
    wanted += [STARTING.brief, "three options or more"]
    wanted += ['"notes"', '"scenario"'] if track == "formal" else [f'"{name}"' for name in fields(3)]

    assert [part for part in wanted if part not in made.prompt] == []


def test_prose_example_is_one_deal_with_its_table() -> None:
    """What is published has one deal: the first hidden one, whose notes rule out every option but the key, in the end."""
    shown = json.loads(as_fields(STARTING))
    draw = Draws(STARTING).of_kind("hidden")[0]
    right = {option.id: option.label for option in STARTING.options}[draw.key or ""]
    last = shown["rationale"].splitlines()[-2]

    assert shown["correct_answer"] == right
    assert {option.label for option in STARTING.options if option.label in last.partition("Ruled out so far")[2]} == {
        option.label for option in STARTING.options if option.label != right
    }
    assert len(shown["hidden_information"]) == STARTING.agents


def test_drafts_differ_and_repeat() -> None:
    """Another candidate is asked something else, the same candidate the same."""
    prompts = {draft("formal", number).prompt for number in range(6)}

    assert len(prompts) == 6
    assert draft("formal", 3).prompt in prompts
    assert len(digest()) == 64
