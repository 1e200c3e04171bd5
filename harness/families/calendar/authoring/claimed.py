"""What published tasks claim of themselves, held against our own certificates, and counted for who imports them.

1. The optimum is compared on the shown scale, F as a count of injective assignments, evictions as the cells with an item that
   the line's own schedule takes. (The released code counts some of them twice: it moves an item out of the way and into the
   slot of a later meeting.)
2. A task without a schedule of all meetings claims too much by being one. Who imports is told its file and line.
3. Some tasks have no schedule that is optimal on both scales: agents are asked to save what they are shown, and are scored on
   the other scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError, quoted
from harness.families.calendar.authoring.calbench import CalBenchTask
from oracles.calendar.certificate import certify
from worlds.calendar.rules.certificate import Certificate

Held = Callable[["Checked"], tuple[int | None, int | None]]
"""What a task claims, and what is true; None for what is not said or not known."""


@dataclass(frozen=True)
class Checked:
    """A published task beside our certificate of it."""

    task: CalBenchTask
    certificate: Certificate

    @property
    def feasible(self) -> bool:
        """Whether there is a schedule of all meetings."""
        return self.certificate.optimum is not None

    @property
    def wrong(self) -> list[str]:
        """Which of its claims do not hold, by name."""
        return [name for name, held in CLAIMS.items() if _differs(held(self))]


def _taken(checked: Checked) -> int | None:
    """How many cells with an item the published schedule takes."""
    scenario, slots = checked.task.scenario, checked.task.claims.schedule or {}
    if not all(0 <= slots.get(meeting.id, -1) <= scenario.slots - meeting.duration for meeting in scenario.meetings):
        return None
    return sum(
        scenario.calendars[agent][cell] is not None
        for meeting in scenario.meetings
        for agent in meeting.participants
        for cell in range(slots[meeting.id], slots[meeting.id] + meeting.duration)
    )


CLAIMS: dict[str, Held] = {
    "optimum": lambda one: (one.task.claims.optimum, one.certificate.shown_optimum),
    "F": lambda one: (one.task.claims.count, one.certificate.feasible),
    "evictions": lambda one: (one.task.claims.evictions, _taken(one)),
}


def checked(tasks: Sequence[CalBenchTask]) -> list[Checked]:
    """Each task with its certificate."""
    return [Checked(task, certify(task.scenario)) for task in tasks]


def refuse_infeasible(rows: Sequence[Checked], file: Path) -> None:
    """Raise UsageError, naming the line and the task, where no schedule of all meetings exists."""
    without = [row.task for row in rows if not row.feasible]
    if without:
        first, more = without[0], len(without) - 1
        others = f", and so have {more} more" if more else ""
        raise UsageError(
            f"{file}:{first.line}: {first.task_id} has no schedule of all its meetings{others}",
            hint=f"harness import calbench {quoted(file)} --allow-infeasible, or --id for others",
        )


def summary(rows: Sequence[Checked]) -> Iterator[str]:
    """What these tasks do not say of themselves, a line each."""
    without = sum(not row.feasible for row in rows)
    if without:
        yield f"{without} of {len(rows)} without a schedule of all meetings: marked uncertified, no regret, no normalised cost"
    apart = sum(row.certificate.shown_agrees is False for row in rows)
    yield f"{apart} of {len(rows)} without a schedule that is optimal on both scales, the shown and the scored one"
    yield f"{sum(row.task.drawn for row in rows)} of {len(rows)} without an order of speakers: drawn by us"
    for name, held in CLAIMS.items():
        told = [row for row in rows if held(row)[0] is not None]
        wrong = [row for row in told if name in row.wrong]
        examples = f", e.g. {wrong[0].task.task_id}" if wrong else ""
        yield f"{name}: claimed by {len(told)}, and not what we find in {len(wrong)}{examples}"


def _differs(pair: tuple[int | None, int | None]) -> bool:
    said, true = pair
    return None not in pair and said != true
