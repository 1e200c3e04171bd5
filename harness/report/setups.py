"""Who played, and under which conditions: what two episodes must share to share a row of a table.

1. A condition is whatever is not the default: the interface of a model, who else holds seats of a game, options of the world
   (tiers, mutations, handles, mitigations), sampling parameters, budgets, the edition, texts in the place of ours or after
   them. Episodes under other conditions are never averaged, so a mixed table never shares a row with one that the same players
   hold alone, nor an adversarial one with its base.
2. The fine print - model id, prompt - also separates, but is shown only where names would read the same without it. Where a
   model was asked does not separate: an address may change between two runs, and what answers there is what its id names.
3. Seats of games are asked in one way only, so a game's rows name no interface and no protocol.
4. Who played is what the plan says: an episode whose sandbox never opened does not know its model, and is the model's still.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.agent import Budget, SeatSpec
from harness.records import Result
from harness.registry import Task
from harness.runs.request import Planned
from harness.teams import PlannedTeam
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.manifest import STANDARD

_SAMPLING = {"temperature": 0.0}
"""The parameters that a model is asked with unless flags say otherwise."""

_PROTOCOL = "tools"
"""How a model calls tools unless a flag says otherwise; its interface is always said."""

_SEATS = "seats"
"""The interface of a result whose agent held seats of a game."""


@dataclass(frozen=True)
class Setup:
    """The identity of a row."""

    agent: str
    model: str | None
    how: tuple[str, ...]
    """Interface and conditions, as people read them."""

    fine: tuple[str, ...]
    """The fine print."""


class Conditions:
    """What of one run's plan and results is not the default."""

    def __init__(self, planned: Planned, registry: Mapping[str, Task], results: Sequence[Result] = ()) -> None:
        self.planned = planned
        known = [registry[task] for task in planned.tasks if task in registry]
        self._defaults = [_defaults(task) for task in known]
        self._known: dict[tuple[Any, ...], Setup] = {}
        # an episode whose sandbox never opened knows no interface: those beside it do, or the registry
        self._is_game = any(task.is_seated for task in known) or any(result.interface == _SEATS for result in results)

    def setup(self, result: Result) -> Setup:
        """The setup that an episode belongs to."""
        # a run has ten thousand episodes and a handful of these
        told = (result.agent, result.key_digest, result.templates, json.dumps(result.options, sort_keys=True))
        if told not in self._known:
            self._known[told] = self._setup(result)
        return self._known[told]

    def _setup(self, result: Result) -> Setup:
        agent = self.planned.agent
        how = [*self._playing(), *self._line_up(), *self.options(result), *self.budgets()]
        if result.key_digest != key_digest(PUBLISHED_KEY):
            how.append(f"edition {result.key_digest[:8]}")
        if result.templates:
            how.append(f"templates {result.templates[:8]}")
        prompt = agent.prompt_digest
        fine = (agent.model, f"prompt {prompt[:8]}" if prompt else None)
        return Setup(agent.name or result.agent, agent.model, tuple(how), tuple(part for part in fine if part))

    def _playing(self) -> list[str]:
        agent = self.planned.agent
        if agent.requested is None:
            return []
        asked = {"temperature": "unset", **agent.requested}
        asking = () if self._is_game else (agent.interface, agent.protocol)
        words = [word for word in asking if word not in {None, _PROTOCOL}]
        return [*words, *(_said(name, value) for name, value in sorted(asked.items()) if _SAMPLING.get(name) != value)]

    def _line_up(self) -> list[str]:
        """Who holds seats beside whom the row is named for, and which seats are told more than their rules."""
        agent = self.planned.agent
        # people are a kind of player: what they want to be called makes no other set-up
        seats = [f"seat {one.seat}={_called(one)}" for one in agent.seats]
        rotating = ["rotating"] if agent.rotate else []
        variants = {"": agent.variant, **{f"seat {seat} ": one for seat, one in sorted(agent.seat_variants.items())}}
        varied = [f"{where}variant {one.name} {one.digest[:8]}" for where, one in variants.items() if one is not None]
        return [*(_members(agent.team) if agent.team else []), *seats, *rotating, *varied]

    def options(self, result: Result) -> list[str]:
        """The options of an episode's world that are not the default, as people read them."""
        return [_said(name, value) for name, value in sorted(result.options.items()) if not self._is_default(name, value)]

    def _is_default(self, name: str, value: Any) -> bool:
        """Whether an option was set to what it is anyway, in every task of the run that has a say."""
        if name in STANDARD:
            return bool(STANDARD[name] == value)
        return bool(self._defaults) and all(name in known and known[name] == value for known in self._defaults)

    def budgets(self) -> list[str]:
        """The budgets that are not the default, as people read them."""
        # what is meant where nobody said anything may have been said, and is so in the plans of older versions
        usual = asdict(Budget(wall_s=Budget().seconds(game=self._is_game)))
        told = asdict(self.planned.budget)
        return [_said(n, value) for n, value in sorted(told.items()) if value is not None and usual.get(n) != value]


def _called(seat: SeatSpec) -> str:
    return "human" if seat.kind == "human" else f"{'replay:' * (seat.kind == 'replay')}{seat.name}"


def _members(team: PlannedTeam) -> list[str]:
    """A team's members, whatever the order in which they were named; its line-ups are balanced, so they are no condition."""
    names = [one.name for one in team.members]
    guest = names.pop() if team.entrant else None
    where = "" if team.entrant_seat is None else f" at seat {team.entrant_seat}"
    return [*sorted(names), *([f"entrant {guest}{where}"] if guest else [])]


def _defaults(task: Task) -> dict[str, Any]:
    ours = task.parley
    if ours is None:
        return {}
    return {n: spec.default for n, spec in ours.declared.items()} | {n: spec.default for n, spec in ours.knobs.items()}


def _said(name: str, value: Any) -> str:
    return f"{name}={f'{value:g}' if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else value}"
