"""`harness run --dry-run`: the planned episodes and their estimated cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.cli.amounts import counted, dollars, duration, short
from harness.errors import UsageError
from harness.output import emit
from harness.runs.request import RunRequest
from harness.runs.session import RunSession
from parley.commands.forecast import PartForecast, forecasts
from parley.statistics import mde, mde_words


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
