"""Teams for games: the members come from flags, and the line-ups are computed for all tasks at once.

1. `--team A,B,C,D --entrant E` gives five members for five seats, and so do five names after `--team`. Each member is a policy
or a model, as in `--seat`. A recording belongs to one task, so it cannot be a member.
2. The line-ups depend on the number of members, the tasks with their facts, and the entrant's seat. They do not depend on the
order of the tasks, the seeds, or the members' names. A family's facts about its seats are in its part `lineups`.
3. A team of one name is not a team: that model or policy holds every seat, as if it had been named alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from harness.agents.seats.balance import Facts, balanced, step
from harness.agents.seats.lineup import read_holder
from harness.errors import UsageError
from harness.plugins import family_part_or_none
from harness.registry import Task
from harness.teams import Holder, SeatTeam


class TeamFlags(NamedTuple):
    """Flags that describe a team."""

    members: str
    entrant: str | None = None
    entrant_seat: int | None = None


def read_members(flags: TeamFlags, families: Sequence[str]) -> tuple[Holder, ...]:
    """Parse the members, an entrant last; raises UsageError for an invalid name."""
    names = flags.members.split(",")
    if "" in (flags.entrant, *names):
        raise UsageError("--team takes names joined by commas", hint="harness run calendar --team A,B,C,D --entrant E")
    if flags.entrant_seat is not None and flags.entrant is None:
        raise UsageError("--entrant-seat requires --entrant", hint="harness run calendar --team A,B,C,D --entrant E")
    members = tuple(read_holder(name, families) for name in (*names, *([flags.entrant] if flags.entrant else [])))
    if other := next((one for one in members if one.kind not in {"policy", "model"}), None):
        raise UsageError(f"{other.kind} {other.name}".strip() + " cannot be a member of a team; only models and policies can")
    return members


def make_team(
    flags: TeamFlags, tasks: Sequence[Task], families: Sequence[str], combinations: Sequence[Mapping[str, str]] = ({},)
) -> SeatTeam:
    """Return the team with its line-ups; raises UsageError for tasks whose number of seats differs from the number of members.

    `combinations` are the options of each part of a sweep; options may change the number of seats.
    """
    members = read_members(flags, families)
    if flags.entrant_seat is not None and flags.entrant_seat not in range(len(members)):
        raise UsageError(f"--entrant-seat {flags.entrant_seat} does not exist; the seats are 0 to {len(members) - 1}")
    facts: dict[str, Facts] = {}
    for task in tasks:
        for options in combinations:
            facts[task.task_id] = _facts(task, options, len(members))
    moving = len(members) - (flags.entrant_seat is not None)
    return SeatTeam(
        members=members, entrant=flags.entrant is not None, entrant_seat=flags.entrant_seat,
        lineups=balanced(facts, flags.entrant_seat), step=step(len(tasks), moving),
    )  # fmt: skip


def _facts(task: Task, options: Mapping[str, str], members: int) -> Facts:
    """Return the family's facts about the seats of a task; raises UsageError if there is not one seat per member."""
    if not task.is_seated or task.parley is None:
        raise UsageError(f"{task.task_id} has no seats for a team", hint="harness run calendar --team A,B,C,D,E")
    module = family_part_or_none(task.family, "lineups")
    facts: Facts = module.facts(task, options) if module else [{}] * task.parley.seats
    if len(facts) != members:
        why = f"{task.task_id} has {len(facts)} seats, but the team has {members} members"
        raise UsageError(why, hint=f"--team with {len(facts)} names, or one less and --entrant")
    return facts
