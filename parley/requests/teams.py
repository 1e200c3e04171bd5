"""Teams for games: the members come from flags, and the line-ups are computed for all tasks at once.

1. `--team A,B,C,D --entrant E` gives five members for five seats, and so do five names after `--team`. Each member is a policy
or a model, as in `--seat`. A recording belongs to one task, so it cannot be a member.
2. The line-ups depend on the number of members, the tasks with their facts, and the entrant's seat. They do not depend on the
order of the tasks, the seeds, or the members' names. A family's facts about its seats are in its part `lineups`.
3. `--team` with a single name makes no team: that model or policy plays every seat, as with --model or --agent.

Over many tasks, each member sits at each seat, and meets each fact of a seat, equally often:
1. In one task the members sit in their order, shifted by some number of places. The tasks use the shifts 0, 1, ... in turn,
which is a Latin square: over as many tasks as members, each member sits at each seat once.
2. Two tasks swap their shifts if that evens out the facts of the seats (who speaks first, how full a calendar is), until no
swap helps. The measure is the sum of squared differences between each member's count of each fact and an equal share.
3. Tasks are processed in the order of their names, so the same tasks give the same line-ups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import gcd
from typing import NamedTuple

import numpy as np

from harness.agent import AgentSpec
from harness.agents.seats.lineup import read_holder
from harness.cli.flags import RunFlags
from harness.cli.settings import Combinations, families_of
from harness.errors import UsageError
from harness.plugins import family_part_or_none
from harness.registry import Task
from harness.teams import Holder, SeatTeam

Facts = Sequence[Mapping[str, int]]
"""Facts of each seat that are to be shared evenly: fact -> number of times that it applies to this seat in the task."""

Lineup = tuple[int, ...]
"""Number of the member at each seat."""


def balanced(facts: Mapping[str, Facts], fixed: int | None = None) -> dict[str, Lineup]:
    """Return the line-up of each task at the first attempt. All tasks must have the same number of seats.

    `fixed` is the seat of the last member, if it never changes.
    """
    tasks = sorted(facts)
    seats = range(len(facts[tasks[0]]) if tasks else 0)
    open_seats = [seat for seat in seats if seat != fixed]
    shifts = _even_shifts([[facts[task][seat] for seat in open_seats] for task in tasks], len(open_seats))
    made = {}
    for task, shift in zip(tasks, shifts, strict=True):
        held = {seat: (place + shift) % len(open_seats) for place, seat in enumerate(open_seats)}
        made[task] = tuple(held.get(seat, len(open_seats)) for seat in seats)
    return made


def step(tasks: int, moving: int) -> int:
    """Return how many seats members move from one attempt to the next, so that attempts continue the Latin square of the tasks.

    The step is 1 if any other would skip a seat, so that each member sits at each seat of a task once in `moving` attempts.
    """
    return tasks % moving if moving > 1 and gcd(tasks, moving) == 1 else 1


def _even_shifts(tasks: Sequence[Facts], members: int) -> list[int]:
    """Return the shift of each task, after swaps between tasks until none helps. Each swap is an improvement, so this ends."""
    if not (tasks and members):
        return [0] * len(tasks)
    taken = [number % members for number in range(len(tasks))]
    names = sorted({name for task in tasks for seat in task for name in seat})
    held = np.array([[[seat.get(name, 0) for name in names] for seat in task] for task in tasks])
    # for each task and shift: each member's count of each fact, times the number of members
    counts = members * np.stack([np.roll(held, shift, axis=1) for shift in range(members)], axis=1)
    # difference between the count and an equal share for each member and fact, times the number of members
    off = counts[range(len(tasks)), taken].sum(axis=0) - held.sum(axis=(0, 1))

    def swap(one: int, other: int) -> bool:
        """Swap the shifts of two tasks if that is an improvement, and return True if it was."""
        mine, theirs = taken[one], taken[other]
        change = counts[one, theirs] - counts[one, mine] + counts[other, mine] - counts[other, theirs]
        if mine == theirs or (change * (2 * off + change)).sum() >= 0:
            return False
        taken[one], taken[other] = theirs, mine
        off[:] += change
        return True

    while sum(swap(one, other) for one, other in combinations(range(len(tasks)), 2)):
        pass
    return taken


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


def make_team(flags: TeamFlags, tasks: Sequence[Task], families: Sequence[str], combinations: Combinations = ({},)) -> SeatTeam:
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


def teamed(flags: RunFlags, table: AgentSpec, tasks: Sequence[Task], combinations: Combinations) -> AgentSpec:
    """Return the spec of the team that the flags name; for a team with a single name, the spec of that player."""
    team = make_team(TeamFlags(flags.team or "", flags.entrant, flags.entrant_seat), tasks, families_of(tasks), combinations)
    one = team.members[0]
    if any(member != one for member in team.members):
        return table.model_copy(update={"kind": "seats", "name": "team", "team": team, "seats": (), "rotate": False})
    alone = {"kind": "llm", "model": one.name} if one.kind == "model" else {"kind": "seats", "name": one.name}
    return table.model_copy(update={**alone, "seats": (), "rotate": False})


def same_team(flags: RunFlags, spec: AgentSpec, tasks: Sequence[Task], combinations: Combinations) -> AgentSpec:
    """Return the recorded spec with its line-ups if the flags name the same team, else the spec of the new team."""
    if spec.team is None:
        return teamed(flags, spec, tasks, combinations)
    names = [member.name for member in spec.team.members]
    entrant = names.pop() if spec.team.entrant else None
    recorded = TeamFlags(",".join(names), entrant, spec.team.entrant_seat)
    given = flags.given("team", "entrant", "entrant_seat")
    named = recorded._replace(**{"members" if flag == "team" else flag: value for flag, value in given.items()})
    if named == recorded:
        return spec
    return spec.model_copy(update={"team": make_team(named, tasks, families_of(tasks), combinations)})


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
