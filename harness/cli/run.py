"""`harness run`: flags in, a frozen plan, a runtime chosen once, episodes, a closing block."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.agents.base import Agent, Budget
from harness.agents.llm.agent import LlmConfig
from harness.agents.llm.seats import seat_models
from harness.agents.path import is_bent
from harness.agents.table import NAMES, make_agent
from harness.bulk import get_ready
from harness.cli.closing import show_closing
from harness.cli.console import emit, say
from harness.cli.progress import progress
from harness.cli.report import show_tables
from harness.cli.settings import Overrides, named, offers_handles, overrides
from harness.cli.tasks import Json, Names, Trust, gated
from harness.errors import BoundaryError, UsageError
from harness.granted import grant
from harness.plan import Plan, parse_seeds
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.retry import read_retry
from harness.run import run_plan, summary
from harness.runtimes.base import Runtime
from harness.runtimes.choose import RUNTIMES, choose_runtime
from harness.trust import gate
from worlds.core.chance import PUBLISHED_KEY

Model = Annotated[str | None, typer.Option(help="Any LiteLLM model name, e.g. gpt-5 or openai/anything.")]
AgentName = Annotated[
    str | None,
    typer.Option(help=f"{', '.join(NAMES)}, or a family's seat player such as imap; several joined by commas; else oracle."),
]
Interface = Annotated[str, typer.Option(help="How a model acts: shell or tool.")]
Protocol = Annotated[str, typer.Option(help="tools, or text for models without tool calls.")]
SeatModels = Annotated[list[str] | None, typer.Option("--seat-model", help="SEAT=MODEL: another model at one seat of a game.")]
ApiBase = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
Temperature = Annotated[float, typer.Option(help="Left out, and said so, where the model refuses it.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Most completion tokens a call.")]
ActionsFile = Annotated[Path | None, typer.Option(help="JSON list of actions for the scripted agent.")]
RuntimeName = Annotated[str, typer.Option(help=f"auto, {', '.join(RUNTIMES)}.")]
Attempts = Annotated[int, typer.Option("--k", "-k", min=1, help="Attempts at each instance.")]
Seeds = Annotated[str, typer.Option(help="Instances, e.g. 0-9 or 1,4,7.")]
Options = Annotated[list[str] | None, typer.Option("--set", help="name=value: a world option or knob; repeatable.")]
Workers = Annotated[int, typer.Option("--workers", "-n", min=1, help="Episodes at once.")]
Wall = Annotated[float, typer.Option(min=1, help="Real seconds an episode may take.")]
Turns = Annotated[int, typer.Option(min=1, help="Model turns an episode may take.")]
TokenBudget = Annotated[int | None, typer.Option(min=1, help="Tokens an episode may take.")]
CostBudget = Annotated[float | None, typer.Option(min=0, help="US dollars an episode may take.")]
Mutate = Annotated[
    list[str] | None, typer.Option(help="What the path does to the agent's bytes: clip=200, linewrap, decode, resort, visible.")
]
Handles = Annotated[bool, typer.Option("--handles", help="Let @HANDLE:name stand for values that the agent stored.")]
Mitigate = Annotated[list[str] | None, typer.Option(help="Help on the path: backoff, ttl.")]
RetryOf = Annotated[
    Path | None, typer.Option(help="Play the failed episodes of this run again: its seeds and attempts, its options.")
]
HintName = Annotated[str, typer.Option("--hint", help="What a retry is told of the failure: none, correct or wrong.")]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", help="NAME of a variable of this host that a foreign task may be given."),
]
Out = Annotated[Path | None, typer.Option(help="Folder of the run; runs/<time>-<agent> unless given.")]
Resume = Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")]
Report = Annotated[bool, typer.Option("--report", help="Print the tables of harness report when it is done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before running everything.")]


def run_command(
    ctx: typer.Context,
    names: Names = None,
    model: Model = None,
    agent: AgentName = None,
    interface: Interface = "shell",
    protocol: Protocol = "tools",
    seat_model: SeatModels = None,
    api_base: ApiBase = None,
    temperature: Temperature = 0.0,
    max_tokens: MaxTokens = None,
    script: ActionsFile = None,
    runtime: RuntimeName = "auto",
    k: Attempts = 1,
    seeds: Seeds = "0",
    options: Options = None,
    mutate: Mutate = None,
    handles: Handles = False,
    mitigate: Mitigate = None,
    retry_of: RetryOf = None,
    hint: HintName = "none",
    workers: Workers = 2,
    wall: Wall = 600.0,
    turns: Turns = 120,
    tokens: TokenBudget = None,
    cost: CostBudget = None,
    out: Out = None,
    resume: Resume = None,
    env: Env = None,
    trust: Trust = False,
    report: Report = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Run tasks, record every episode, and say how it went."""
    key = os.environ.get("PARLEY_KEY") or PUBLISHED_KEY
    retry = read_retry(retry_of, hint, key) if retry_of else None
    combinations = overrides([*(retry.options() if retry else ()), *(options or ())], mutate, mitigate, handles=handles)
    seats, handed = tuple(seat_models(seat_model or ()).items()), offers_handles(combinations)
    if seats and not model:
        raise UsageError("--seat-model needs --model, which holds the other seats", hint="harness run calendar --model gpt-5")
    llm = retry.model(api_base, _confirmed) if retry and not (model or agent) else None
    if model:
        llm = LlmConfig(model, interface, api_base, temperature, max_tokens, handed, protocol, seats)
    known = gated(ctx, names, trust=trust).tasks
    tasks = grant(retry.tasks(known) if retry else known, env or ())
    players = _players(agent, tasks, llm, script, combinations)
    folder = resume or out or Path("runs") / f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{_slug(players)}"
    budget = Budget(wall, turns, tokens, cost)
    plans = [
        (folder / name, Plan((folder / name).name, tasks, parse_seeds(seeds), k, player, budget, chosen, key, retry))
        for name, player, chosen in named(players, combinations)
    ]
    if resume and not any(RunFolder(path).is_planned for path, _ in plans):
        raise UsageError(f"{resume} holds no run.json to resume", hint="harness run --out FOLDER")
    for path, plan in plans:
        _check(plan, path, resumed=resume is not None, confirm=not (names or yes or retry))
    used = choose_runtime(runtime, tasks, players, say)
    for line in gate(tasks, trust=False).told(used.name):
        say(line)
    _check_path(players, tasks, used, combinations)
    results = [result for path, plan in plans for result in _execute(plan, used, path, workers)]
    _close(results, folder, json)
    if report:
        show_tables(ctx, [folder])


def _players(
    names: str | None, tasks: Sequence[Task], llm: LlmConfig | None, script: Path | None, combinations: Sequence[Overrides]
) -> list[Agent]:
    """Each agent that is named; a path that is bent must be their only one."""
    families, bent = sorted({task.family for task in tasks}), any(map(is_bent, combinations))
    made = partial(make_agent, llm=llm, script=script, by_call=bent, families=families, say=say)
    return [made(name) for name in (names.split(",") if names else [None])]


def _check_path(players: Sequence[Agent], tasks: Sequence[Task], runtime: Runtime, combinations: Sequence[Overrides]) -> None:
    if any(map(is_bent, combinations)) and any(player.needs_main(task, runtime.name) for task in tasks for player in players):
        raise UsageError(
            "what runs in main speaks to the world directly, out of reach of --mutate, --handles and --mitigate",
            hint="harness run ... --interface tool",
        )


def _close(results: list[Result], folder: Path, json: bool) -> None:
    counts = summary(results)
    if json:
        episodes = [result.model_dump(mode="json") for result in results]
        emit({"run": folder.name, "path": str(folder), "episodes": episodes, "summary": counts})
    show_closing(results, folder)
    if counts["ungraded"]:
        raise BoundaryError(f"{counts['ungraded']} of {len(results)} episodes are ungraded", hint=_again(folder))


def _execute(plan: Plan, runtime: Runtime, folder: Path, workers: int) -> list[Result]:
    for name in runtime.sweep():
        say(f"removed {name}, left by a dead run")
    images = runtime.prepare(plan.tasks)
    get_ready(runtime, plan.agent, len(plan.keys), workers)
    with progress(len(plan.keys)) as heard:
        return run_plan(plan, runtime, RunFolder(folder), workers=workers, images=images, progress=heard)


def _check(plan: Plan, folder: Path, *, resumed: bool, confirm: bool) -> None:
    """Everything that can be wrong before anything starts."""
    for task in plan.tasks:
        plan.options(task)
    plan.agent.check()
    if not resumed and RunFolder(folder).is_planned:
        raise UsageError(f"{folder} already holds a run", hint=f"harness run ... --resume {folder}")
    if confirm:
        _confirm(plan)


def _confirm(plan: Plan) -> None:
    counts = f"{len(plan.tasks)} tasks x {len(plan.seeds)} seeds x {plan.attempts} attempts"
    say(f"{counts} = {len(plan.keys)} episodes by {plan.agent.name}")
    if not sys.stdin.isatty():
        raise UsageError("no task was named, which means all", hint="harness run --yes")
    if not typer.confirm("run them?", err=True):
        raise typer.Exit(0)


def _confirmed(what: str) -> bool:
    """Whether a person at a terminal says yes to what a file asks for; nobody does where there is no terminal."""
    return sys.stdin.isatty() and typer.confirm(f"{what}; send this run's API key there?", err=True)


def _again(folder: Path) -> str:
    return f"the same command with --resume {folder}"


def _slug(players: Sequence[Agent]) -> str:
    name = "+".join(player.name for player in players)
    return "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)
