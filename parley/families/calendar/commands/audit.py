"""`harness audit` of calendar games: arguments, and printing of tables.

`messages`: disclosures in messages, and their behaviours; without a model. `vps`: privacy losses by typed messages, by three
estimates; also without a model. `privacy`: beliefs that a judge model infers from everything delivered (Appendix I). The judge
is called once for each seat and round with a delivery, and once more if its reply cannot be parsed. Answers are cached, so a
second audit makes no calls, and an interrupted one continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.tasks import Json
from harness.errors import UsageError
from harness.output import emit, say
from harness.sanitize import printable
from harness.tables import show_table
from parley.commands.judge_flags import CACHE, ApiBase, Cache, Cost, Judge, Workers, Yes, agreed_to_ask, judge_model
from parley.families.calendar.audits.games import ReadGames, read_games
from parley.families.calendar.audits.tables import tables, write_files, write_tables
from parley.families.calendar.privacy.judge_rows import audits, cases_of, different, judge_tables, write_audit
from parley.families.calendar.privacy.judge_rows import judge as ask_judge
from parley.families.calendar.privacy.typed import (
    FIELDS,
    PRIOR_FIELDS,
    means_by_prior,
    prior_rows,
    summary_tables,
    typed_tables,
)
from parley.reports.reading import is_recorded, recorded_episodes
from parley.reports.table import Row, Table
from parley.statistics import scipy_stats
from validators.calendar.evidence import PRIOR

What = Annotated[
    list[str],
    typer.Argument(help="A run, an episode, a run and a task (as for harness show), or several runs.", metavar="RUN..."),
]


def games_of(what: list[str]) -> ReadGames:
    """Return the games of each named run, or of what is selected from one run. Raises UsageError if there are none."""
    if len(what) > 1 and all(is_recorded(word) for word in what):
        folders = list(dict.fromkeys(path for word in what for path in recorded_episodes([word])))
    else:
        folders = recorded_episodes(what)
    read = read_games(folders)
    if not read.games:
        why = f"; {read.ungraded} episodes are ungraded, {read.unsound} have no game" if read.ungraded or read.unsound else ""
        raise UsageError(f"{' '.join(what)} has no calendar game to audit{why}", hint="harness show RUN")
    return read


def show(tables: Sequence[Table], write: Callable[[], Iterable[Path]] | None, *, json: bool) -> None:
    """Print tables with their notes, or as one JSON document; then write files, and print their paths."""
    if json:
        emit({"tables": [one.document() for one in tables]})
    for one in () if json else tables:
        cells = [[printable(cell) for cell in row] for row in one.cells()]
        show_table(one.header, cells, title=f"\n{one.title}")
        for note in one.notes:
            print(f"  {note}")
    for path in write() if write is not None else ():
        say(f"written: {path}")


def audit_vps(
    what: What,
    csv: Annotated[
        Path | None, typer.Option(help="Folder for the tables of Appendix F.5, the exact losses and the tables of F.4.")
    ] = None,
    prior: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Prior probability that a slot is possible, before any message.")
    ] = PRIOR,
    json: Json = False,
) -> None:
    """Compute the privacy loss (VPS) of typed calendar messages: as in the paper, exactly, by source, with other priors."""
    read = games_of(what)
    made, means = typed_tables(read.games, prior), means_by_prior(read.games)

    def write() -> Iterable[Path]:
        files: dict[str, tuple[Sequence[str], Sequence[Row]]] = {name: (FIELDS[name], rows) for name, rows in made.items()}
        files["prior_sensitivity"] = (PRIOR_FIELDS, list(prior_rows(read.games, means)))
        return write_tables(files, csv or Path())

    show(summary_tables(read, made, means), write if csv else None, json=json)


def audit_privacy(
    what: What,
    judge: Judge,
    api_base: ApiBase = None,
    workers: Workers = 4,
    out: Annotated[Path | None, typer.Option(help="Folder for the seven files of Appendix I.")] = None,
    cache: Cache = CACHE,
    cost: Cost = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Ask a judge model what calendar messages disclose, and compare with reflections or the meaning of typed messages."""
    model = judge_model(judge, api_base, cache, cost=cost)
    read = games_of(what)
    cases = list(cases_of(read.games))
    if not cases:
        raise UsageError(f"nothing was delivered in the games of {' '.join(what)}", hint="harness audit messages RUN")
    questions = [case.question for case in different(cases).values()]
    say(f"{len(cases)} cases; a reply that cannot be parsed is requested once more")
    if not agreed_to_ask(model, questions, cost=cost, yes=yes):
        return
    made = audits(read.games, ask_judge(model, cases, workers))
    show(judge_tables(made), partial(write_audit, made, judge, out) if out else None, json=json)
    say(f"{model.asked} calls were made for {len(cases)} cases, {len(questions)} of them distinct; answers are in {cache}")


def audit_messages(
    what: What,
    csv: Annotated[
        Path | None, typer.Option(help="Folder for CSV files of the rows: messages, labels, patterns, misreports.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure what calendar messages disclose: own-slot labels, twelve patterns, leaks, false statements. Calls no model."""
    scipy_stats()
    read = games_of(what)
    show(tables(read), partial(write_files, read.games, csv) if csv else None, json=json)


KINDS = {"messages": audit_messages, "privacy": audit_privacy, "vps": audit_vps}
