"""A sample stands for the whole: no test is missing, few cases are all kept, and the choice does not wander."""

from __future__ import annotations

from tests.sampling import FEWEST, spread, unsampled

MANY = [f"tests/a.py::test_many[{case}]" for case in range(40)]
FEW = [f"tests/a.py::test_few[{case}]" for case in range(FEWEST)]
LONE = ["tests/a.py::test_alone"]


def test_one_in_one_is_everything() -> None:
    """Where no sample is asked for, nothing is left out."""
    assert not unsampled([*MANY, *FEW, *LONE], 1)


def test_every_test_keeps_a_share() -> None:
    """A quarter of forty stays, and all of a test that has few cases."""
    left_out = unsampled([*MANY, *FEW, *LONE], 4)
    assert len(left_out) == 30
    assert left_out <= set(MANY)


def test_the_order_of_collection_changes_nothing() -> None:
    """Two processes that collect in another order leave the same cases out."""
    assert unsampled(MANY, 3) == unsampled(MANY[::-1], 3)


def test_a_spread_has_every_case_and_few_without_a_mark() -> None:
    """The first and every twelfth of 120 stay in the fast suite; the others are cases of the property suite; a few stay all."""
    cases = spread(range(120))

    assert [getattr(case, "values", (case,))[0] for case in cases] == [*range(120)]
    assert [case for case in cases if isinstance(case, int)] == [*range(0, 120, 12)]
    assert spread([1, 2]) == [1, 2]
