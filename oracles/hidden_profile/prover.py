"""Is a scenario a hidden profile? Every check of the specification (2.4) by name, each saying what is wrong where it fails.

A check is a function from a logic to the sentences that speak against it: none, and it holds. The logic is any witness
(`logic.Exhaustive`, `second.Solver`); one that does not weigh worlds leaves the leads in belief unasked, and has noise assert
nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from oracles.hidden_profile import forward, wording
from oracles.hidden_profile.logic import Exhaustive, Logic
from worlds.hidden_profile.rules.ballot import unvotable
from worlds.hidden_profile.rules.certificate import ProvedCheck
from worlds.hidden_profile.rules.scenario import NoDecoy, Scenario
from worlds.hidden_profile.rules.scores import eliminate, surface

SURFACE_MARGIN = 1
BELIEF_MARGIN = Fraction(2, 100)
"""How far the decoy must lead, at least (2.4, C2a)."""


@dataclass(frozen=True, slots=True)
class Proof:
    """All checks, and the grade where they all hold and every subset could be asked about."""

    checks: tuple[ProvedCheck, ...]
    grade: str | None
    lucky: tuple[str, ...]
    """Private facts without which the naive eliminator still votes the key, by luck."""

    @property
    def certified(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that do not hold."""
        return tuple(check.name for check in self.checks if not check.ok)


def prove(scenario: Scenario, logic: Logic | None = None) -> Proof:
    """Run every check; `logic` is the witness, by default the table of worlds.

    Raises ValueError where the scenario has too many atoms for a table and no other witness is given.
    """
    witness = logic or Exhaustive(scenario)
    made = []
    for name, claim, against in CHECKS:
        details = _told(against, witness)
        made.append(ProvedCheck(name=name, ok=not details, claim=claim, detail="; ".join(details)))
    certified = all(check.ok for check in made)
    return Proof(tuple(made), _grade(witness) if certified else None, _lucky(witness) if certified else ())


def _told(against: Callable[[Logic], Iterator[str]], witness: Logic) -> list[str]:
    """What speaks against a claim; a claim about a decoy fails where the scenario names none."""
    try:
        return list(against(witness))
    except NoDecoy as none:
        return [str(none)]


def promising(logic: Logic) -> bool:
    """Whether the checks hold that ask about few sets of facts: a quick no for whoever tries many scenarios."""
    quick = (against for name, _, against in CHECKS if name in {"C1", "C2a", "C2b", "C2c", "C3"})
    return all(next(against(logic), None) is None for against in quick)


def everything(scenario: Scenario, without: Collection[str] = ()) -> tuple[str, ...]:
    """All shared and private facts but those of `without`."""
    return tuple(fact.id for fact in scenario.facts if fact.scope != "noise" and fact.id not in without)


def _well_formed(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    private = scenario.of_scope("private")
    yield from unvotable(scenario)
    if len(private) < 2:
        yield f"{len(private)} private facts: nothing to pool"
    yield from (f"no seat holds {one}" for one in (*private, *scenario.of_scope("noise")) if not scenario.by_id[one].holders)
    noisy = {seat for one in scenario.of_scope("noise") for seat in scenario.by_id[one].holders}
    yield from (f"seat {seat} has no noise note" for seat in scenario.seats if seat not in noisy)
    if not logic.consistent([fact.id for fact in scenario.facts]):
        yield "the facts contradict each other"


def _group(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    facts = everything(scenario)
    gone = logic.excluded(facts)
    if scenario.key in gone:
        yield f"all facts exclude the key {scenario.key}"
    yield from (f"all facts leave {one} in" for one in scenario.option_ids if one not in gone and one != scenario.key)
    if logic.settled(facts) != scenario.key:
        yield f"all facts and the promise settle {logic.settled(facts)}, not the key {scenario.key}"


def _alone(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    shared = scenario.of_scope("shared")
    yield from _follows(logic, shared, "the shared facts")
    gone = logic.excluded(shared)
    yield from (f"the shared facts exclude the {what} {one}" for what, one in _pair(scenario) if one in gone)
    settled = logic.settled(shared)
    yield from (f"the shared facts settle the {what} {one}" for what, one in _pair(scenario) if one == settled)


def _solo(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    shared = scenario.of_scope("shared")
    for seat in scenario.seats:
        hand = (*shared, *scenario.hand(seat))
        yield from _follows(logic, hand, f"hand {seat}")
        if scenario.favourite in logic.excluded(hand):
            yield f"hand {seat} excludes the decoy {scenario.favourite}"


def _each_fact(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    shared = scenario.of_scope("shared")
    for fact in (*scenario.of_scope("private"), *scenario.of_scope("noise")):
        yield from _follows(logic, (*shared, fact), f"{fact} alone")
        if scenario.favourite in logic.excluded((*shared, fact)):
            yield f"{fact} alone excludes the decoy {scenario.favourite}"


def _missing_piece(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    others = set(scenario.option_ids) - {scenario.key}
    for fact in scenario.of_scope("private"):
        known = everything(scenario, [fact])
        if logic.settled(known) == scenario.key or logic.excluded(known) == others:
            yield f"without {fact} the key is proved all the same"


def _no_subset(logic: Logic) -> Iterator[str]:
    """Every proper subset where there are not too many; else the largest ones, because knowing more never proves less."""
    scenario = logic.scenario
    shared, private = scenario.of_scope("shared"), scenario.of_scope("private")
    sizes = range(len(private)) if len(private) <= logic.subset_limit else [len(private) - 1]
    for size in sizes:
        for known in combinations(private, size):
            if logic.settled((*shared, *known)) == scenario.key:
                yield f"{', '.join(known) or 'no private fact'} already prove the key"
                return


def _inert(logic: Logic) -> Iterator[str]:
    scenario = logic.scenario
    noise = scenario.of_scope("noise")
    if not logic.counts:
        yield from (f"{one} asserts something, and beliefs cannot be weighed" for one in noise if scenario.by_id[one].asserts)
    for where, known in (("the shared facts", scenario.of_scope("shared")), ("all facts", everything(scenario))):
        more = (*known, *noise)
        pairs = (
            ("exclusions", logic.excluded(known), logic.excluded(more)),
            ("settled option", logic.settled(known), logic.settled(more)),
            ("beliefs", logic.belief(known), logic.belief(more)),
            ("impressions", surface(scenario, known), surface(scenario, more)),
        )
        changed = [what for what, before, after in pairs if before != after]
        if changed:
            yield f"noise changes the {', '.join(changed)} of {where} (by {', '.join(_loud(scenario)) or 'contradiction'})"


def _loud(scenario: Scenario) -> Iterator[str]:
    """The noise facts that assert or suggest anything."""
    for one in scenario.of_scope("noise"):
        fact = scenario.by_id[one]
        if fact.asserts or any(fact.weights.values()):
            yield one


def _in_a_row(logic: Logic) -> Iterator[str]:
    known = forward.disagreement(logic)
    if known is not None:
        yield f"with {', '.join(known) or 'shared facts only'} an exclusion does not follow by firing rules in a row"


CHECKS: tuple[tuple[str, str, Callable[[Logic], Iterator[str]]], ...] = (
    (
        "C0",
        "well formed: noise for every seat, holders for private facts, votes for all options, no contradiction",
        _well_formed,
    ),
    ("C1", "group: all facts exclude every option but the key", _group),
    ("C2a", "shared facts alone: the decoy leads, neither decoy nor key is settled", _alone),
    ("C2b", "solo: with each seat's whole hand the decoy leads and is not excluded", _solo),
    ("C2c", "solo: with each single private or noise fact the decoy leads and is not excluded", _each_fact),
    ("C3", "missing piece: without any one private fact the key is not proved", _missing_piece),
    ("C3x", "no proper subset of the private facts proves the key", _no_subset),
    ("C4", "noise is inert: all of it changes no exclusion, belief or impression", _inert),
    (
        "C5",
        "mention balance: the key is neither the least nor the most discussed in private",
        lambda i: wording.balance(i.scenario),
    ),
    ("C6", "cues: each private, noise or cued fact fires on its own text and on no other", lambda i: wording.cues(i.scenario)),
    ("C7", "no verdict beside the key's label in private facts", lambda i: wording.verdicts(i.scenario)),
    ("FC", "forward chaining agrees with the worlds on subsets of the private facts", _in_a_row),
)
"""Name, claim, what speaks against it; in the order of the specification."""


def _pair(scenario: Scenario) -> tuple[tuple[str, str], ...]:
    return (("decoy", scenario.favourite), ("key", scenario.key))


def _follows(logic: Logic, known: Collection[str], where: str) -> Iterator[str]:
    """What speaks against the decoy's lead, in impression and in belief."""
    scenario = logic.scenario
    lead = _lead(surface(scenario, known), scenario.favourite)
    if lead < SURFACE_MARGIN:
        yield f"with {where} the decoy {scenario.favourite} leads by {lead} in impression, not by {SURFACE_MARGIN}"
    if not logic.counts:
        return
    belief = logic.belief(known)
    if belief is None:
        yield f"with {where} no world keeps the promise"
    elif (credit := _lead(belief, scenario.favourite)) < BELIEF_MARGIN:
        yield f"with {where} the decoy {scenario.favourite} leads by {float(credit):.3f} in belief, not {float(BELIEF_MARGIN)}"


def _lead(points: Mapping[str, int] | Mapping[str, Fraction], option: str) -> int | Fraction:
    return points[option] - max(value for one, value in points.items() if one != option)


def _votes_key(logic: Logic, known: Collection[str]) -> bool:
    return eliminate(surface(logic.scenario, known), logic.excluded(known)) == logic.scenario.key


def _lucky(logic: Logic) -> tuple[str, ...]:
    private = logic.scenario.of_scope("private")
    return tuple(fact for fact in private if _votes_key(logic, everything(logic.scenario, [fact])))


def _grade(logic: Logic) -> str | None:
    """A where the naive eliminator is wrong on every proper subset of the private facts, else B; None with too many to ask."""
    if _lucky(logic):
        return "B"
    shared, private = logic.scenario.of_scope("shared"), logic.scenario.of_scope("private")
    if len(private) > logic.subset_limit:
        return None
    subsets = (known for size in range(len(private)) for known in combinations(private, size))
    return "B" if any(_votes_key(logic, (*shared, *known)) for known in subsets) else "A"
