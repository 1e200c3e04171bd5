"""Changes allowed on a resume: seeds and attempts may be added, and spending limits may be raised.

Any other change requires a new run. Each change is recorded as an `Amendment` in run.json, with its time, so that a reader can
see the limits under which the first episodes were played. Reductions are refused, because they would silently remove planned or
played episodes from the plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from harness.agent import PATIENCE_S, TIMEOUT_S
from harness.errors import UsageError, quoted
from harness.records import RunFolder
from harness.run_files import is_packed
from harness.runs.plan import Plan
from harness.runs.request import Amendment, Planned, RunRecord, RunRequest, read_record, requested
from harness.runs.run import now
from harness.secrets import host_of

ON_RESUME: Mapping[str, Literal["fixed", "grows undecided", "grows", "free"]] = {
    "tasks": "fixed", "agents": "fixed", "options": "fixed", "control": "fixed", "key_digest": "fixed", "retry": "fixed",
    "until": "fixed", "templates": "fixed", "seeds": "grows undecided", "attempts": "grows undecided",
    "budget": "grows undecided", "limits": "grows", "shard": "fixed", "runtime": "free", "workers": "free",
    "breaker": "free", "record_wire": "free",
}  # fmt: skip
"""Rule for each field of a request when its run is resumed.

`fixed`: a change requires a new run. `grows`: it may only be raised (`grown`). `grows undecided`: likewise, but in a run
with `--until` it is fixed, because otherwise tasks scored before and after the change would have different conditions. `free`:
it does not affect episodes.
"""

GROWING = frozenset(name for name, rule in ON_RESUME.items() if rule.startswith("grows"))
"""Fields of a request, and of a run's identity, that may grow."""


class Bound(NamedTuple):
    """Value that may grow: the flag that sets it, and its old and new values."""

    flag: str
    before: Any
    after: Any
    shrinks: bool


class Resumed(NamedTuple):
    """Recorded run of a folder: its request and its parts."""

    request: RunRequest
    parts: tuple[str, ...]
    """Parts to resume: all of them, or the one that the folder contains."""


def read_resumed(folder: Path) -> Resumed:
    """Read the run in a folder, or the sweep with its parts in it; raises UsageError if there is none that can be rebuilt."""
    if is_packed(folder):
        raise UsageError(f"{folder} is packed, so no episode can be added to it", hint=f"harness unpack {quoted(folder)}")
    alone = read_record(RunFolder(folder))
    if alone is not None and alone.request is not None and alone.request.until is not None:
        why = f"{folder} is one of two players that are compared as they play"
        raise UsageError(why, hint=f"harness run --resume {quoted(folder.parent)}")
    if alone is not None:
        return Resumed(requested(alone, folder), (alone.part,))
    inner = sorted(path.parent for path in folder.glob("*/run.json"))
    records = {path: record for path in inner if (record := read_record(RunFolder(path))) and record.part == path.name}
    if not records:
        raise UsageError(f"{folder} holds no run.json to resume", hint="harness run ... --out FOLDER")
    # the part that was amended last contains all amendments of the others
    last = max(records, key=lambda path: len(records[path].amendments))
    latest = requested(records[last], last)
    for path, record in records.items():
        if fields := changed_fields(latest, requested(record, path)):
            raise UsageError(f"{path} belongs to another run than the other parts: {', '.join(fields)} differ")
    return Resumed(latest, tuple(part.name for part in latest.parts))


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


def amend(plan: Plan, frozen: RunRecord, folder: RunFolder, record: RunRecord) -> None:
    """Record the increases of a frozen plan; raises UsageError for a reduction, or naming the fields that must not change."""
    fields = [name for name in differing(frozen.identity, plan.identity()) if name not in GROWING]
    if frozen.request is not None and frozen.request.shard != plan.shard:
        fields.append("shard")
    if fields:
        raise refusal(folder, fields)
    if frozen.request is None or record.request is None:
        if fields := differing(frozen.identity, plan.identity()):
            raise refusal(folder, fields)
        return
    more = grown(frozen.request, record.request, game=any(task.is_seated for task in plan.tasks), at=now())
    if more:
        whole, asked, identity = folder.read_plan() or {}, record.request, record.identity
        # values that may not grow stay as recorded, for example the address of a server
        request = asked.model_dump(mode="json", include=set(GROWING))
        planned = identity.model_dump(mode="json", include=set(GROWING))
        amendments = [one.model_dump(mode="json") for one in (*frozen.amendments, *more)]
        news = {"request": {**whole["request"], **request}, "identity": {**whole["identity"], **planned}}
        folder.write_plan({**whole, **news, "amendments": amendments})


def refusal(folder: RunFolder, fields: Sequence[str]) -> UsageError:
    """Return the error for resuming a run with another plan."""
    return UsageError(f"{folder.path} was planned with other {', '.join(fields)}", hint="harness run ... --out NEW_FOLDER")


def differing(old: Planned, new: Planned) -> list[str]:
    """Return the fields in which two identities differ, for the message that refuses a resume."""
    first, second = _compared(old), _compared(new)
    return sorted(name for name in first if first[name] != second[name])


def _compared(planned: Planned) -> dict[str, Any]:
    """Return an identity for comparison, in which the address of a server is reduced to its host, without the port."""
    dumped = planned.model_dump(mode="json")
    if base := dumped["agent"].get("api_base"):
        dumped["agent"]["api_base"] = host_of(base)
    return dumped


_UNSHAPING = {"prices": {}, "timeout_s": TIMEOUT_S, "patience_s": PATIENCE_S}
"""Fields of an agent that do not affect episodes, with a common value for comparison."""


def changed_fields(before: RunRequest, after: RunRequest) -> list[str]:
    """Return the plan fields that make two requests different runs, ignoring fields that may grow or differ."""
    mine, theirs = _compared_fields(before), _compared_fields(after)
    fixed = {name for name in mine if ON_RESUME[name] == "fixed" or (before.until and ON_RESUME[name] == "grows undecided")}
    return sorted("agent" if name == "agents" else name for name in fixed if mine[name] != theirs[name])


def _compared_fields(request: RunRequest) -> dict[str, Any]:
    """Return the compared fields of a request: servers reduced to their hosts, without timeouts and retry times."""
    hosts = [host_of(spec.api_base) if spec.api_base else None for spec in request.agents]
    digests = {task: ref.digest for task, ref in request.tasks.items()}
    return {**request.at(hosts, **_UNSHAPING).model_dump(), "tasks": digests}
