"""What a group decides about: options, and public rules over atoms that say which of them will do.

Two files are built on it: a scenario, in which each fact has one text and one option is right, and a deck, in which facts have
alternative texts and a deal chooses among them. What is refused here cannot be read at all; whether a readable file is any good
is for the prover to say, naming a check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StringConstraints, model_validator

from worlds.core.models import Strict

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
"""Names of scenarios, options, atoms, rules and facts."""

Lit = Annotated[str, StringConstraints(pattern=r"^!?[a-z0-9_]{1,40}$")]
"""A literal: an atom, or `!` and an atom."""

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""Words: anything but blanks only."""

Scope = Literal["shared", "private", "noise"]

Whose = Literal["own", "imported", "generated"]
ELSEWHERE: tuple[Whose, ...] = ("imported", "generated")
"""The kinds of origin that are no work of the suite's."""


class Choice(Strict):
    """One option that can be voted for."""

    id: Id
    label: Text


class Atom(Strict):
    """One yes-or-no matter of the world: a base atom may have a prior that nothing weighs, a derived one has rules."""

    prior: float | None = Field(default=None, gt=0, lt=1)
    derived: StrictBool = False
    gloss: Text

    @model_validator(mode="after")
    def _one_kind(self) -> Atom:
        if self.derived and self.prior is not None:
            raise ValueError("a derived atom follows from its rules, so it has no prior")
        return self


class PublicRule(Strict):
    """All literals of `when` together put an option out, or make a derived atom true."""

    id: Id
    when: tuple[Lit, ...] = Field(min_length=1)
    out: Id | None = None
    then: Id | None = None

    @model_validator(mode="after")
    def _one_head(self) -> PublicRule:
        if (self.out is None) == (self.then is None):
            raise ValueError(f"rule {self.id} must have either out or then")
        if self.then is not None and any(literal.startswith("!") for literal in self.when):
            raise ValueError(f"rule {self.id} derives an atom, so its literals must be positive")
        return self


class PointRule(Strict):
    """Points for atoms: an option is out where another, that no rule puts out, has as many points or more."""

    points: dict[Id, dict[Lit, StrictInt]]
    """Option -> literal -> the points that the option gets where the literal holds."""

    start: dict[Id, StrictInt] = {}
    """Option -> the points that it has in any case; so that no two can be level, as where the brief says who wins a draw."""


class Frame(Strict):
    """Options, atoms and rules: all that everybody is told, and what follows from it."""

    id: Id
    title: Text
    domain: Text
    agents: StrictInt = Field(ge=3, le=8)
    promise: Literal["exactly_one_viable"]
    brief: Text
    """What everybody reads; it carries every rule in plain words, and the promise."""

    options: tuple[Choice, ...] = Field(min_length=2)
    atoms: dict[Id, Atom]
    rules: tuple[PublicRule, ...]
    tally: PointRule | None = None
    difficulty: str | dict[str, Any] = {}
    """The knobs that the author turned, or a word for them all; nothing reads it but reports."""

    origin: dict[str, Any] = {}
    """Where the scenario comes from: a study, a generator and its parameters; no agent sees it."""

    @model_validator(mode="after")
    def _frame_is_consistent(self) -> Frame:
        known = set(self.option_ids)
        unique("options", self.option_ids)
        unique("labels", [option.label.strip().casefold() for option in self.options])
        unique("rules", [rule.id for rule in self.rules])
        for rule in self.rules:
            named(f"rule {rule.id}", rule.out and [rule.out], known, "option")
            named(f"rule {rule.id}", map(atom_of, rule.when), self.atoms, "atom")
            named(f"rule {rule.id}", rule.then and [rule.then], {n for n, a in self.atoms.items() if a.derived}, "derived atom")
        for option, points in (self.tally.points if self.tally else {}).items():
            named("the tally", [option], known, "option")
            named(f"the tally of {option}", map(atom_of, points), self.atoms, "atom")
        named("the tally's start", self.tally and self.tally.start, self.tally.points if self.tally else (), "option")
        _ = self.derived
        return self

    @property
    def doubted(self) -> bool:
        """Whether an option may be out for reasons that no rule tells, so that only excluding all others settles one."""
        return False

    @property
    def has_logic(self) -> bool:
        """Whether there is anything that could be proved of it: prose from elsewhere has no rules."""
        return bool(self.rules or self.tally)

    @property
    def whose(self) -> Whose:
        """Whose work it is, by its origin."""
        return next((one for one in ELSEWHERE if one == self.origin.get("kind")), "own")

    @property
    def asserted(self) -> Mapping[str, tuple[Lit, ...]]:
        """What each thing that can be known asserts, by its name."""
        raise NotImplementedError

    @property
    def seats(self) -> range:
        """The seats, 1 to N."""
        return range(1, self.agents + 1)

    @cached_property
    def option_ids(self) -> tuple[str, ...]:
        """The options' ids in the file's order."""
        return tuple(option.id for option in self.options)

    @cached_property
    def base(self) -> tuple[str, ...]:
        """The base atoms, those with a prior, in the file's order."""
        return tuple(name for name, atom in self.atoms.items() if not atom.derived)

    @cached_property
    def derived(self) -> tuple[str, ...]:
        """The derived atoms, each after those it follows from; raises ValueError where rules go in a circle."""
        needs: dict[str, set[str]] = {name: set() for name, atom in self.atoms.items() if atom.derived}
        for rule in self.rules:
            if rule.then is not None:
                needs[rule.then].update(name for name in rule.when if self.atoms[name].derived)
        try:
            return tuple(TopologicalSorter(needs).static_order())
        except CycleError as error:
            raise ValueError(f"then rules go in a circle: {' <- '.join(error.args[1])}") from None

    def label(self, option: str) -> str:
        """The words of an option; raises KeyError for none."""
        return {choice.id: choice.label for choice in self.options}[option]


def atom_of(literal: str) -> str:
    """The atom of a literal."""
    return literal.removeprefix("!")


def unique(what: str, names: Iterable[str]) -> None:
    """Raise ValueError for the first name that comes twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what} are called {name}")
        seen.add(name)


def named(where: str, names: Iterable[Any] | str | None, known: Iterable[Any], what: str) -> None:
    """Raise ValueError for the first name that is nothing known."""
    pool = set(known)
    for name in names or ():
        if name not in pool:
            raise ValueError(f"{where} names {what} {name}, and there is none")


def written(document: Mapping[str, Any], order: Iterable[str]) -> str:
    """The text of a file: its fields in this order, and one option, atom, rule or fact a line."""
    parts = [f" {json.dumps(key)}: {_opened(document[key])}" for key in order if key in document]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _opened(value: Any) -> str:
    """JSON with the entries of a list of objects, or of an object of objects, on lines of their own."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {_flat(one)}" for one in value) + "\n ]"
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_flat(one)}" for key, one in value.items()) + "\n }"
    return _flat(value)


def _flat(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
