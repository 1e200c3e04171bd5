"""Steps in a row: which one is next, which one is not, and which one there is not."""

from __future__ import annotations

import pytest

from worlds.contract.rows import Row
from worlds.core.calls import Unreadable, Violation


def label_of(row: Row, number: int) -> str | None:
    """What taking this step now earns, or None."""
    try:
        row.check_turn(number)
    except Violation as broken:
        return broken.label
    return None


@pytest.mark.parametrize("text", ["0", "4", "-1", "01", "+1", " 1", "1.0", "", "one", "\u0661", "9" * 5000])
def test_no_such_number(text: str) -> None:
    """Only the plain numbers of the row are read."""
    with pytest.raises(Unreadable, match=r"^numbers go from 1 to 3$"):
        Row(3).number(text)


def test_numbers() -> None:
    """The first and the last number belong to the row."""
    assert [1, 3] == [Row(3).number(text) for text in ("1", "3")]


@pytest.mark.parametrize(
    ("taken", "number", "label"),
    [
        (0, 1, None),
        (0, 2, "MISSING_CONSTRAINT"),
        (0, 3, "MISSING_CONSTRAINT"),
        (1, 1, "VERSION_CONFLICT"),
        (1, 2, None),
        (3, 3, "VERSION_CONFLICT"),
    ],
)
def test_turn(taken: int, number: int, label: str | None) -> None:
    """The next step passes; one ahead lacks an earlier one, one behind was taken."""
    assert label == label_of(Row(3, taken), number)


def test_all_taken() -> None:
    """What comes after the row needs all of it."""
    Row(3, 3).require(3)
    with pytest.raises(Violation, match=r"^an earlier step must come first$"):
        Row(3, 2).require(3)

    assert [False, True] == [Row(3, taken).done for taken in (2, 3)]
