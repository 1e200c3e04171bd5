"""Checks that seeds give different instances: the oracle's input, its submission, random values and secrets must differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from parley.proof.findings import Place, ProofCheck, failed, handler_place, line_with, passed
from parley.proof.leaks import secrets
from parley.proof.plays import SOLVE, Play, TaskEvidence
from worlds.core.chance import PAIRED

Value = TypeVar("Value", str, bytes)

SUBMISSION = ("POST", b"/submission")

UNIQUE = 16
"""Minimum length of a shared value with a digit that indicates a common secret, not a common word."""

_STAMPS = frozenset({"date", "x-virtual-time"})


def seed_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that no two seeds are the same instance: the oracle's input must differ, apart from the clock."""
    read = ((played, _instance(played), "") for played in evidence.of(SOLVE))
    yield from _apart(
        "seeds", "instances", "seed {seed} is the same instance as seed {first}", read, lambda *_: evidence.server
    )


def result_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that no two seeds have the same result, so that a result from another seed is useless."""
    plays = evidence.of(SOLVE) if not evidence.task.is_seated else ()
    results = ((played, result, "") for played in plays if (result := submission(played)) is not None)
    told = "seed {seed} has the same result as seed {first}; draw it from self.chance"
    yield from _apart("results", "results", told, results, lambda *_: evidence.server)


def secret_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that no two seeds share a secret, so that knowledge from one episode is useless in another."""
    if evidence.task.is_seated:
        # messages of seats come from a plan and are not secret
        return
    plays = evidence.of(SOLVE)
    values = (
        (played, value, what)
        for played in plays
        for value, what in secrets(played).items()
        if len(value) >= UNIQUE and any(character.isdigit() for character in value)
    )
    told = "{what} is the same on seeds {first} and {seed}; draw it from self.chance"
    seeds = [played.seed for played in plays]
    yield from _apart("secrets", "values", told, values, lambda played, value, _: _giver(evidence, played, value), seeds)


def draw_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that every random value depends on the seed. Only paired draws may share a stream."""
    draws = (
        (played, stream, purpose)
        for played in evidence.plays
        for purpose, streams in played.chance.items()
        for stream in streams
        if not purpose.startswith(PAIRED)
    )
    told = "the value drawn for {what!r} is the same on seeds {first} and {seed}; draw it from self.chance"
    server = evidence.server
    yield from _apart("draws", "streams", told, draws, lambda _, __, purpose: line_with(server.path, f'("{purpose}")', server))


def _apart(
    name: str,
    counted: str,
    told: str,
    values: Iterable[tuple[Play, Value, str]],
    at: Callable[[Play, Value, str], Place],
    seeds: Iterable[int] = (),
) -> Iterator[ProofCheck]:
    """Yield the check that no value occurs on two seeds, or no check if there is only one seed.

    Each value comes with its play and a description; `at` returns the place of a value that occurs twice.
    """
    seed_of: dict[Value, int] = {}
    for played, value, what in values:
        first = seed_of.setdefault(value, played.seed)
        if first != played.seed:
            message = told.format(seed=played.seed, first=first, what=what)
            yield failed(name, played.seed, at(played, value, what), message)
            return
    if len({*seeds, *seed_of.values()}) > 1:
        yield passed(name, None, f"{len(seed_of)} different {counted}")


def submission(played: Play) -> bytes | None:
    """Return the submitted bytes, or None if nothing was submitted."""
    handed_in = (sent.body for sent, _ in played.exchanges if (sent.method, sent.path) == SUBMISSION)
    return next(handed_in, None)


def _giver(evidence: TaskEvidence, played: Play, value: str) -> Place:
    """Return the handler whose answer issued a value, or the place where the instance is drawn."""
    for sent, answer in played.exchanges:
        if value.encode() in answer.body or any(value in held for _, held in answer.headers):
            return handler_place(evidence.task, sent.method, sent.path.decode("ascii", "replace"))
    return evidence.server


def _instance(played: Play) -> str:
    """Return a digest of everything that a client reads, without times."""
    total = hashlib.sha256(played.instruction.encode())
    for request, response in played.exchanges:
        if request.path not in (b"/clock", b"/clock/wait"):
            headers = [pair for pair in response.headers if pair[0].lower() not in _STAMPS]
            total.update(repr((response.status, headers, response.body)).encode())
    return total.hexdigest()
