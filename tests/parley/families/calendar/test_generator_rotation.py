"""Participants and speakers: exact counts, few repeats, nobody first more often than others."""

from __future__ import annotations

import random
from collections import Counter
from math import comb

import pytest

from parley.families.calendar.authoring.generator import repeated, rotation, speakers
from tests.sampling import spread
from worlds.core.chance import Stream


def stream(seed: int) -> Stream:
    """A stream for one test."""
    return Stream("k", "rotation", seed, "test")


def gap(counts: list[int]) -> int:
    """The largest count less the smallest."""
    return max(counts) - min(counts)


@pytest.mark.parametrize("seed", spread(range(60)))
def test_everybody_takes_part_equally_often(seed: int) -> None:
    """Counts of appearances are equal, or one apart where they cannot be equal; sets have the size asked for."""
    rng = random.Random(seed)
    agents = rng.randint(2, 9)
    size, count = rng.randint(2, agents), rng.randint(1, 14)

    sets = rotation(agents, size, count, stream(seed))

    assert len(sets) == count
    assert all(len(set(one)) == size and one == tuple(sorted(one)) for one in sets)
    assert gap([sum(agent in one for one in sets) for agent in range(agents)]) <= ((size * count) % agents > 0)


@pytest.mark.parametrize("seed", spread(range(40)))
def test_no_set_is_repeated_where_that_can_be(seed: int) -> None:
    """With no more meetings than sets of participants no two meetings have the same ones, up to using every set."""
    for agents, size, count in ((5, 3, 5), (5, 3, 10), (5, 2, 10), (4, 2, 6), (10, 3, 12), (6, 5, 6)):
        assert count <= comb(agents, size)
        assert repeated(rotation(agents, size, count, stream(seed))) == 0


def test_repeats_are_as_few_as_can_be() -> None:
    """Where there are fewer sets than meetings, or one alone, the rotation still ends."""
    assert repeated(rotation(3, 3, 4, stream(0))) == 3
    assert repeated(rotation(3, 2, 6, stream(0))) == 3


@pytest.mark.parametrize("seed", spread(range(40)))
def test_first_speakers_are_balanced(seed: int) -> None:
    """In a rotation nobody speaks first more than once more than another; all participants speak, each once."""
    rng = random.Random(seed)
    agents = rng.randint(3, 8)
    sets = rotation(agents, rng.randint(2, agents), rng.randint(1, 3) * agents, stream(seed))

    orders = speakers(sets, stream(seed))

    firsts = Counter(order[0] for order in orders)
    assert [sorted(order) for order in orders] == [list(one) for one in sets]
    assert gap([firsts[agent] for agent in range(agents)]) == 0


def test_first_speakers_of_uneven_sets() -> None:
    """Where somebody is in every meeting and others in few, being first is shared as far as it can be."""
    orders = speakers([(0, 1), (0, 1), (0, 2), (0, 3)], stream(1))

    assert max(Counter(order[0] for order in orders).values()) == 1


def test_later_places_do_not_go_by_number() -> None:
    """Second places are drawn: over many rotations the lower agent has them half the time."""
    lower = total = 0
    for seed in range(200):
        for _, second, third in speakers(rotation(5, 3, 5, stream(seed)), stream(seed)):
            lower, total = lower + (second < third), total + 1

    assert 0.44 < lower / total < 0.56


def test_everybody_opens_any_meeting() -> None:
    """Who opens the first meeting is open: over many rotations every agent does."""
    openers = {speakers(rotation(5, 3, 5, stream(seed)), stream(seed))[0][0] for seed in range(60)}

    assert openers == set(range(5))
