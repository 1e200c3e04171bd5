"""What proving a hidden profile costs: table of worlds and solver on the same scenarios, mutants and whole certificates.

Contenders take turns on the same scenarios within one run, because timings on a shared machine only mean something as ratios.
Scenarios are skeletons of the shapes that authors use; `wide` is one with as many base atoms as a table of worlds holds.

    python benchmarks/prover.py [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from oracles.hidden_profile.certificate import certify
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.second import Solver
from oracles.hidden_profile.skeletons import SHAPES, search
from oracles.hidden_profile.witnesses import disagreements
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT, tabulate

SEATS = (4, 6, 8)


def scenarios() -> list[Scenario]:
    """One of each shape and size for which there is any."""
    return [one for shape in SHAPES.values() for agents in SEATS for one in [next(search(shape, agents), None)] if one]


def wide(scenario: Scenario) -> Scenario:
    """The scenario with atoms that doubt the key, up to the limit of a table."""
    document = scenario.model_dump(by_alias=True)
    for place in range(LIMIT - len(scenario.base)):
        document["atoms"][f"x{place}"] = {"prior": 0.5, "gloss": "one more doubt"}
        document["rules"] += ({"id": f"x{place}", "when": ["doubt_o2", f"x{place}"], "out": scenario.key},)
    return Scenario.model_validate(document)


def contenders(scenario: Scenario) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    large = wide(scenario)
    return {
        "table": lambda: tabulate(scenario),
        "prove by table": lambda: prove(scenario),
        "prove by solver": lambda: prove(scenario, Solver(scenario)),
        "certificate": lambda: certify(scenario).document(),
        "eight mutants by table": lambda: [prove(mutant.scenario) for mutant in mutants(scenario)],
        "both witnesses": lambda: disagreements(scenario),
        "wide, by table": lambda: prove(large),
        "wide, by solver": lambda: prove(large, Solver(large)),
    }


def measure(rounds: int) -> dict[str, float]:
    """Median milliseconds of each contender over scenarios and rounds."""
    times: dict[str, list[float]] = {}
    made = scenarios()
    for _ in range(rounds):
        for scenario in made:
            for name, work in contenders(scenario).items():
                started = time.perf_counter()
                work()
                times.setdefault(name, []).append(1000 * (time.perf_counter() - started))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(found))
        return
    for name, milliseconds in found.items():
        print(f"{name:24} {milliseconds:9.2f} ms   {milliseconds / found['prove by table']:8.2f} of proving by table")


if __name__ == "__main__":
    main()
