"""Benchmark of proving hidden profiles: table and solver on the same decks, mutants, deals and whole certificates.

Contenders alternate on the same decks within one run, because timings on a shared machine are meaningful only as ratios. Decks
are skeletons, one of each shape and size.

    python benchmarks/prover.py [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from oracles.hidden_profile.certificate import certify_deck
from oracles.hidden_profile.dealing import SHAPES, find_deals, search_decks
from oracles.hidden_profile.deck_mutants import make_deck_mutants
from oracles.hidden_profile.decks import prove_deck
from oracles.hidden_profile.second import FrameSolver
from worlds.hidden_profile.rules.deck import Deck
from worlds.hidden_profile.rules.worlds import worlds_of


def decks() -> list[Deck]:
    """Return one deck of each shape and size."""
    return [search_decks(name, people)[0] for name, shape in SHAPES.items() for people in shape.people]


def contenders(deck: Deck) -> dict[str, Callable[[], Any]]:
    """Return the calls to be timed, by name."""
    return {
        "table": lambda: worlds_of(deck),
        "prove by table": lambda: prove_deck(deck),
        "prove by solver": lambda: prove_deck(deck, FrameSolver(deck)),
        "certificate": lambda: certify_deck(deck).document(),
        "eleven mutants by table": lambda: [prove_deck(mutant.deck) for mutant in make_deck_mutants(deck)],
        "find deals": lambda: find_deals(deck),
    }


def measure(rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each contender over decks and rounds."""
    times: dict[str, list[float]] = {}
    made = decks()
    for _ in range(rounds):
        for deck in made:
            for name, work in contenders(deck).items():
                started = time.perf_counter()
                work()
                times.setdefault(name, []).append(1000 * (time.perf_counter() - started))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Parse the command line, measure and print."""
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
