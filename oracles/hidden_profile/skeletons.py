"""Shapes for authors: scenarios of anonymous atoms that pass every check, to be dressed in prose by a person.

A shape is the clauses that put the other options out, the decoy's first. Every literal of a clause becomes one private fact;
they are dealt round the table, in several ways; where there are fewer facts than seats, seats share one. Notes of noise touch
the key as often as clues touch the option that they touch least. Priors and impressions come from small grids; what the prover
certifies is kept, in the order of the grids. No chance is involved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from oracles.hidden_profile.logic import Exhaustive
from oracles.hidden_profile.prover import promising, prove
from worlds.hidden_profile.rules.frame import atom_of
from worlds.hidden_profile.rules.scenario import Scenario

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """How the other options are put out; literals are of base atoms `a1`.. and derived atoms `d1`.."""

    clauses: tuple[tuple[str, ...], ...]
    """The decoy's first, then one for each option that is neither decoy nor key."""

    derives: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Literals, and the atom that follows from them."""

    doubted: bool = False
    """Whether the options that are neither decoy nor key have a standing doubt as well, which nobody ever clears up.

    Without it, one atom that two clauses share is forced by the promise: either both options are out, or both are in.
    """

    @property
    def options(self) -> int:
        """K: an option for each clause, and the key."""
        return len(self.clauses) + 1

    @property
    def literals(self) -> tuple[str, ...]:
        """The literals of base atoms that clauses rest on, those of the decoy first; each is one private fact."""
        base_literals: dict[str, None] = {}
        for clause in self.clauses:
            waiting = list(clause)
            while waiting:
                literal = waiting.pop(0)
                whens = [when for when, then in self.derives if then == literal]
                waiting = [*(one for when in whens for one in when), *waiting]
                if not whens:
                    base_literals[literal] = None
        return tuple(base_literals)


def widths(*counts: int, negated: bool = False) -> Shape:
    """Plain clauses of so many atoms each; `negated` turns the last literal of the last clause round."""
    clauses = []
    used = 0
    for count in counts:
        clauses.append(tuple(f"a{used + place + 1}" for place in range(count)))
        used += count
    if negated:
        clauses[-1] = (*clauses[-1][:-1], f"!{clauses[-1][-1]}")
    return Shape(tuple(clauses))


SHAPES: dict[str, Shape] = {
    "2+2": widths(2, 2),
    "2+2+1": widths(2, 2, 1),
    "3+1": widths(3, 1),
    "3+2": widths(3, 2),
    "2+2+2": widths(2, 2, 2),
    "2+2+1+1": widths(2, 2, 1, 1),
    "2+2+2+2": widths(2, 2, 2, 2),
    "2+2+2+1+1": widths(2, 2, 2, 1, 1),
    "negated": widths(2, 2, negated=True),
    "shared": Shape((("a1", "d1"), ("a3", "d2")), ((("a2",), "d1"), (("a2",), "d2")), doubted=True),
    "three-hop": Shape((("d2", "a3"), ("a4",)), ((("a1",), "d1"), (("d1", "a2"), "d2"))),
}
"""Shapes by name; the numbers are the widths of the clauses, the decoy's first."""

_PRIORS = ((0.1, 0.2, 0.05), (0.5, 0.7), (0.7, 0.85))
"""Of atoms against the decoy, of atoms against others, and of the standing doubt about the key."""

_SCORES = ((5, 4, 7), (2, -2), (-3, 0), (1, 0))
"""Of the decoy, the other options, the key; and what a private fact takes from the option that it speaks against."""


def search(shape: Shape, agents: int, grade: str | None = None) -> Iterator[Scenario]:
    """Every certified scenario of a shape on the grids; of one grade where one is wanted; possibly none."""
    for deal, priors, impressions in product(_deals(shape, agents), product(*_PRIORS), product(*_SCORES)):
        scenario = _build(shape, agents, deal, priors, impressions)
        if not promising(Exhaustive(scenario)):
            continue
        proof = prove(scenario)
        if proof.certified and grade in {None, proof.grade}:
            yield scenario


def _deals(shape: Shape, agents: int) -> list[list[list[int]]]:
    """Ways to deal: for each private fact the seats that hold it, all alike but for where they begin."""
    count = len(shape.literals)
    if count <= agents:
        return [[[seat + 1 for seat in range(agents) if seat % count == fact] for fact in range(count)]]
    return [[[(fact * step) % agents + 1] for fact in range(count)] for step in range(1, agents)]


def _build(
    shape: Shape, agents: int, deal: list[list[int]], priors: tuple[float, ...], impressions: tuple[int, ...]
) -> Scenario:
    names = ["o1", *(f"o{place}" for place in range(3, shape.options + 1))]
    speaks = {one: [name for name, rests in zip(names, _rests(shape), strict=True) if one in rests] for one in shape.literals}
    least = min(sum(name in touched for touched in speaks.values()) for name in names)
    decoy, others, key, dent = impressions
    score = {"o1": decoy, "o2": key, **dict.fromkeys(names[1:], others)}
    return Scenario.model_validate(
        {
            "schema": "hidden-profile/1",
            "id": "skeleton",
            "title": "Skeleton",
            "domain": "none",
            "agents": agents,
            "promise": "exactly_one_viable",
            "brief": "Exactly one option will do.",
            "options": [{"id": f"o{place}", "label": f"Option {place}"} for place in range(1, shape.options + 1)],
            "key": "o2",
            "decoy": "o1",
            "atoms": _atoms(shape, speaks, priors),
            "rules": _rules(shape, names),
            "facts": [
                *(_fact(f"s{place}", "shared", [], weights={o: w}, about=[o]) for place, (o, w) in enumerate(score.items(), 1)),
                *(
                    _fact(f"u{place}", "private", deal[place - 1], [one], dict.fromkeys(speaks[one][:1], -dent), speaks[one])
                    for place, one in enumerate(shape.literals, 1)
                ),
                *(_fact(f"n{seat}", "noise", [seat], about=["o2"] if seat <= least else []) for seat in range(1, agents + 1)),
            ],
        }
    )


def _rests(shape: Shape) -> list[tuple[str, ...]]:
    """For each clause, the literals of base atoms that it rests on."""
    return [Shape((clause,), shape.derives).literals for clause in shape.clauses]


def _atoms(shape: Shape, speaks: dict[str, list[str]], priors: tuple[float, ...]) -> Json:
    against_decoy, against_others, doubt = priors
    chances = {one: against_decoy if "o1" in names else against_others for one, names in speaks.items()}
    base = {
        atom_of(one): {"prior": chance if atom_of(one) == one else round(1 - chance, 6), "gloss": atom_of(one)}
        for one, chance in chances.items()
    }
    derived = {name: {"derived": True, "gloss": name} for _, name in shape.derives}
    doubts = {f"doubt_{name}": {"prior": doubt, "gloss": f"doubt_{name}"} for name in _doubtful(shape)}
    return {**base, **doubts, **derived}


def _rules(shape: Shape, names: list[str]) -> list[Json]:
    chains = [{"id": f"t{place}", "when": when, "then": then} for place, (when, then) in enumerate(shape.derives, 1)]
    clauses = [
        {"id": f"r{place}", "when": clause, "out": name}
        for place, (clause, name) in enumerate(zip(shape.clauses, names, strict=True), 1)
    ]
    doubts = [{"id": f"doubt_{name}", "when": [f"doubt_{name}"], "out": name} for name in _doubtful(shape)]
    return [*chains, *clauses, *doubts]


def _doubtful(shape: Shape) -> list[str]:
    """The options about which a doubt stands: the key, and the others beside the decoy in a shape that says so."""
    return ["o2", *(f"o{place}" for place in range(3, shape.options + 1) if shape.doubted)]


def _fact(
    identity: str,
    scope: str,
    holders: list[int],
    asserts: list[str] | None = None,
    weights: dict[str, int] | None = None,
    about: list[str] | None = None,
) -> Json:
    """A fact that says its own name; weights of nothing are left out."""
    return {
        "id": identity,
        "scope": scope,
        "holders": holders,
        "text": f"Note {identity} here.",
        "asserts": asserts or [],
        "weights": {option: weight for option, weight in (weights or {}).items() if weight},
        "about": about or [],
        "cues": [] if scope == "shared" else [[f"note {identity} here"]],
    }
