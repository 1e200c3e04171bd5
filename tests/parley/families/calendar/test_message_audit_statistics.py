"""Tests between players and conditions, each against an example worked by hand."""

from __future__ import annotations

from math import comb

import pytest

from parley.families.calendar.audits.tables import Unit, against_the_rest, fisher, paired
from parley.statistics import false_discoveries


def game(number: int, *seats: tuple[str, int, int], task: str = "t") -> list[Unit]:
    """The seats of one game: who, hits, messages."""
    return [Unit(f"g{number}", task, who, hits, of) for who, hits, of in seats]


def test_mixed_games_permute_seats() -> None:
    """Two games in which A has all 2 of 2 and two others none: each game has 3 seats that A could be, so p = 1 / 9."""
    units = [unit for number in (1, 2) for unit in game(number, ("a", 2, 2), ("b", 0, 2), ("b", 0, 2))]

    assert against_the_rest(units, "a") == pytest.approx(1 / 9)


def test_whole_games_permute_within_their_task() -> None:
    """Two players alone at two tasks, 2 games each: C(4, 2) = 6 ways a task, two of 36 as far apart as those seen."""
    units = [
        unit
        for task in ("t", "u")
        for number, (who, hits) in enumerate((("a", 4), ("a", 4), ("b", 0), ("b", 0)))
        for unit in game(f"{task}{number}", (who, hits, 4), (who, hits, 4), task=task)
    ]

    assert against_the_rest(units, "a") == pytest.approx(2 / 36)


def test_tasks_that_nobody_shares_are_one_lot() -> None:
    """Three games of A at tasks of their own and three of B: C(6, 3) = 20 ways, two of them as far apart."""
    units = [unit for number in range(6) for unit in game(number, ("ab"[number // 3], 3 * (number < 3), 3), task=f"t{number}")]

    assert against_the_rest(units, "a") == pytest.approx(2 / 20)


def test_messages_of_one_game_are_one_piece_of_evidence() -> None:
    """One game each: the two ways to name them are equally far apart, p = 1, however many messages; Fisher's is tiny."""
    units = [*game(1, ("a", 50, 50)), *game(2, ("b", 0, 50))]

    assert against_the_rest(units, "a") == 1
    assert fisher(units, "a") == pytest.approx(2 / comb(100, 50))


def test_nothing_to_exchange() -> None:
    """A player that nobody else stands beside has no p."""
    assert against_the_rest(game(1, ("a", 1, 2), ("a", 0, 2)), "a") is None


def test_many_games_are_drawn_from() -> None:
    """Where counting takes too long p is drawn, again and again alike, and never 0."""
    units = [
        unit
        for number in range(40)
        for unit in game(number, ("a", number % 7 + 1, 97 + number * 31), ("b", 0, 91 + number * 17), ("c", 0, 53 + number))
    ]
    drawn = against_the_rest(units, "a")

    assert drawn == against_the_rest(units, "a")
    assert drawn == pytest.approx(1 / 10_000)


def test_false_discovery_by_hand() -> None:
    """Benjamini and Hochberg: .01 x 3 / 1, .04 x 3 / 3 and .03 x 3 / 2, made monotone from the largest down."""
    assert false_discoveries([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.04), pytest.approx(0.04)]
    assert false_discoveries([None]) == [None]


def test_paired_by_hand() -> None:
    """Three differences of one sign: 2 of 2^3 sign patterns are as extreme, p = 1 / 4; no difference at all is p = 1."""
    assert paired([3.0, 2.0, 4.0], [1.0, 1.0, 1.0]) == pytest.approx(0.25)
    assert paired([1.0, 2.0], [1.0, 2.0]) == 1
    assert paired([1.0], [2.0]) is None
