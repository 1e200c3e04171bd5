"""What one hidden-profile session is about: options, public rules over atoms, and facts that say one thing and suggest another.

A fact asserts literals, which is logic, and carries weights, which are impressions. A scenario is drawn from a deck
(`rules.deck`), or is a file of its own, schema `hidden-profile/1`: from elsewhere, and with its key in it, so that nothing is
proved of it. What is refused here cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, ValidationError, model_validator

from worlds.core.models import Strict
from worlds.hidden_profile.rules.frame import Frame, Id, Lit, Text, atom_of, named, unique, written

Scope = Literal["shared", "private", "noise"]

_ORDER = (
    "schema", "id", "title", "domain", "agents", "promise", "brief", "options", "key", "decoy", "atoms", "rules", "tally",
    "facts", "dealt", "difficulty", "origin",
)  # fmt: skip


def _can_be_silent(cues: tuple[tuple[Text, ...], ...]) -> tuple[tuple[Text, ...], ...]:
    """The cues as they are; raises ValueError where one would fire on anything."""
    if not all(any(not part.startswith("!") for part in cue) for cue in cues):
        raise ValueError("a cue without a part that must occur would fire on anything")
    for part in (part for cue in cues for part in cue):
        if not all(one.strip() for one in part.removeprefix("!").split("|")):
            raise ValueError(f"an alternative of the cue {part!r} is empty, so it would fire on anything")
    return cues


Cues = Annotated[tuple[tuple[Text, ...], ...], AfterValidator(_can_be_silent)]
"""Alternatives; the fact is mentioned where all parts of one of them occur (`rules.hearing`)."""


class Words(Strict):
    """One text of a fact: what it says, and what it suggests."""

    text: Text
    asserts: tuple[Lit, ...] = ()
    weights: dict[Id, StrictInt] = {}
    """Option -> the impression that the words make of it."""

    about: tuple[Id, ...] = ()
    """The options that the words touch."""

    cues: Cues = ()

    @model_validator(mode="after")
    def _words_are_tidy(self) -> Words:
        for what, names in (("asserts", self.asserts), ("about", self.about)):
            if len(set(names)) < len(names):
                raise ValueError(f"{what} repeats an entry")
        return self

    def check(self, where: str, frame: Frame) -> None:
        """Raise ValueError for an atom or an option that the frame has not."""
        named(where, map(atom_of, self.asserts), frame.atoms, "atom")
        named(where, (*self.weights, *self.about), frame.option_ids, "option")


class Fact(Words):
    """One thing that can be said, and who begins with it."""

    id: Id
    scope: Scope
    holders: tuple[StrictInt, ...] = ()
    """Seats, from 1; none for a shared fact, which everybody holds."""

    @model_validator(mode="after")
    def _held_tidily(self) -> Fact:
        check_holders(self.id, self.scope, self.holders)
        return self


def check_holders(identity: str, scope: Scope, holders: tuple[int, ...]) -> None:
    """Raise ValueError where a shared fact names holders, or a seat is named twice."""
    if scope == "shared" and holders:
        raise ValueError(f"{identity} is shared, so it names no holders")
    if len(set(holders)) < len(holders):
        raise ValueError(f"holders of {identity} repeats an entry")


class FactSheet(Frame):
    """A frame, and facts with one text each."""

    facts: tuple[Fact, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _facts_are_consistent(self) -> FactSheet:
        unique("facts", [fact.id for fact in self.facts])
        for fact in self.facts:
            fact.check(f"fact {fact.id}", self)
            named(f"fact {fact.id}", fact.holders, self.seats, "seat")
        return self

    @property
    def asserted(self) -> Mapping[str, tuple[Lit, ...]]:
        """What each fact asserts."""
        return {fact.id: fact.asserts for fact in self.facts}

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


class Scenario(FactSheet):
    """What one session is about."""

    schema_: Literal["hidden-profile/1"] = Field(alias="schema")
    key: Id
    decoy: Id | None = None
    """The option that the shared facts speak for, where it is the wrong one; None too where nobody knows."""

    dealt: StrictBool = False
    """Whether it is a deal of a deck."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        if not {self.key, self.decoy or self.key} <= set(self.option_ids) or self.key == self.decoy:
            raise ValueError("key and decoy must be two of the options")
        return self

    @property
    def doubted(self) -> bool:
        """A deal's rules are not all there is; in a scenario by itself atoms stand for what else may be."""
        return self.dealt

    def to_json(self) -> str:
        """The text of scenario.json: one option, atom, rule or fact a line, the same for the same scenario; no defaults."""
        return written(self.model_dump(mode="json", by_alias=True, exclude_defaults=True), _ORDER)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; raises ValueError naming the file and the field, OSError for a missing one."""
    try:
        return Scenario.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path}: {first_of(error)}") from None


def first_of(error: ValidationError) -> str:
    """The first thing that is wrong with a file, and the field where it is."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "scenario"
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"
