"""The guesser that learns was fitted as it says, on what the registry holds, and never on the deck that it is asked about."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oracles.hidden_profile.adversaries import FEATURES, LESSONS, Weights, best_weighted, read_weights


@pytest.fixture(scope="module")
def refitted() -> Weights:
    """The weights as they come out today, of a process of its own: scikit-learn leaves threads behind, and other tests fork."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.oracles.hidden_profile.fitting", "--print"], capture_output=True, check=True
    )
    return Weights.model_validate_json(made.stdout)


@pytest.mark.proof
@pytest.mark.parametrize("lesson", LESSONS)
def test_weights_are_those_that_a_fit_gives(lesson: str, refitted: Weights) -> None:
    """For every deck that is left out, and for none, a logistic regression gives the committed weights."""
    committed = read_weights().lessons[lesson]

    assert committed.keys() == refitted.lessons[lesson].keys(), "make learned"
    for out, fit in refitted.lessons[lesson].items():
        assert committed[out] == pytest.approx(fit, abs=2e-3), f"{out or 'all decks'}: make learned"


def test_weights_name_the_features() -> None:
    """A weight belongs to the feature at its place."""
    assert read_weights().features == FEATURES
    assert {len(one) for those in read_weights().lessons.values() for one in those.values()} == {len(FEATURES)}


def test_level_options_are_not_told_apart() -> None:
    """Options whose sums are equal but for rounding are chosen between blindly."""
    shown = {"barn": (0.1 + 0.2,), "mill": (0.3,), "quay": (0.2,)}

    assert best_weighted((1.0,), shown) == ("barn", "mill")
