"""Changes allowed on a resume: seeds and attempts may be added, and spending limits may be raised.

Any other change requires a new run. Each change is recorded as an `Amendment` in run.json, with its time, so that a reader can
see under which limits the first episodes were played. Reductions are refused, because planned or played episodes would silently
drop out of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from harness.errors import UsageError
from harness.runs.request import ON_RESUME, Amendment, RunRequest

GROWING = frozenset(name for name, rule in ON_RESUME.items() if rule.startswith("grows"))
"""Fields of a request, and of a run's identity, that may grow."""


class Bound(NamedTuple):
    """Value that may grow: the flag that sets it, and its old and new values."""

    flag: str
    before: Any
    after: Any
    shrinks: bool


def grown(before: RunRequest, after: RunRequest, *, game: bool, at: str) -> tuple[Amendment, ...]:
    """Return the increases from one request to the next; raises UsageError for a reduction. `game` is true if seats play."""
    changed = [bound for bound in _bounds(before, after, game=game) if bound.before != bound.after]
    if before.shard is not None and (wider := [bound.flag for bound in changed if bound.flag in {"--seeds", "--k"}]):
        why = f"{wider[0]} cannot grow in shard {before.shard} alone, because all shards play one plan"
        raise UsageError(why, hint=f"harness merge OUT SHARD..., then harness run --resume OUT {wider[0]} MORE")
    for bound in changed:
        if bound.shrinks:
            why = f"{bound.flag} {_told(bound.after)} is less than the {_told(bound.before)} of this run, which may only grow"
            raise UsageError(why, hint="leave it out, or harness run ... --out NEW_FOLDER")
    return tuple(Amendment(at=at, flag=one.flag, before=one.before, after=one.after) for one in changed)


def _bounds(before: RunRequest, after: RunRequest, *, game: bool) -> Iterator[Bound]:
    old, new = before.budget, after.budget
    yield Bound("--seeds", sorted(before.seeds), sorted(after.seeds), not set(before.seeds) <= set(after.seeds))
    yield Bound("--k", before.attempts, after.attempts, after.attempts < before.attempts)
    yield Bound("--wall", old.wall_s, new.wall_s, new.seconds(game=game) < old.seconds(game=game))
    yield Bound("--turns", old.turns, new.turns, new.turns < old.turns)
    yield Bound("--tokens", old.tokens, new.tokens, _most(new.tokens) < _most(old.tokens))
    yield Bound("--cost", old.cost_usd, new.cost_usd, _most(new.cost_usd) < _most(old.cost_usd))
    first, then = before.limits, after.limits
    # a new limit changes no episode; it only ends the run earlier
    yield Bound("--max-cost", first.cost_usd, then.cost_usd, _most(then.cost_usd) < (first.cost_usd or 0.0))
    yield Bound("--max-tokens", first.tokens, then.tokens, _most(then.tokens) < (first.tokens or 0))


def _most(bound: float | None) -> float:
    return math.inf if bound is None else bound


def _told(value: Any) -> str:
    if value is None:
        return "unbounded one"
    return ",".join(map(str, value)) if isinstance(value, list) else f"{value:g}"
