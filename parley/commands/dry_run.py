"""`harness run --dry-run`: the episodes that a run would play, keep and repeat, and what they would take.

1. Calls, tokens, dollars and time are estimates, each with its source; the counts are exact. Budgets are upper bounds.
2. An estimate comes from earlier episodes beside this run, of the same family with the same interface, first of the same model.
The newest runs are read first, up to a limit on files.
3. Otherwise, `typical.toml` contains the usage of a scripted model that makes no mistake (docs/running.md); real ones use more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import tomli

from harness.agent import AgentSpec, Budget
from harness.cli.amounts import counted, dollars, duration, short
from harness.errors import UsageError
from harness.output import emit
from harness.prices import Price
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.episode_filter import EpisodeChoice
from harness.runs.plan import Plan
from harness.runs.request import RunRequest
from harness.runs.session import RunSession
from parley.places import runs_in
from parley.reports.compact import kept
from parley.statistics import mde, mde_words
from worlds.core.models import Strict

SEATS, NO_MODEL = "seats", "no-model"

MOST_RUNS, MOST_EPISODES = 20, 400
"""Limits on the earlier runs that are searched, and on their episodes that are read."""


class Typical(Strict):
    """Mean usage of one episode."""

    calls: float = 0
    prompt: float = 0
    """Prompt tokens."""

    cached: float = 0
    completion: float = 0
    seconds: float = 0
    """Real seconds."""


class Basis(NamedTuple):
    """Expected usage of an episode, and the source of the estimate."""

    takes: Typical
    source: str


def interface_of(spec: AgentSpec, task: Task) -> str:
    """Return the interface between a spec and a task: `shell`, `tool`, `seats`, or `no-model` if it uses no model."""
    has_model = spec.model is not None or any(one.kind == "model" for one in spec.holders)
    if not has_model:
        return NO_MODEL
    return SEATS if task.is_seated else spec.interface


class Experience:
    """Recorded episodes of some folders."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._results = tuple(_recent(folders))

    def basis(self, spec: AgentSpec, task: Task) -> Basis:
        """Return the expected usage of an episode of this agent at this task's family."""
        how = interface_of(spec, task)
        mine = [one for one in self._results if one.family == task.family and _interface(one) == how]
        if how == NO_MODEL:
            mine = [one for one in mine if one.agent == spec.title]
        own = [one for one in mine if one.model == spec.model]
        chosen, whose = (own, spec.model or spec.title) if own else (mine, "other players")
        if chosen:
            return Basis(_mean(chosen), f"{len(chosen)} earlier episode{'' if len(chosen) == 1 else 's'} of {whose}")
        usage = _defaults().get(task.family, {}).get(how, Typical())
        return Basis(usage, "default token counts, measured with a scripted player")


def _interface(result: Result) -> str:
    return (result.interface or "shell") if result.tokens.calls else NO_MODEL


def _mean(results: Sequence[Result]) -> Typical:
    tokens = {name: fmean(getattr(one.tokens, name) for one in results) for name in ("calls", "prompt", "cached", "completion")}
    return Typical(**tokens, seconds=fmean(one.timings.total for one in results))


def _recent(folders: Iterable[Path]) -> Iterator[Result]:
    """Yield graded episodes of the newest runs in these folders, skipping those that cannot be read."""
    left = MOST_EPISODES
    runs = sorted({run.resolve() for folder in folders for run in runs_in(folder)})
    for run in sorted(runs, key=_begun, reverse=True)[:MOST_RUNS]:
        for result in islice(RunFolder(run).results(damaged=[]), left):
            left -= 1
            if result.status == "graded":
                yield result
        if left <= 0:
            return


def _begun(run: Path) -> float:
    try:
        return (run / "run.json").stat().st_mtime
    except OSError:
        return 0.0


@cache
def _defaults() -> dict[str, dict[str, Typical]]:
    table = tomli.loads(Path(__file__).with_name("typical.toml").read_text(encoding="utf-8"))
    return {family: {how: Typical.model_validate(row) for how, row in rows.items()} for family, rows in table.items()}


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


def count_episodes(plan: Plan, recorded: Mapping[Key, Result], choice: EpisodeChoice) -> tuple[Counts, list[Key]]:
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
    counts, played = count_episodes(plan, recorded, choice)
    taken, bases = list[Typical](), dict[str, Basis]()
    for key in played:
        task = plan.task(key)
        if key.family not in bases:
            bases[key.family] = experience.basis(plan.agent, task)
        taken.append(_bounded(bases[key.family].takes, plan.budget, task))
    models, sources = plan.agent.models, {family: basis.source for family, basis in bases.items()}
    takes = Typical(**{name: sum(getattr(one, name) for one in taken) for name in Typical.model_fields})
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


def show_planned(session: RunSession, tell: Callable[[str], None], *, json: bool = False) -> None:
    """Tell the plan line by line, or print it as JSON on stdout."""
    request, parts = session.request, forecasts(session)
    if json:
        emit(_document(session, parts))
        return
    tell(_counts(request, len(parts), session.episodes))
    for part in parts:
        for line in _part(part, len(parts)):
            tell(line)
    if len(parts) > 1:
        tell(f"in total: {_takes(parts)}")
    cost, tokens = request.limits.cost_usd, request.limits.tokens
    bounds = [*([dollars(cost)] if cost is not None else []), *([f"{short(tokens)} tokens"] if tokens is not None else [])]
    if bounds:
        tell(f"the run stops at {' or '.join(bounds)}, and can be resumed with a higher limit")
    tell(_told_apart(request)[1])


def _counts(request: RunRequest, parts: int, episodes: int) -> str:
    """Return the plan in numbers, as text; `episodes` is the number of episodes that are played here."""
    tasks, seeds, attempts = len(request.tasks), len(request.seeds), request.attempts
    each = len(request.retry.episodes) if request.retry else tasks * seeds * attempts
    product = " x ".join([counted(tasks, "task"), counted(seeds, "seed"), counted(attempts, "attempt")])
    told = f"{counted(each, 'failed episode')} to retry" if request.retry else product
    times = f" x {parts} parts" if parts > 1 else ""
    share = f", of which shard {request.shard} plays {episodes:,}" if request.shard else ""
    return f"plan: {told}{times} = {counted(each * parts, 'episode')}{share}, {request.workers} at a time"


def _part(part: PartForecast, parts: int) -> Iterator[str]:
    counts = part.episodes
    again = f" ({counts.repeat} of them retries)" if counts.repeat else ""
    rest = [f"{counts.keep} are graded and kept"] if counts.keep else []
    rest += [f"{counts.leave} are left out"] if counts.leave else []
    name = f"{part.name}: " if parts > 1 else ""
    yield f"{name}{part.player} plays {counted(counts.play, 'episode')}{again}{''.join(f', {one}' for one in rest)}"
    for model, price in part.prices.items():
        yield f"  {model}: {price or 'no known price (--prices FILE)'}"
    if counts.play:
        yield f"  about {_takes([part])}"
    for family, source in part.sources.items():
        yield f"  estimated for {family} from {source}"


def _takes(parts: Sequence[PartForecast]) -> str:
    calls, prompt, completion, cost_usd, seconds = _sums(parts).values()
    if not calls:
        return duration(seconds)
    cost = "cost unknown" if cost_usd is None else dollars(cost_usd)
    return f"{calls:,} calls, {short(prompt)} tokens in, {short(completion)} out, {cost}, {duration(seconds)}"


def _sums(parts: Sequence[PartForecast]) -> dict[str, Any]:
    """Return the estimated totals of all parts; the cost is None if that of one part is unknown."""
    costs = [part.cost_usd for part in parts]
    return {
        "calls": sum(part.calls for part in parts),
        "prompt_tokens": sum(part.prompt for part in parts),
        "completion_tokens": sum(part.completion for part in parts),
        "cost_usd": None if None in costs else sum(one for one in costs if one is not None),
        "seconds": sum(part.seconds for part in parts),
    }


def _told_apart(request: RunRequest) -> tuple[float | None, str]:
    """Return the smallest difference between two models that this plan can detect, and a sentence on it."""
    plan = len(request.tasks), len(request.seeds) * request.attempts
    try:
        return mde(*plan), mde_words(*plan)
    except UsageError as error:
        return None, f"the detectable difference between two models is unknown: {error}"


def _document(session: RunSession, parts: Sequence[PartForecast]) -> dict[str, Any]:
    return {
        "path": str(session.folder),
        "episodes": sum(part.episodes.planned for part in parts),
        "play": sum(part.episodes.play for part in parts),
        **_sums(parts),
        "limits": session.request.limits.model_dump(),
        "mde": _told_apart(session.request)[0],
        "parts": [part.model_dump(mode="json") for part in parts],
    }
