"""Cues: what counts as a mention of a fact."""

from __future__ import annotations

import pytest

from tests.hidden_profile.film import SCENARIO, changed
from worlds.hidden_profile.rules.hearing import fold, mentions, surfaced


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
    assert surfaced(SCENARIO, text, SCENARIO.of_scope("private")) == heard


def test_all_parts_of_a_cue_must_occur() -> None:
    """One alternative fires when all its substrings occur, in any order; half of one does not."""
    heard = changed("u1", cues=[["car", "august"], ["cool box", "beach"]]).by_id["u1"]

    assert mentions(heard, "In August it lay in the car")
    assert not mentions(heard, "It lay in the car, by the beach")


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
    assert mentions(changed("u1", cues=[["van|lorry", "lid", "!cracked|broken"]]).by_id["u1"], text) is heard


def test_who_quotes_a_fact_mentions_it() -> None:
    """Beside other words that a cue bars, too; a fact without cues is never looked for."""
    barred, silent = changed("u1", cues=[["cool box", "!lid"]]).by_id["u1"], changed("u1", cues=[]).by_id["u1"]
    message = f"My nephew found the lid. {barred.text} So there."

    assert mentions(barred, message)
    assert not mentions(barred, "The cool box has a lid.")
    assert not mentions(silent, message)


def test_only_known_facts_surface() -> None:
    """A speaker cannot surface what it neither holds nor has heard."""
    assert surfaced(SCENARIO, "The nephew had the lid", ["u3", "n1"]) == ("u3",)


def test_typographic_marks_are_folded() -> None:
    """Curly quotes, dashes of all lengths and compatibility forms compare as plain ones, in cues and in texts alike."""
    assert fold("The \u201cvisitors\u2019\u201d  half\u2010landing \u2013 \uff11\uff19") == 'the "visitors\'" half-landing - 19'
    assert mentions(changed("u1", cues=[["visitors\u2019 book"]]).by_id["u1"], "the visitors' book")


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
    assert surfaced(SCENARIO, text, ["u1"]) == ()
    assert surfaced(SCENARIO, f"{text} The cool box was in the car.", ["u1"]) == ("u1",)


def test_who_agrees_takes_nothing_back() -> None:
    """`That's right` after a fact is no denial of it."""
    assert surfaced(SCENARIO, "The cool box was in the car. That's right, I saw it. It was a nice day.", ["u1"]) == ("u1",)
