"""`harness audit privacy RUN... --judge-model M`: what a judge model reads out of everything that was delivered (Appendix I).

The judge is asked once for each seat and round in which something was delivered, and once more where its reply cannot be read.
Answers are kept by what was asked, so a second audit is free, and one that was broken off goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.agents.llm.asking import CACHE, ApiBase, Cache, Cost, Judge, Workers, Yes, agreed_to_ask, judge_model
from harness.console import emit, say
from harness.errors import UsageError
from harness.families.calendar.commands.audited import Json, What, games_of, show
from harness.families.calendar.privacy.cases import cases_of, different
from harness.families.calendar.privacy.judge_files import write_audit
from harness.families.calendar.privacy.judge_rows import audits
from harness.families.calendar.privacy.judge_tables import judge_tables
from harness.families.calendar.privacy.judging import judge as ask_judge

Out = Annotated[Path | None, typer.Option(help="Folder for the seven files of Appendix I.")]


def audit_privacy(
    what: What,
    judge: Judge,
    api_base: ApiBase = None,
    workers: Workers = 4,
    out: Out = None,
    cache: Cache = CACHE,
    cost: Cost = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """What calendar messages give away, by a judge model: beside reflections, or what typed messages mean."""
    model = judge_model(judge, api_base, cache, cost=cost)
    read = games_of(what)
    cases = list(cases_of(read.games))
    if not cases:
        raise UsageError(f"nothing was delivered in the games of {' '.join(what)}", hint="harness audit messages RUN")
    questions = [case.question for case in different(cases).values()]
    say(f"{len(cases)} cases; a reply that cannot be read is asked for once more")
    if not agreed_to_ask(model, questions, cost=cost, yes=yes):
        return
    made = audits(read.games, ask_judge(model, cases, workers))
    tables = judge_tables(made)
    if json:
        emit({"tables": [one.document() for one in tables]})
    else:
        show(tables)
    for path in write_audit(made, judge, out) if out is not None else ():
        say(f"written: {path}")
    say(
        f"{model.asked} calls were made for {len(cases)} cases, {len(questions)} of them different; answers are kept in {cache}"
    )
