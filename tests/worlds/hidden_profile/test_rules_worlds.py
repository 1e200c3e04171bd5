"""Tables of worlds and scores against a plain listing of worlds, on random logic and by hand."""

from __future__ import annotations

import pytest

from tests.worlds.hidden_profile.film import ATTIC, BEACH, DOCUMENT, SCENARIO, WEDDING, Listed, by_chance, changed, subsets
from worlds.hidden_profile.rules import worlds
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT, tabulate

TABLE = tabulate(SCENARIO)


@pytest.mark.parametrize("seed", range(40))
def test_table_agrees_with_a_listing(seed: int) -> None:
    """On random logic, every subset of facts excludes the same options and settles the same one."""
    scenario = by_chance(seed)
    table, listed = tabulate(scenario), Listed(scenario)
    for known in subsets([one.id for one in scenario.facts]):
        assert table.excluded_options(known) == listed.excluded(known)
        assert table.settled_option(known) == listed.settled(known)


def test_random_logic_covers_the_cases() -> None:
    """The random scenarios contain contradictions, settled options, exclusions and open questions."""
    seen = set()
    for seed in range(40):
        table = tabulate(scenario := by_chance(seed))
        for known in subsets([one.id for one in scenario.facts]):
            found = "settled" if table.settled_option(known) else "open"
            seen.add(found if table.matching_worlds(known) else "contradiction")
            seen.add("excluded" if table.excluded_options(known) else "all in")

    assert seen == {"contradiction", "settled", "open", "excluded", "all in"}


def test_contradiction_proves_nothing() -> None:
    """Facts that contradict each other exclude nothing and settle nothing."""
    table = tabulate(changed("u1", asserts=["rewound"]))

    assert table.excluded_options(["u1", "u4"]) == frozenset()
    assert table.settled_option(["u1", "u4"]) is None


def test_more_atoms_than_a_table_holds() -> None:
    """Too many base atoms are refused by name and number; as many as the limit are not."""
    atoms = {f"x{place}": {"prior": 0.5, "gloss": "x"} for place in range(LIMIT - 5)}
    tabulate(Scenario.model_validate(DOCUMENT | {"atoms": DOCUMENT["atoms"] | atoms}))
    atoms["one_more"] = {"prior": 0.5, "gloss": "x"}

    with pytest.raises(ValueError, match="one_roll_of_film has 21 base atoms, and a table holds 20"):
        tabulate(Scenario.model_validate(DOCUMENT | {"atoms": DOCUMENT["atoms"] | atoms}))


def test_unknown_fact_is_an_error() -> None:
    """A fact that is none is no silent nothing."""
    with pytest.raises(KeyError):
        TABLE.excluded_options(["u9"])


def test_eliminator_takes_the_best_looking_that_is_left() -> None:
    """The naive eliminator drops what is excluded and goes by impression, without the promise."""
    shared = SCENARIO.of_scope("shared")

    assert worlds.option_impressions(SCENARIO, shared) == {BEACH: 4, WEDDING: 2, ATTIC: -2}
    assert worlds.eliminator_vote(TABLE, shared) == BEACH
    assert worlds.eliminator_vote(TABLE, [*shared, "u1", "u2"]) == WEDDING
    assert worlds.eliminator_vote(TABLE, [*shared, "u1", "u2", "u3", "u4"]) == ATTIC
    assert worlds.least_favoured(SCENARIO, shared) == ATTIC


def test_eliminator_abstains_on_a_tie() -> None:
    """Equal impressions are no vote, and neither is nothing left."""
    assert worlds.eliminator_vote(TABLE, []) is None
    assert worlds.best_remaining({"a": 1, "b": 1, "c": 0}, frozenset()) is None
    assert worlds.best_remaining({"a": 1, "b": 1, "c": 0}, frozenset("a")) == "b"
    assert worlds.best_remaining({"a": 1}, frozenset("a")) is None


def test_key_is_entailed_by_all_facts_only() -> None:
    """The key is proved by all four private facts, and by no three of them."""
    private = SCENARIO.of_scope("private")

    assert [known for known in subsets(private) if worlds.proves_key(TABLE, known)] == [private]
