"""A small scenario with one deal, scenarios by chance, and a listing of worlds that shares no code with the rules.

`SCENARIO` has what the worked examples lack: a negated literal, two facts with one seat, one fact with two seats.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

from worlds.hidden_profile.rules.scenario import Scenario

BEACH, WEDDING, ATTIC = "beach", "wedding", "attic"


def fact(identity: str, scope: str, holders: list[int], text: str, **more: Any) -> dict[str, Any]:
    """A fact as a file holds it."""
    return {"id": identity, "scope": scope, "holders": holders, "text": text, **more}


DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("film.json").read_text(encoding="utf-8"))
DOCUMENT["facts"] = [{"holders": [], "asserts": []} | one for one in DOCUMENT["facts"]]
SCENARIO = Scenario.model_validate(DOCUMENT)
PROVED = {"scenario": SCENARIO.id, "certified": True}
"""What the certificate of a deck says, for measures that ask for one."""


def changed(identity: str, **changes: Any) -> Scenario:
    """The scenario with one fact changed."""
    facts = [one | changes if one["id"] == identity else one for one in DOCUMENT["facts"]]
    return Scenario.model_validate(DOCUMENT | {"facts": facts})


def called_proved(folder: Path) -> Path:
    """A task's folder whose certificate says what that of a deck says, for what is measured of certified tasks alone."""
    path = folder / "tests" / "oracle.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"certified": True}), encoding="utf-8")
    return folder


def by_chance(seed: int) -> Scenario:
    """A scenario of random logic: negated literals, chains, options without rules, contradictions; hardly ever any good."""
    draw = random.Random(seed)
    base = [f"b{place}" for place in range(draw.randint(2, 6))]
    derived = [f"d{place}" for place in range(draw.randint(0, 3))]
    options = [f"o{place}" for place in range(draw.randint(2, 4))]

    def literals(pool: list[str], most: int, *, positive: bool = False) -> list[str]:
        names = draw.sample(pool, draw.randint(1, min(most, len(pool))))
        return [name if positive or draw.random() < 0.7 else f"!{name}" for name in names]

    rules = [
        {"id": f"t{place}_{again}", "when": literals([*base, *derived[:place]], 2, positive=True), "then": name}
        for place, name in enumerate(derived)
        for again in range(draw.randint(0, 2))
    ]
    rules += [
        {"id": f"r{place}", "when": literals([*base, *derived], 3), "out": draw.choice(options)}
        for place in range(draw.randint(1, 6))
    ]
    notes = []
    for place in range(draw.randint(3, 8)):
        scope = ("shared", "private", "noise")[place] if place < 3 else draw.choice(("shared", "private", "private", "noise"))
        notes.append(
            fact(
                f"f{place}",
                scope,
                [] if scope == "shared" else sorted(draw.sample([1, 2, 3], draw.randint(1, 2))),
                f"Note {place} says so.",
                asserts=literals([*base, *derived], 2) if draw.random() < 0.7 else [],
                weights={draw.choice(options): draw.randint(-3, 4)},
                cues=[[f"note {place}"]],
            )
        )
    atoms = {name: {"prior": draw.randint(1, 19) / 20, "gloss": name} for name in base}
    atoms |= {name: {"derived": True, "gloss": name} for name in derived}
    chosen = {"options": [{"id": one, "label": one} for one in options], "key": options[0], "decoy": options[1]}
    return Scenario.model_validate(DOCUMENT | chosen | {"atoms": atoms, "rules": rules, "facts": notes})


class Listed:
    """Every world of a scenario in a list: slow, plain, and by other means."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.worlds = [self._world(values) for values in itertools.product((False, True), repeat=len(scenario.base_atoms))]

    def _world(self, values: tuple[bool, ...]) -> tuple[dict[str, bool], set[str]]:
        truth = dict.fromkeys(self.scenario.atoms, False) | dict(zip(self.scenario.base_atoms, values, strict=True))
        for _ in self.scenario.atoms:
            for rule in self.scenario.rules:
                if rule.then is not None and self._holds(truth, rule.when):
                    truth[rule.then] = True
        out = {rule.out for rule in self.scenario.rules if rule.out is not None and self._holds(truth, rule.when)}
        return truth, out

    @staticmethod
    def _holds(truth: dict[str, bool], literals: Collection[str]) -> bool:
        return all(truth[one.lstrip("!")] != one.startswith("!") for one in literals)

    def _left(self, known: Collection[str]) -> list[set[str]]:
        facts = [one for one in self.scenario.facts if one.id in known]
        return [out for truth, out in self.worlds if all(self._holds(truth, one.asserts) for one in facts)]

    def excluded(self, known: Collection[str]) -> set[str]:
        """The options that are out in all worlds left."""
        left = self._left(known)
        return set.intersection(*left) if left else set()

    def settled(self, known: Collection[str]) -> str | None:
        """The option that is the only one not out, in all worlds left in which there is one alone."""
        options = set(self.scenario.option_ids)
        alone = {min(options - out) for out in self._left(known) if len(options - out) == 1}
        return min(alone) if len(alone) == 1 else None


def subsets(names: Collection[str]) -> list[tuple[str, ...]]:
    """All subsets, small ones first."""
    return [known for size in range(len(names) + 1) for known in itertools.combinations(names, size)]
