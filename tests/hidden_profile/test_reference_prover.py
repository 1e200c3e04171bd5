"""The three worked examples of the specification: every figure of the prototype's output, and its beliefs to 1e-12.

The prototype is run from where it lies, as a third witness that shares no code with ours.
"""

from __future__ import annotations

import os
import random
import re
import runpy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from oracles.hidden_profile import expected
from oracles.hidden_profile.certificate import certify
from oracles.hidden_profile.groups import POLICIES, Policy, group
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.session import play
from oracles.hidden_profile.witnesses import disagreements
from tests.hidden_profile.film import subsets
from worlds.hidden_profile.rules.scenario import Scenario, read_scenario
from worlds.hidden_profile.rules.scores import belief, eliminator, excluded, listener, surface
from worlds.hidden_profile.rules.worlds import WorldTable, tabulate

pytestmark = pytest.mark.reference

NAMES = ("quartet_recording_day", "glasshouse_three", "autumn_flour")
QS = ("0", "0.25", "0.5", "0.75", "0.9", "1")


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of the worked examples, which lies beside that of reference cases."""
    folder = os.environ.get("PARLEY_REFERENCE")
    assert folder, "set PARLEY_REFERENCE to the folder of reference cases"
    return Path(folder).parent / "examples" / "hidden-profile"


def recorded(examples: Path, name: str) -> list[str]:
    """The lines of the prototype's output that are about one example, without blanks around them."""
    text = (examples / "prover_output.txt").read_text(encoding="utf-8")
    section = text.partition(f"== {name} ")[2].partition("\n== ")[0].partition("\nfamily means")[0]
    return [line.strip() for line in section.splitlines()[1:] if line.strip()]


def table_lines(scenario: Scenario, certificate: dict[str, Any]) -> Iterator[str]:
    """The elimination table as the prototype prints it."""
    yield "".join(f"{option:>10}" for option in scenario.option_ids) + "   out after cumulative disclosure | ideal belief"
    for row in certificate["table"]:
        cells = [
            (f"{weight:+d}" if (weight := row["weights"].get(option, 0)) else ".") + "*" * (option in row["helps_exclude"])
            for option in scenario.option_ids
        ]
        chances = " ".join(f"{option}={chance:.3f}" for option, chance in row["belief"].items())
        out = ",".join(row["excluded"]) or "-"
        yield f"{row['fact']:4}" + "".join(f"{cell:>10}" for cell in cells) + f"   {out} | {chances}"


def coin_figures(table: WorldTable) -> Iterator[float]:
    """The expected accuracies in the order in which the prototype prints them."""
    for q in QS:
        for rule in (eliminator, listener):
            found = expected.coin(table, Fraction(q), rule)
            yield from (float(value or 0) for value in (found.average, found.majority, found.grounded))


def group_lines(table: WorldTable) -> Iterator[str]:
    """The scripted groups as the prototype prints them, in the order of seats that its seed 7 gives."""
    agents = table.scenario.agents
    order = list(range(1, agents + 1))
    random.Random(f"{table.scenario.id}|7|deal").shuffle(order)
    groups: dict[str, tuple[Policy, ...]] = {
        "truthful pooler": group("pool", agents),
        "shared-only talker": group("shared", agents),
        "silent": group("silent", agents),
        "conformist": group("conform", agents),
        "contrarian": group("contra", agents),
        "one withholder (agent 1)": group("withhold", agents),
        "one pooler, rest conform": (POLICIES["pool"], *(POLICIES["conform"],) * (agents - 1)),
    }
    for name, policies in groups.items():
        found = play(table, policies, order=order)
        yield (
            f"{name:26} avg {float(found.average):.3f} majority {int(found.majority)} "
            f"integration {float(found.integration or 0):.2f} first consensus round {found.first_consensus}"
        )


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_reproduced(examples: Path, name: str) -> None:
    """Table, leave-one-out and scripted groups are the recorded ones line by line, expected accuracies to their last digit."""
    scenario = read_scenario(examples / f"{name}.json")
    certificate = certify(scenario).document()
    lines = recorded(examples, name)
    left_out = certificate["leave_one_out"]
    summary = (
        f"leave-one-out belief in key: { ({one: round(row['belief'], 3) for one, row in left_out.items()}) }  "
        f"eliminator votes: { ({one: row['eliminator'] for one, row in left_out.items()}) }  "
        f"bayes votes: { ({one: row['listener'] for one, row in left_out.items()}) }"
    )
    table = tabulate(scenario)
    ours = [*table_lines(scenario, certificate), summary, *group_lines(table)]
    apart = ("PASS", "grade", "cross-check", "expected accuracy", "mutant:", "q=")
    coins = [float(one) for line in lines if line.startswith("q=") for one in re.findall(r"\d\.\d{3}", line)]

    assert [line.strip() for line in ours] == [line for line in lines if not line.startswith(apart)]
    assert len(coins) == 36
    assert list(coin_figures(table)) == pytest.approx(coins, abs=0.000501), "the prototype sums floats and rounds 9/80 down"


@pytest.mark.parametrize("name", NAMES)
def test_checks_and_grade_are_those_recorded(examples: Path, name: str) -> None:
    """Checks, grade and lucky pieces are those recorded, and both witnesses agree."""
    scenario = read_scenario(examples / f"{name}.json")
    proof = prove(scenario)
    lines = recorded(examples, name)
    grade = next(line for line in lines if line.startswith("grade"))

    assert [one.name for one in proof.checks if one.name != "FC"] == [line.split()[1] for line in lines if line[:4] == "PASS"]
    assert proof.certified
    assert grade.split()[1] == proof.grade
    assert re.findall(r"without: ([\w,]+)", grade) == ([",".join(proof.lucky)] if proof.lucky else [])
    assert disagreements(scenario) == []


@pytest.mark.parametrize("name", NAMES)
def test_mutants_are_rejected_as_recorded(examples: Path, name: str) -> None:
    """Each mutant fails exactly the checks that the prototype's mutant fails, and both witnesses agree on it."""
    found = [mutant.scenario for mutant in mutants(read_scenario(examples / f"{name}.json"))]
    rejected = [line.partition("rejected by ")[2] for line in recorded(examples, name) if line.startswith("mutant:")]

    assert [",".join(prove(scenario).failed) for scenario in found] == rejected
    assert all(disagreements(scenario) == [] for scenario in found)


@pytest.mark.parametrize("name", NAMES)
def test_prototype_agrees_on_every_subset(examples: Path, name: str) -> None:
    """With every subset of facts exclusion and surface are the prototype's; beliefs and expected accuracies are to 1e-12."""
    path = examples / f"{name}.json"
    scenario = read_scenario(path)
    table = tabulate(scenario)
    prototype = runpy.run_path(str(examples / "prover_sketch.py"))
    theirs = prototype["Scenario"](prototype["json"].loads(path.read_text(encoding="utf-8")))
    facts = [*scenario.of_scope("private"), *scenario.of_scope("shared")[:2], *scenario.of_scope("noise")[:1]]
    for known in subsets(facts):
        chances, other = belief(table, known), theirs.belief(set(known))
        assert chances is not None
        assert max(abs(float(chances[option]) - other[option]) for option in chances) < 1e-12
        assert excluded(table, known) == theirs.excluded(set(known))
        assert surface(scenario, known) == theirs.surface(set(known))
    rules = (theirs.vote_elim, theirs.vote_bayes)
    figures = [one for q in QS for rule in rules for one in theirs.expected(float(q), rule)]
    assert list(coin_figures(table)) == pytest.approx(figures, abs=1e-12)
