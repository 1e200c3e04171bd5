"""From flags to a request: what was asked for, or for `--resume` what a run.json says, with what was typed beside it.

1. A comma in `--set tier=1k,4k`, or in `--agent imap,dsm-private`, makes a sweep: one run for each combination, in a folder
   named after it inside the run's own. `--set level=1..4` is short for 1,2,3,4.
2. Beside `--resume` every flag is free; one that says something else than the run.json is refused by the field it changes.
3. Tasks of a run.json are found in the registry, or where they lay. Who trusts code types where it lies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.agent import AgentSpec, Budget
from harness.agents.llm.meter import RunLimits
from harness.cli.flags import RunFlags
from harness.cli.players import address_settled, new_agents, resumed_agents
from harness.errors import UsageError, quoted
from harness.play.agents import offers_handles, title
from harness.records import RunFolder
from harness.registry import Task, read_task
from harness.runs.addresses import Confirmed, Names
from harness.runs.coaching import FirstRun
from harness.runs.deciding import planned
from harness.runs.edition import FRESH
from harness.runs.growth import grown
from harness.runs.plan import parse_seeds, task_refs
from harness.runs.request import RunRequest, TaskRef
from harness.runs.run import refusal
from harness.runs.shards import parse_shard
from harness.runs.templates import read_templates
from harness.trust import is_ours
from worlds.core.chance import key_digest

_LIMITS = {"max_cost": "cost_usd", "max_tokens": "tokens"}
_BUDGET = {"wall": "wall_s", "turns": "turns", "tokens": "tokens", "cost": "cost_usd"}


def new_request(flags: RunFlags, tasks: Sequence[Task], first: FirstRun | None, key: str, confirmed: Confirmed) -> RunRequest:
    """The request that the flags make; `first` is the run whose failures are played again."""
    typed = options(flags)
    if flags.shard and flags.key == FRESH:
        raise UsageError(
            "--key fresh would draw another key for each shard", hint="PARLEY_KEY=... for all of them, or --key RUN"
        )
    request = RunRequest(
        tasks=task_refs(tasks),
        seeds=tuple(parse_seeds(flags.seeds)),
        attempts=flags.k,
        options={**({name: (value,) for name, value in first.record.identity.options.items()} if first else {}), **typed},
        budget=Budget(flags.wall, flags.turns, flags.tokens, flags.cost),
        limits=RunLimits(cost_usd=flags.max_cost, tokens=flags.max_tokens),
        key_digest=key_digest(key),
        retry=first.retry if first else None,
        templates=_templates(flags, first.record.request if first else None),
        shard=parse_shard(flags.shard) if flags.shard else None,
        runtime=flags.runtime,
        workers=flags.workers,
        breaker=flags.breaker,
        record_wire=flags.record_wire,
    )
    agents = new_agents(flags, tasks, first, request.combinations, confirmed)
    return _checked(_until(flags, request.model_copy(update={"agents": agents})))


def resumed_request(
    flags: RunFlags, recorded: RunRequest, tasks: Sequence[Task], first: FirstRun | None, key: str, confirmed: Confirmed
) -> RunRequest:
    """The request of a run.json as this command line may play it; raises UsageError naming what the flags would change."""
    folder = flags.resume or Path()
    changed: dict[str, Any] = {
        "tasks": task_refs(tasks),
        "options": {**recorded.options, **options(flags)},
        "budget": replace(recorded.budget, **{_BUDGET[flag]: value for flag, value in flags.given(*_BUDGET).items()}),
        "limits": recorded.limits.model_copy(update={_LIMITS[flag]: value for flag, value in flags.given(*_LIMITS).items()}),
        "agents": resumed_agents(flags, recorded.agents, tasks, recorded.combinations),
        "key_digest": key_digest(key),
        "templates": _templates(flags, recorded),
        **flags.given("runtime", "workers", "breaker", "record_wire"),
    }
    changed |= {"seeds": tuple(parse_seeds(flags.seeds))} if flags.given("seeds") else {}
    changed |= {"attempts": flags.k} if flags.given("k") else {}
    changed |= {"shard": parse_shard(flags.shard)} if flags.shard else {}
    request = _until(flags, recorded.model_copy(update=changed))
    fields = recorded.differing(request)
    if first and (recorded.retry is None or (first.retry.of, first.retry.mode) != (recorded.retry.of, recorded.retry.mode)):
        fields = sorted({*fields, "retry"})
    if fields:
        raise refusal(RunFolder(folder), fields)
    grown(recorded, request, game=any(task.is_seated for task in tasks), at="")
    names = Names(f"{folder}/run.json", f"{folder} was played")
    agents = tuple(address_settled(flags, spec, names, confirmed) for spec in request.agents)
    return _checked(request.model_copy(update={"agents": agents}))


def found_again(recorded: dict[str, TaskRef], registry: Sequence[Task], *, trust: bool) -> list[Task]:
    """The tasks of a run.json: those of the registry, or from where they lay then; raises UsageError for one that is gone.

    What `--trust` vouches for is typed, so it admits no folder that only the file names.
    """
    known = {task.task_id: task for task in registry}
    tasks = []
    for name, ref in recorded.items():
        here = known.get(name)
        if (here is None or here.digest != ref.digest) and ref.path and (Path(ref.path) / "task.toml").exists():
            here = read_task(Path(ref.path))
            if trust and not is_ours(here.path):
                raise UsageError(
                    f"{here.path} is named by the run.json alone, and --trust vouches for folders that are typed",
                    hint=f"harness run {quoted(here.path)} --trust --resume ...",
                )
        if here is None:
            raise UsageError(f"{name} is neither here nor in {ref.path or 'the registry'}", hint="harness --tasks PATH run ...")
        tasks.append(here)
    return tasks


_LONGEST_NAME = 100


def folder_for(request: RunRequest, tasks: Sequence[Task]) -> Path:
    """Where a run lies for which no --out was given: named after the time, what is played and who plays."""
    named = f"{_named_after(tasks)}-{'+'.join(map(_short, request.agents))}"[:_LONGEST_NAME]
    named += f"-shard-{request.shard.number}-of-{request.shard.of}" if request.shard else ""
    safe = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in named)
    path = Path("runs") / f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{safe}"
    taken = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 100)))
    return next((one for one in taken if not one.exists()), path)


def _named_after(tasks: Sequence[Task]) -> str:
    """The task where it is one, else the families."""
    return tasks[0].task_id if len(tasks) == 1 else "+".join(sorted({task.family for task in tasks}))


def _short(spec: AgentSpec) -> str:
    """Who plays, a model by the last part of its name."""
    return (spec.model or "").rpartition("/")[2] if spec.kind == "llm" else title(spec)


def options(flags: RunFlags) -> dict[str, tuple[str, ...]]:
    """Option values by name, several for a sweep; raises UsageError for a malformed --set."""
    pairs = [option.partition("=") for option in flags.options or []]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise UsageError(f"--set must look like name=value, not {name!r}")
    toggles = {
        "mutate": "+".join(flags.mutate or ()),
        "mitigate": "+".join(flags.mitigate or ()),
        "handles": "true" if flags.handles else "",
    }
    chosen = {name: tuple(each for one in value.split(",") for each in _range(one)) for name, _, value in pairs}
    return chosen | {name: (value,) for name, value in toggles.items() if value}


def _templates(flags: RunFlags, earlier: RunRequest | None) -> dict[str, str]:
    """The texts that the flags name, else those of an earlier run that is gone on with or played again."""
    if flags.templates is not None:
        return read_templates(flags.templates)
    return dict(earlier.templates) if earlier else {}


def _range(text: str) -> list[str]:
    """Each whole number of `1..4`; any other text is itself."""
    ends = re.fullmatch(r"(\d{1,3})\.\.(\d{1,3})", text)
    return [str(number) for number in range(int(ends[1]), int(ends[2]) + 1)] or [text] if ends else [text]


def _until(flags: RunFlags, request: RunRequest) -> RunRequest:
    """The request with what --until freezes; raises UsageError where that cannot be decided early."""
    if flags.until is None:
        if "alpha" in flags.typed and request.until is None:
            raise UsageError("--alpha is about --until, and there is none", hint='--until "A-B" --alpha 0.05')
        return request
    if request.retry is not None:
        raise UsageError("--until plays both players from the start, and a retry only what failed", hint="harness compare A B")
    if request.shard is not None:
        raise UsageError("--until stops by what all tasks say so far, and a shard plays only some", hint="leave --shard out")
    alpha = flags.alpha if flags.given("alpha") or request.until is None else request.until.alpha
    return request.model_copy(update={"until": planned(flags.until, request.aliases, alpha, request.tasks)})


def _checked(request: RunRequest) -> RunRequest:
    """Raises UsageError for a sweep over handles, since one agent plays all of it."""
    if len({offers_handles(combination) for combination in request.combinations}) > 1:
        raise UsageError(
            "handles cannot be swept: they change what the agent itself is given", hint="two runs, one with --handles"
        )
    return request
