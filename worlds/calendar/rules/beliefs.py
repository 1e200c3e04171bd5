"""What a reply says of an observer's belief about a calendar: a whole number from -3 to 3 for each slot (paper, Appendix F.3).

It is a list of as many numbers as there are slots, or an object in which exactly one value is such a list. Nothing is cut,
filled up or rounded: a reply of another length or with another value says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STRONGEST = 3
"""The largest change of belief: one slot of loss."""


def read_scores(value: Any, slots: int) -> tuple[int, ...] | None:
    """The scores in a value of JSON, by slot; None where there are none, or two lists that could be them."""
    held = [*value.values()] if isinstance(value, dict) else [value]
    readable = [tuple(map(int, one)) for one in held if isinstance(one, list) and len(one) == slots and _are_scores(one)]
    return readable[0] if len(readable) == 1 else None


def _are_scores(values: Sequence[Any]) -> bool:
    return all(type(value) in (int, float) and abs(value) <= STRONGEST and value == int(value) for value in values)
