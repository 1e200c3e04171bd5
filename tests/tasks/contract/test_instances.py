"""Ten seeds are ten instances: other instructions or answers, other secrets, another result."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.registry import Task
from parley.proof.leaks import secrets
from parley.proof.plays import Play

SEEDS = range(10)
UNIQUE = 16
"""Characters from which on two seeds that share a value share more than a word."""


@pytest.mark.property
def test_ten_seeds_are_ten_instances(task: Task, oracle: Callable[..., Play]) -> None:
    """No two seeds read alike, have the same result, or share a secret that an oracle sends."""
    plays = [oracle(task, seed) for seed in SEEDS]
    told = {(played.instruction, *(exchange.response.body for exchange in played.exchanges)) for played in plays}
    results = {played.exchanges[-1].request.body for played in plays}
    said = [{value for value in secrets(played) if len(value) >= UNIQUE} for played in plays]
    shared = {value for seed, values in enumerate(said) for other in said[:seed] for value in values & other}

    assert (len(told), len(results)) == (len(SEEDS), len(SEEDS))
    assert {value for value in shared if any(character.isdigit() for character in value)} == set()
