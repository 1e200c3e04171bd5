"""What a reply says of an observer's belief about a calendar: a whole number from -3 to 3 for each slot (paper, Appendix F.3).

1. It is a list of as many numbers as there are slots, or an object in which exactly one value is such a list. Nothing is cut,
   filled up or rounded: a reply of another length or with another value says nothing.
2. Where expectations may be given, whoever knows the probabilities of a model's tokens answers with an object of two keys:
   `said`, the reply itself, and `expected`, for each slot the mean of the numbers that could have stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STRONGEST = 3
"""The largest change of belief: one slot of loss."""


def read_scores(value: Any, slots: int) -> tuple[int, ...] | None:
    """The scores in a value of JSON, by slot; None where there are none, or two lists that could be them."""
    held = [*value.values()] if isinstance(value, dict) else [value]
    readable = [tuple(map(int, one)) for one in held if _are_in_range(one, slots) and all(score == int(score) for score in one)]
    return readable[0] if len(readable) == 1 else None


def weighed(value: Any) -> str | None:
    """The reply itself in a value of JSON that has expectations beside it; None for any other value."""
    is_weighed = isinstance(value, dict) and value.keys() == {"said", "expected"} and isinstance(value["said"], str)
    return value["said"] if is_weighed else None


def read_expected(value: Any, slots: int) -> tuple[float, ...] | None:
    """The expectations in such a value, by slot; None where they are not known, or are none."""
    expected: Any = value["expected"] if weighed(value) is not None else None
    return tuple(map(float, expected)) if _are_in_range(expected, slots) else None


def _are_in_range(values: Any, slots: int) -> bool:
    return isinstance(values, list) and len(values) == slots and _are_scores(values)


def _are_scores(values: Sequence[Any]) -> bool:
    return all(type(value) in (int, float) and abs(value) <= STRONGEST for value in values)
