"""Windows whose length varies by seed, and never beyond what a knob promises."""

from __future__ import annotations

import pytest

from worlds.contract.labels import Label
from worlds.contract.windows import drawn_ms, not_before
from worlds.core.calls import Violation
from worlds.core.chance import Chance


class Stub:
    """Of a world, what a window is drawn from."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.seconds, self.chance = seconds, Chance("k", "t", seed)

    def knob_ms(self, name: str) -> int:
        """Every knob is so many seconds."""
        return round(self.seconds * 1000)


def lengths(seconds: float) -> set[int]:
    """What a hundred seeds make of a knob."""
    return {drawn_ms(Stub(seconds, seed), "life") for seed in range(100)}


def test_up_to_a_tenth_less() -> None:
    """Every whole second of the last tenth comes up, and none outside it."""
    assert set(range(45_000, 50_001, 1000)) == lengths(50)


def test_short_windows_are_as_the_knob_says() -> None:
    """A tenth of less than 10 s is no whole second."""
    assert {9_500} == lengths(9.5)


def test_knobs_do_not_disturb_each_other() -> None:
    """Each knob has a stream of its own, so a second window does not depend on the first."""
    alone, after = Stub(200, 1), Stub(200, 1)
    drawn_ms(after, "other")

    assert drawn_ms(alone, "life") == drawn_ms(after, "life")


def test_what_was_announced_works_from_its_instant_on() -> None:
    """One ms sooner is a call to what is not there yet."""
    not_before(5_000, 5_000, "the link")
    with pytest.raises(Violation, match=r"^the link does not work yet$") as refused:
        not_before(4_999, 5_000, "the link")

    assert refused.value.label == Label.SCHEDULED_UNAVAILABLE
