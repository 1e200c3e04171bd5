"""`harness host`: a group of people plays one game in web pages, and the episode is recorded like any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.flags import ApiBase, Options, Out, RunFlags, RuntimeName, Seats, Temperature
from harness.cli.progress import plainly
from harness.cli.settings import folder_for, new_request
from harness.cli.summary import show_closing
from harness.cli.tasks import Json, selected
from harness.errors import BoundaryError, UsageError, quoted
from harness.output import emit, say
from harness.records import Result
from harness.registry import Task
from harness.runs.run import summary
from harness.runs.seed_key import chosen_key
from harness.runs.session import Person, RunSession
from harness.trust import gate
from parley.hosting.group import PageGroup, hosted_options
from parley.hosting.server import PageHost, hold, maker, people_at

_LOOPBACK = "127.0.0.1"


def host_command(
    ctx: typer.Context,
    task: Annotated[str, typer.Argument(help="Task to play, which must have seats.")],
    seat: Seats = None,
    seed: int = typer.Option(0, min=0, help="Seed of the instance."),
    options: Options = None,
    minutes: int | None = typer.Option(
        None, min=1, max=240, help="Length of a free chat in minutes, like --set minutes=N. Default: 15."
    ),
    patience: float = typer.Option(600.0, min=1, help="Seconds to answer a turn before it is forfeited."),
    port: int = typer.Option(0, min=0, max=65535, help="Port of the web pages. 0 takes any free port."),
    bind: str = typer.Option(_LOOPBACK, help="Address to listen on, such as one that people on the network can reach."),
    api_base: ApiBase = None,
    temperature: Temperature = 0.0,
    runtime: RuntimeName = "auto",
    out: Out = None,
    json: Json = False,
) -> None:
    """Serve a page to each person of a group, play one game with them, and record it as harness run does.

    People play every seat that --seat does not assign.
    """
    one = _one_task(ctx, task)
    flags = RunFlags(
        names=[task], agent="human", seat=seat, options=_chosen(one, options or [], minutes), seeds=str(seed),
        runtime=runtime, workers=1, out=out, api_base=api_base, temperature=temperature,
        typed=frozenset({"names", "agent", "seat", "options", "api_base"}),
    )  # fmt: skip
    key = chosen_key(None)
    request = new_request(flags, [one], None, key, lambda _: False)
    if len(request.parts) != 1:
        raise UsageError("a group plays one game, so options cannot have several values")
    group = PageGroup(people_at(request.agents[0], one, request.combinations[0]), patience_s=patience, say=say)
    folder, person = out or folder_for(request, [one]), Person(say, plainly)
    session = RunSession(request, [one], key, folder, person, make=maker(group))
    session.check(resumed=False)
    # check everything that can fail before the game, so that it fails before people are invited
    session.probe()
    session.runtime.prepare([one])
    host = _host(group, one.family, bind, port)
    say(f"{one.task_id}, seed {seed}: one link per person; the game begins when everyone has joined")
    _close(hold(host, session, say), folder, json=json)


def _host(group: PageGroup, family: str, address: str, port: int) -> PageHost:
    """Return the server of the pages, and warn if other machines can reach it."""
    if address != _LOOPBACK:
        say(f"warning: anyone who can reach {address} can open these pages, unencrypted; anyone with a link can play its seat")
    title = "A decision in a group" if family == "hidden-profile" else "A game"
    return PageHost(group, title, family, address=address, port=port)


def _chosen(task: Task, options: Sequence[str], minutes: int | None) -> list[str]:
    """Return the given options, and the defaults of hosted games for the others."""
    typed = [*options, *([f"minutes={minutes}"] if minutes is not None else [])]
    named = {text.partition("=")[0] for text in typed}
    return [*typed, *(f"{name}={value}" for name, value in hosted_options(task.family).items() if name not in named)]


def _one_task(ctx: typer.Context, name: str) -> Task:
    tasks = gate(selected(ctx, [name]), trust=False).tasks
    if len(tasks) != 1:
        raise UsageError(f"{name} matches {len(tasks)} tasks, and a group plays one", hint="harness list")
    return tasks[0]


def _close(results: list[Result], folder: Path, *, json: bool) -> None:
    if json:
        episodes = [result.model_dump(mode="json") for result in results]
        emit({"run": folder.name, "path": str(folder), "episodes": episodes, "summary": summary(results)})
    show_closing(results, folder, beside_json=json)
    if summary(results)["ungraded"]:
        raise BoundaryError("the game is ungraded", hint=f"harness show {quoted(folder)}")
