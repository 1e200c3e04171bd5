"""Conversion of flags to the request of a new run; `harness.cli.resuming` does it for `--resume`.

1. A comma in `--set tier=1k,4k`, or in `--agent imap,dsm-private`, makes a sweep: one run per combination of values, in a
subfolder of the run's folder that is named after the combination. `--set level=1..4` is short for 1,2,3,4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

from harness.agent import LOCAL, AgentSpec, Budget
from harness.agent_factory import agent_named, offers_handles
from harness.agents.llm.meter import RunLimits
from harness.cli.flags import RunFlags
from harness.cli.signatures import PROVIDERS
from harness.errors import UsageError
from harness.plugins import optional
from harness.prices import read_prices
from harness.registry import Task
from harness.runs.plan import parse_seeds, task_refs
from harness.runs.request import Confirmed, FirstRun, RunRequest
from harness.runs.seed_key import FRESH
from harness.runs.shards import parse_shard
from worlds.core.chance import key_digest

PLAYING = ("model", "interface", "protocol")
ASKING = ("api_base", "temperature", "reply_tokens", "context", "rotate", "timeout", "patience")
"""Flags that are fields of a spec: of a model's alone, and of players with models at seats."""

_SPEC_FIELDS = {"reply_tokens": "max_tokens", "timeout": "timeout_s", "patience": "patience_s"}
"""Flags whose field of the spec has another name."""

SEATS = ("seat", "seat_model")
TOLD = ("variant", "seat_variant")
TEAM = ("team", "entrant", "entrant_seat")
_ALONE = ("model", "agent", "script")
"""Flags that name the player if there is no team."""

Combinations = Sequence[Mapping[str, str]]


def new_agents(
    flags: RunFlags, tasks: Sequence[Task], first: FirstRun | None, combinations: Combinations, confirmed: Confirmed
) -> tuple[AgentSpec, ...]:
    """Return the players that the flags name, else those of `first`. Raises UsageError if there are none."""
    table = updated(AgentSpec(), {name: getattr(flags, name) for name in (*ASKING, *SEATS, *TOLD)}, tasks)
    if _is_team(flags):
        specs: tuple[AgentSpec, ...] = (optional("team")(flags, table, tasks, combinations),)
    else:
        models = models_of(flags, tasks) or tuple(filter(None, [_of_first(flags, tasks, first, confirmed)]))
        specs = named(flags, models, table, tasks)
    specs = priced(specs, flags.prices)
    if not flags.filed & {"model", "api_base", *SEATS, *TEAM}:
        return specs
    return tuple(address_settled(flags, spec, flags.file, f"{flags.file} plays", confirmed) for spec in specs)


def address_settled(flags: RunFlags, spec: AgentSpec, file: str, sentence: str, confirmed: Confirmed) -> AgentSpec:
    """Return the spec of a file with an address that a person typed or confirms."""
    from harness.runs.addresses import settled  # noqa: PLC0415 - most runs have none of a file

    typed = flags.api_base if "api_base" in flags.typed else None
    seats = [text for name in SEATS if name in flags.typed for text in getattr(flags, name)]
    team = [flags.team if "team" in flags.typed else None, flags.entrant if "entrant" in flags.typed else None]
    models = {*(model_names(flags) if "model" in flags.typed else ()), *(text.partition("=")[2] for text in seats)}
    models |= {name for one in team if one for name in one.split(",")}
    return settled(spec, file, sentence, typed=typed, confirmed=confirmed, typed_models=frozenset(models))


def families_of(tasks: Sequence[Task]) -> list[str]:
    """Return the families of these tasks, sorted."""
    return sorted({task.family for task in tasks})


def model_names(flags: RunFlags) -> list[str]:
    """Return the names in `--model A,B`."""
    return [name.strip() for name in flags.model.split(",")] if flags.model else []


def models_of(flags: RunFlags, tasks: Sequence[Task]) -> tuple[AgentSpec, ...]:
    """Return the spec of each model in `--model A,B`. Raises UsageError for an empty or repeated name."""
    called = model_names(flags)
    if not called:
        return ()
    from harness.agents.llm.local import USUAL_FLAGS  # noqa: PLC0415

    hint = f"--model {','.join(dict.fromkeys(filter(None, called)))}"
    if not all(called):
        raise UsageError(f"--model takes names joined by commas, not {flags.model!r}", hint=hint)
    if twice := [name for name in called if called.count(name) > 1]:
        raise UsageError(f"--model names {twice[0]} twice", hint=hint)
    given = {name: getattr(flags, name) for name in (*PLAYING, *ASKING, *SEATS, *TOLD)}
    usual = {LOCAL: USUAL_FLAGS | flags.given(*USUAL_FLAGS)}
    return tuple(updated(AgentSpec(kind="llm"), {**given, "model": name, **usual.get(name, {})}, tasks) for name in called)


def priced(specs: tuple[AgentSpec, ...], file: Path | None) -> tuple[AgentSpec, ...]:
    """Return the specs with the prices in a file, if there is one, for the models that they use."""
    if file is None:
        return specs
    prices = read_prices(file)
    return tuple(
        spec.model_copy(update={"prices": {name: prices[name] for name in spec.models if name in prices}}) for spec in specs
    )


def _of_first(flags: RunFlags, tasks: Sequence[Task], first: FirstRun | None, confirmed: Confirmed) -> AgentSpec | None:
    """Return the model or team of a run that is retried; None if the flags name an agent."""
    if first is None or flags.agent:
        return None
    spec = optional("first player")(first, flags.api_base if "api_base" in flags.typed else None, confirmed)
    return spec and updated(spec, flags.given("rotate", "timeout", "patience", *SEATS, *TOLD), tasks)


def updated(spec: AgentSpec, flags: Mapping[str, Any], tasks: Sequence[Task]) -> AgentSpec:
    """Return a spec changed by flags. Raises UsageError for an unknown interface, protocol, seat or variant."""
    for name in ("interface", "protocol"):
        known = get_args(AgentSpec.model_fields[name].annotation)
        if name in flags and flags[name] not in known:
            raise UsageError(f"{name} must be one of {', '.join(known)}, not {flags[name]!r}")
    families = families_of(tasks)
    seats = {seat.seat: seat for seat in spec.seats}
    if flags.get("seat") or flags.get("seat_model"):
        from harness.agents.seats.lineup import read_seats  # noqa: PLC0415

        seats |= {one.seat: one for one in read_seats(flags.get("seat") or (), flags.get("seat_model") or (), families)}
    told = {**spec.seat_variants}
    names = (*PLAYING, *ASKING) if spec.kind == "llm" else ASKING
    fields = {_SPEC_FIELDS.get(name, name): flags[name] for name in names if name in flags}
    if fields.get("temperature") == PROVIDERS:
        fields["temperature"] = None
    if flags.get("variant") or flags.get("seat_variant"):
        told |= optional("seat variants")(flags.get("seat_variant") or (), families)
        fields |= {"variant": optional("variant")(flags["variant"], families)} if flags.get("variant") else {}
    fields["seats"] = tuple(seats[seat] for seat in sorted(seats))
    return spec.model_copy(update={**fields, "seat_variants": dict(sorted(told.items()))})


def named(flags: RunFlags, models: Sequence[AgentSpec], table: AgentSpec, tasks: Sequence[Task]) -> tuple[AgentSpec, ...]:
    """Return each agent that --agent names, or the one that the other flags imply; `llm` stands for every model."""
    names = flags.agent.split(",") if flags.agent else [None]
    made = partial(agent_named, script=flags.script, families=families_of(tasks), table=table)
    specs: list[AgentSpec] = []
    for name in names:
        takes_models = name in {None, "llm"} or "llm" not in names
        specs += [made(name, model=model) for model in models or (None,)] if takes_models else [made(name)]
    return tuple(specs)


def _is_team(flags: RunFlags) -> bool:
    """Return True if a team plays. Raises UsageError for flags that are meaningless with a team, or without one."""
    joins = next((name for name in ("entrant", "entrant_seat") if getattr(flags, name) is not None), None)
    if flags.team is None and joins is None:
        return False
    given_way = flags.filed if "team" in flags.typed else frozenset()
    rival = next((name for name in (*_ALONE, *SEATS, "rotate") if getattr(flags, name) and name not in given_way), None)
    if rival in _ALONE and rival in flags.typed and not flags.typed & {*TEAM}:
        return False
    hint = "harness run calendar --team A,B,C,D --entrant E"
    if flags.team is None:
        raise UsageError(f"--{joins} needs --team".replace("_", "-"), hint=hint)
    if rival is not None:
        raise UsageError(f"a team plays every seat, so --{rival.replace('_', '-')} cannot be combined with --team", hint=hint)
    return True


def new_request(flags: RunFlags, tasks: Sequence[Task], first: FirstRun | None, key: str, confirmed: Confirmed) -> RunRequest:
    """Return the request that the flags make; `first` is the run whose failures are retried."""
    typed = options(flags)
    if flags.shard and flags.key == FRESH:
        raise UsageError(
            "--key fresh would generate another key for each shard", hint="set PARLEY_KEY for all shards, or use --key RUN"
        )
    request = RunRequest(
        tasks=task_refs(tasks),
        seeds=tuple(parse_seeds(flags.seeds)),
        attempts=flags.k,
        options={**({name: (value,) for name, value in first.record.identity.options.items()} if first else {}), **typed},
        control={} if first else controls(flags),
        budget=Budget(flags.wall, flags.turns, flags.tokens, flags.cost),
        limits=RunLimits(cost_usd=flags.max_cost, tokens=flags.max_tokens),
        key_digest=key_digest(key),
        retry=first.retry if first else None,
        templates=templates_of(flags, first.record.request if first else None),
        shard=parse_shard(flags.shard) if flags.shard else None,
        runtime=flags.runtime,
        workers=flags.workers,
        breaker=flags.breaker,
        record_wire=flags.record_wire,
    )
    agents = new_agents(flags, tasks, first, request.combinations, confirmed)
    return checked(with_until(flags, request.model_copy(update={"agents": agents})), tasks)


def folder_for(request: RunRequest, tasks: Sequence[Task]) -> Path:
    """Return the default folder of a run, named after the time, the tasks and the players."""
    played = tasks[0].task_id if len(tasks) == 1 else "+".join(families_of(tasks))
    # the last part of a model's name is enough
    who = ((spec.model or "").rpartition("/")[2] if spec.kind == "llm" else spec.title for spec in request.agents)
    named = f"{played}-{'+'.join(who)}"[:100]
    named += f"-shard-{request.shard.number}-of-{request.shard.of}" if request.shard else ""
    safe = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in named)
    path = Path("runs") / f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{safe}"
    taken = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 100)))
    return next((one for one in taken if not one.exists()), path)


def options(flags: RunFlags) -> dict[str, tuple[str, ...]]:
    """Return option values by name, several for a sweep. Raises UsageError for a malformed --set."""
    toggles = {name: "+".join(getattr(flags, name) or ()) for name in ("mutate", "mitigate")}
    toggles["handles"] = "true" if flags.handles else ""
    chosen = {
        name: tuple(each for one in value.split(",") for each in _range(one)) for name, value in _pairs("--set", flags.options)
    }
    return chosen | {name: (value,) for name, value in toggles.items() if value}


def controls(flags: RunFlags, earlier: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the options that controls change, with those of the earlier run. Raises UsageError for a malformed --control."""
    return {} if flags.no_control else {**(earlier or {}), **dict(_pairs("--control", flags.control))}


def _pairs(flag: str, typed: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Yield names and values. Raises UsageError for one that is malformed."""
    for name, equals, value in (option.partition("=") for option in typed or ()):
        if not equals or not name:
            raise UsageError(f"{flag} must look like name=value, not {name!r}")
        yield name, value


def templates_of(flags: RunFlags, earlier: RunRequest | None) -> dict[str, str]:
    """Return the texts that the flags name, else those of the earlier run."""
    if flags.templates is not None:
        texts: dict[str, str] = optional("templates")(flags.templates)
        return texts
    return dict(earlier.templates) if earlier else {}


def _range(text: str) -> list[str]:
    """Return each whole number of `1..4`; any other text is returned as it is."""
    ends = re.fullmatch(r"(\d{1,3})\.\.(\d{1,3})", text)
    return [str(number) for number in range(int(ends[1]), int(ends[2]) + 1)] or [text] if ends else [text]


def with_until(flags: RunFlags, request: RunRequest) -> RunRequest:
    """Return the request with the fixed order of --until. Raises UsageError if it cannot be decided early."""
    if flags.until is None:
        if "alpha" in flags.typed and request.until is None:
            raise UsageError("--alpha needs --until", hint='--until "A-B" --alpha 0.05')
        return request
    alpha = flags.alpha if flags.given("alpha") or request.until is None else request.until.alpha
    return request.model_copy(update={"until": optional("until").planned(flags.until, request, alpha)})


def checked(request: RunRequest, tasks: Sequence[Task]) -> RunRequest:
    """Return the request. Raises UsageError for texts that do not fit, and for a sweep over handles: one agent plays it all."""
    if request.templates:
        for agent in request.agents:
            optional("check templates")(request.templates, tasks, agent)
    if len({offers_handles(combination) for combination in request.combinations}) > 1:
        raise UsageError(
            "handles cannot be swept, because they change the agent's own tools", hint="make two runs, one with --handles"
        )
    return request
