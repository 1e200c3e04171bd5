"""`harness run --dry-run`: the planned episodes and their estimated cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.cli.amounts import counted, dollars, duration, short
from harness.errors import UsageError
from harness.output import emit, say
from harness.runs.request import RunRequest
from harness.runs.session import RunSession
from harness.statistics import mde, mde_words
from parley.commands.forecast import PartForecast, forecasts


def show_planned(session: RunSession, *, json: bool) -> None:
    """Print the plan: as JSON on stdout, else as text."""
    parts = forecasts(session)
    if json:
        emit(_document(session, parts))
        return
    for line in planned_lines(session, parts):
        print(line)


def say_planned(session: RunSession) -> None:
    """Print the plan on stderr, before a confirmation."""
    for line in planned_lines(session, forecasts(session)):
        say(line)


def planned_lines(session: RunSession, parts: Sequence[PartForecast]) -> Iterator[str]:
    """Yield the lines of the plan."""
    request = session.request
    yield _counts(request, len(parts), session.episodes)
    for part in parts:
        yield from _part(part, len(parts))
    if len(parts) > 1:
        yield f"all together: {_takes(parts)}"
    yield from _limits(request)
    yield _visible(request)


def _counts(request: RunRequest, parts: int, episodes: int) -> str:
    """Return the numbers that make up the plan; `episodes` are those that are played here."""
    tasks, seeds, attempts = len(request.tasks), len(request.seeds), request.attempts
    each = len(request.retry.episodes) if request.retry else tasks * seeds * attempts
    product = " x ".join([counted(tasks, "task"), counted(seeds, "seed"), counted(attempts, "attempt")])
    told = f"{each} failed episodes again" if request.retry else product
    times = f" x {parts} parts" if parts > 1 else ""
    share = f", shard {request.shard} of them: {episodes:,}" if request.shard else ""
    return f"plan: {told}{times} = {counted(each * parts, 'episode')}{share}, {request.workers} at once"


def _part(part: PartForecast, parts: int) -> Iterator[str]:
    counts = part.episodes
    again = f" ({counts.repeat} of them again)" if counts.repeat else ""
    rest = [f"{counts.keep} have a grade and are kept"] if counts.keep else []
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
    calls, seconds = sum(part.calls for part in parts), sum(part.seconds for part in parts)
    if not calls:
        return duration(seconds)
    prompt, completion = sum(part.prompt for part in parts), sum(part.completion for part in parts)
    costs = [part.cost_usd for part in parts]
    cost = "cost unknown" if None in costs else dollars(sum(one for one in costs if one is not None))
    return f"{calls:,} calls, {short(prompt)} tokens in, {short(completion)} out, {cost}, {duration(seconds)}"


def _limits(request: RunRequest) -> Iterator[str]:
    cost, tokens = request.limits.cost_usd, request.limits.tokens
    bounds = [*([dollars(cost)] if cost is not None else []), *([f"{short(tokens)} tokens"] if tokens is not None else [])]
    if bounds:
        yield f"the run ends at {' or '.join(bounds)}, and can be resumed with more"


def _visible(request: RunRequest) -> str:
    """Return a sentence on the smallest difference between two models that such a plan can detect."""
    try:
        return mde_words(len(request.tasks), len(request.seeds) * request.attempts)
    except UsageError as error:
        return f"how far two models must differ to be told apart is not said: {error}"


def _mde(request: RunRequest) -> float | None:
    try:
        return mde(len(request.tasks), len(request.seeds) * request.attempts)
    except UsageError:
        return None


def _document(session: RunSession, parts: Sequence[PartForecast]) -> dict[str, Any]:
    costs = [part.cost_usd for part in parts]
    return {
        "path": str(session.folder),
        "episodes": sum(part.episodes.planned for part in parts),
        "play": sum(part.episodes.play for part in parts),
        "calls": sum(part.calls for part in parts),
        "prompt_tokens": sum(part.prompt for part in parts),
        "completion_tokens": sum(part.completion for part in parts),
        "cost_usd": None if None in costs else sum(one for one in costs if one is not None),
        "seconds": sum(part.seconds for part in parts),
        "limits": session.request.limits.model_dump(),
        "mde": _mde(session.request),
        "parts": [part.model_dump(mode="json") for part in parts],
    }
