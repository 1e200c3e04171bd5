"""Cues: what counts as a mention of a fact."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.worlds.hidden_profile.film import SCENARIO, changed
from worlds.core.loading import SCENARIO as SCENARIO_FILE
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.hearing import classify_fact, fold_text, matches_cue, surfaced_facts
from worlds.hidden_profile.rules.scenario import Fact, Scenario


def told_facts(scenario: Scenario, text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the facts that a text asserts."""
    return tuple(fact for fact, done in surfaced_facts(scenario, text, known).items() if done == "asserted")


def is_told(fact: Fact, text: str) -> bool:
    """Return True if a text asserts a fact."""
    return classify_fact(fact, text) == "asserted"


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("The COOL\n  BOX was in the car.", ("u1",)),
        ("It stood at 19, says the counter.", ("u4",)),
        ("My nephew found the lid.", ("u2", "u3")),
        ("I like the beach.", ()),
        ("", ()),
    ],
)
def test_cues_fire_on_folded_text(text: str, heard: tuple[str, ...]) -> None:
    """Case and runs of blanks hide nothing, and what is not cued is not heard."""
    assert told_facts(SCENARIO, text, SCENARIO.of_scope("private")) == heard


def test_all_parts_of_a_cue_must_occur() -> None:
    """One alternative fires when all its substrings occur, in any order; half of one does not."""
    heard = changed("u1", cues=[["car", "august"], ["cool box", "beach"]]).by_id["u1"]

    assert is_told(heard, "In August it lay in the car")
    assert not is_told(heard, "It lay in the car, by the beach")


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("The van takes the lid.", True),
        ("The lid, by lorry.", True),
        ("The lid goes in the car.", False),
        ("The van takes the lid, which is cracked.", False),
    ],
)
def test_alternatives_and_what_must_not_occur(text: str, heard: bool) -> None:
    """One of a part's alternatives is enough, and none of a barred part's may occur."""
    assert is_told(changed("u1", cues=[["van|lorry", "lid", "!cracked|broken"]]).by_id["u1"], text) is heard


def test_who_quotes_a_fact_mentions_it() -> None:
    """Beside other words that a cue bars, too; a fact without cues is never looked for."""
    barred, silent = changed("u1", cues=[["cool box", "!lid"]]).by_id["u1"], changed("u1", cues=[]).by_id["u1"]
    message = f"My nephew found the lid. {barred.text} So there."

    assert is_told(barred, message)
    assert not is_told(barred, "The cool box has a lid.")
    assert not is_told(silent, message)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("My nephew found the lid. The cool box is in his van.", True),
        ("My nephew found the lid, and the cool box is in his van.", True),
        ("The cool box is in his van; the lid turned up.", True),
        ("The cool box and the lid are in his van.", False),
        ("The cool box, lid, straps are in his van.", False),
        ("It has a lid. That cool box. In his van.", True),
        ("It's the cool box that has a lid. It's in his van.", False),
    ],
)
def test_a_barred_word_bars_only_where_the_fact_is_told(text: str, heard: bool) -> None:
    """Who tells two facts in two clauses tells both; a fact whose parts stand apart is barred by all that lies around them."""
    barred = changed("u1", cues=[["cool box", "van", "!lid"]]).by_id["u1"]

    assert is_told(barred, text) is heard


def test_only_known_facts_surface() -> None:
    """A speaker cannot surface what it neither holds nor has heard."""
    assert told_facts(SCENARIO, "The nephew had the lid", ["u3", "n1"]) == ("u3",)


def test_typographic_marks_are_folded() -> None:
    """Curly quotes, dashes of all lengths and compatibility forms compare as plain ones, in cues and in texts alike."""
    assert (
        fold_text("The \u201cvisitors\u2019\u201d  half\u2010landing \u2013 \uff11\uff19")
        == 'the "visitors\'" half-landing - 19'
    )
    assert is_told(changed("u1", cues=[["visitors\u2019 book"]]).by_id["u1"], "the visitors' book")


@pytest.mark.parametrize(
    "text",
    [
        "Was the cool box in the car?",
        "Nobody knows if the cool box was in the car.",
        "I don't know about the cool box in the car.",
        "It isn't true that the cool box was in the car.",
        "I don't believe for a minute that the cool box was in the car.",
        "The cool box in the car? I rather doubt it.",
        "I'd like to see that cool box in the car first.",
        "The cool box was in the car, they say. That's just a rumour.",
    ],
)
def test_what_is_left_open_or_taken_back_tells_nothing(text: str) -> None:
    """A sentence that asks, or says that nobody knows, is heard by nobody; another one beside it still is."""
    assert told_facts(SCENARIO, text, ["u1"]) == ()
    assert told_facts(SCENARIO, f"{text} The cool box was in the car.", ["u1"]) == ("u1",)


@pytest.mark.parametrize(
    "text",
    [
        "I doubt the cool box was in the car.",
        "I wonder whether the cool box was in the car.",
        "I wouldn't swear to the cool box in the car.",
        "I can't see how the cool box got into the car.",
        "Surely the cool box wasn't in the car.",
        "I shouldn't think the cool box was in the car.",
        "It's hard to believe that the cool box was in the car.",
        "It can't be that the cool box was in the car.",
        "Somebody should check whether the cool box was in the car.",
        "We ought to find out if the cool box was in the car.",
        "I'm not at all sure about the cool box in the car.",
        "I'd be surprised if the cool box was in the car.",
        "You can't tell me that the cool box was in the car.",
        "Nobody here has looked for the cool box in the car.",
        "I thought that the cool box was in the house.",
        "Perhaps the cool box was in the car.",
        "The cool box was never in the car.",
        "I hope the cool box was in the car.",
        "The cool box was in the car. Was it, though?",
        "The cool box was in the car. I don't think so.",
        "The cool box was in the car. That doesn't sound right.",
        "It isn't the cool box that was in the car.",
        "There was never a cool box in the car.",
        "The car didn't have the cool box.",
        "You must be thinking of some other cool box.",
        "I wouldn't be so sure that the cool box was in the car.",
        "I won't have it that the cool box was in the car.",
        "I wouldn't say the cool box was in the car.",
        "The cool box? In the car? I don't believe that anybody said so.",
        "The cool box was in the car, whatever your sister says.",
    ],
)
def test_doubts_and_denials_tell_nothing(text: str) -> None:
    """However they are put."""
    assert told_facts(SCENARIO, text, ["u1"]) == ()


@pytest.mark.parametrize(
    "text",
    [
        "I've no doubt that the cool box was in the car.",
        "No doubt the cool box was in the car.",
        "Doubtless the cool box was in the car.",
        "There isn't any doubt about the cool box in the car.",
        "I never doubted that the cool box was in the car.",
        "No wonder, with the cool box in the car.",
        "If I remember rightly the cool box was in the car.",
        "The cool box was in the car, and if it was hot the roll is spoilt.",
        "Whatever we put in it, the cool box was in the car.",
        "I think the cool box was in the car.",
        "I wouldn't say no to the cool box that was in the car.",
        "What about lunch? The cool box was in the car.",
        "I believe the cool box was in the car, and not in the house.",
        "Not the house: the cool box was in the car.",
        "I didn't go there, but the cool box was in the car.",
        "Let's not forget the cool box in the car.",
        "They won't fetch the cool box out of the car before August.",
        "The cool box was in the car, I know that for sure.",
        "It's true that the cool box was in the car.",
        "The cool box was in the car. Who says it was cold?",
        "Was it hot? I don't think so. The cool box was in the car.",
        "The cool box was in the car. Was it hot that day? I don't think so.",
    ],
)
def test_who_is_sure_is_heard(text: str) -> None:
    """Though there is a doubt, a question or a `not` in the same words, or beside them."""
    assert told_facts(SCENARIO, text, ["u1"]) == ("u1",)


def test_denied_words_are_heard_by_cues_that_deny() -> None:
    """What comes right after a `not` is no part of a cue, unless the cue has one too; it is barred all the same."""
    plain = changed("u1", cues=[["paper", "sign"]]).by_id["u1"]
    denying = changed("u1", cues=[["paper", "won't|refuse", "sign"]]).by_id["u1"]
    barring = changed("u1", cues=[["paper", "!sign"]]).by_id["u1"]

    assert is_told(plain, "He will sign the paper, not the letter.")
    assert not is_told(plain, "He won't sign the paper.")
    assert is_told(denying, "He won't sign the paper.")
    assert not is_told(barring, "He won't sign the paper.")
    assert is_told(plain, f"It's not to be. {plain.text}")


def test_another_alternative_with_a_denial_does_not_excuse_a_denied_word() -> None:
    """A cue that would accept `refuses` does not accept `won't sign` for `sign`."""
    denying = changed("u1", cues=[["paper", "sign|refuses > stamp|n't > stamp"]]).by_id["u1"]

    assert is_told(denying, "He will sign the paper.")
    assert is_told(denying, "He doesn't ever stamp the paper.")
    assert not is_told(denying, "He won't sign the paper.")


@pytest.mark.parametrize(
    "message",
    [
        "What I have:\n- Nobody knows when we left\n- {}\n- My sister doesn't like beaches",
        "What I have:\n1. Nobody knows when we left\n2. {}\n3. Did anybody see the sea?",
        "**First**: I doubt the weather was good\n**Second**: {}\n**Third**: ask me",
        "Nobody knows when we left\n\n{}\n\nWhat do you know?",
        "I wonder when we left home\n{}\nI don't know more",
        "I don't know anything about the train, but {}",
    ],
)
def test_points_of_a_list_and_lines_are_apart(message: str) -> None:
    """A denial, a doubt or a question in one line says nothing of the next, with or without full stops."""
    assert told_facts(SCENARIO, message.format("The cool box was in the car all August"), ["u1"]) == ("u1",)
    assert told_facts(SCENARIO, message.format("Nobody knows if the cool box was in the car in August"), ["u1"]) == ()


@pytest.mark.parametrize(
    "source",
    [
        "My cousin swears that",
        "A woman at the beach told me that",
        "They say",
        "One of the anglers in the car park maintains",
        "So the neighbours believe, anyway:",
        "Some kid mentioned that",
    ],
)
def test_facts_from_strangers_are_open(source: str) -> None:
    """Whoever passes on what somebody outside the session said asserts nothing, unless the fact itself names that source."""
    assert surfaced_facts(SCENARIO, f"{source} the cool box was in the car in August.", ["u1"]) == {"u1": "asked"}


@pytest.mark.parametrize(
    "source", ["My sheet says", "Person 2 told us", "As I said,", "I must say", "The letter mentions that", "As you say,"]
)
def test_facts_from_papers_and_from_others_in_the_session_are_told(source: str) -> None:
    """A source that anybody may name."""
    assert told_facts(SCENARIO, f"{source} the cool box was in the car in August.", ["u1"]) == ("u1",)


def test_who_agrees_takes_nothing_back() -> None:
    """`That's right` after a fact is no denial of it."""
    assert told_facts(SCENARIO, "The cool box was in the car. That's right, I saw it. It was a nice day.", ["u1"]) == ("u1",)


@pytest.mark.parametrize(
    "text",
    [
        "Nobody has shown me that the cool box was in the car.",
        "I don't trust the story that the cool box was in the car.",
        "The cool box was in the car, you say. Could you be thinking of the other one?",
        "The cool box was in the car. Wasn't it the basket?",
        "I bet the cool box was in the car.",
        "It'd be nice to have the cool box in the car.",
        "I wish the cool box was in the car.",
        "If the cool box has to go in the car again, we'll need a rope.",
        "If the cool box was in the car, the roll is spoilt.",
        "The roll is spoilt if the cool box was in the car, says the rule.",
    ],
)
def test_wishes_and_distrust_tell_nothing(text: str) -> None:
    """A wager, a wish, a case that may come again, and a doubt put as a question."""
    assert told_facts(SCENARIO, text, ["u1"]) == ()


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("The old cool box? In the car, Mina says.", True),
        ("You know the cool box was in the car?", True),
        ("The old cool box? I doubt it was in the car.", False),
        ("The cool box in the car? My aunt laughs at that.", False),
        ("Was it the cool box then? In the car, Mina says.", False),
    ],
)
def test_a_question_may_name_what_the_next_sentence_tells(text: str, heard: bool) -> None:
    """Alone it tells nothing, and one that asks with a verb names nothing."""
    assert is_told(changed("u1", cues=[["cool box", "car"]]).by_id["u1"], text) is heard


@pytest.mark.parametrize(
    "text",
    [
        "The cool box was in the car, and nobody knows where the lid went.",
        "The cool box was in the car, so whether the lid was there too, nobody knows.",
    ],
)
def test_a_last_clause_may_leave_something_else_open(text: str) -> None:
    """What stands before it is told."""
    assert told_facts(SCENARIO, text, ["u1"]) == ("u1",)


CARD = changed(
    "u1",
    text="The red cable hangs left and the blue one right.",
    cues=[["cable", "red > left|blue > right"]],
    others=[{"text": "The red cable hangs right and the blue one left.", "cues": [["cable", "red > right|blue > left"]]}],
).by_id["u1"]


@pytest.mark.parametrize(
    ("text", "done"),
    [
        (CARD.text, "asserted"),
        ("The red's end is on the left, of the cables.", "asserted"),
        (f"The sheet says: {CARD.text}", "asserted"),
        (f"{CARD.text} Another cable, the blue one, ran left of the lamp.", "asserted"),
        ("Of the cables the red one is on the left.", "asserted"),
        ("The red cable is on the left, not on the right.", "asserted"),
        (CARD.others[0].text, "contradicted"),
        (f"My sheet says this. {CARD.others[0].text} So there.", "contradicted"),
        ("The blue cable hangs to the left.", "contradicted"),
        ("The red cable hangs right rather than left.", "contradicted"),
        (f"It is false that {CARD.text}", "denied"),
        (f"{CARD.text} No, that is not true.", "denied"),
        ("The red cable isn't on the left.", "denied"),
        ("Contrary to what was written, the red cable hangs left.", "denied"),
        (f"I have no information on whether {CARD.text}", "asked"),
        (f"Is it so that {CARD.text.removesuffix('.')}?", "asked"),
        ("Does anybody know if the red cable hangs left?", "asked"),
        ("I doubt that the red cable is on the left.", "asked"),
        ("The red cable is on the left, the blue cable is on the left.", None),
        ("The cable is new.", None),
        ("Cables of red wire: whoever left, left.", None),
    ],
)
def test_what_a_text_does_to_a_fact(text: str, done: str | None) -> None:
    """It asserts, denies, contradicts or asks; ordered parts bind a colour to its side, and both at once do nothing."""
    assert classify_fact(CARD, text) == done


@pytest.mark.property
@pytest.mark.parametrize(
    "folder", sorted(Path("tasks/hidden-profile").glob("*/environment/api")), ids=lambda one: one.parents[1].name
)
def test_other_texts_and_denials_tell_no_card(folder: Path) -> None:
    """Of every card of every deck: the other texts contradict it, and what denies, doubts or asks for it never tells it."""
    deck = read_task(folder / SCENARIO_FILE)
    assert isinstance(deck, Deck)
    for fact in (card.with_text(number) for card in deck.cards for number in range(len(card.texts))):
        said = {text: classify_fact(fact, text) for text in (fact.text, *(one.text for one in fact.others))}
        claimed = {lead: classify_fact(fact, f"{lead} {fact.text}") for lead in LEADS}

        assert said == {text: "asserted" if text == fact.text else "contradicted" for text in said}, (fact.id, said)
        assert claimed == LEADS, fact.id
        assert not [one.text for one in fact.others if matches_cue(fact, one.text)]


LEADS = {"It is false that": "denied", "I have no information on whether": "asked", "I doubt that": "asked"}
