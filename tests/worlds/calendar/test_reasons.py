"""Why a round failed: the one class of what went wrong, SEVERAL for two, and OTHER only where there is no class at all."""

from __future__ import annotations

import pytest

from worlds.calendar.labels import Label, failure_reason
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.resolution import Resolution

C = Conflict


@pytest.mark.parametrize(
    ("exhausted", "slots", "broken", "label"),
    [
        ([[C.BLOCKED]], {0: 1, 1: None}, (), Label.BLOCKED_ITEM),
        ([[C.BLOCKED, C.NO_JUSTIFICATION]], {0: 1, 1: None}, (), Label.BLOCKED_ITEM),
        ([[C.MALFORMED, C.NO_SCHEDULE]], {0: 1, 1: None}, (), Label.NO_SCHEDULE),
        ([[C.NO_JUSTIFICATION]], {0: 1, 1: 2, 2: None}, (), Label.SLOT_MISMATCH),
        ([[C.OUT_OF_RANGE], [C.NO_JUSTIFICATION]], {0: None, 1: None}, (), Label.OTHER),
        ([], {0: None, 1: None}, (), Label.OTHER),
        ([[C.BLOCKED], [C.NO_SCHEDULE]], {0: None, 1: None}, (), Label.SEVERAL),
        ([[C.BLOCKED, C.MALFORMED]], {0: 1, 1: 2, 2: None}, (), Label.SEVERAL),
        ([], {0: 3, 1: 3}, (7,), Label.PRIOR_MEETING_MOVED),
        ([], {0: 3, 1: 3}, (), Label.SUCCESS),
    ],
)
def test_reason(exhausted: list[list[Conflict]], slots: dict[int, int | None], broken: tuple[int, ...], label: Label) -> None:
    """Conflicts that the paper does not name hide no class, and make no second one."""
    assert failure_reason(Resolution(slots, {}, broken), exhausted) is label
