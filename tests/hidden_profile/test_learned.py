"""The guesser that learns was fitted as it says, on what the registry holds, and never on the deck that it is asked about."""

from __future__ import annotations

import pytest

from oracles.hidden_profile.learned import FEATURES, LESSONS, best_by, weights
from tests.hidden_profile import fitting


@pytest.fixture(scope="module")
def refitted() -> dict[str, dict[str, tuple[float, ...]]]:
    """The weights as they come out today."""
    return fitting.all_fitted(fitting.decks())


@pytest.mark.property
@pytest.mark.parametrize("lesson", LESSONS)
def test_weights_are_those_that_a_fit_gives(lesson: str, refitted: dict[str, dict[str, tuple[float, ...]]]) -> None:
    """For every deck that is left out, and for none, a logistic regression gives the committed weights."""
    committed = weights().lessons[lesson]

    assert committed.keys() == refitted[lesson].keys(), "make learned"
    for out, fit in refitted[lesson].items():
        assert committed[out] == pytest.approx(fit, abs=2e-3), f"{out or 'all decks'}: make learned"


def test_weights_name_the_features() -> None:
    """A weight belongs to the feature at its place."""
    assert weights().features == FEATURES
    assert {len(one) for those in weights().lessons.values() for one in those.values()} == {len(FEATURES)}


def test_level_options_are_not_told_apart() -> None:
    """Options whose sums are equal but for rounding are chosen between blindly."""
    shown = {"barn": (0.1 + 0.2,), "mill": (0.3,), "quay": (0.2,)}

    assert best_by((1.0,), shown) == ("barn", "mill")
