"""Conversion of run.json, and of the flags typed with `--resume`, to the request of a resumed run.

1. Every flag may be typed with `--resume`. A flag that contradicts run.json is an error that names the field.
2. Tasks of a run.json are found in the registry, or in their recorded folder. Trusted folders have to be named on the command
   line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import typer

from harness.agent import AgentSpec
from harness.cli.flags import RunFlags
from harness.cli.settings import (
    ASKING,
    PLAYING,
    SEATS,
    TEAM,
    TOLD,
    Combinations,
    address_settled,
    checked,
    controls,
    model_names,
    models_of,
    named,
    options,
    priced,
    templates_of,
    updated,
    with_until,
)  # fmt: skip
from harness.cli.tasks import selected
from harness.errors import UsageError, quoted
from harness.plugins import optional
from harness.records import RunFolder
from harness.registry import Task, read_task
from harness.runs.episode_filter import EpisodeChoice, read_choice
from harness.runs.plan import parse_seeds, task_refs
from harness.runs.request import Confirmed, FirstRun, RunRequest, TaskRef
from harness.runs.resume_rules import changed_fields, grown, read_resumed, refusal
from harness.runs.shards import parse_shard
from harness.trust import gate, is_ours
from worlds.core.chance import key_digest

_LIMITS = {"max_cost": "cost_usd", "max_tokens": "tokens"}
_BUDGET = {"wall": "wall_s", "turns": "turns", "tokens": "tokens", "cost": "cost_usd"}


class ResumedRun(NamedTuple):
    """Tasks, options and agent of a resumed run."""

    request: RunRequest
    tasks: list[Task]
    parts: tuple[str, ...]
    choice: EpisodeChoice


def resumed(
    ctx: typer.Context, flags: RunFlags, folder: Path, key: str, first: Callable[[], FirstRun | None], confirmed: Confirmed
) -> ResumedRun:
    """Return the run in a folder, as its run.json and the flags say; `first` reads the run whose failures are retried."""
    recorded, earlier = read_resumed(folder), first()
    if flags.names:
        given = gate(selected(ctx, flags.names), trust=flags.trust).tasks
        known = [task for task in given if earlier is None or task.task_id in recorded.request.tasks]
    else:
        again = found_again(recorded.request.tasks, selected(ctx, None), trust=flags.trust)
        known = list(gate(again, trust=flags.trust).tasks)
    request = resumed_request(flags, recorded.request, known, earlier, key, confirmed)
    return ResumedRun(request, known, recorded.parts, read_choice(flags.only or (), request.tasks))


def resumed_request(
    flags: RunFlags, recorded: RunRequest, tasks: Sequence[Task], first: FirstRun | None, key: str, confirmed: Confirmed
) -> RunRequest:
    """Return the request of a run.json, changed by the flags. Raises UsageError naming the fields that must not change."""
    folder = flags.resume or Path()
    changed: dict[str, Any] = {
        "tasks": task_refs(tasks),
        "options": {**recorded.options, **options(flags)},
        "control": controls(flags, recorded.control),
        "budget": replace(recorded.budget, **{_BUDGET[flag]: value for flag, value in flags.given(*_BUDGET).items()}),
        "limits": recorded.limits.model_copy(update={_LIMITS[flag]: value for flag, value in flags.given(*_LIMITS).items()}),
        "agents": resumed_agents(flags, recorded.agents, tasks, recorded.combinations),
        "key_digest": key_digest(key),
        "templates": templates_of(flags, recorded),
        **flags.given("runtime", "workers", "breaker", "record_wire"),
    }
    changed |= {"seeds": tuple(parse_seeds(flags.seeds))} if flags.given("seeds") else {}
    changed |= {"attempts": flags.k} if flags.given("k") else {}
    changed |= {"shard": parse_shard(flags.shard)} if flags.shard else {}
    request = with_until(flags, recorded.model_copy(update=changed))
    fields = changed_fields(recorded, request)
    if first and (recorded.retry is None or (first.retry.of, first.retry.mode) != (recorded.retry.of, recorded.retry.mode)):
        fields = sorted({*fields, "retry"})
    if fields:
        raise refusal(RunFolder(folder), fields)
    grown(recorded, request, game=any(task.is_seated for task in tasks), at="")
    file, sentence = f"{folder}/run.json", f"{folder} was played"
    agents = tuple(address_settled(flags, spec, file, sentence, confirmed) for spec in request.agents)
    return checked(request.model_copy(update={"agents": agents}), tasks)


def found_again(recorded: dict[str, TaskRef], registry: Sequence[Task], *, trust: bool) -> list[Task]:
    """Return the tasks of a run.json, from the registry or their recorded folder. Raises UsageError for a missing one.

    `--trust` applies to typed folders, so it does not admit a folder that only the file names.
    """
    known = {task.task_id: task for task in registry}
    tasks = []
    for name, ref in recorded.items():
        here = known.get(name)
        if (here is None or here.digest != ref.digest) and ref.path and (Path(ref.path) / "task.toml").exists():
            here = read_task(Path(ref.path))
            if trust and not is_ours(here.path):
                raise UsageError(
                    f"only the run.json names {here.path}, and --trust applies to folders on the command line",
                    hint=f"harness run {quoted(here.path)} --trust --resume ...",
                )
        if here is None:
            raise UsageError(
                f"task {name} is not in this registry, and not in {ref.path or 'a recorded folder'}",
                hint="harness --tasks PATH run ...",
            )
        tasks.append(here)
    return tasks


def resumed_agents(
    flags: RunFlags, recorded: tuple[AgentSpec, ...], tasks: Sequence[Task], combinations: Combinations
) -> tuple[AgentSpec, ...]:
    """Return the agents of a run.json, changed by the flags."""
    given = flags.given(*PLAYING, *ASKING, *SEATS, *TOLD)
    specs = _resumed_models(flags, recorded, given, tasks)
    specs = priced(specs, flags.prices)
    if flags.given(*TEAM):
        return tuple(optional("same team")(flags, spec, tasks, combinations) for spec in specs)
    models = [spec for spec in specs if spec.kind == "llm"]
    if not flags.given("agent", "script"):
        return specs if models or "model" not in given else models_of(flags, tasks)
    known = tuple(models) or models_of(flags, tasks)
    table = next((spec for spec in specs if spec.kind == "seats"), updated(AgentSpec(), given, tasks))
    wanted = "model" in given or "llm" in (flags.agent or "").split(",")
    return named(flags, known if wanted else (), table, tasks)


def _resumed_models(
    flags: RunFlags, recorded: tuple[AgentSpec, ...], given: Mapping[str, Any], tasks: Sequence[Task]
) -> tuple[AgentSpec, ...]:
    """Return the specs of a run.json, changed by the flags, each model with its own name of `--model A,B`."""
    names = model_names(flags) if "model" in given else []
    count = sum(spec.kind == "llm" for spec in recorded)
    if count and names and len(names) != count:
        return models_of(flags, tasks)
    left = iter(names)
    return tuple(
        updated(spec, {**given, **({"model": name} if spec.kind == "llm" and (name := next(left, None)) else {})}, tasks)
        if spec.kind in {"llm", "seats"}
        else spec
        for spec in recorded
    )
