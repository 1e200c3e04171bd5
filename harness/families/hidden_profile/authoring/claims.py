"""What `harness verify` holds a hidden profile to besides its episodes: each check of its proof, its mutants, both witnesses.

1. A scenario that is not certified fails the checks that it fails, by name; what can only be asked of a certified one is not
   asked of it. One whose task.toml says that it is uncertified claims nothing, so it fails none: one line says what is missing.
2. Prose without rules must say so, and what is proved must not.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.authoring.findings import Place
from harness.authoring.report import UNCERTIFIED, ProofCheck, failed, passed
from harness.registry import Task
from harness.taskfile import line_of
from oracles.hidden_profile.deck_mutants import spoiled
from oracles.hidden_profile.decks import prove_deck
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.second import FrameSolver, witness
from oracles.hidden_profile.witnesses import disagreements
from oracles.hidden_profile.wording import recited
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.ballot import unvotable
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT

SAID = 'certificate = "uncertified"'
PROSE = (
    "prose without rules proves nothing: not that the key follows (C1), that no hand gives it away (C2), that each private "
    "fact is needed (C3), nor when a fact was told (C6)"
)
"""Why the checks of a certificate cannot hold of a task from elsewhere."""


def claims(task: Task) -> Iterator[ProofCheck]:
    """The checks of the proof, a check for each mutant, and `witnesses`."""
    path = task.world_folder / SCENARIO
    at = Place(path, 1)
    try:
        read = read_task(path)
    except (OSError, ValueError) as error:
        yield failed("scenario", None, at, str(error))
        return
    if task.parley is not None and task.parley.certificate is not None:
        yield from _of_uncertified(read, task, at)
    elif not read.has_logic:
        yield failed(UNCERTIFIED, None, at, f"{PROSE}; task.toml must say {SAID}")
    else:
        yield from _of_deck(read, at) if isinstance(read, Deck) else _of_scenario(read, at)


def _of_uncertified(read: Deck | Scenario, task: Task, at: Place) -> Iterator[ProofCheck]:
    """One line for all that is not proved, and what holds of any scenario: that each option can be voted for."""
    yield _held("ballots", list(unvotable(read)), at, "each option can be voted for")
    if not read.has_logic:
        yield passed(UNCERTIFIED, detail=PROSE)
        return
    proof = prove_deck(read) if isinstance(read, Deck) else prove(read, witness(read))
    if proof.certified:
        path = task.path / "task.toml"
        line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "certificate"))
        yield failed(UNCERTIFIED, None, Place(path, line), f"every check holds, so {SAID} is not true")
        return
    yield passed(UNCERTIFIED, detail=f"not proved, and claimed by nobody: {', '.join(proof.failed)}")


def _of_deck(deck: Deck, at: Place) -> Iterator[ProofCheck]:
    """C0 to C9, the mutants of a certified deck, and whether the solver says the same."""
    proof = prove_deck(deck)
    yield from (_held(one.name, [] if one.ok else [one.detail], at, one.claim) for one in proof.checks)
    if not proof.certified:
        return
    for mutant in spoiled(deck):
        name, refused = f"mutant:{mutant.name}", prove_deck(mutant.deck).failed
        if mutant.check in refused:
            yield passed(name, detail=f"refused by {', '.join(refused)}")
        else:
            yield failed(name, None, at, f"must fail {mutant.check}, failed {', '.join(refused) or 'nothing'}")
    other = prove_deck(deck, FrameSolver(deck))
    differing = [f"{a.name}: '{a.detail}' and '{b.detail}'" for a, b in zip(proof.checks, other.checks, strict=True) if a != b]
    yield _held("witnesses", differing, at, "table and solver agree")


def _of_scenario(scenario: Scenario, at: Place) -> Iterator[ProofCheck]:
    """C0 to C7 and FC, `recited`, and for a certified scenario the mutants and both witnesses."""
    proof = prove(scenario, witness(scenario))
    yield from (_held(one.name, [] if one.ok else [one.detail], at, one.claim) for one in proof.checks)
    yield _held("recited", list(recited(scenario)), at, "no cue fires on the brief")
    if proof.certified:
        yield from _spoiled(scenario, at)
        yield _witnesses("witnesses", scenario, at)


def _spoiled(scenario: Scenario, at: Place) -> Iterator[ProofCheck]:
    """Each mutant is refused by the check that it names, and both witnesses say the same of it."""
    for mutant in mutants(scenario):
        name = f"mutant:{mutant.name}"
        refused = prove(mutant.scenario, witness(mutant.scenario)).failed
        if mutant.check not in refused:
            yield failed(name, None, at, f"must fail {mutant.check}, failed {', '.join(refused) or 'nothing'}")
        else:
            agreed = _witnesses(name, mutant.scenario, at)
            yield agreed.model_copy(update={"detail": f"refused by {', '.join(refused)}"}) if agreed.ok else agreed


def _witnesses(name: str, scenario: Scenario, at: Place) -> ProofCheck:
    if len(scenario.base) > LIMIT:
        return passed(name, detail=f"{len(scenario.base)} base atoms: the solver alone")
    return _held(name, disagreements(scenario), at, "table and solver agree")


def _held(name: str, wrong: list[str], at: Place, claim: str) -> ProofCheck:
    return failed(name, None, at, "; ".join(wrong)) if wrong else passed(name, detail=claim)
