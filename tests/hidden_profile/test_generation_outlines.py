"""Outlines, their words and the prompts: what a model is asked, and what of its answer can reach the logic (nothing)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.families.hidden_profile.authoring.drafts import TRACKS, Draft, Malformed
from harness.families.hidden_profile.authoring.dressing import logic, outline
from harness.families.hidden_profile.authoring.prompting import DOMAINS, digest
from oracles.hidden_profile.prover import prove
from tests.hidden_profile.film import SCENARIO
from tests.hidden_profile.scripted_writers import dressed, fields
from worlds.core.chance import Chance, Stream


def stream(number: int) -> Stream:
    """A stream of chance."""
    return Chance("key", "generation", 0)(f"candidate-{number}")


def draft(track: str, number: int = 0) -> Draft:
    """A draft with one example to show."""
    return TRACKS[track](stream(number), [SCENARIO])


@pytest.mark.property
def test_outlines_are_certified_and_their_ids_tell_nothing() -> None:
    """Every outline passes all checks, and neither key nor decoy always has the same id."""
    found = [outline(stream(number))[1] for number in range(12)]

    assert [prove(one).failed for one in found] == [()] * 12
    assert len({one.key for one in found}) > 1
    assert len({one.decoy for one in found}) > 1
    assert len({(one.agents, len(one.options), len(one.rules)) for one in found}) > 4
    assert {prove(one).grade for one in found} == {"A", "B"}


def test_dressed_outline_is_the_outline_in_words() -> None:
    """A model's words on an outline give a scenario of the same logic, which is certified like the outline."""
    made = draft("formal")
    scenario = made.read(json.dumps({"notes": "n", "scenario": dressed(made.prompt)}))

    assert logic(scenario) == logic(outline(_after_setting(0))[1])
    assert prove(scenario).certified
    assert scenario.title == "Birds and mice"


def _after_setting(number: int) -> Stream:
    """The stream of a draft, past its setting and example."""
    draw = stream(number)
    draw.choice(DOMAINS)
    draw.choice([SCENARIO])
    return draw


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda d: d["facts"][0].update(text="..."), "fact s1 was left blank"),
        (lambda d: d["facts"][-1].update(cues=[["..."]]), "cues of n"),
        (lambda d: d["facts"][0].update(weights={}), "the logic was changed in facts"),
        (lambda d: d["rules"].pop(), "the logic was changed in rules"),
        (lambda d: d.update(key=d["decoy"], decoy=d["key"]), "the logic was changed in decoy, key"),
        (lambda d: d["atoms"]["a1"].update(prior=0.9), "the logic was changed in atoms"),
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
        ({"correct_answer": "kestrel"}, "is none of possible_answers"),
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

    assert (scenario.agents, scenario.key, scenario.origin["certified"]) == (people, "o2", False)
    assert [one.holders for one in scenario.facts if one.scope == "private"] == [(seat,) for seat in scenario.seats]
    assert "table" not in scenario.to_json()


@pytest.mark.parametrize("track", TRACKS)
def test_prompt_carries_everything(track: str) -> None:
    """Six rules, three steps, three checks, advice, the table, the fields, an example and a setting stand in the prompt."""
    made = draft(track)
    wanted = ["6. ", "3. Write", "Alone:", "Together:", "One missing:", "Advice:", "make a table", made.drawn["domain"]]
    wanted += [SCENARIO.brief, "three options or more"]
    wanted += ['"notes"', '"scenario"'] if track == "formal" else [f'"{name}"' for name in fields(3)]

    assert [part for part in wanted if part not in made.prompt] == []


def test_drafts_differ_and_repeat() -> None:
    """Another candidate is asked something else, the same candidate the same."""
    prompts = {draft("formal", number).prompt for number in range(6)}

    assert len(prompts) == 6
    assert draft("formal", 3).prompt in prompts
    assert len(digest()) == 64
