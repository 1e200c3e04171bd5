"""What a generated calendar scenario may be made of: the paper's parameters by name (Table 3), and the few that it leaves out.

Everything that can be said without drawing anything is checked here, and every refusal names its rule.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from harness.errors import UsageError
from worlds.core.models import Strict

SHOWN_BASE = 10
"""Agents are shown level l as 10^(l-1), and scored l: differences must be noticed (paper, section 3, note 1)."""

MAX_LEVEL = 6

HELP = "harness generate calendar --help"


class Parameters(Strict):
    """One scenario; the same parameters under the same suite name give the same scenario."""

    seed: int = Field(default=0, ge=0)
    num_agents: int = Field(default=5, ge=2, le=100)
    num_slots: int = Field(default=16, ge=1, le=1000)
    num_meetings: int = Field(default=5, ge=1, le=100)
    participants: int = Field(default=3, ge=2)
    """Of each meeting, in rotation."""

    participant_lists: tuple[tuple[int, ...], ...] = ()
    """One for each meeting, instead of the rotation."""

    density: FiniteFloat | tuple[FiniteFloat, ...] = 0.8
    """Share of a calendar's slots that hold errands: one for all agents, or one each."""

    pref_level: int = Field(default=1, ge=1, le=MAX_LEVEL)
    """The highest cost level of an errand; 1 is the uniform setting."""

    errand_cost_level: int | None = Field(default=None, ge=1, le=MAX_LEVEL)
    """The highest cost level of an errand, where it is to differ from `pref_level`."""

    meeting_cost_level: int = Field(default=1, ge=1, le=MAX_LEVEL)
    balanced: bool = False
    """Whether each agent has every cost level equally often, rather than each errand a level of its own by chance."""

    force_witness_errand: bool = True
    """Whether errands cover the slots of the hidden schedule first, so that it has a cost."""

    blocked: int | tuple[int, ...] = 0
    """Errands that cannot be moved: for an agent of density 1, fewer for others (`blocked_of`), or a count for each agent."""

    duration: int | tuple[int, ...] = 1
    """Slots of a meeting: one number for all, or one for each."""

    prior_meetings: int = Field(default=0, ge=0, le=100)
    """Meetings that stand before the first round."""

    prior_in_the_way: bool = False
    """Whether each of them stands where the hidden schedule has a meeting, so that it moves them."""

    @model_validator(mode="after")
    def _consistent(self) -> Parameters:
        self._lengths()
        if self.participants > self.num_agents:
            raise ValueError(f"{self.participants} participants are more than the {self.num_agents} agents")
        for chosen in self.participant_lists:
            if len(chosen) < 2 or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(self.num_agents)):
                raise ValueError(
                    f"participant list {list(chosen)} must be two or more different agents of 0..{self.num_agents - 1}"
                )
        if self.prior_in_the_way and not 1 <= self.prior_meetings <= self.num_meetings:
            raise ValueError(f"prior meetings in the way are 1..{self.num_meetings}, one for each meeting at most")
        if self.prior_in_the_way and self.participants == self.num_agents:
            raise ValueError("prior meetings in the way need agents outside each meeting")
        if not all(0 <= density <= 1 for density in self.densities):
            raise ValueError("a density lies in 0..1")
        if min(self.durations) < 1 or max(self.durations) > self.num_slots:
            raise ValueError(f"a duration lies in 1..{self.num_slots}, the slots of a calendar")
        if min(self._blocked) < 0:
            raise ValueError("blocked errands cannot be fewer than 0")
        return self

    @property
    def densities(self) -> tuple[float, ...]:
        """By agent."""
        return self.density if isinstance(self.density, tuple) else (self.density,) * self.num_agents

    @property
    def durations(self) -> tuple[int, ...]:
        """By meeting."""
        return self.duration if isinstance(self.duration, tuple) else (self.duration,) * self.num_meetings

    @property
    def errand_level(self) -> int:
        """The highest cost level of an errand."""
        return self.errand_cost_level or self.pref_level

    @property
    def scale(self) -> dict[int, int]:
        """Shown cost -> scored cost; empty where there is one level, shown as it is scored."""
        highest = max(self.errand_level, self.meeting_cost_level)
        return {shown(level): level for level in range(1, highest + 1)} if highest > 1 else {}

    def errands_of(self, agent: int, taken: int) -> int:
        """How many errands an agent has whose meetings, new and prior, take `taken` cells.

        floor(slots x density), the paper's rule, and never so many that its meetings would find no room: at 16 slots and three
        meetings densities 0.6, 0.8 and 1.0 give 9, 12 and 13.
        """
        return max(0, min(floor(self.num_slots * _exact(self.densities[agent])), self.num_slots - taken))

    def blocked_of(self, agent: int) -> int:
        """How many of them are blocked: n x density^2, at least one where n > 0 (2, 4, 6 for n = 6 at 0.6, 0.8, 1.0)."""
        if isinstance(self.blocked, tuple):
            return self.blocked[agent]
        if self.blocked == 0:
            return 0
        return max(1, floor(self.blocked * _exact(self.densities[agent]) ** 2 + Fraction(1, 2)))

    @property
    def blocks(self) -> bool:
        """Whether anything is blocked."""
        return max(self._blocked) > 0

    @property
    def _blocked(self) -> tuple[int, ...]:
        return self.blocked if isinstance(self.blocked, tuple) else (self.blocked,)

    def _lengths(self) -> None:
        """Lists have an entry for each agent, or for each meeting."""
        listed = {
            "density": (self.density, self.num_agents, "agents"),
            "blocked": (self.blocked, self.num_agents, "agents"),
            "duration": (self.duration, self.num_meetings, "meetings"),
            "participant_lists": (self.participant_lists or 0, self.num_meetings, "meetings"),
        }
        for name, (value, count, what) in listed.items():
            if isinstance(value, tuple) and len(value) != count:
                raise ValueError(f"{name} lists {len(value)} values for {count} {what}")


def shown(level: int) -> int:
    """What agents see of a cost level."""
    return int(SHOWN_BASE ** (level - 1))


def parameters(**values: Any) -> Parameters:
    """Checked parameters; raises UsageError naming the rule that does not hold."""
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{where}: {what}, not {first['input']!r}" if where else what, hint=HELP) from None


def _exact(density: float) -> Fraction:
    """The number as it is written: 0.29 of 100 slots are 29, not 28."""
    return Fraction(str(density))
