"""The three worked examples of the specification: what the prototype says of exclusions, impressions and scripted groups.

The prototype is run from where it lies, as a witness that shares no code with ours. Its proofs and its beliefs are of scenarios
with one deal, which nobody proves any more.
"""

from __future__ import annotations

import os
import random
import re
import runpy
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from oracles.hidden_profile.groups import POLICIES, Policy, build_coin_group, build_group
from oracles.hidden_profile.session import play_session
from tests.worlds.hidden_profile.film import subsets
from worlds.hidden_profile.rules.scenario import read_scenario
from worlds.hidden_profile.rules.worlds import WorldTable, option_impressions, tabulate

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


def coin_figures(table: WorldTable) -> Iterator[float]:
    """The mean accuracies over all throws of the coins, for each q: average, majority, grounded."""
    agents = table.scenario.agents
    for q in map(Fraction, QS):
        total = [Fraction(0)] * 3
        for throw in product((False, True), repeat=agents):
            chance = q ** sum(throw) * (1 - q) ** (agents - sum(throw))
            found = play_session(table, build_coin_group(throw))
            figures = (found.average, found.majority, found.grounded)
            total = [before + chance * one for before, one in zip(total, figures, strict=True)]
        yield from map(float, total)


def group_lines(table: WorldTable) -> Iterator[str]:
    """The scripted groups as the prototype prints them, in the order of seats that its seed 7 gives."""
    agents = table.scenario.agents
    order = list(range(1, agents + 1))
    random.Random(f"{table.scenario.id}|7|deal").shuffle(order)
    groups: dict[str, tuple[Policy, ...]] = {
        "truthful pooler": build_group("pool", agents),
        "shared-only talker": build_group("shared", agents),
        "silent": build_group("silent", agents),
        "conformist": build_group("conform", agents),
        "contrarian": build_group("contra", agents),
        "one withholder (agent 1)": build_group("withhold", agents),
        "one pooler, rest conform": (POLICIES["pool"], *(POLICIES["conform"],) * (agents - 1)),
    }
    for name, policies in groups.items():
        found = play_session(table, policies, order=order)
        yield (
            f"{name:26} avg {float(found.average):.3f} majority {int(found.majority)} "
            f"integration {float(found.integration or 0):.2f} first consensus round {found.first_consensus}"
        )


@pytest.mark.parametrize("name", NAMES)
def test_groups_score_what_is_recorded(examples: Path, name: str) -> None:
    """Scripted groups are the recorded ones line by line, the accuracies of coins to their last digit."""
    table = tabulate(read_scenario(examples / f"{name}.json"))
    lines = recorded(examples, name)
    ours = [line.strip() for line in group_lines(table)]
    coins = [float(one) for line in lines if line.startswith("q=") for one in re.findall(r"\d\.\d{3}", line)]
    by_elimination = [one for place in range(0, len(coins), 6) for one in coins[place : place + 3]]

    assert [line for line in lines if line in ours] == ours
    assert len(coins) == 36
    assert list(coin_figures(table)) == pytest.approx(by_elimination, abs=0.000501), "the prototype rounds 9/80 down"


@pytest.mark.parametrize("name", NAMES)
def test_prototype_agrees_on_every_subset(examples: Path, name: str) -> None:
    """With every subset of facts exclusion and surface are the prototype's; expected accuracies are to 1e-12."""
    path = examples / f"{name}.json"
    scenario = read_scenario(path)
    table = tabulate(scenario)
    prototype = runpy.run_path(str(examples / "prover_sketch.py"))
    theirs = prototype["Scenario"](prototype["json"].loads(path.read_text(encoding="utf-8")))
    facts = [*scenario.of_scope("private"), *scenario.of_scope("shared")[:2], *scenario.of_scope("noise")[:1]]
    for known in subsets(facts):
        assert table.excluded_options(known) == theirs.excluded(set(known))
        assert option_impressions(scenario, known) == theirs.surface(set(known))
    figures = [one for q in QS for one in theirs.expected(float(q), theirs.vote_elim)]
    assert list(coin_figures(table)) == pytest.approx(figures, abs=1e-12)
