"""What a character at seat 0 among truthful ones does to a game, to its measures and to its audit, worked out by hand.

The board is `FOUR` (scored costs, x for blocked; M4 stands before the first round):

          slot  0   1   2   3   4      rounds: M1 of 0, 1, 2;  M2 of 0, 1, 3;  M3 of 1, 2, 3
        seat 0  M4  -   -   2   x
        seat 1  x   -   -   1   -      costs of a meeting by slot:     1    2    3    4
        seat 2  3   -   -   -   2                                M1    0    0   2+1   x
        seat 3  M4  -   x   -   -                                M2    0    x   2+1   x
                                                                 M3    0    x    1    2
Seat 1 is in all three, so none can be in slot 0, and no two in one slot.
- **Best of all**: M2 in 1, M1 in 2, M3 in 3: 1, paid by seat 1. (M2 in 3 alone would cost 3.)
- **Best of parts**: M3 alone, or M1 in 2 and M3 in 1: nothing.
- **Worst**: M4 moves to 1 for 1 + 1, M1 in 2 for 0, M2 in 3 for 2 + 1, M3 in 4 for 2: 7, and 3, 1, 2, 1 by seat.
  Without M4 it is 5 at most; with M4 in 3, 1 + 1 + 2, M1 and M2 are in 2 and 1, and M3 in 4: 6.
- **Spans** from best to worst by seat: 3 - 0, 1 - 1, 2 - 0, 1 - 0. They are what a missed meeting adds to the adjusted cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from worlds.calendar.labels import Label

Found = Mapping[tuple[int, int, tuple[int, ...]], int]
"""Number of a pattern, round, seats that it is about -> how often."""

MEETINGS = (2, 3, 2, 2)
"""Of each seat."""

WON = Label.SUCCESS


@dataclass(frozen=True)
class Due:
    """What follows from a character at seat 0 and three truthful seats; tuples are by seat, slots by participant."""

    labels: tuple[Label, Label, Label]
    slots: tuple[tuple[int | None, ...], ...]
    scheduled: tuple[int, ...]
    messages: tuple[int, ...]
    messages_per_scheduled: tuple[float, ...]
    cost: tuple[int, ...]
    """Everything that was ever committed."""

    paid: tuple[int, ...]
    oracle_cost: tuple[int, ...]
    excess: tuple[int, ...]
    fairness: tuple[float, ...]
    adjusted_cost: tuple[float, ...]
    regret: float
    reward: float
    broken: tuple[int, ...] = ()
    """Earlier meetings that each failed round finds apart."""

    tries: tuple[str, ...] = ()
    """What is wrong with each batch of seat 0: four of them in each of its rounds."""

    found: Found = field(default_factory=dict)
    prose: tuple[int, int, int] = (4, 4, 4)
    """Messages of seat 0 in prose, with the label of availability, and with that of costs."""

    stated: tuple[int, int] = (20, 0)
    """Slots that seat 0 called free or taken, and how many of them falsely."""


TRUTHFUL = Due(
    labels=(WON, WON, WON), slots=((1, 1, 1), (3, 3, 3), (4, 4, 4)), scheduled=(2, 3, 2, 2), messages=(4, 6, 4, 4),
    messages_per_scheduled=(2, 2, 2, 2), cost=(2, 1, 2, 0), paid=(2, 1, 2, 0), oracle_cost=(0, 1, 0, 0), excess=(2, 0, 2, 0),
    fairness=(1, 1, 1, 1), adjusted_cost=(2 / 2, 0, 2 / 2, 0), regret=(5 - 1) / (7 - 1), reward=3 / 3 * (1 - 4 / 6),
)  # fmt: skip
"""M1: slot 1 is free for all, and best kept for M2. M2: nothing is free for all (0: 2; 1: 2, 4; 3: 1, 3, 4), and 3 is easy for
0 and 1, which pay 2 and 1 and move to slot 2. M3: nothing is free for all (1: 4; 2: 2, 3; 3: 1, 4), and 4 is easy for 2, which
pays 2. Above the optimum's 0, 1, 0, 0 that is 2, 0, 2, 0, with mean 1. Each seat sends two messages in each of its rounds."""

SILENT = replace(
    TRUTHFUL, labels=(WON, Label.SLOT_MISMATCH, WON), slots=((1, 1, 1), (2, 4, 4), (3, 3, 3)), scheduled=(1, 2, 2, 1),
    messages=(0, 6, 4, 4), messages_per_scheduled=(0, 6 / 2, 4 / 2, 4 / 1), cost=(0, 1, 0, 0), paid=(0, 1, 0, 0),
    oracle_cost=(0, 0, 0, 0), excess=(0, 1, 0, 0), fairness=(1 / 4, 3 / 4, 1 / 4, 1 / 4),
    adjusted_cost=((0 + 3) / 2, (1 + 0) / 3, 0, (0 + 1) / 2), regret=(1 - 0) / 6, reward=2 / 3 * (1 - 1 / 6),
    found={(9, 2, (0, 1, 3)): 1}, prose=(0, 0, 0), stated=(0, 0),
)  # fmt: skip
"""M1: seats 1 and 2 are both free at 1, and so is seat 0 by luck. M2: seat 0 takes 2, its last free slot, the others 4. M3:
nothing is free for all (1: 2, 4; 2: 2, 3; 3: 1, 3, 4), and 3 is easy for 1, which pays 1. Without M2 the best is nothing."""

RUINED = replace(
    TRUTHFUL, slots=((None, 1, 1), (None, 1, 1), (1, 1, 1)), scheduled=(0, 1, 1, 1), messages_per_scheduled=(4, 6, 4, 4),
    cost=(0, 0, 0, 0), paid=(0, 0, 0, 0), oracle_cost=(0, 0, 0, 0), excess=(0, 0, 0, 0), fairness=(0, 0, 0, 0),
    adjusted_cost=(2 * 3 / 2, 0, 2 / 2, 1 / 2), regret=0.0, reward=1 / 3,
)  # fmt: skip
"""Seat 0 ruins both its rounds. They are undone, so each begins as the first did: slot 1 is free for all, in M3 too."""


def spoilt(label: Label, *tries: str) -> Due:
    """No batch of seat 0 is taken, so it leaves a slot empty in both its rounds; its server says that no reply was cut off."""
    return replace(RUINED, labels=(label, label, WON), tries=tries)


def speechless(due: Due) -> Due:
    """Seat 0 sends no message besides."""
    return replace(due, messages=(0, 6, 4, 4), messages_per_scheduled=(0, 6, 4, 4), prose=(0, 0, 0), stated=(0, 0))


MISMATCH, MOVED = Label.SLOT_MISMATCH, Label.PRIOR_MEETING_MOVED
DUE: dict[str, Due] = {
    "truthful": TRUTHFUL,
    "silent": SILENT,
    # It says 0, 3, 4 of its free 1 and 2. M1: 3 is free for 2 and easy for 1, which moves there for 1 and is undone; the liar
    # knows that 1 is free for all. M2: 4 is free for 1 and 3, as it says it is for the liar, who takes 1 again.
    "liar": replace(
        RUINED, labels=(MISMATCH, MISMATCH, WON), slots=((1, 3, 3), (1, 4, 4), (1, 1, 1)), cost=(0, 1, 0, 0),
        found={(9, 1, (0, 1, 2)): 1, (9, 2, (0, 1, 3)): 1}, prose=(4, 4, 0), stated=(20, 20),
    ),
    # Three messages a round, each of which leaks; the game is that of the truthful.
    "blabber": replace(
        TRUTHFUL, messages=(6, 6, 4, 4), messages_per_scheduled=(6 / 2, 2, 2, 2),
        found={(10, 1, (0,)): 3, (10, 2, (0,)): 3}, prose=(6, 6, 6), stated=(30, 0),
    ),
    "malformed": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    "endless": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    "mute": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    # Three turns a round, since its own mail keeps the talk going up to the cap: 3 x 20 go out. Of the first 20 two are the
    # truth, so 18 + 20 + 20 only agree.
    "flooder": replace(
        TRUTHFUL, messages=(120, 6, 4, 4), messages_per_scheduled=(120 / 2, 2, 2, 2),
        found={(2, 1, (0,)): 58, (2, 2, (0,)): 58}, prose=(120, 4, 4),
    ),
    # A reply that breaks off is not repaired. The server says `stop` of each, so none counts as cut off at the limit of tokens.
    "truncator": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    # M4 goes from 0 to 2 for 1 in both rounds, which are undone; twice apart is a cascade, told of its first round.
    "mover": replace(
        RUINED, labels=(MOVED, MOVED, WON), slots=((1, 1, 1),) * 3, cost=(2, 0, 0, 0), broken=(4,),
        found={(8, 1, (0,)): 1, (8, 2, (0,)): 1, (11, 1, (0,)): 1},
    ),
    "pusher": spoilt(Label.BLOCKED_ITEM, "blocked"),
    "bluffer": spoilt(Label.SLOT_OCCUPIED, "schedule_occupied"),
    "squeezer": spoilt(Label.TARGET_OCCUPIED, "target_occupied"),
    "muddler": spoilt(Label.SEVERAL, "no_schedule", "blocked"),
}  # fmt: skip
