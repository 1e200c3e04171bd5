"""Players of games as data: players of seats, teams with their line-up in each task, and prompt variants.

1. A team's line-ups are computed once (`parley.requests.teams`) and stored in the plan, so that every worker and
every resumed session puts the same players at the same seats.
2. With each attempt at a task, the players move by `step` seats; an entrant with a fixed seat stays there.
3. A variant is a user's text, appended to the rules of a seat. It is identified by name and digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from harness.plugins import family_part_or_none
from harness.records import TaskId, VariantRef
from worlds.core.models import Lenient, Strict

HUMAN = "human"
"""Name that stands for a person in lists of players."""


def seat_names(families: Sequence[str]) -> list[str]:
    """Return every seat player that these families offer (`harness.agents.seats.lineup`)."""
    parts = [family_part_or_none(family, "seats") for family in families]
    return list(dict.fromkeys(name for part in parts if part for name in part.PLAYERS))


def is_seat_player(name: str, families: Sequence[str]) -> bool:
    """Return True if one of these families offers a player by this name, which may end in a value (`coin:0.3`)."""
    parts = [family_part_or_none(family, "seats") for family in families]
    return any(name in part.PLAYERS for part in parts if part)


class Holder(Strict):
    """Player of a seat, as data."""

    kind: Literal["policy", "model", "human", "replay"]
    name: str = ""
    """Name: a family's player (`imap`), a LiteLLM model, the folder of the replayed episode, or what a person chose."""


class Variant(Strict):
    """Text that is appended to the rules of a seat, stored in full, so that a run needs no file."""

    name: str
    text: str

    @property
    def ref(self) -> VariantRef:
        """Name and digest, which represent the variant in records."""
        return VariantRef(name=self.name, digest=hashlib.sha256(self.text.encode()).hexdigest())

    def after(self, rules: str) -> str:
        """Return the rules, a blank line, and the text verbatim."""
        return f"{rules}{'' if rules.endswith(chr(10)) else chr(10)}\n{self.text}"


class SeatTeam(Strict):
    """Players of all seats, and the line-up of each task at the first attempt."""

    members: Annotated[tuple[Holder, ...], Field(min_length=1)]
    """Members in the order in which they were given; an entrant is the last."""

    entrant: bool = False
    entrant_seat: int | None = None
    """Seat of the entrant in every episode; None if it moves like the others."""

    lineups: dict[TaskId, tuple[int, ...]] = {}
    """Member numbers, from 0, at each seat of each task."""

    step: int = 1
    """Number of seats by which members move with each attempt."""

    def lineup(self, task_id: str, attempt: int = 1) -> tuple[Holder, ...]:
        """Return the player of each seat of a task in an attempt, from 1; raises KeyError for a task without a line-up."""
        moving = len(self.members) - (self.entrant_seat is not None)
        moved = (attempt - 1) * self.step
        numbers = self.lineups[task_id]
        return tuple(self.members[(number + moved) % moving if number < moving else number] for number in numbers)

    def may_hold(self, seat: int) -> Sequence[Holder]:
        """Return every player that plays this seat in some task or attempt."""
        if self.entrant_seat is None:
            return self.members
        return self.members[-1:] if seat == self.entrant_seat else self.members[:-1]

    @property
    def planned(self) -> PlannedTeam:
        """Part of the team that belongs to a run's identity, with the line-ups as a digest."""
        told = "\n".join(f"{task} {numbers}" for task, numbers in sorted(self.lineups.items()))
        digest = hashlib.sha256(f"{self.step}\n{told}".encode()).hexdigest()
        return PlannedTeam(
            members=self.members, entrant=self.entrant, entrant_seat=self.entrant_seat, lineups=digest,
        )  # fmt: skip


class PlannedTeam(Lenient):
    """Team as recorded in a plan and a report."""

    members: tuple[Holder, ...]
    entrant: bool = False
    entrant_seat: int | None = None
    lineups: str = ""
    """Digest of the line-ups of all tasks."""
