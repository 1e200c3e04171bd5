"""Checks that two seeds are two instances: the oracle's input, its submission, draws and secrets must differ between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from parley.proof.findings import Place, ProofCheck, failed, handler_place, passed
from parley.proof.leaks import secrets
from parley.proof.plays import SOLVE, Play, TaskEvidence
from worlds.core.chance import PAIRED
from worlds.core.wire import WireResponse

SUBMISSION = ("POST", b"/submission")

UNIQUE = 16
"""Minimum length of a shared value with a digit that indicates a common secret, not a common word."""

_STAMPS = frozenset({"date", "x-virtual-time"})


def seed_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that no two seeds are the same instance: the oracle's input must differ, apart from the clock."""
    seen: dict[str, int] = {}
    for played in evidence.of(SOLVE):
        first = seen.setdefault(_instance(played), played.seed)
        if first != played.seed:
            yield failed("seeds", played.seed, evidence.server, f"seed {played.seed} reads like seed {first}")
            return
    if len(seen) > 1:
        yield passed("seeds", None, f"{len(seen)} different instances")


def result_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that no two seeds have the same result, so that a result from another seed is useless."""
    results: dict[bytes, int] = {}
    for played in evidence.of(SOLVE) if not evidence.task.is_seated else ():
        result = submission(played)
        if result is None:
            continue
        first = results.setdefault(result, played.seed)
        if first != played.seed:
            told = f"seed {played.seed} has the same result as seed {first}; draw it from self.chance"
            yield failed("results", played.seed, evidence.server, told)
            return
    if len(results) > 1:
        yield passed("results", None, f"{len(results)} different results")


def secret_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that no two seeds share a secret, so that knowledge from one episode is useless in another."""
    if evidence.task.is_seated:
        # what seats say is a plan's, and no secret
        return
    of_seed: dict[str, int] = {}
    for played in evidence.of(SOLVE):
        unique = {value: what for value, what in secrets(played).items() if len(value) >= UNIQUE and _is_drawn(value)}
        for value, what in unique.items():
            first = of_seed.setdefault(value, played.seed)
            if first != played.seed:
                told = f"{what} is the same on seeds {first} and {played.seed}; draw it from self.chance"
                yield failed("secrets", played.seed, _giver(evidence, played, value), told)
                return
    if len(evidence.of(SOLVE)) > 1:
        yield passed("secrets", None, f"{len(of_seed)} different values")


def draw_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """Yield checks that every draw depends on the seed. Only paired draws may share a stream, within a pair of seeds."""
    seed_of: dict[str, int] = {}
    for played in evidence.plays:
        for purpose, streams in played.chance.items():
            for stream in streams:
                if purpose.startswith(PAIRED) and seed_of.get(stream, played.seed) // 2 == played.seed // 2:
                    continue
                first = seed_of.setdefault(stream, played.seed)
                if first != played.seed:
                    told = f"what is drawn for {purpose!r} is one on seeds {first} and {played.seed}; take self.chance for it"
                    yield failed("draws", played.seed, _drawing(evidence, purpose), told)
                    return
    if len(set(seed_of.values())) > 1:
        yield passed("draws", None, f"{len(seed_of)} different streams")


def submission(played: Play) -> bytes | None:
    """Return the submitted bytes, or None if nothing was submitted."""
    handed_in = (sent.body for sent, _ in played.exchanges if (sent.method, sent.path) == SUBMISSION)
    return next(handed_in, None)


def _drawing(evidence: TaskEvidence, purpose: str) -> Place:
    """Return the line of server.py that names a purpose."""
    path = evidence.server.path
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    named = (number for number, line in enumerate(lines, start=1) if f'("{purpose}")' in line)
    return Place(path, next(named, evidence.server.line))


def _giver(evidence: TaskEvidence, played: Play, value: str) -> Place:
    """Return the handler whose answer issued a value, or the place where the instance is drawn."""
    for sent, answer in played.exchanges:
        if value.encode() in answer.body or any(value in held for _, held in answer.headers):
            return handler_place(evidence.task, sent.method, sent.path.decode("ascii", "replace"))
    return evidence.server


def _is_drawn(value: str) -> bool:
    return any(character.isdigit() for character in value)


def _instance(played: Play) -> str:
    """Return a digest of everything that a client reads, without times."""
    total = hashlib.sha256(played.instruction.encode())
    for request, response in played.exchanges:
        if request.path not in (b"/clock", b"/clock/wait"):
            total.update(repr((response.status, _untimed(response), response.body)).encode())
    return total.hexdigest()


def _untimed(response: WireResponse) -> list[tuple[str, str]]:
    return [pair for pair in response.headers if pair[0].lower() not in _STAMPS]
