"""A prover that cannot say no proves nothing: eight ways to spoil any certified scenario, and the check that must notice.

Specification, 2.9.2. Each is the smallest change that works on every certified scenario, whatever its weights, tags and shape:
so a mutant that passes speaks against the prover, never against the mutant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from worlds.hidden_profile.rules.frame import PublicRule
from worlds.hidden_profile.rules.scenario import Fact, Scenario
from worlds.hidden_profile.rules.scores import surface


class Mutant(NamedTuple):
    """One spoiled scenario."""

    name: str
    check: str
    """The check that must fail; others may."""

    scenario: Scenario


def mutants(scenario: Scenario) -> tuple[Mutant, ...]:
    """The eight, of a certified scenario; raises ValueError where it lacks the facts that they change."""
    if len(scenario.of_scope("private")) < 2 or not scenario.of_scope("shared") or not scenario.of_scope("noise"):
        raise ValueError(f"{scenario.id} lacks shared, private or noise facts, so it cannot be certified, nor spoiled")
    return tuple(Mutant(name, check, spoil(scenario)) for name, check, spoil in _SPOILS)


def _one_note_kills_the_decoy(scenario: Scenario) -> Scenario:
    private = scenario.of_scope("private")
    return _changed(scenario, private[0], asserts=_all_of(scenario, private))


def _empty_note(scenario: Scenario) -> Scenario:
    return _changed(scenario, scenario.of_scope("private")[1], asserts=())


def _duplicated_note(scenario: Scenario) -> Scenario:
    first, second = scenario.of_scope("private")[:2]
    return _changed(scenario, second, asserts=_all_of(scenario, (first, second)))


def _decoy_does_not_lead(scenario: Scenario) -> Scenario:
    """The first shared fact takes so much from the decoy that it stands no better than the best of the others."""
    shared = scenario.of_scope("shared")
    score = surface(scenario, shared)
    lead = score[scenario.favourite] - max(points for option, points in score.items() if option != scenario.favourite)
    weights = dict(scenario.by_id[shared[0]].weights)
    weights[scenario.favourite] = weights.get(scenario.favourite, 0) - max(lead, 0)
    return _changed(scenario, shared[0], weights=weights)


def _key_excludable(scenario: Scenario) -> Scenario:
    literals = _all_of(scenario, scenario.of_scope("private"))
    taken = {rule.id for rule in scenario.rules}
    free = next(name for name in map("spoiled_{}".format, range(len(taken) + 1)) if name not in taken)
    rule = PublicRule(id=free, when=literals[:1], out=scenario.key)
    return _rebuilt(scenario, rules=(*scenario.rules, rule))


def _key_never_mentioned(scenario: Scenario) -> Scenario:
    """No note touches the key, and the first noise note touches all the others: else another could be mentioned as little."""
    first = scenario.of_scope("noise")[0]
    others = tuple(option for option in scenario.option_ids if option != scenario.key)

    def about(fact: Fact) -> tuple[str, ...]:
        if fact.id == first:
            return others
        return fact.about if fact.scope == "shared" else tuple(option for option in fact.about if option != scenario.key)

    facts = (fact.model_copy(update={"about": about(fact)}) for fact in scenario.facts)
    return _rebuilt(scenario, facts=tuple(facts))


def _cue_fires_elsewhere(scenario: Scenario) -> Scenario:
    first, second = (scenario.by_id[one] for one in scenario.of_scope("private")[:2])
    return _changed(scenario, first.id, cues=(*first.cues, (second.text,)))


def _noise_speaks(scenario: Scenario) -> Scenario:
    literals = _all_of(scenario, scenario.of_scope("private"))
    return _changed(scenario, scenario.of_scope("noise")[0], asserts=literals[-1:])


_SPOILS: tuple[tuple[str, str, Callable[[Scenario], Scenario]], ...] = (
    ("one note kills the decoy", "C2c", _one_note_kills_the_decoy),
    ("a private note says nothing", "C1", _empty_note),
    ("a note is repeated by another", "C3", _duplicated_note),
    ("the decoy does not lead", "C2a", _decoy_does_not_lead),
    ("the key can be excluded", "C1", _key_excludable),
    ("the key is the option that no note mentions", "C5", _key_never_mentioned),
    ("a cue fires on another note", "C6", _cue_fires_elsewhere),
    ("a noise note is not noise", "C4", _noise_speaks),
)


def _all_of(scenario: Scenario, facts: tuple[str, ...]) -> tuple[str, ...]:
    """What these facts assert, each literal once."""
    return tuple(dict.fromkeys(literal for fact in facts for literal in scenario.by_id[fact].asserts))


def _changed(scenario: Scenario, identity: str, **changes: Any) -> Scenario:
    facts = (fact.model_copy(update=changes) if fact.id == identity else fact for fact in scenario.facts)
    return _rebuilt(scenario, facts=tuple(facts))


def _rebuilt(scenario: Scenario, **changes: Any) -> Scenario:
    """The scenario with changed fields, validated anew: a copy would keep what the old one had derived."""
    document = scenario.model_dump(by_alias=True) | {
        name: [one.model_dump() for one in values] for name, values in changes.items()
    }
    return Scenario.model_validate(document)
