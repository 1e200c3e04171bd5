"""Of several failures of one request, validity is told first, and integrity beside it."""

from __future__ import annotations

import pytest

from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.core.calls import Unreadable, Violation

LATE, BUSY, BYTES, VALUE = (
    Label.EXPIRED_BEFORE_USE,
    Label.RATE_LIMITED,
    Label.MUTATED_TOKEN,
    Label.WRONG_VALUE,
)


def judged(*labels: Label | None, also: Label | None = None) -> tuple[str, str | None]:
    """Label and `also` that are raised when checks fail with these labels, None for one that holds."""

    def check(label: Label | None) -> None:
        if label is not None:
            raise Violation(label, "a rule", also=also)

    with pytest.raises(Violation) as caught:
        validity_first(*[lambda label=label: check(label) for label in labels])
    return caught.value.label, caught.value.also


def test_nothing_broken() -> None:
    """Checks that hold raise nothing, and each is made."""
    made: list[int] = []

    validity_first(lambda: made.append(1), lambda: made.append(2))

    assert [1, 2] == made


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ((BYTES,), (BYTES, None)),
        ((None, VALUE, BYTES), (VALUE, None)),
        ((LATE,), (LATE, None)),
        ((LATE, None, BYTES), (LATE, BYTES)),
        ((BYTES, LATE), (LATE, BYTES)),
        ((BYTES, VALUE, LATE), (LATE, BYTES)),
        ((LATE, BUSY), (LATE, None)),
        ((BUSY, VALUE, LATE), (BUSY, VALUE)),
        ((Label.OTHER, LATE), (LATE, None)),
    ],
)
def test_order(labels: tuple[Label | None, ...], told: tuple[str, str | None]) -> None:
    """A window that is over comes before wrong bytes, wherever it stands; within an axis the first failure counts."""
    assert told == judged(*labels)


def test_own_second_failure_comes_first() -> None:
    """What an expiry itself names beside it is kept."""
    assert (LATE, BYTES) == judged(LATE, VALUE, also=BYTES)


def test_second_failure_of_a_later_expiry() -> None:
    """What a later expiry names beside it counts where the first one names nothing."""

    def late(also: Label | None) -> None:
        raise Violation(LATE, "a rule", also=also)

    with pytest.raises(Violation) as caught:
        validity_first(lambda: late(None), lambda: late(BYTES))

    assert BYTES == caught.value.also


def test_other_exceptions_pass() -> None:
    """An unreadable request is no broken rule."""

    def unreadable() -> None:
        raise Unreadable("a form must be UTF-8")

    with pytest.raises(Unreadable):
        validity_first(unreadable)
