"""Checks of `harness verify` for a hidden profile besides its episodes: its certificate, its mutants, and both solvers.

1. A deck that is not certified fails the checks by name; checks that need a certificate are skipped. A deck that its task.toml
   declares uncertified fails no check; one line lists what is not proved.
2. A scenario with one deal is never certified, with or without rules. It must be declared uncertified; a certified deck must
not.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.registry import Task
from harness.taskfile import line_of
from oracles.hidden_profile.deck_mutants import make_deck_mutants
from oracles.hidden_profile.decks import prove_deck
from oracles.hidden_profile.second import FrameSolver
from parley.proof.findings import UNCERTIFIED, Place, ProofCheck, failed, passed
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.ballot import find_unvotable_forms
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.scenario import Scenario

SAID = 'certificate = "uncertified"'
PROSE = (
    "prose without rules cannot prove that the right option follows (C1), that no single hand reveals it (C2), that each "
    "private fact is needed (C3), or when a fact was told (C6)"
)
"""Reason why the checks of a certificate cannot hold for an imported task."""

ONE_DEAL = (
    "a file with one deal names the right option, so it is the same in every session (C8), and whoever knows the file "
    "recognises it from any hand (C9); the other checks are skipped"
)
"""Reason why the checks of a certificate cannot hold for a scenario with one deal, even with rules."""


def claims(task: Task) -> Iterator[ProofCheck]:
    """Yield the checks of the certificate, a check for each mutant, and `witnesses`."""
    path = task.world_folder / SCENARIO
    at = Place(path, 1)
    try:
        read = read_task(path)
    except (OSError, ValueError) as error:
        yield failed("scenario", None, at, str(error))
        return
    if task.parley is not None and task.parley.certificate is not None:
        yield from _of_uncertified(read, task, at)
    elif isinstance(read, Deck):
        yield from _of_deck(read, at)
    else:
        yield failed(UNCERTIFIED, None, at, f"{_why(read)}; task.toml must say {SAID}")


def _of_uncertified(read: Deck | Scenario, task: Task, at: Place) -> Iterator[ProofCheck]:
    """Yield one check that lists what is not proved, and the check that each option can be voted for."""
    yield _held("ballots", list(find_unvotable_forms(read)), at, "each option can be voted for")
    if isinstance(read, Scenario):
        yield passed(UNCERTIFIED, detail=_why(read))
        return
    proof = prove_deck(read)
    if proof.is_certified:
        path = task.path / "task.toml"
        line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "certificate"))
        yield failed(UNCERTIFIED, None, Place(path, line), f"every check holds, so task.toml must not say {SAID}")
        return
    yield passed(UNCERTIFIED, detail=f"not proved and not claimed: {', '.join(proof.failed_checks)}")


def _of_deck(deck: Deck, at: Place) -> Iterator[ProofCheck]:
    """Yield C0 to C9, the mutants of a certified deck, and the agreement with the solver."""
    proof = prove_deck(deck)
    yield from (_held(one.name, [] if one.ok else [one.detail], at, one.claim) for one in proof.checks)
    if not proof.is_certified:
        return
    for mutant in make_deck_mutants(deck):
        name, refused = f"mutant:{mutant.name}", prove_deck(mutant.deck).failed_checks
        if mutant.check in refused:
            yield passed(name, detail=f"refused by {', '.join(refused)}")
        else:
            yield failed(name, None, at, f"must fail {mutant.check}, failed {', '.join(refused) or 'nothing'}")
    other = prove_deck(deck, FrameSolver(deck))
    differing = [f"{a.name}: '{a.detail}' and '{b.detail}'" for a, b in zip(proof.checks, other.checks, strict=True) if a != b]
    yield _held("witnesses", differing, at, "table and solver agree")


def _why(scenario: Scenario) -> str:
    return ONE_DEAL if scenario.has_logic else PROSE


def _held(name: str, wrong: list[str], at: Place, claim: str) -> ProofCheck:
    return failed(name, None, at, "; ".join(wrong)) if wrong else passed(name, detail=claim)
