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
from functools import partial
from pathlib import Path
from typing import Any, get_args

from harness.agent import AgentSpec, Budget
from harness.agents.seating.lineup import read_seats
from harness.cli.config import PROVIDERS
from harness.cli.flags import RunFlags
from harness.errors import UsageError
from harness.play.agents import agent_named, offers_handles, title
from harness.records import RunFolder
from harness.registry import Task, read_task
from harness.runs.addresses import Confirmed, Names, settled
from harness.runs.coaching import FirstRun
from harness.runs.plan import parse_seeds, task_refs
from harness.runs.request import RunRequest, TaskRef
from harness.runs.run import refusal
from harness.runs.templates import read_templates
from harness.trust import is_ours
from worlds.core.chance import key_digest

_PLAYING = ("model", "interface", "protocol")
_ASKING = ("api_base", "temperature", "max_tokens", "rotate")
"""Flags that are fields of a spec: of a model's alone, and of whoever has models at seats."""

_SEATS = ("seat", "seat_model")

_BUDGET = {"wall": "wall_s", "turns": "turns", "tokens": "tokens", "cost": "cost_usd"}


def new_request(flags: RunFlags, tasks: Sequence[Task], first: FirstRun | None, key: str, confirmed: Confirmed) -> RunRequest:
    """The request that the flags make; `first` is the run whose failures are played again."""
    typed = options(flags)
    model = _model(flags, tasks)
    if model is None and first is not None and not flags.agent:
        model = first.model(flags.api_base if "api_base" in flags.typed else None, confirmed)
        model = model and _updated(model, flags.given("rotate", *_SEATS), tasks)
    return _checked(
        RunRequest(
            tasks=task_refs(tasks),
            seeds=tuple(parse_seeds(flags.seeds)),
            attempts=flags.k,
            agents=_agents(flags, model, tasks, confirmed),
            options={**({name: (value,) for name, value in first.record.identity.options.items()} if first else {}), **typed},
            budget=Budget(flags.wall, flags.turns, flags.tokens, flags.cost),
            key_digest=key_digest(key),
            retry=first.retry if first else None,
            templates=_templates(flags, first.record.request if first else None),
            runtime=flags.runtime,
            workers=flags.workers,
        )
    )


def resumed_request(
    flags: RunFlags, recorded: RunRequest, tasks: Sequence[Task], first: FirstRun | None, key: str, confirmed: Confirmed
) -> RunRequest:
    """The request of a run.json as this command line may play it; raises UsageError naming what the flags would change."""
    folder = flags.resume or Path()
    changed: dict[str, Any] = {
        "tasks": task_refs(tasks),
        "options": {**recorded.options, **options(flags)},
        "budget": replace(recorded.budget, **{_BUDGET[flag]: value for flag, value in flags.given(*_BUDGET).items()}),
        "agents": _resumed_agents(flags, recorded, tasks),
        "key_digest": key_digest(key),
        "templates": _templates(flags, recorded),
        **flags.given("runtime", "workers"),
    }
    changed |= {"seeds": tuple(parse_seeds(flags.seeds))} if flags.given("seeds") else {}
    changed |= {"attempts": flags.k} if flags.given("k") else {}
    request = recorded.model_copy(update=changed)
    fields = recorded.differing(request)
    if first and (recorded.retry is None or (first.retry.of, first.retry.mode) != (recorded.retry.of, recorded.retry.mode)):
        fields = sorted({*fields, "retry"})
    if fields:
        raise refusal(RunFolder(folder), fields)
    names = Names(f"{folder}/run.json", f"{folder} was played")
    agents = tuple(_settled(flags, spec, names, confirmed) for spec in request.agents)
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
                    hint=f"harness run {here.path} --trust --resume ...",
                )
        if here is None:
            raise UsageError(f"{name} is neither here nor in {ref.path or 'the registry'}", hint="harness --tasks PATH run ...")
        tasks.append(here)
    return tasks


def folder_for(request: RunRequest) -> Path:
    """Where a run lies for which no --out was given: named after the time and who plays."""
    players = "+".join(map(title, request.agents))
    named = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in players)
    return Path("runs") / f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{named}"


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


def _checked(request: RunRequest) -> RunRequest:
    """Raises UsageError for a sweep over handles, since one agent plays all of it."""
    if len({offers_handles(combination) for combination in request.combinations}) > 1:
        raise UsageError(
            "handles cannot be swept: they change what the agent itself is given", hint="two runs, one with --handles"
        )
    return request


def _families(tasks: Sequence[Task]) -> list[str]:
    return sorted({task.family for task in tasks})


def _model(flags: RunFlags, tasks: Sequence[Task]) -> AgentSpec | None:
    """The spec of the model that the flags name, or None."""
    if not flags.model:
        return None
    return _updated(AgentSpec(kind="llm"), {name: getattr(flags, name) for name in (*_PLAYING, *_ASKING, *_SEATS)}, tasks)


def _updated(spec: AgentSpec, flags: dict[str, Any], tasks: Sequence[Task]) -> AgentSpec:
    """A spec with what these flags say; raises UsageError for an interface, a protocol or a seat that there is not."""
    for name in ("interface", "protocol"):
        known = get_args(AgentSpec.model_fields[name].annotation)
        if name in flags and flags[name] not in known:
            raise UsageError(f"{name} must be one of {', '.join(known)}, not {flags[name]!r}")
    seats = {seat.seat: seat for seat in spec.seats}
    seats |= {one.seat: one for one in read_seats(flags.get("seat") or (), flags.get("seat_model") or (), _families(tasks))}
    names = (*_PLAYING, *_ASKING) if spec.kind == "llm" else _ASKING
    fields = {name: flags[name] for name in names if name in flags}
    if fields.get("temperature") == PROVIDERS:
        fields["temperature"] = None
    return spec.model_copy(update={**fields, "seats": tuple(seats[seat] for seat in sorted(seats))})


def _named(flags: RunFlags, model: AgentSpec | None, table: AgentSpec, tasks: Sequence[Task]) -> tuple[AgentSpec, ...]:
    """Each agent that --agent names, or the one that the other flags mean."""
    names = flags.agent.split(",") if flags.agent else [None]
    made = partial(agent_named, model=model, script=flags.script, families=_families(tasks), table=table)
    return tuple(made(name) for name in names)


def _agents(flags: RunFlags, model: AgentSpec | None, tasks: Sequence[Task], confirmed: Confirmed) -> tuple[AgentSpec, ...]:
    table = _updated(AgentSpec(), {name: getattr(flags, name) for name in (*_ASKING, *_SEATS)}, tasks)
    specs = _named(flags, model, table, tasks)
    if not flags.filed & {"model", "api_base", *_SEATS}:
        return specs
    return tuple(_settled(flags, spec, Names(flags.file, f"{flags.file} plays"), confirmed) for spec in specs)


def _resumed_agents(flags: RunFlags, recorded: RunRequest, tasks: Sequence[Task]) -> tuple[AgentSpec, ...]:
    """The agents of a run.json with what the flags change of them."""
    given = flags.given(*_PLAYING, *_ASKING, *_SEATS)
    specs = tuple(_updated(spec, given, tasks) if spec.kind in {"llm", "seats"} else spec for spec in recorded.agents)
    models = [spec for spec in specs if spec.kind == "llm"]
    if not flags.given("agent", "script"):
        return specs if models or "model" not in given else tuple(filter(None, [_model(flags, tasks)]))
    model = next(iter(models), None) or _model(flags, tasks)
    table = next((spec for spec in specs if spec.kind == "seats"), _updated(AgentSpec(), given, tasks))
    wanted = "model" in given or "llm" in (flags.agent or "").split(",")
    return _named(flags, model if wanted else None, table, tasks)


def _settled(flags: RunFlags, spec: AgentSpec, names: Names, confirmed: Confirmed) -> AgentSpec:
    """The spec with an address that a person typed or confirms."""
    typed = flags.api_base if "api_base" in flags.typed else None
    seats = [text for name in _SEATS if name in flags.typed for text in getattr(flags, name)]
    models = {flags.model if "model" in flags.typed else None, *(text.partition("=")[2] for text in seats)}
    return settled(spec, names, typed=typed, confirmed=confirmed, typed_models=frozenset(name for name in models if name))
