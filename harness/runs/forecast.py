"""Dry run: the episodes that a run would play, keep and repeat, and what they would take.

Calls, tokens, dollars and time are estimates, each with its source (`harness.runs.cost_history`); the counts are exact. Budgets
are upper bounds: an episode is not expected to take more than its budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from harness.agent import Budget
from harness.compact_results import kept
from harness.prices import Price
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.cost_history import Basis, Experience, Typical
from harness.runs.episode_filter import EpisodeChoice
from harness.runs.plan import Plan
from harness.runs.session import RunSession
from worlds.core.models import Strict


class Counts(Strict):
    """Numbers of episodes of a plan."""

    planned: int
    play: int
    """Episodes that are played now; `repeat` of them have an ungraded attempt."""

    repeat: int
    keep: int
    """Episodes that are graded already."""

    leave: int
    """Ungraded episodes that are not played either (`--only`)."""


class PartForecast(Strict):
    """Forecast for one agent with one combination of options."""

    name: str
    player: str
    models: tuple[str, ...]
    prices: dict[str, str | None]
    """Token price of each model, as text; None if it is unknown."""

    episodes: Counts
    calls: int
    prompt: int
    completion: int
    cost_usd: float | None
    """Cost in US dollars; None if a model has no price; 0 if no model plays."""

    seconds: float
    """Real seconds, with as many concurrent episodes as the run has workers."""

    sources: dict[str, str]
    """Source of the estimates, by family."""


@dataclass
class _Sum:
    takes: Typical = field(default_factory=Typical)

    def add(self, one: Typical) -> None:
        total = {name: getattr(self.takes, name) + getattr(one, name) for name in Typical.model_fields}
        self.takes = Typical(**total)


def counted(plan: Plan, recorded: Mapping[Key, Result], choice: EpisodeChoice) -> tuple[Counts, list[Key]]:
    """Return the counts of a plan's episodes, and the episodes that will be played."""
    keys = plan.keys
    played = [key for key in keys if choice.takes(key, recorded.get(key))]
    graded = sum(1 for key in keys if (one := recorded.get(key)) and one.status == "graded")
    again = sum(1 for key in played if key in recorded)
    counts = Counts(
        planned=len(keys), play=len(played), repeat=again, keep=graded, leave=len(keys) - len(played) - graded
    )  # fmt: skip
    return counts, played


def forecast(
    plan: Plan, name: str, recorded: Mapping[Key, Result], choice: EpisodeChoice, experience: Experience,
    price: Callable[[str], Price | None], workers: int,
) -> PartForecast:  # fmt: skip
    """Return the forecast for one part of a run."""
    counts, played = counted(plan, recorded, choice)
    total, sources, bases = _Sum(), dict[str, str](), dict[str, Basis]()
    for key in played:
        task = plan.task(key)
        if key.family not in bases:
            bases[key.family] = experience.basis(plan.agent, task)
            sources[key.family] = bases[key.family].source
        total.add(_bounded(bases[key.family].takes, plan.budget, task))
    models, takes = plan.agent.models, total.takes
    prices = {model: price(model) for model in models}
    return PartForecast(
        name=name, player=plan.agent.model or plan.agent.title, models=tuple(models),
        prices={model: one.told if one else None for model, one in prices.items()}, episodes=counts, calls=round(takes.calls),
        prompt=round(takes.prompt), completion=round(takes.completion), cost_usd=_cost(takes, list(prices.values())),
        seconds=takes.seconds / max(1, min(workers, len(played))), sources=sources,
    )  # fmt: skip


def _bounded(takes: Typical, budget: Budget, task: Task) -> Typical:
    """Return the expected usage of an episode, limited by its budget."""
    tokens = takes.prompt + takes.completion
    share = min(1.0, budget.tokens / tokens) if budget.tokens and tokens else 1.0
    if not task.is_seated and takes.calls:
        share = min(share, budget.turns / takes.calls)
    changed = {name: getattr(takes, name) * share for name in ("calls", "prompt", "cached", "completion")}
    return takes.model_copy(update={**changed, "seconds": min(takes.seconds * share, budget.seconds(game=task.is_seated))})


def _cost(takes: Typical, prices: Sequence[Price | None]) -> float | None:
    """Return the price of these tokens in dollars; several models are expected to use equal shares."""
    known = [one for one in prices if one is not None]
    if len(known) < len(prices):
        return None
    if not known:
        return 0.0
    return sum(one.dollars(takes.prompt, takes.completion, takes.cached) for one in known) / len(known)


def forecasts(session: RunSession) -> list[PartForecast]:
    """Return the forecast for each part of a session, without playing."""
    experience = Experience([session.folder, session.folder.parent])
    made = []
    for folder, plan in session.plans.items():
        recorded = {one.key: one for one in kept(RunFolder(folder).results(damaged=[]))}
        price, workers = partial(session.price, plan), session.request.workers
        made.append(forecast(plan, plan.part, recorded, session.choice, experience, price, workers))
    return made
