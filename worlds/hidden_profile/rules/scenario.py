"""What one hidden-profile task is: options, public rules over atoms, and facts that say one thing and suggest another.

The file is `environment/api/scenario.json`, schema `hidden-profile/1`; unknown keys are errors. A fact asserts literals, which
is logic, and carries weights, which are impressions. What is refused here cannot be read at all; whether a readable scenario is
any good is for the prover to say, naming a check (specification: hidden-profile.md, 2.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StringConstraints, ValidationError, model_validator

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
"""Names of scenarios, options, atoms, rules and facts."""

Lit = Annotated[str, StringConstraints(pattern=r"^!?[a-z0-9_]{1,40}$")]
"""A literal: an atom, or `!` and an atom."""

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""Words: anything but blanks only."""

Scope = Literal["shared", "private", "noise"]


class Strict(BaseModel):
    """Frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Choice(Strict):
    """One option that can be voted for."""

    id: Id
    label: Text


class Atom(Strict):
    """One yes-or-no matter of the world: a base atom has a prior, a derived one follows from `then` rules."""

    prior: float | None = Field(default=None, gt=0, lt=1)
    derived: StrictBool = False
    gloss: Text

    @model_validator(mode="after")
    def _one_kind(self) -> Atom:
        if self.derived == (self.prior is not None):
            raise ValueError("an atom has a prior, or is derived: one of the two")
        return self


class Rule(Strict):
    """All literals of `when` together put an option out, or make a derived atom true."""

    id: Id
    when: tuple[Lit, ...] = Field(min_length=1)
    out: Id | None = None
    then: Id | None = None

    @model_validator(mode="after")
    def _one_head(self) -> Rule:
        if (self.out is None) == (self.then is None):
            raise ValueError(f"rule {self.id} must have either out or then")
        if self.then is not None and any(literal.startswith("!") for literal in self.when):
            raise ValueError(f"rule {self.id} derives an atom, so its literals must be positive")
        return self


class Fact(Strict):
    """One thing that can be said: its words, who begins with it, what it asserts and what it suggests."""

    id: Id
    scope: Scope
    holders: tuple[StrictInt, ...] = ()
    """Seats, from 1; none for a shared fact, which everybody holds."""

    text: Text
    asserts: tuple[Lit, ...] = ()
    weights: dict[Id, StrictInt] = {}
    """Option -> the impression that the words make of it."""

    about: tuple[Id, ...] = ()
    """The options that the words touch."""

    cues: tuple[tuple[Text, ...], ...] = ()
    """Alternatives; the fact is mentioned where all substrings of one of them occur."""

    @model_validator(mode="after")
    def _tidy(self) -> Fact:
        if self.scope == "shared" and self.holders:
            raise ValueError(f"{self.id} is shared, so it names no holders")
        if () in self.cues:
            raise ValueError(f"{self.id} has an empty cue, which would fire on anything")
        for what, names in (("holders", self.holders), ("asserts", self.asserts), ("about", self.about)):
            if len(set(names)) < len(names):
                raise ValueError(f"{what} of {self.id} repeats an entry")
        return self


class Scenario(Strict):
    """One task of the hidden-profile family."""

    schema_: Literal["hidden-profile/1"] = Field(alias="schema")
    id: Id
    title: Text
    domain: Text
    agents: StrictInt = Field(ge=3, le=8)
    promise: Literal["exactly_one_viable"]
    brief: Text
    """What everybody reads; it carries every rule in plain words, and the promise."""

    options: tuple[Choice, ...] = Field(min_length=2)
    key: Id
    decoy: Id
    atoms: dict[Id, Atom]
    rules: tuple[Rule, ...]
    facts: tuple[Fact, ...] = Field(min_length=1)
    difficulty: str | dict[str, Any] = {}
    """The knobs that the author turned, or a word for them all; nothing reads it but reports."""

    origin: dict[str, Any] = {}
    """Where the scenario comes from: a study, a generator and its parameters; no agent sees it."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        for what, names in (
            ("options", self.option_ids),
            ("labels", [option.label.strip().casefold() for option in self.options]),
            ("rules", [rule.id for rule in self.rules]),
            ("facts", [fact.id for fact in self.facts]),
        ):
            _unique(what, names)
        known = set(self.option_ids)
        if not {self.key, self.decoy} <= known or self.key == self.decoy:
            raise ValueError("key and decoy must be two of the options")
        for rule in self.rules:
            _named(f"rule {rule.id}", rule.out and [rule.out], known, "option")
            _named(f"rule {rule.id}", map(atom_of, rule.when), self.atoms, "atom")
            _named(
                f"rule {rule.id}", rule.then and [rule.then], {n for n, a in self.atoms.items() if a.derived}, "derived atom"
            )
        for fact in self.facts:
            _named(f"fact {fact.id}", map(atom_of, fact.asserts), self.atoms, "atom")
            _named(f"fact {fact.id}", (*fact.weights, *fact.about), known, "option")
            _named(f"fact {fact.id}", fact.holders, self.seats, "seat")
        _ = self.derived
        return self

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

    @cached_property
    def by_id(self) -> dict[str, Fact]:
        """Every fact by its id."""
        return {fact.id: fact for fact in self.facts}

    def of_scope(self, scope: Scope) -> tuple[str, ...]:
        """The ids of the facts of one scope, in the file's order."""
        return tuple(fact.id for fact in self.facts if fact.scope == scope)

    def hand(self, seat: int) -> tuple[str, ...]:
        """The ids of the private and noise facts that a seat begins with, in the file's order."""
        return tuple(fact.id for fact in self.facts if seat in fact.holders)

    def label(self, option: str) -> str:
        """The words of an option; raises KeyError for none."""
        return {choice.id: choice.label for choice in self.options}[option]

    def to_json(self) -> str:
        """The text of scenario.json: one option, atom, rule or fact a line, the same for the same scenario; no defaults."""
        dumped = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        parts = [f" {json.dumps(key)}: {_opened(dumped[key])}" for key in _keys(dumped)]
        return "{\n" + ",\n".join(parts) + "\n}\n"


def atom_of(literal: str) -> str:
    """The atom of a literal."""
    return literal.removeprefix("!")


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; raises ValueError naming the file and the field, OSError for a missing one."""
    try:
        return Scenario.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "scenario"
        raise ValueError(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from None


def _unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what} are called {name}")
        seen.add(name)


def _named(where: str, names: Iterable[Any] | str | None, known: Iterable[Any], what: str) -> None:
    """Raise ValueError for the first name that is nothing known."""
    pool = set(known)
    for name in names or ():
        if name not in pool:
            raise ValueError(f"{where} names {what} {name}, and there is none")


def _keys(document: dict[str, Any]) -> Iterator[str]:
    """The fields that are there, in the schema's order."""
    yield from (key for key in ("schema", *list(Scenario.model_fields)[1:]) if key in document)


def _opened(value: Any) -> str:
    """JSON with the entries of a list of objects, or of an object of objects, on lines of their own."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {_flat(one)}" for one in value) + "\n ]"
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_flat(one)}" for key, one in value.items()) + "\n }"
    return _flat(value)


def _flat(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
