"""A small certified scenario of our own, scenarios by chance, and a listing of worlds that shares no code with the rules.

`SCENARIO` has what the worked examples lack: a negated literal, two facts with one seat, one fact with two seats. Grade A.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection
from typing import Any

from worlds.hidden_profile.rules.scenario import Scenario

BEACH, WEDDING, ATTIC = "beach", "wedding", "attic"


def fact(identity: str, scope: str, holders: list[int], text: str, **more: Any) -> dict[str, Any]:
    """A fact as a file holds it."""
    return {"id": identity, "scope": scope, "holders": holders, "text": text, **more}


DOCUMENT: dict[str, Any] = {
    "schema": "hidden-profile/1",
    "id": "one_roll_of_film",
    "title": "One roll of film",
    "domain": "photography",
    "agents": 3,
    "promise": "exactly_one_viable",
    "brief": "There is developer left for one roll. Heat ruins a roll in an open tin; light ruins one that was not wound back.",
    "options": [
        {"id": BEACH, "label": "The beach roll"},
        {"id": WEDDING, "label": "The wedding roll"},
        {"id": ATTIC, "label": "The attic roll"},
    ],
    "key": ATTIC,
    "decoy": BEACH,
    "atoms": {
        "hot_car": {"prior": 0.1, "gloss": "the beach roll lay in a hot car"},
        "tin_open": {"prior": 0.2, "gloss": "its tin was open"},
        "door_opened": {"prior": 0.5, "gloss": "the wedding camera was opened"},
        "rewound": {"prior": 0.4, "gloss": "the wedding roll was wound back before"},
        "fogged": {"prior": 0.8, "gloss": "the attic roll is fogged with age"},
    },
    "rules": [
        {"id": "r1", "when": ["hot_car", "tin_open"], "out": BEACH},
        {"id": "r2", "when": ["door_opened", "!rewound"], "out": WEDDING},
        {"id": "r3", "when": ["fogged"], "out": ATTIC},
    ],
    "facts": [
        fact("s1", "shared", [], "Everybody is in the pictures from the beach.", weights={BEACH: 4}, about=[BEACH]),
        fact("s2", "shared", [], "The wedding was in May, in good light.", weights={WEDDING: 2}, about=[WEDDING]),
        fact("s3", "shared", [], "The attic roll is older than any of us.", weights={ATTIC: -2}, about=[ATTIC]),
        fact(
            "u1",
            "private",
            [1],
            "I left the cool box with the beach film in the car all of August.",
            asserts=["hot_car"],
            weights={BEACH: -1},
            about=[BEACH],
            cues=[["cool box"], ["august"]],
        ),
        fact(
            "u2",
            "private",
            [2, 3],
            "The lid of the beach tin has been in my sewing drawer since Easter.",
            asserts=["tin_open"],
            about=[BEACH],
            cues=[["lid"], ["sewing drawer"]],
        ),
        fact(
            "u3",
            "private",
            [3],
            "My nephew opened the back of the wedding camera to look for the bird.",
            asserts=["door_opened"],
            about=[WEDDING],
            cues=[["nephew"], ["looking for the bird"]],
        ),
        fact(
            "u4",
            "private",
            [1],
            "The wedding camera's counter stood at nineteen when I put it away, and it stood there when I sold it.",
            asserts=["!rewound"],
            about=[WEDDING],
            cues=[["nineteen"], ["19"], ["counter"]],
        ),
        fact("n1", "noise", [1], "The attic smells of apples.", about=[ATTIC], cues=[["apples"]]),
        fact("n2", "noise", [2], "The attic stairs have been painted green.", about=[ATTIC], cues=[["painted"]]),
        fact("n3", "noise", [3], "Our developer comes in a brown bottle.", cues=[["brown bottle"]]),
    ],
}
SCENARIO = Scenario.model_validate(DOCUMENT)


def changed(identity: str, **changes: Any) -> Scenario:
    """The scenario with one fact changed."""
    facts = [one | changes if one["id"] == identity else one for one in DOCUMENT["facts"]]
    return Scenario.model_validate(DOCUMENT | {"facts": facts})


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
    """Every world of a scenario in a list, with floats for chances: slow, plain, and by other means."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.worlds = [self._world(values) for values in itertools.product((False, True), repeat=len(scenario.base))]

    def _world(self, values: tuple[bool, ...]) -> tuple[dict[str, bool], float, set[str]]:
        truth = dict.fromkeys(self.scenario.atoms, False) | dict(zip(self.scenario.base, values, strict=True))
        chance = 1.0
        for name in self.scenario.base:
            prior = self.scenario.atoms[name].prior or 0.0
            chance *= prior if truth[name] else 1 - prior
        for _ in self.scenario.atoms:
            for rule in self.scenario.rules:
                if rule.then is not None and self._holds(truth, rule.when):
                    truth[rule.then] = True
        out = {rule.out for rule in self.scenario.rules if rule.out is not None and self._holds(truth, rule.when)}
        return truth, chance, out

    @staticmethod
    def _holds(truth: dict[str, bool], literals: Collection[str]) -> bool:
        return all(truth[one.lstrip("!")] != one.startswith("!") for one in literals)

    def _left(self, known: Collection[str]) -> list[tuple[float, set[str]]]:
        facts = [one for one in self.scenario.facts if one.id in known]
        return [(p, out) for truth, p, out in self.worlds if all(self._holds(truth, one.asserts) for one in facts)]

    def excluded(self, known: Collection[str]) -> set[str]:
        """The options that are out in all worlds left."""
        left = self._left(known)
        return set.intersection(*(out for _, out in left)) if left else set()

    def belief(self, known: Collection[str]) -> dict[str, float] | None:
        """Chances of each option, given the promise."""
        options = set(self.scenario.option_ids)
        kept = [(p, options - out) for p, out in self._left(known) if len(options - out) == 1]
        total = sum(p for p, _ in kept)
        return {one: sum(p for p, left in kept if one in left) / total for one in self.scenario.option_ids} if kept else None


def subsets(names: Collection[str]) -> list[tuple[str, ...]]:
    """All subsets, small ones first."""
    return [known for size in range(len(names) + 1) for known in itertools.combinations(names, size)]
