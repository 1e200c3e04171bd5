"""`harness run`: flags in, a request, a session that plays it, a closing block."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from harness.agents.llm.replies import Replies
from harness.cli.amounts import counted, dollars, duration, short, spent_by
from harness.cli.closing import show_closing, show_left, stops
from harness.cli.config import print_config
from harness.cli.flags import RunFlags
from harness.cli.progress import plainly, progress
from harness.cli.report import show_tables
from harness.cli.settings import folder_for, found_again, new_request, options, resumed_request
from harness.cli.signatures import takes_flags
from harness.cli.tasks import gated, selected
from harness.console import emit, log_to_stderr, say
from harness.errors import BoundaryError, Cancelled, ProviderLost, UsageError, quoted
from harness.granted import grant
from harness.headline import setup_caveat
from harness.play.choose import runnable
from harness.records import Key, Result
from harness.report.early import BIASED, sentence
from harness.report.evidence import mde, mde_words
from harness.runs.choice import read_choice
from harness.runs.cluster.site import RayCluster
from harness.runs.coaching import read_retry
from harness.runs.deciding import read_decision
from harness.runs.edition import chosen_key
from harness.runs.executors.base import Finished, News, Progress
from harness.runs.executors.sites import HERE, RunSite
from harness.runs.forecast import PartForecast
from harness.runs.request import RunRequest
from harness.runs.run import summary
from harness.runs.session import Person, RunSession, WatchedRun, read_resumed
from harness.runs.stints import now
from harness.runs.stream import BegunLine, EndedLine, Totals, line_of
from harness.trust import gate
from harness.writing import append_to_file, writing
from worlds.core.levels import LEVEL
from worlds.core.models import Strict

Watching = Callable[[WatchedRun], AbstractContextManager[Progress]]
STDOUT = "-"


def streamed(watching: Watching, target: str) -> Watching:
    """A listener that also writes every piece of news to `target`, after what is there already."""

    @contextmanager
    def both(watched: WatchedRun) -> Iterator[Progress]:
        stream = _Stream(watched, target)
        with watching(watched) as heard, stream.written():

            def tell(news: News) -> None:
                stream.tell(news)
                heard(news)

            yield tell

    return both


class _Stream:
    """The lines of one run."""

    def __init__(self, watched: WatchedRun, target: str) -> None:
        self._watched, self._target, self._began = watched, target, time.monotonic()
        self._results: dict[tuple[str, Key], Result] = {(one.run, one.key): one for one in watched.done}

    @contextmanager
    def written(self) -> Iterator[None]:
        """`begun` now, `ended` when the context is left."""
        self._write(BegunLine(at=now(), path=str(self._watched.folder), totals=self._totals()))
        try:
            yield
        except (KeyboardInterrupt, Cancelled):
            self._write(EndedLine(t=self._t(), why="interrupted", totals=self._totals()))
            raise
        except BaseException:
            self._write(EndedLine(t=self._t(), why="failed", totals=self._totals()))
            raise
        self._write(EndedLine(t=self._t(), why="complete", totals=self._totals()))

    def tell(self, news: News) -> None:
        if isinstance(news, Finished):
            self._results[news.result.run, news.key] = news.result
        self._write(line_of(news, self._t(), self._totals()))

    def _t(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _totals(self) -> Totals:
        results: Sequence[Result] = list(self._results.values())
        spent = self._watched.meter.spent
        if not spent.calls:
            spent = spent_by(results)
        return Totals(
            planned=self._watched.episodes, done=len(results), succeeded=sum(one.success for one in results),
            ungraded=sum(one.status == "ungraded" for one in results), calls=spent.calls, tokens=spent.tokens,
            cost_usd=spent.cost_usd, unpriced_calls=spent.unpriced,
        )  # fmt: skip

    def _write(self, line: Strict) -> None:
        written = line.model_dump_json().encode() + b"\n"
        if self._target == STDOUT:
            with writing(Path("/dev/stdout")):
                sys.stdout.buffer.write(written)
                sys.stdout.buffer.flush()
            return
        with writing(Path(self._target)):
            append_to_file(Path(self._target), written)


def show_planned(session: RunSession, *, json: bool) -> None:
    """Print the plan: on stdout as one document, else for a person."""
    parts = session.forecast()
    if json:
        emit(_document(session, parts))
        return
    for line in planned_lines(session, parts):
        print(line)


def say_planned(session: RunSession) -> None:
    """Tell the plan on stderr, where a question follows."""
    for line in planned_lines(session, session.forecast()):
        say(line)


def planned_lines(session: RunSession, parts: Sequence[PartForecast]) -> Iterator[str]:
    """The plan as a person reads it."""
    request = session.request
    yield _counts(request, len(parts), session.episodes)
    for part in parts:
        yield from _part(part, len(parts))
    if len(parts) > 1:
        yield f"all together: {_takes(parts)}"
    yield from _limits(request)
    yield _visible(request)


def _counts(request: RunRequest, parts: int, episodes: int) -> str:
    """Return what makes the plan; `episodes` are those that are played here."""
    tasks, seeds, attempts = len(request.tasks), len(request.seeds), request.attempts
    each = len(request.retry.episodes) if request.retry else tasks * seeds * attempts
    product = " x ".join([counted(tasks, "task"), counted(seeds, "seed"), counted(attempts, "attempt")])
    told = f"{each} failed episodes again" if request.retry else product
    times = f" x {parts} parts" if parts > 1 else ""
    share = f", shard {request.shard} of them: {episodes:,}" if request.shard else ""
    return f"plan: {told}{times} = {counted(each * parts, 'episode')}{share}, {request.workers} at once"


def _part(part: PartForecast, parts: int) -> Iterator[str]:
    counts = part.episodes
    again = f" ({counts.repeat} of them again)" if counts.repeat else ""
    rest = [f"{counts.keep} have a grade and are kept"] if counts.keep else []
    rest += [f"{counts.leave} are left out"] if counts.leave else []
    name = f"{part.name}: " if parts > 1 else ""
    yield f"{name}{part.player} plays {counted(counts.play, 'episode')}{again}{''.join(f', {one}' for one in rest)}"
    for model, price in part.prices.items():
        yield f"  {model}: {price or 'no known price (--prices FILE)'}"
    if counts.play:
        yield f"  about {_takes([part])}"
    for family, source in part.sources.items():
        yield f"  estimated for {family} from {source}"


def _takes(parts: Sequence[PartForecast]) -> str:
    calls, seconds = sum(part.calls for part in parts), sum(part.seconds for part in parts)
    if not calls:
        return duration(seconds)
    prompt, completion = sum(part.prompt for part in parts), sum(part.completion for part in parts)
    costs = [part.cost_usd for part in parts]
    cost = "cost unknown" if None in costs else dollars(sum(one for one in costs if one is not None))
    return f"{calls:,} calls, {short(prompt)} tokens in, {short(completion)} out, {cost}, {duration(seconds)}"


def _limits(request: RunRequest) -> Iterator[str]:
    cost, tokens = request.limits.cost_usd, request.limits.tokens
    bounds = [*([dollars(cost)] if cost is not None else []), *([f"{short(tokens)} tokens"] if tokens is not None else [])]
    if bounds:
        yield f"the run ends at {' or '.join(bounds)}, and can be resumed with more"


def _visible(request: RunRequest) -> str:
    """Return how far two models must differ to be told apart by such a plan."""
    try:
        return mde_words(len(request.tasks), len(request.seeds) * request.attempts)
    except UsageError as error:
        return f"how far two models must differ to be told apart is not said: {error}"


def _mde(request: RunRequest) -> float | None:
    try:
        return mde(len(request.tasks), len(request.seeds) * request.attempts)
    except UsageError:
        return None


def _document(session: RunSession, parts: Sequence[PartForecast]) -> dict[str, Any]:
    costs = [part.cost_usd for part in parts]
    return {
        "path": str(session.folder),
        "episodes": sum(part.episodes.planned for part in parts),
        "play": sum(part.episodes.play for part in parts),
        "calls": sum(part.calls for part in parts),
        "prompt_tokens": sum(part.prompt for part in parts),
        "completion_tokens": sum(part.completion for part in parts),
        "cost_usd": None if None in costs else sum(one for one in costs if one is not None),
        "seconds": sum(part.seconds for part in parts),
        "limits": session.request.limits.model_dump(),
        "mde": _mde(session.request),
        "parts": [part.model_dump(mode="json") for part in parts],
    }


_CURES = {
    "tools_not_seen": "harness run ... --protocol text",
    "tools_not_parsed": "harness run ... --protocol text",
    "always_cut_off": "harness run ... --reply-tokens N",
}
"""Faults of the set-up that only a new run cures -> its command."""


@takes_flags(RunFlags)
def run_command(ctx: typer.Context, flags: RunFlags) -> None:
    """Run tasks, record every episode, and say how it went."""
    if flags.print_config:
        print(print_config(ctx), end="")
        return
    if flags.verbose:
        log_to_stderr()
    replies = Replies(flags.cache, probes=not flags.no_probe) if flags.cache else None
    session = _resumed(ctx, flags, flags.resume, replies) if flags.resume else _begun(ctx, flags, replies)
    session.check(resumed=flags.resume is not None, asks=not flags.dry_run)
    if flags.dry_run:
        show_planned(session, json=flags.json)
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
        show_tables(ctx, [session.folder], beside_json=_takes_stdout(flags))


def _begun(ctx: typer.Context, flags: RunFlags, replies: Replies | None) -> RunSession:
    """The session of a new run."""
    if flags.only:
        raise UsageError("--only is about a run that is gone on with", hint="harness run --resume RUN --only errored")
    key = chosen_key(flags.key, flags.retry_of)
    first = read_retry(flags.retry_of, flags.hint, key) if flags.retry_of else None
    known = gated(ctx, flags.names, trust=flags.trust).tasks
    tasks = grant(first.tasks(known) if first else known, flags.env or ())
    tasks = tasks if first else runnable(tasks, flags.names or (), say, options(flags).get(LEVEL, ()))
    request = new_request(flags, tasks, first, key, _confirmed)
    folder = flags.out or folder_for(request, tasks)
    return RunSession(
        request, tasks, key, folder, _person(flags, request), replies=replies, command=_command(), site=_site(flags),
    )  # fmt: skip


def _resumed(ctx: typer.Context, flags: RunFlags, folder: Path, replies: Replies | None) -> RunSession:
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
    choice = read_choice(flags.only or (), request.tasks)
    tasks = grant(known, flags.env or ())
    return RunSession(
        request, tasks, key, folder, _person(flags, request), resumed.parts, replies=replies, choice=choice,
        command=_command(), site=_site(flags),
    )  # fmt: skip


def _site(flags: RunFlags) -> RunSite:
    """Return where episodes are played, as the flags say; raises UsageError for what is not to be had there."""
    if flags.executor not in {"here", "ray"}:
        raise UsageError(f"executor must be here or ray, not {flags.executor!r}")
    if (flags.executor == "ray") != (flags.address is not None):
        raise UsageError("--executor ray and --address go together", hint="harness run ... --executor ray --address auto")
    if flags.address is None:
        return HERE
    if flags.cache:
        raise UsageError(
            "--cache is a folder of this machine, and models are asked by the nodes", hint="harness run without --cache"
        )
    return RayCluster(flags.address)


def _command() -> list[str]:
    """Return what was typed, as a record has it."""
    return ["harness", *sys.argv[1:]]


def _takes_stdout(flags: RunFlags) -> bool:
    """Return whether stdout belongs to a program."""
    return flags.json or flags.jsonl == STDOUT


def _close(results: list[Result], session: RunSession, flags: RunFlags) -> None:
    counts, folder, spent = summary(results), session.folder, session.meter.spent
    decision = read_decision(folder) if session.request.until else None
    if flags.json:
        episodes = [result.model_dump(mode="json") for result in results]
        kept = spent_by(results)
        bill = asdict(replace(spent, kept=kept.kept, kept_usd=kept.kept_usd))
        more = {"planned": session.episodes, "stopped": stops(results), "caveat": setup_caveat(results), "spent": bill}
        early = {"until": decision.model_dump(mode="json") | {"winner": decision.winner}} if decision else {}
        emit({"run": folder.name, "path": str(folder), "episodes": episodes, "summary": counts, **more, **early})
    show_closing(results, folder, beside_json=_takes_stdout(flags), spent=spent, planned=session.episodes)
    if session.replies is not None:
        say(session.replies.told())
    if decision is not None:
        say(f"{sentence(decision)}\n  {BIASED}")
    if decision is None or decision.winner is None:
        session.check_limit(results)
    if lost := counts["ungraded"]:
        hint = _next_command(results, session, is_resumed=flags.resume is not None)
        raise BoundaryError(f"{lost} of {len(results)} episodes are ungraded", hint=hint)


def _next_command(results: list[Result], session: RunSession, *, is_resumed: bool) -> str:
    """Return the command that may grade what is ungraded: a resumed run keeps the flags that a fault of the set-up is about."""
    ended = {result.ended_by for result in results if result.status != "graded"}
    if ended == {"context_too_small"}:
        return f"start the server with a larger context; then {session.resume_line}"
    if is_resumed or not ended <= _CURES.keys():
        return session.resume_line
    return ", or ".join(
        f"{cure} --out {quoted(f'{session.folder}-2')}" for cure in sorted({_CURES[one] for one in ended if one})
    )


def _confirm_all(session: RunSession) -> None:
    say_planned(session)
    if not sys.stdin.isatty():
        cheapest = min(session.tasks, key=lambda task: task.is_seated).task_id
        hint = f"harness run ... --yes, or one task first: harness run ... {cheapest}"
        raise UsageError("no task was named, which means all", hint=hint)
    if not typer.confirm("run them?", err=True):
        raise typer.Exit(0)


def _confirmed(what: str) -> bool:
    """Return whether a person at a terminal says yes to what a file asks for; nobody does where there is no terminal."""
    return sys.stdin.isatty() and typer.confirm(f"{what}; send this run's API key there?", err=True)


def _person(flags: RunFlags, request: RunRequest) -> Person:
    """Who started this run, and how they watch it; where people play at this terminal, nothing is drawn over what they read."""
    watching = plainly if any(spec.has_people for spec in request.agents) else progress
    if flags.jsonl is None:
        return Person(say, _confirmed, watching)
    if flags.json and flags.jsonl == STDOUT:
        raise UsageError("--json and --jsonl - both want stdout", hint="harness run ... --jsonl FILE")
    # a table that is drawn over and over, and lines between, would spoil each other
    shared = flags.jsonl == STDOUT and sys.stdout.isatty()
    return Person(say, _confirmed, streamed(plainly if shared else watching, flags.jsonl))
