"""What `harness verify` holds a hidden profile to besides its episodes: each check of its proof, its mutants, both witnesses.

An uncertified scenario fails the checks that it fails, by name; what can only be asked of a certified one is not asked of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.authoring.findings import Place
from harness.authoring.report import ProofCheck, failed, passed
from harness.registry import Task
from oracles.hidden_profile.deck_mutants import spoiled
from oracles.hidden_profile.decks import prove_deck
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.second import FrameSolver, witness
from oracles.hidden_profile.witnesses import disagreements
from oracles.hidden_profile.wording import recited
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT


def claims(task: Task) -> Iterator[ProofCheck]:
    """The checks of the proof, a check for each mutant, and `witnesses`."""
    path = task.world_folder / SCENARIO
    at = Place(path, 1)
    try:
        read = read_task(path)
    except (OSError, ValueError) as error:
        yield failed("scenario", None, at, str(error))
        return
    yield from _of_deck(read, at) if isinstance(read, Deck) else _of_scenario(read, at)


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
