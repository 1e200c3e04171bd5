"""The prover on a small scenario of our own: it certifies it, and every check can fail and names the culprit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracles.hidden_profile import forward
from oracles.hidden_profile.certificate import certify
from oracles.hidden_profile.logic import Exhaustive
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import CHECKS, prove
from oracles.hidden_profile.second import COUNT_LIMIT, Solver
from oracles.hidden_profile.witnesses import disagreements
from tests.hidden_profile.film import ATTIC, BEACH, DOCUMENT, SCENARIO, WEDDING, by_chance, changed, fact, subsets
from worlds.hidden_profile.rules.scenario import Scenario


def with_rules(*rules: dict[str, Any]) -> Scenario:
    """The scenario with more rules."""
    return Scenario.model_validate(DOCUMENT | {"rules": [*DOCUMENT["rules"], *rules]})


def with_facts(*facts: dict[str, Any]) -> Scenario:
    """The scenario with more facts."""
    return Scenario.model_validate(DOCUMENT | {"facts": [*DOCUMENT["facts"], *facts]})


def with_label(option: str, label: str) -> Scenario:
    """The scenario with another label of one option."""
    options = [one | {"label": label} if one["id"] == option else one for one in DOCUMENT["options"]]
    return Scenario.model_validate(DOCUMENT | {"options": options})


SPOILED: dict[str, tuple[Scenario, str, str]] = {
    "no holder": (changed("u2", holders=[]), "C0", "no seat holds u2"),
    "noise without holder": (changed("n2", holders=[]), "C0", "seat 2 has no noise note"),
    "contradiction": (changed("n1", asserts=["rewound"]), "C0", "the facts contradict each other"),
    "an option is left in": (changed("u4", asserts=[]), "C1", "all facts leave wedding in"),
    "key is out": (with_rules({"id": "r4", "when": ["hot_car"], "out": ATTIC}), "C1", "all facts exclude the key attic"),
    "another looks better": (changed("s2", weights={WEDDING: 4}), "C2a", "the decoy beach leads by 0 in impression"),
    "little belief in the decoy": (
        Scenario.model_validate(DOCUMENT | {"atoms": DOCUMENT["atoms"] | {"fogged": {"prior": 0.01, "gloss": "fogged"}}}),
        "C2a",
        "the decoy beach leads by -0.",
    ),
    "shared facts exclude the decoy": (
        changed("s1", asserts=["hot_car", "tin_open"]),
        "C2a",
        "the shared facts exclude the decoy beach",
    ),
    "shared facts settle the decoy": (
        changed("s1", asserts=["fogged", "door_opened", "!rewound"]),
        "C2a",
        "the shared facts settle the decoy beach",
    ),
    "one hand excludes the decoy": (changed("u2", holders=[1]), "C2b", "hand 1 excludes the decoy beach"),
    "one hand likes another": (
        changed("u2", weights={BEACH: -3}),
        "C2b",
        "with hand 2 the decoy beach leads by -1",
    ),
    "one fact excludes the decoy": (changed("u3", asserts=["hot_car", "tin_open"]), "C2c", "u3 alone excludes the decoy beach"),
    "noise speaks": (changed("n2", weights={WEDDING: 3}), "C2c", "with n2 alone the decoy beach leads by -1 in impression"),
    "a fact too many": (
        with_facts(fact("u5", "private", [2], "Number five.", cues=[["five"]])),
        "C3",
        "without u5 the key is proved all the same",
    ),
    "a subset proves": (
        with_facts(fact("u5", "private", [2], "Number five.", cues=[["five"]])),
        "C3x",
        "u1, u2, u3, u4 already prove the key",
    ),
    "loud noise": (changed("n3", weights={ATTIC: -1}), "C4", "noise changes the impressions of the shared facts (by n3)"),
    "telling noise": (changed("n3", asserts=["hot_car"]), "C4", "noise changes the beliefs of the shared facts (by n3)"),
    "key least discussed": (changed("n1", about=[]), "C5", "the key attic is the least discussed: 1 against [2, 2]"),
    "key most discussed": (changed("n3", about=[ATTIC]), "C5", "the key attic is the most discussed: 3 against [2, 2]"),
    "two labels that read alike": (
        with_label(WEDDING, "The beach roll."),
        "C0",
        "a vote for 'The beach roll.' would be read as one for beach",
    ),
    "deaf cue": (changed("u3", cues=[["niece"]]), "C6", "u3 does not fire on its own text"),
    "cue of a shared text": (changed("u3", cues=[["nephew"], ["may"]]), "C6", "u3 fires on the text of s2"),
    "verdict": (
        changed("u3", text="My nephew says the attic roll is the only one."),
        "C7",
        "u3 says 'only' beside the key's label",
    ),
    "exclusion by cases": (
        with_rules({"id": "r4", "when": ["door_opened", "rewound"], "out": WEDDING}),
        "FC",
        "with u3 an exclusion does not follow",
    ),
}


def test_own_scenario_is_certified() -> None:
    """Our scenario passes every check, by both witnesses, and is of grade A."""
    proof = prove(SCENARIO)

    assert proof.certified, proof.failed
    assert (proof.grade, proof.lucky, proof.failed) == ("A", (), ())
    assert prove(SCENARIO, Solver(SCENARIO)) == proof
    assert disagreements(SCENARIO) == []


@pytest.mark.parametrize("case", SPOILED)
def test_each_check_fails_and_names_the_culprit(case: str) -> None:
    """A spoiled scenario fails the check that is about what was spoiled, which says who is at fault."""
    scenario, check, said = SPOILED[case]
    proof = prove(scenario)

    assert check in proof.failed
    assert said in next(one.detail for one in proof.checks if one.name == check)
    assert proof.grade is None
    assert disagreements(scenario) == []


def test_every_check_was_seen_to_fail() -> None:
    """No check of the prover is left out of the cases above."""
    assert {check for _, check, _ in SPOILED.values()} == {name for name, _, _ in CHECKS}


def test_eight_mutants_are_rejected() -> None:
    """Each of the eight ways to spoil a scenario fails the check that it names, with both witnesses alike."""
    made = mutants(SCENARIO)

    assert len(made) == 8
    for mutant in made:
        assert mutant.check in prove(mutant.scenario).failed, mutant.name
        assert disagreements(mutant.scenario) == [], mutant.name


def test_scenario_without_notes_has_no_mutants() -> None:
    """What cannot be certified cannot be spoiled, and says so."""
    bare = Scenario.model_validate(DOCUMENT | {"facts": DOCUMENT["facts"][:3]})

    with pytest.raises(ValueError, match="lacks shared, private or noise facts"):
        mutants(bare)
    assert prove(bare).failed[0] == "C0"


def test_grade_b_names_the_lucky_pieces() -> None:
    """Where the key is not the worst-looking option, losing what excludes the worst-looking one changes no guess."""
    proof = prove(changed("s2", weights={WEDDING: -3}))

    assert proof.certified
    assert (proof.grade, proof.lucky) == ("B", ("u3", "u4"))


@pytest.mark.parametrize("seed", range(25))
def test_witnesses_agree_on_random_logic(seed: int) -> None:
    """Table and solver say the same of consistency, exclusion, settlement and belief, whatever the logic."""
    scenario = by_chance(seed)
    table, solver = Exhaustive(scenario), Solver(scenario)
    for known in subsets([one.id for one in scenario.facts][:6]):
        assert table.consistent(known) == solver.consistent(known)
        assert table.excluded(known) == solver.excluded(known)
        assert table.settled(known) == solver.settled(known)
        assert table.belief(known) == solver.belief(known)
    assert disagreements(scenario) == []


@pytest.mark.parametrize("seed", range(25))
def test_forward_chaining_is_sound(seed: int) -> None:
    """Whatever follows by firing rules in a row is excluded in every world, where the facts do not contradict each other."""
    scenario = by_chance(seed)
    table = Exhaustive(scenario)
    for known in subsets([one.id for one in scenario.facts]):
        if table.consistent(known):
            assert forward.excluded(scenario, known) <= table.excluded(known)


def test_chain_is_followed_to_its_end() -> None:
    """Rules fire on what rules have brought about."""
    rules = [{"id": f"t{place}", "when": [f"d{place}"], "then": f"d{place + 1}"} for place in range(3)]
    rules += [{"id": "t", "when": ["hot_car"], "then": "d0"}, {"id": "r9", "when": ["d3"], "out": WEDDING}]
    atoms = DOCUMENT["atoms"] | {f"d{place}": {"derived": True, "gloss": "d"} for place in range(4)}
    scenario = Scenario.model_validate(DOCUMENT | {"atoms": atoms, "rules": rules})

    assert forward.closed(scenario, ["u1"]) == {"hot_car", "d0", "d1", "d2", "d3"}
    assert forward.excluded(scenario, ["u1"]) == {WEDDING} == Exhaustive(scenario).excluded(["u1"])


def test_solver_proves_what_no_table_holds() -> None:
    """With forty atoms more the solver certifies the same checks and grade, and beliefs are left out of the certificate."""
    more = {f"x{place}": {"prior": 0.5, "gloss": "x"} for place in range(40)}
    rules = [{"id": f"x{place}", "when": [f"x{place}", f"x{place + 1}", "fogged"], "out": ATTIC} for place in range(39)]
    large = Scenario.model_validate(DOCUMENT | {"atoms": DOCUMENT["atoms"] | more, "rules": [*DOCUMENT["rules"], *rules]})

    certificate = certify(large).document()

    assert len(large.base) > COUNT_LIMIT
    assert (certificate["certified"], certificate["grade"], certificate["witness"]) == (True, "A", "solver")
    assert certificate["table"][0]["belief"] is None
    assert "coin" not in certificate
    assert all(mutant.check in prove(mutant.scenario, Solver(mutant.scenario)).failed for mutant in mutants(large))


def test_certificate_is_json() -> None:
    """The certificate survives JSON as it is, and tells the elimination table of the scenario."""
    certificate = certify(SCENARIO).document()

    assert json.loads(json.dumps(certificate)) == certificate
    assert [(row["fact"], row["excluded"]) for row in certificate["table"][-4:]] == [
        ("u1", []),
        ("u2", [BEACH]),
        ("u3", [BEACH]),
        ("u4", [BEACH, WEDDING]),
    ]
    assert [row["helps_exclude"] for row in certificate["table"][-4:]] == [[BEACH], [BEACH], [WEDDING], [WEDDING]]
    assert certificate["table"][-1]["belief"] == {BEACH: 0.0, WEDDING: 0.0, ATTIC: 1.0}
    assert certificate["leave_one_out"]["u4"]["eliminator"] == WEDDING
    assert certificate["knobs"] == {
        "agents": 3,
        "options": 3,
        "key_position": 2,
        "base_atoms": 5,
        "clause_width": 2,
        "chain_depth": 0,
        "clues_per_seat": [2, 1, 2],
        "overlap": 1,
        "noise_per_seat": [1, 1, 1],
        "surface_margin": 2,
        "belief_margin": pytest.approx((98 * 30 - 2 * 70) * 80 / (98 * 30 * 80 + 2 * 70 * 80 + 2 * 30 * 20)),
    }
