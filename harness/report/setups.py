"""Who played, and under which conditions: what two episodes must share to share a row of a table.

1. A condition is whatever is not the default: the interface of a model, options of the world (tiers, mutations, handles,
   mitigations), sampling parameters, budgets, the edition. Episodes under other conditions are never averaged.
2. The fine print - model id, server, prompt - also separates, but is shown only where names would read the same without it.
3. Who played is what the plan says: an episode whose sandbox never opened does not know its model, and is the model's still.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.agents.base import Budget
from harness.records import Result
from harness.registry import Task
from harness.report.runs import Planned
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.manifest import STANDARD_OPTIONS

_SAMPLING = {"temperature": 0.0}
"""The parameters that a model is asked with unless flags say otherwise."""

_PLAYING = {"interface": None, "protocol": "tools"}
"""How a model plays: always said of the interface, of the protocol where it is another."""


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

    def __init__(self, planned: Planned, registry: Mapping[str, Task]) -> None:
        self.planned = planned
        self._defaults = [_defaults(registry[task]) for task in planned.tasks if task in registry]

    def setup(self, result: Result) -> Setup:
        """The setup that an episode belongs to."""
        agent = self.planned.agent
        how = [*self._playing(), *self._options(result), *self._budgets()]
        if result.key_digest != key_digest(PUBLISHED_KEY):
            how.append(f"edition {result.key_digest[:8]}")
        prompt = agent.get("prompt_digest")
        fine = (agent.get("model"), agent.get("api_base"), f"prompt {prompt[:8]}" if prompt else None)
        name = str(agent.get("name", result.agent))
        return Setup(name, agent.get("model"), tuple(how), tuple(str(part) for part in fine if part))

    def _playing(self) -> list[str]:
        agent = self.planned.agent
        if "model" not in agent:
            return []
        asked: dict[str, Any] = {"temperature": "unset", **agent.get("requested", {})}
        words = [agent[part] for part, usual in _PLAYING.items() if agent.get(part, usual) != usual]
        return [*words, *(_said(name, value) for name, value in sorted(asked.items()) if _SAMPLING.get(name) != value)]

    def _options(self, result: Result) -> list[str]:
        return [_said(name, value) for name, value in sorted(result.options.items()) if not self._is_default(name, value)]

    def _is_default(self, name: str, value: Any) -> bool:
        """Whether an option was set to what it is anyway, in every task of the run that has a say."""
        if name in STANDARD_OPTIONS:
            return bool(STANDARD_OPTIONS[name].default == value)
        return bool(self._defaults) and all(name in known and known[name] == value for known in self._defaults)

    def _budgets(self) -> list[str]:
        usual = asdict(Budget())
        return [_said(name, value) for name, value in sorted(self.planned.budget.items()) if usual.get(name) != value]


def _defaults(task: Task) -> dict[str, Any]:
    ours = task.parley
    if ours is None:
        return {}
    return {name: spec.default for name, spec in ours.options.items()} | {n: spec.default for n, spec in ours.knobs.items()}


def _said(name: str, value: Any) -> str:
    return f"{name}={f'{value:g}' if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else value}"
