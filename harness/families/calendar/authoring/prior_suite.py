"""The suite `prior`: 30 tasks in which every optimum moves a meeting that stood before, with the help of somebody outside.

The paper says of its varied costs that the best solution may move earlier meetings, and that agents should reach out to their
participants (section 3); in the canonical suite hardly any does.
1. Each task has prior meetings in the way of new ones (`placing`), none of them held by any round: whichever round moves one,
   an agent outside the new meeting has to move its copy in the voluntary phase, and must have been asked to.
2. A candidate is kept if no game without outsiders comes within MARGIN of the optimum, and none reaches it at shown costs
   (`oracles.calendar.outsiders`). The certificate holds what such games cost at least.
3. Everything else is as in the canonical suite: five agents, varied costs, the same difficulties, 20 blocked errands a task, at
   every seat each density equally often.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, cycle

from harness.families.calendar.authoring.difficulty import LEVELS, Level
from harness.families.calendar.authoring.generator import Edition
from harness.families.calendar.authoring.parameters import parameters
from harness.families.calendar.authoring.suite import BLOCKED, SETTINGS, CandidateTally, Made, design, first_fit
from oracles.calendar.outsiders import saved_by_outsiders
from worlds.calendar.rules.scenario import Scenario
from worlds.core.chance import PUBLISHED_KEY

PRIOR = "prior"
NAME = "varied-prior"
"""The suite's name, and the beginning of each task's."""

PER_LEVEL = 10
MARGIN = 2
"""Scored units that outsiders save at least."""

PRIOR_MEETINGS: dict[Level, tuple[int, ...]] = {"easy": (3, 4), "medium": (2, 3, 4), "hard": (2, 3, 4)}
"""How many stand, by turns. Where many slots are open, two are hardly ever worth moving."""


def prior(*, seed: int = 0, key: str = PUBLISHED_KEY, tally: CandidateTally | None = None) -> Iterator[Made]:
    """The 30 tasks, one by one, ten easy, medium and hard each; another seed gives another 30."""
    tally = tally or CandidateTally()
    # another seed is another suite by name, so that neither overwrites the other's folders
    edition = Edition(f"{PRIOR}-varied{f'-{seed}' if seed else ''}", key)
    rows = iter(design(edition.chance(seed)("densities"), PER_LEVEL * len(LEVELS)))
    seeds, number = count(), count(1)
    for level in LEVELS:
        standing = cycle(PRIOR_MEETINGS[level])
        for _ in range(PER_LEVEL):
            like = parameters(
                density=next(rows), blocked=BLOCKED, prior_meetings=next(standing), prior_in_the_way=True, **SETTINGS["varied"]
            )
            name = f"{NAME}-{next(number):02d}"
            yield first_fit(name, like, edition, seeds, level, tally, screen=needless)


def needless(scenario: Scenario) -> str:
    """Why outsiders matter too little in a scenario; nothing where they matter."""
    saved = saved_by_outsiders(scenario)
    if saved is not None and saved < MARGIN:
        return "outsiders save too little"
    shown = saved_by_outsiders(scenario, "shown")
    return "outsiders save nothing at shown costs" if shown is not None and shown < 1 else ""
