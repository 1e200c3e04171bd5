"""`harness run`: turn flags into a request, play it in a session, and print a summary."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from harness.cli.amounts import spent_by
from harness.cli.flags import RunFlags
from harness.cli.progress import plainly, progress
from harness.cli.settings import folder_for, new_request, options
from harness.cli.signatures import takes_flags
from harness.cli.summary import show_closing, show_left, stops
from harness.cli.tasks import selected
from harness.errors import BoundaryError, Cancelled, ProviderLost, UsageError, quoted
from harness.headline import setup_caveat
from harness.live_agent import ReplyCache
from harness.output import emit, say
from harness.plugins import optional
from harness.records import Result
from harness.registry import Task
from harness.runs.executors.base import LEAST
from harness.runs.executors.sites import HERE, RunSite
from harness.runs.request import FirstRun, RunRequest
from harness.runs.run import summary
from harness.runs.seed_key import chosen_key
from harness.runs.session import Person, RunSession
from harness.runtime_choice import runnable
from harness.trust import gate
from worlds.core.levels import LEVEL

STDOUT = "-"
"""The value of --jsonl for stdout."""


_CURES = {
    "tools_not_seen": "harness run ... --protocol text",
    "tools_not_parsed": "harness run ... --protocol text",
    "always_cut_off": "harness run ... --reply-tokens N",
}
"""Command for each fault of the set-up that only a new run can fix."""


@takes_flags(RunFlags)
def run_command(ctx: typer.Context, flags: RunFlags) -> None:
    """Run tasks, record every episode, and print a summary."""
    if flags.print_config:
        from harness.cli.config import print_config  # noqa: PLC0415

        print(print_config(ctx), end="")
        return
    if flags.verbose:
        optional("verbose log")()
    replies = _replies(flags)
    session = _resumed(ctx, flags, flags.resume, replies) if flags.resume else _begun(ctx, flags, replies)
    session.check(resumed=flags.resume is not None, asks=not flags.dry_run)
    if flags.dry_run:
        optional("plan")(session, print, json=flags.json)
        return
    if not (flags.names or flags.yes or flags.retry_of or flags.resume):
        _confirm_all(session)
    if not flags.no_probe and replies is None:
        session.probe()
    try:
        results = session.play()
    except (ProviderLost, Cancelled):
        show_left(session.recorded, session.folder, spent=session.meter.spent, planned=session.episodes)
        raise
    _close(results, session, flags)
    if flags.report:
        optional("tables")(ctx, [session.folder], beside_json=_takes_stdout(flags))


def _replies(flags: RunFlags) -> ReplyCache | None:
    """Return the cache of model replies, if there is one."""
    if flags.cache is None:
        return None
    from harness.agents.llm.response_cache import ResponseCache  # noqa: PLC0415 - with everything that asks models

    return ResponseCache(flags.cache, probes=not flags.no_probe)


def _begun(ctx: typer.Context, flags: RunFlags, replies: ReplyCache | None) -> RunSession:
    """Return the session of a new run."""
    if flags.only:
        raise UsageError("--only needs --resume", hint="harness run --resume RUN --only errored")
    key = chosen_key(flags.key, flags.retry_of)
    first = _first(flags, key)
    known = gate(selected(ctx, flags.names), trust=flags.trust).tasks
    tasks = _granted(first.tasks(known) if first else known, flags)
    tasks = tasks if first else runnable(tasks, flags.names or (), say, options(flags).get(LEVEL, ()))
    request = new_request(flags, tasks, first, key, _confirmed)
    folder = flags.out or folder_for(request, tasks)
    return _session(flags, request, tasks, key, folder, replies=replies)


def _resumed(ctx: typer.Context, flags: RunFlags, folder: Path, replies: ReplyCache | None) -> RunSession:
    """Return the session of the run in a folder, as its run.json says."""
    key = chosen_key(flags.key, folder)
    again = optional("resumed request")(ctx, flags, folder, key, partial(_first, flags, key), _confirmed)
    tasks, more = _granted(again.tasks, flags), {"only": again.parts, "choice": again.choice}
    return _session(flags, again.request, tasks, key, folder, replies=replies, **more)


def _session(flags: RunFlags, request: RunRequest, tasks: Sequence[Task], key: str, folder: Path, **more: Any) -> RunSession:
    """Return the session of a request; with --until, one that decides early."""
    kind: type[RunSession] = RunSession if request.until is None else optional("until")
    person, command = _person(flags, request), ["harness", *sys.argv[1:]]
    return kind(request, tasks, key, folder, person, command=command, site=_site(flags, request), **more)


def _first(flags: RunFlags, key: str) -> FirstRun | None:
    """Return the run whose failures are retried, if there is one."""
    if flags.retry_of is None:
        return None
    first: FirstRun = optional("retry")(flags.retry_of, flags.hint, key)
    return first


def _granted(tasks: Sequence[Task], flags: RunFlags) -> list[Task]:
    """Return the tasks, with the variables that --env names."""
    return optional("grant")(tasks, flags.env) if flags.env else list(tasks)


def _site(flags: RunFlags, request: RunRequest) -> RunSite:
    """Return where episodes are played, according to the flags. Raises UsageError for unsupported combinations."""
    if flags.executor not in {"here", "ray"}:
        raise UsageError(f"--executor must be here or ray, not {flags.executor!r}")
    if (flags.executor == "ray") != (flags.address is not None):
        raise UsageError(
            "--executor ray and --address must be used together", hint="harness run ... --executor ray --address auto"
        )
    if flags.address is None and request.episodes < LEAST:
        return HERE
    if flags.address is None:
        processes: RunSite = optional("processes")()
        return processes
    if flags.cache:
        raise UsageError(
            "--cache is a folder of this machine, but the nodes of the cluster call the models",
            hint="harness run without --cache",
        )
    site: RunSite = optional("ray")(flags.address)
    return site


def _takes_stdout(flags: RunFlags) -> bool:
    """Return True if stdout is for a program."""
    return flags.json or flags.jsonl == STDOUT


def _close(results: list[Result], session: RunSession, flags: RunFlags) -> None:
    counts, folder, spent = summary(results), session.folder, session.meter.spent
    decision = session.decided()
    if flags.json:
        episodes = [result.model_dump(mode="json") for result in results]
        kept = spent_by(results)
        bill = asdict(replace(spent, kept=kept.kept, kept_usd=kept.kept_usd))
        more = {"planned": session.episodes, "stopped": stops(results), "caveat": setup_caveat(results), "spent": bill}
        early = {"until": dict(decision.document)} if decision else {}
        emit({"run": folder.name, "path": str(folder), "episodes": episodes, "summary": counts, **more, **early})
    show_closing(results, folder, beside_json=_takes_stdout(flags), spent=spent, planned=session.episodes)
    if session.replies is not None:
        say(session.replies.told())
    if decision is not None:
        say(decision.told)
    if decision is None or decision.winner is None:
        session.check_limit(results)
    if lost := counts["ungraded"]:
        hint = _next_command(results, session, is_resumed=flags.resume is not None)
        raise BoundaryError(f"{lost} of {len(results)} episodes are ungraded", hint=hint)


def _next_command(results: list[Result], session: RunSession, *, is_resumed: bool) -> str:
    """Return the command with which the ungraded episodes may get a grade.

    A resumed run cannot change the flags that cause a fault of the set-up, so such a fault needs a new run.
    """
    ended = {result.ended_by for result in results if result.status != "graded"}
    if ended == {"context_too_small"}:
        return f"start the server with a larger context; then {session.resume_line}"
    if is_resumed or not ended <= _CURES.keys():
        return session.resume_line
    cures = sorted({_CURES[one] for one in ended if one})
    return ", or ".join(f"{cure} --out {quoted(f'{session.folder}-2')}" for cure in cures)


def _confirm_all(session: RunSession) -> None:
    optional("plan")(session, say)
    if not sys.stdin.isatty():
        cheapest = min(session.tasks, key=lambda task: task.is_seated).task_id
        hint = f"harness run ... --yes, or one task first: harness run ... {cheapest}"
        raise UsageError("no task was named, and running all tasks needs confirmation at a terminal", hint=hint)
    if not typer.confirm("run them?", err=True):
        raise typer.Exit(0)


def _confirmed(what: str) -> bool:
    """Return True if a person at a terminal confirms the address in a file; False without a terminal."""
    return sys.stdin.isatty() and typer.confirm(f"{what}; send this run's API key there?", err=True)


def _person(flags: RunFlags, request: RunRequest) -> Person:
    """Return the user interface of this run, without a live table if people play at this terminal."""
    watching = plainly if any(spec.has_people for spec in request.agents) else progress
    if flags.jsonl is None:
        return Person(say, watching)
    if flags.json and flags.jsonl == STDOUT:
        raise UsageError("--json and --jsonl - both write to stdout", hint="harness run ... --jsonl FILE")
    # a live table and printed lines would overwrite each other
    shared = flags.jsonl == STDOUT and sys.stdout.isatty()
    return Person(say, optional("stream")(plainly if shared else watching, flags.jsonl))
