"""Which cases of a test stand for all of them where there is no time for all: one in N, chosen by the hash of their names.

The choice is by name alone, so it is one and the same on every machine and changes only where a case is added. No test is left
out, and one with few cases keeps them all.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import pytest

FEWEST = 4
"""Cases that a test keeps, however small its share."""


def spread(cases: Sequence[Any], few: int = 10) -> list[Any]:
    """All cases of a grid for `parametrize`: a few from everywhere in it for the fast suite, the others marked as property."""
    step = max(1, len(cases) // few)
    return [case if place % step == 0 else pytest.param(case, marks=pytest.mark.property) for place, case in enumerate(cases)]


def unsampled(names: Sequence[str], one_in: int) -> Collection[str]:
    """The names (`path::test[case]`) that are left out where one in so many of each test is kept."""
    by_test: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        by_test[name.partition("[")[0]].append(name)
    left_out: set[str] = set()
    for cases in by_test.values():
        kept = max(FEWEST, -(-len(cases) // one_in))
        left_out.update(sorted(cases, key=lambda name: hashlib.sha256(name.encode()).digest())[kept:])
    return left_out
