"""Ten seeds are ten instances: other instructions or answers, other secrets, another result."""

from __future__ import annotations

from collections.abc import Callable

from harness.authoring.leaks import secrets
from harness.authoring.plays import Play
from harness.registry import Task

SEEDS = range(10)
UNIQUE = 16
"""Characters from which on two seeds that share a value share more than a word."""


def test_no_two_seeds_share_a_secret_or_a_result(task: Task, oracle: Callable[..., Play]) -> None:
    """What the oracle sends on one seed, it sends on no other; so does what it hands in."""
    plays = [oracle(task, seed) for seed in SEEDS]
    results = {played.exchanges[-1].request.body for played in plays}
    said = [{value for value in secrets(played) if len(value) >= UNIQUE} for played in plays]
    shared = {value for seed, values in enumerate(said) for other in said[:seed] for value in values & other}

    assert len(results) == len(plays)
    assert {value for value in shared if any(character.isdigit() for character in value)} == set()


def test_no_two_seeds_read_alike(task: Task, oracle: Callable[..., Play]) -> None:
    """Instruction and answers together differ from seed to seed."""
    told = {(p.instruction, *(e.response.body for e in p.exchanges)) for p in (oracle(task, seed) for seed in SEEDS)}

    assert len(told) == len(SEEDS)
