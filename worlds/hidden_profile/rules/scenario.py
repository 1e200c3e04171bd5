"""Hidden-profile scenarios: options, public rules over atoms, and facts that assert one thing and suggest another.

A fact asserts literals (logic) and carries weights (impressions). `Frame` holds options and rules. It is the base of scenarios,
in which each fact has one text and one option is correct, and of a deck (`rules.deck`), in which facts have alternative texts
and a deal chooses among them. A scenario may also be a file of its own, schema `hidden-profile/1`: imported, with its key
included, so that nothing is proved of it. Validation here rejects unreadable files only; the prover judges readable ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StringConstraints, ValidationError, model_validator

from worlds.core.models import Strict

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
"""Name of a scenario, option, atom, rule or fact."""

Lit = Annotated[str, StringConstraints(pattern=r"^!?[a-z0-9_]{1,40}$")]
"""A literal: an atom, or `!` and an atom."""

Text = Annotated[str, StringConstraints(pattern=r"\S")]
"""Text that is not blank."""


Whose = Literal["own", "imported", "generated"]
ELSEWHERE: tuple[Whose, ...] = ("imported", "generated")
"""Origins other than this suite."""


class Choice(Strict):
    """One option that can be voted for."""

    id: Id
    label: Text


class Atom(Strict):
    """One yes-or-no property of the world: a base atom may have a prior, a derived one has rules."""

    prior: float | None = Field(default=None, gt=0, lt=1)
    derived: StrictBool = False
    gloss: Text

    @model_validator(mode="after")
    def _one_kind(self) -> Atom:
        if self.derived and self.prior is not None:
            raise ValueError("a derived atom follows from its rules, so it has no prior")
        return self


class PublicRule(Strict):
    """Rule: the literals of `when` together rule an option out, or make a derived atom true."""

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
    """Points for atoms: an option is out if another one that no rule excludes has at least as many points."""

    points: dict[Id, dict[Lit, StrictInt]]
    """Option -> literal -> points that the option gets if the literal holds."""

    start: dict[Id, StrictInt] = {}
    """Option -> its initial points, which can break ties if the brief states a tie-break."""


class Frame(Strict):
    """Options, atoms and rules: all public information, and its consequences."""

    id: Id
    title: Text
    domain: Text
    agents: StrictInt = Field(ge=3, le=8)
    promise: Literal["exactly_one_viable"]
    brief: Text
    """Text that every seat reads; it states every rule in plain words, and the promise."""

    options: tuple[Choice, ...] = Field(min_length=2)
    atoms: dict[Id, Atom]
    rules: tuple[PublicRule, ...]
    tally: PointRule | None = None
    difficulty: str | dict[str, Any] = {}
    """The settings that the author chose, or one word for them; only reports use it."""

    origin: dict[str, Any] = {}
    """Origin of the scenario: a study, or a generator and its parameters; no agent sees it."""

    @model_validator(mode="after")
    def _frame_is_consistent(self) -> Frame:
        known = set(self.option_ids)
        check_unique("options", self.option_ids)
        check_unique("labels", [option.label.strip().casefold() for option in self.options])
        check_unique("rules", [rule.id for rule in self.rules])
        for rule in self.rules:
            check_known(f"rule {rule.id}", rule.out and [rule.out], known, "option")
            check_known(f"rule {rule.id}", map(atom_of, rule.when), self.atoms, "atom")
            check_known(
                f"rule {rule.id}", rule.then and [rule.then], {n for n, a in self.atoms.items() if a.derived}, "derived atom"
            )
        for option, points in (self.tally.points if self.tally else {}).items():
            check_known("the tally", [option], known, "option")
            check_known(f"the tally of {option}", map(atom_of, points), self.atoms, "atom")
        check_known("the tally's start", self.tally and self.tally.start, self.tally.points if self.tally else (), "option")
        _ = self.derived_atoms
        return self

    @property
    def has_open_rules(self) -> bool:
        """True if an option may be out for reasons outside the rules, so that only excluding all others settles one."""
        return False

    @property
    def has_logic(self) -> bool:
        """True if anything can be proved of it; imported prose has no rules."""
        return bool(self.rules or self.tally)

    @property
    def whose(self) -> Whose:
        """Origin of the scenario: own, imported or generated."""
        return next((one for one in ELSEWHERE if one == self.origin.get("kind")), "own")

    @property
    def tells_stakes(self) -> bool:
        """True for a task after one of the eight of the paper whose texts tell what a right choice earns."""
        return self.origin.get("kind") in {"crafted", "adapted"}

    @property
    def asserted_literals(self) -> Mapping[str, tuple[Lit, ...]]:
        """Literals that each known thing asserts, by its name."""
        raise NotImplementedError

    @property
    def seats(self) -> range:
        """The seats, 1 to N."""
        return range(1, self.agents + 1)

    @cached_property
    def option_ids(self) -> tuple[str, ...]:
        """Ids of the options in the file's order."""
        return tuple(option.id for option in self.options)

    @cached_property
    def base_atoms(self) -> tuple[str, ...]:
        """The base atoms, which may have a prior, in the file's order."""
        return tuple(name for name, atom in self.atoms.items() if not atom.derived)

    @property
    def settled_atoms(self) -> Mapping[str, bool]:
        """The base atoms that have the same truth value in every deal, with this value."""
        return {}

    @cached_property
    def derived_atoms(self) -> tuple[str, ...]:
        """The derived atoms, each after its dependencies; raises ValueError if rules are circular."""
        needs: dict[str, set[str]] = {name: set() for name, atom in self.atoms.items() if atom.derived}
        for rule in self.rules:
            if rule.then is not None:
                needs[rule.then].update(name for name in rule.when if self.atoms[name].derived)
        try:
            return tuple(TopologicalSorter(needs).static_order())
        except CycleError as error:
            raise ValueError(f"then rules go in a circle: {' <- '.join(error.args[1])}") from None

    def label(self, option: str) -> str:
        """Return the label of an option; raises KeyError if there is none."""
        return {choice.id: choice.label for choice in self.options}[option]


def atom_of(literal: str) -> str:
    """Return the atom of a literal."""
    return literal.removeprefix("!")


def check_unique(what: str, names: Iterable[str]) -> None:
    """Raise ValueError for the first duplicate name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what} are called {name}")
        seen.add(name)


def check_known(where: str, names: Iterable[Any] | str | None, known: Iterable[Any], what: str) -> None:
    """Raise ValueError for the first unknown name."""
    pool = set(known)
    for name in names or ():
        if name not in pool:
            raise ValueError(f"{where} names {what} {name}, and there is none")


def format_document(document: Mapping[str, Any], order: Iterable[str]) -> str:
    """Return the text of a file: fields in this order, and one option, atom, rule or fact per line."""
    parts = [f" {json.dumps(key)}: {_opened(document[key])}" for key in order if key in document]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _opened(value: Any) -> str:
    """Return JSON with the entries of a list of objects, or of an object of objects, on separate lines."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {_flat(one)}" for one in value) + "\n ]"
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_flat(one)}" for key, one in value.items()) + "\n }"
    return _flat(value)


def _flat(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


Scope = Literal["shared", "private", "noise"]

_ORDER = (
    "schema", "id", "title", "domain", "agents", "promise", "brief", "options", "key", "decoy", "atoms", "rules", "tally",
    "facts", "dealt", "difficulty", "origin",
)  # fmt: skip


_EMPTY = re.compile(r"(?:^!?|\|)\s*(?:\||$)")
"""A part of a cue with an empty alternative."""


def _can_be_silent(cues: tuple[tuple[Text, ...], ...]) -> tuple[tuple[Text, ...], ...]:
    """Return the cues unchanged; raises ValueError if one would match any text."""
    if not all(any(not part.startswith("!") for part in cue) for cue in cues):
        raise ValueError("a cue without a part that must occur would fire on anything")
    for part in (part for cue in cues for part in cue):
        if _EMPTY.search(part):
            raise ValueError(f"an alternative of the cue {part!r} is empty, so it would fire on anything")
    return cues


Cues = Annotated[tuple[tuple[Text, ...], ...], AfterValidator(_can_be_silent)]
"""Alternative cues; the fact is mentioned if all parts of one of them occur (`rules.hearing`)."""


class Words(Strict):
    """One text of a fact: its assertions and its impressions."""

    text: Text
    asserts: tuple[Lit, ...] = ()
    weights: dict[Id, StrictInt] = {}
    """Option -> impression that the words make of it."""

    about: tuple[Id, ...] = ()
    """The options that the words concern."""

    cues: Cues = ()

    @model_validator(mode="after")
    def _words_are_tidy(self) -> Words:
        for what, names in (("asserts", self.asserts), ("about", self.about)):
            if len(set(names)) < len(names):
                raise ValueError(f"{what} repeats an entry")
        return self

    def check(self, where: str, frame: Frame) -> None:
        """Raise ValueError for an atom or an option that the frame does not have."""
        check_known(where, map(atom_of, self.asserts), frame.atoms, "atom")
        check_known(where, (*self.weights, *self.about), frame.option_ids, "option")


class Fact(Words):
    """One fact, and the seats that hold it at first."""

    id: Id
    scope: Scope
    holders: tuple[StrictInt, ...] = ()
    """Seats, from 1; empty for a shared fact, which all seats hold."""

    others: tuple[Words, ...] = ()
    """The other texts of its card and their cues, so that a claim that one of them holds is noticed; no seat sees them."""

    @model_validator(mode="after")
    def _held_tidily(self) -> Fact:
        check_holders(self.id, self.scope, self.holders)
        return self


def check_holders(identity: str, scope: Scope, holders: tuple[int, ...]) -> None:
    """Raise ValueError if a shared fact names holders, or a seat is repeated."""
    if scope == "shared" and holders:
        raise ValueError(f"{identity} is shared, so it names no holders")
    if len(set(holders)) < len(holders):
        raise ValueError(f"holders of {identity} repeats an entry")


class FactSheet(Frame):
    """A frame, and facts with one text each."""

    facts: tuple[Fact, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _facts_are_consistent(self) -> FactSheet:
        check_unique("facts", [fact.id for fact in self.facts])
        for fact in self.facts:
            fact.check(f"fact {fact.id}", self)
            check_known(f"fact {fact.id}", fact.holders, self.seats, "seat")
        return self

    @property
    def asserted_literals(self) -> Mapping[str, tuple[Lit, ...]]:
        """Literals that each fact asserts."""
        return {fact.id: fact.asserts for fact in self.facts}

    @cached_property
    def by_id(self) -> dict[str, Fact]:
        """Every fact by its id."""
        return {fact.id: fact for fact in self.facts}

    def of_scope(self, scope: Scope) -> tuple[str, ...]:
        """Return the ids of the facts of one scope, in the file's order."""
        return tuple(fact.id for fact in self.facts if fact.scope == scope)

    def hand(self, seat: int) -> tuple[str, ...]:
        """Return the ids of the private and noise facts that a seat holds at first, in the file's order."""
        return tuple(fact.id for fact in self.facts if seat in fact.holders)


class Scenario(FactSheet):
    """Subject of one session."""

    schema_: Literal["hidden-profile/1"] = Field(alias="schema")
    key: Id
    decoy: Id | None = None
    """The wrong option that the shared facts favour; None if there is none or it is unknown."""

    dealt: StrictBool = False
    """True if it is a deal of a deck."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        if not {self.key, self.decoy or self.key} <= set(self.option_ids) or self.key == self.decoy:
            raise ValueError("key and decoy must be two of the options")
        return self

    @property
    def has_open_rules(self) -> bool:
        """True for a deal, whose rules are not complete; in a separate scenario, atoms stand for other reasons."""
        return self.dealt

    def facts_dealt_to(self, person: int, condition: str) -> tuple[str, ...]:
        """Return the ids of the facts that a condition gives to one of the hands (from 1), in the file's order by scope."""
        if condition == "full":
            return tuple(self.by_id)
        return (*self.of_scope("shared"), *(self.hand(person) if condition == "hidden" else ()))

    def to_json(self) -> str:
        """Return the text of scenario.json: one option, atom, rule or fact per line; deterministic, without defaults."""
        return format_document(self.model_dump(mode="json", by_alias=True, exclude_defaults=True), _ORDER)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; raises ValueError with the file and the field, OSError if it is missing."""
    try:
        return Scenario.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path}: {first_error(error)}") from None


def first_error(error: ValidationError) -> str:
    """Return the first error in a file, with its field."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "scenario"
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"
