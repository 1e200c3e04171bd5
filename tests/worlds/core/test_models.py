"""The two bases of wire data: what they refuse, what they leave out, and that there are no others."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.source import MODULES
from worlds.core.models import Lenient, Strict


class Refusing(Strict):
    """One field, no more."""

    seat: int


class Passing(Lenient):
    """One field, whatever else there is."""

    seat: int


def test_strict_refuses_what_it_does_not_know() -> None:
    """A key too many is an error."""
    with pytest.raises(ValidationError, match="Extra inputs"):
        Refusing.model_validate({"seat": 1, "sate": 2})


def test_lenient_leaves_out_what_it_does_not_know() -> None:
    """A key too many is gone."""
    assert Passing.model_validate({"seat": 1, "since": "0.9"}).model_dump() == {"seat": 1}


@pytest.mark.parametrize("made", [Refusing(seat=1), Passing(seat=1)])
def test_both_are_frozen(made: Refusing | Passing) -> None:
    """Nothing is set later."""
    with pytest.raises(ValidationError, match="frozen"):
        made.seat = 2


def test_there_is_no_third_base() -> None:
    """Every other model is built on one of them."""
    direct = {module for module, path in MODULES.items() if "(BaseModel" in path.read_text(encoding="utf-8")}

    assert direct == {"worlds.core.models"}
