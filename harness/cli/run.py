"""`harness run`: flags in, a request, a session that plays it, a closing block."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from harness.cli.closing import show_closing
from harness.cli.config import print_config
from harness.cli.flags import RunFlags
from harness.cli.progress import plainly, progress
from harness.cli.report import show_tables
from harness.cli.settings import folder_for, found_again, new_request, resumed_request
from harness.cli.signatures import takes_flags
from harness.cli.tasks import gated, selected
from harness.console import emit, log_to_stderr, say
from harness.errors import BoundaryError, UsageError
from harness.granted import grant
from harness.play.agents import title
from harness.records import Result
from harness.runs.coaching import read_retry
from harness.runs.edition import chosen_key
from harness.runs.request import RunRequest
from harness.runs.run import summary
from harness.runs.session import Person, RunSession, read_resumed
from harness.trust import gate


@takes_flags(RunFlags)
def run_command(ctx: typer.Context, flags: RunFlags) -> None:
    """Run tasks, record every episode, and say how it went."""
    if flags.print_config:
        print(print_config(ctx), end="")
        return
    if flags.verbose:
        log_to_stderr()
    session = _resumed(ctx, flags, flags.resume) if flags.resume else _begun(ctx, flags)
    session.check(resumed=flags.resume is not None)
    if not (flags.names or flags.yes or flags.retry_of or flags.resume):
        _confirm_all(session.request)
    _close(session.play(), session.folder, flags.json)
    if flags.report:
        show_tables(ctx, [session.folder], beside_json=flags.json)


def _begun(ctx: typer.Context, flags: RunFlags) -> RunSession:
    """The session of a new run."""
    key = chosen_key(flags.key, flags.retry_of)
    first = read_retry(flags.retry_of, flags.hint, key) if flags.retry_of else None
    known = gated(ctx, flags.names, trust=flags.trust).tasks
    tasks = grant(first.tasks(known) if first else known, flags.env or ())
    request = new_request(flags, tasks, first, key, _confirmed)
    return RunSession(request, tasks, key, flags.out or folder_for(request), _person(request))


def _resumed(ctx: typer.Context, flags: RunFlags, folder: Path) -> RunSession:
    """The session of the run in a folder, as its run.json says."""
    key, resumed = chosen_key(flags.key, folder), read_resumed(folder)
    first = read_retry(flags.retry_of, flags.hint, key) if flags.retry_of else None
    if flags.names:
        named = gated(ctx, flags.names, trust=flags.trust).tasks
        known = [task for task in named if first is None or task.task_id in resumed.request.tasks]
    else:
        again = found_again(resumed.request.tasks, selected(ctx, None), trust=flags.trust)
        known = list(gate(again, trust=flags.trust).tasks)
    request = resumed_request(flags, resumed.request, known, first, key, _confirmed)
    return RunSession(request, grant(known, flags.env or ()), key, folder, _person(request), resumed.parts)


def _close(results: list[Result], folder: Path, json: bool) -> None:
    counts = summary(results)
    if json:
        episodes = [result.model_dump(mode="json") for result in results]
        emit({"run": folder.name, "path": str(folder), "episodes": episodes, "summary": counts})
    show_closing(results, folder, beside_json=json)
    if lost := counts["ungraded"]:
        raise BoundaryError(f"{lost} of {len(results)} episodes are ungraded", hint=f"the same command with --resume {folder}")


def _confirm_all(request: RunRequest) -> None:
    tasks, seeds, attempts = len(request.tasks), len(request.seeds), request.attempts
    counts = f"{tasks} tasks x {seeds} seeds x {attempts} attempts = {tasks * seeds * attempts} episodes"
    for part in request.parts:
        say(f"{counts} by {title(part.agent)}")
        if not sys.stdin.isatty():
            raise UsageError("no task was named, which means all", hint="harness run --yes")
        if not typer.confirm("run them?", err=True):
            raise typer.Exit(0)


def _confirmed(what: str) -> bool:
    """Whether a person at a terminal says yes to what a file asks for; nobody does where there is no terminal."""
    return sys.stdin.isatty() and typer.confirm(f"{what}; send this run's API key there?", err=True)


def _person(request: RunRequest) -> Person:
    """Who started the run; where people play at this terminal, nothing is drawn over what they read."""
    return Person(say, _confirmed, plainly if any(spec.has_people for spec in request.agents) else progress)
