"""Text-only guessers: what each of them goes by, and what its guess is worth."""

from __future__ import annotations

from fractions import Fraction

import pytest

from oracles.hidden_profile.guessers import GUESSERS, Handout, build_handout, hit_probability
from tests.worlds.hidden_profile.film import SCENARIO

OPTIONS = (("bull", "The bull"), ("hen", "The spotted hen"), ("cat", "The cat"))
TEXTS = (
    "The bull is slow. The bull is old and it doesn't see.",
    "Everybody saw the cat; the cat saw the hen.",
    "A hen lays eggs, day after day, whatever the weather is like outside, in the barn or on the dung heap.",
)


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("always-last", ("cat",)),
        ("longest", ("hen",)),
        ("most-mentioned", ("bull", "hen")),
        ("fewest-negative", ("hen", "cat")),
        ("longest-texts", ("hen",)),
    ],
)
def test_guesser_goes_by_its_rule(name: str, guess: tuple[str, ...]) -> None:
    """Each guesser finds the options that its rule cannot tell apart; a sentence counts once for each option it names."""
    assert GUESSERS[name](Handout(OPTIONS, TEXTS)) == guess


def test_every_guesser_is_tried() -> None:
    """There are five, and all are tested above."""
    assert list(GUESSERS) == ["always-last", "most-mentioned", "fewest-negative", "longest", "longest-texts"]


def test_share_of_a_guess() -> None:
    """A guess among several is right by chance."""
    assert hit_probability(("a", "b"), "b") == Fraction(1, 2)
    assert hit_probability(("a",), "b") == 0
    assert hit_probability(("b",), "b") == 1


def test_labels_that_name_nothing_leave_all_open() -> None:
    """Where no text names an option, the guessers that count words cannot choose."""
    seen = Handout(OPTIONS, ("Nothing here.",))

    assert GUESSERS["most-mentioned"](seen) == GUESSERS["fewest-negative"](seen) == ("bull", "hen", "cat")


def test_label_without_words_of_its_own_is_named_as_a_whole() -> None:
    """Labels that differ in a letter only are found by all of them."""
    seen = Handout((("a", "Plan A"), ("b", "Plan B")), ("Plan b it is.", "Plan b, then.", "Or plan a."))

    assert GUESSERS["most-mentioned"](seen) == ("b",)


def test_reading_is_what_a_seat_reads() -> None:
    """The brief and the texts of the facts given, and labels in the file's order."""
    seen = build_handout(SCENARIO, ["u1"])

    assert seen.texts == (SCENARIO.brief, SCENARIO.by_id["u1"].text)
    assert [label for _, label in seen.options] == ["The beach roll", "The wedding roll", "The attic roll"]
