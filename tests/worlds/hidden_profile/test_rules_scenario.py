"""The schema `hidden-profile/1`: what is refused and how it is said, and that writing and reading change nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.hidden_profile.film import DOCUMENT, SCENARIO, by_chance
from worlds.hidden_profile.rules.scenario import Scenario, read_scenario

Change = Callable[[dict[str, Any]], Any]

WRONG: dict[str, tuple[Change, str]] = {
    "unknown key": (lambda d: d.update(rationale="because"), "rationale: Extra inputs"),
    "unknown key of a fact": (lambda d: d["facts"][0].update(seat=1), "facts.0.seat: Extra inputs"),
    "other schema": (lambda d: d.update(schema="hidden-profile/2"), "schema: Input should be 'hidden-profile/1'"),
    "two seats": (lambda d: d.update(agents=2), "agents: Input should be greater"),
    "nine seats": (lambda d: d.update(agents=9), "agents: Input should be less"),
    "seats in words": (lambda d: d.update(agents="3"), "agents: Input should be a valid integer"),
    "capitals in an id": (lambda d: d.update(id="One"), "id: String should match"),
    "line feed after an id": (lambda d: d.update(id="one\n"), "id: String should match"),
    "long id": (lambda d: d.update(id="a" * 41), "id: String should match"),
    "blank brief": (lambda d: d.update(brief="  "), "brief: String should match"),
    "key is no option": (lambda d: d.update(key="cellar"), "key and decoy must be two of the options"),
    "decoy is the key": (lambda d: d.update(decoy="attic"), "key and decoy must be two of the options"),
    "two options of one id": (lambda d: d["options"][0].update(id="attic"), "two options are called attic"),
    "two labels alike": (lambda d: d["options"][0].update(label="the ATTIC roll "), "two labels are called the attic roll"),
    "two facts of one id": (lambda d: d["facts"][0].update(id="s2"), "two facts are called s2"),
    "two rules of one id": (lambda d: d["rules"][0].update(id="r2"), "two rules are called r2"),
    "certain prior": (lambda d: d["atoms"]["fogged"].update(prior=1), "atoms.fogged.prior: Input should be less"),
    "prior of a derived atom": (lambda d: d["atoms"]["fogged"].update(derived=True), "a derived atom follows from its rules"),
    "rule without a head": (lambda d: d["rules"][0].pop("out"), "rule r1 must have either out or then"),
    "rule without a body": (lambda d: d["rules"][0].update(when=[]), "rules.0.when: Tuple should have at least 1"),
    "rule for a base atom": (
        lambda d: d["rules"].append({"id": "t", "when": ["fogged"], "then": "hot_car"}),
        "derived atom hot",
    ),
    "rule from nothing known": (lambda d: d["rules"][0].update(when=["cold"]), "rule r1 names atom cold"),
    "rule for no option": (lambda d: d["rules"][0].update(out="cellar"), "rule r1 names option cellar"),
    "negated body of a then rule": (lambda d: d["rules"][0].update(when=["!fogged"], out=None, then="x"), "must be positive"),
    "circle": (
        lambda d: (
            d["atoms"].update({one: {"derived": True, "gloss": one} for one in ("x", "y")}),
            d["rules"].extend({"id": a + b, "when": [a], "then": b} for a, b in ("xy", "yx")),
        ),
        "then rules go in a circle",
    ),
    "fact asserts nothing known": (lambda d: d["facts"][3].update(asserts=["!cold"]), "fact u1 names atom cold"),
    "fact asserts twice": (lambda d: d["facts"][3].update(asserts=["fogged"] * 2), "facts.3: asserts repeats an entry"),
    "fact about no option": (lambda d: d["facts"][3].update(about=["cellar"]), "fact u1 names option cellar"),
    "weight of no option": (lambda d: d["facts"][3].update(weights={"cellar": 1}), "fact u1 names option cellar"),
    "half a weight": (lambda d: d["facts"][3].update(weights={"attic": 0.5}), "weights.attic: Input should be a valid integer"),
    "holder is no seat": (lambda d: d["facts"][3].update(holders=[4]), "fact u1 names seat 4"),
    "holder twice": (lambda d: d["facts"][3].update(holders=[1, 1]), "holders of u1 repeats"),
    "holder of a shared fact": (lambda d: d["facts"][0].update(holders=[1]), "s1 is shared"),
    "cue of nothing": (lambda d: d["facts"][3].update(cues=[[]]), "facts.3.cues: a cue without a part that must occur"),
    "cue of what must not occur": (
        lambda d: d["facts"][3].update(cues=[["!lid"]]),
        "facts.3.cues: a cue without a part that must",
    ),
    "empty alternative": (
        lambda d: d["facts"][3].update(cues=[["lid|"]]),
        "facts.3.cues: an alternative of the cue 'lid|' is empty",
    ),
    "cue of blanks": (lambda d: d["facts"][3].update(cues=[[" "]]), "facts.3.cues.0.0: String should match"),
    "other scope": (lambda d: d["facts"][3].update(scope="secret"), "facts.3.scope: Input should be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_scenario_is_refused(case: str, tmp_path: Path) -> None:
    """A file that cannot be read is refused with its name, the field and what is wrong."""
    change, said = WRONG[case]
    document = copy.deepcopy(DOCUMENT)
    change(document)
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(ValueError) as raised:
        read_scenario(path)

    assert str(raised.value).startswith(f"{path}: ")
    assert said in str(raised.value)


def test_scenario_file_is_stable(tmp_path: Path) -> None:
    """What is written reads as the same scenario and writes as the same text, one fact a line."""
    path = tmp_path / "scenario.json"
    extra = {"origin": {"kind": "written"}, "difficulty": "easy"}
    for scenario in (SCENARIO, Scenario.model_validate(DOCUMENT | extra), *map(by_chance, range(20))):
        path.write_text(scenario.to_json(), encoding="utf-8")

        assert read_scenario(path) == scenario
        assert read_scenario(path).to_json() == scenario.to_json()
        lines = scenario.to_json().splitlines()
        assert sum('"scope"' in line for line in lines) == len(scenario.facts)


def test_scenario_cannot_be_changed() -> None:
    """A scenario is frozen: what one session does to it no other sees."""
    with pytest.raises(ValueError, match="frozen"):
        SCENARIO.agents = 4  # type: ignore[misc]


def test_hands_and_scopes() -> None:
    """A seat's hand is what it holds of private facts and noise, whoever else holds it, in the file's order."""
    assert [SCENARIO.hand(seat) for seat in SCENARIO.seats] == [("u1", "u4", "n1"), ("u2", "n2"), ("u2", "u3", "n3")]
    assert SCENARIO.of_scope("shared") == ("s1", "s2", "s3")
    assert SCENARIO.label("attic") == "The attic roll"
