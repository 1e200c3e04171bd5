"""Line-ups, parsed from flags and computed for an attempt, and the named players of a family (its module `seats`).

1. `--seat SEAT=WHO` assigns one seat to a policy if the family offers one of that name, to a recorded episode with
`replay:FOLDER`, to a person with `human` or `human:NAME`, and otherwise to a model.
2. With `rotate`, the players move by one seat with each attempt, so that each player sits at each seat once in as many attempts
as there are seats.
3. A team's line-up also depends on the task: it is stored in the spec, computed for all tasks of the plan (`teams`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from harness.agent import AgentSpec, SeatSpec
from harness.errors import UsageError
from harness.plugins import family_part_or_none
from harness.registry import Task
from harness.teams import HUMAN, Holder, SeatTeam
from worlds.core.turns import OpenTurn


class SeatPlayer(Protocol):
    """Policy at one seat of one game."""

    def reply(self, turn: OpenTurn) -> str | None:
        """Return the raw reply to a turn of this seat; None if there is none."""
        ...


Maker = Callable[[Task, int, Mapping[str, Any]], SeatPlayer]
"""Function that makes the player of a seat from the task, the seat's number and the response to GET /session."""


def seat_players(family: str) -> Mapping[str, Maker]:
    """Return the players that a family offers by name; empty if it has no seats."""
    module = family_part_or_none(family, "seats")
    players: Mapping[str, Maker] = module.PLAYERS if module else {}
    return players


def check_playable(task: Task) -> None:
    """Raise UsageError for a task that no policy of its family can play, if the family declares such tasks."""
    module = family_part_or_none(task.family, "playable")
    if module is not None:
        module.check(task)


def read_seats(texts: Sequence[str], models: Sequence[str], families: Sequence[str]) -> tuple[SeatSpec, ...]:
    """Parse the seats of `--seat` and `--seat-model`, in order; raises UsageError for an invalid or duplicate seat.

    `families` are the families of the tasks to be played, because a seat may name one of their policies.
    """
    seats = [_read(text, families) for text in texts] + [_read(text, ()) for text in models]
    numbers = [one.seat for one in seats]
    if twice := next((number for number in numbers if numbers.count(number) > 1), None):
        raise UsageError(f"seat {twice} is named twice")
    return tuple(sorted(seats, key=lambda one: one.seat))


def line_up(spec: AgentSpec, seats: int, attempt: int = 1, task: str = "") -> tuple[SeatSpec, ...]:
    """Return the player of each seat of a task in an attempt (from 1).

    Raises UsageError for a line-up with a nonexistent seat, and for a team without a line-up for this task.
    """
    if spec.team is not None:
        return _of_team(spec.team, seats, attempt, task)
    usual = [SeatSpec(seat=number, kind=spec.usual.kind, name=spec.usual.name) for number in range(seats)]
    for one in spec.seats:
        if one.seat >= seats:
            raise UsageError(f"--seat {one.seat} does not exist; the seats are 0 to {seats - 1}")
        usual[one.seat] = one
    if not spec.rotate:
        return tuple(usual)
    moved = attempt - 1
    return tuple(usual[(number - moved) % seats].model_copy(update={"seat": number}) for number in range(seats))


def may_hold(spec: AgentSpec, seat: int, seats: int) -> Sequence[Holder]:
    """Return every player that may play a seat in any task or attempt; raises as `line_up` does."""
    if spec.team is not None:
        return spec.team.may_hold(seat)
    line = line_up(spec, seats)
    return line if spec.rotate else line[seat : seat + 1]


def read_holder(who: str, families: Sequence[str]) -> Holder:
    """Parse the player of a seat: a policy of one of these families, a recorded episode, a person, or else a model."""
    if who == HUMAN or who.startswith(f"{HUMAN}:"):
        return Holder(kind="human", name=who.partition(":")[2])
    if who.startswith("replay:"):
        return Holder(kind="replay", name=who.removeprefix("replay:"))
    policy = any(who in seat_players(family) for family in families)
    return Holder(kind="policy" if policy else "model", name=who)


def seat_and_name(text: str, rule: str) -> tuple[int, str]:
    """Parse `SEAT=NAME`; raises UsageError with the rule for anything else."""
    parts = re.fullmatch(r"(\d{1,3})=(.+)", text, re.ASCII)
    if not parts:
        raise UsageError(f"{rule}, not {text!r}")
    return int(parts[1]), parts[2]


def _read(text: str, families: Sequence[str]) -> SeatSpec:
    seat, name = seat_and_name(text, "a seat must look like 0=imap or 0=gpt-5")
    return SeatSpec(seat=seat, **dict(read_holder(name, families)))


def _of_team(team: SeatTeam, seats: int, attempt: int, task: str) -> tuple[SeatSpec, ...]:
    if task not in team.lineups:
        raise UsageError(f"the team was planned without {task}", hint="harness run ... --out NEW_FOLDER --team A,B,C")
    line = team.lineup(task, attempt)
    if len(line) != seats:
        raise UsageError(f"{task} has {seats} seats, but the team has {len(line)} members")
    return tuple(SeatSpec(seat=seat, kind=one.kind, name=one.name) for seat, one in enumerate(line))
