"""`harness verify --mutants`: run the mutation test and print a table by kind of file, and a line for each survivor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import typer

from harness.cli.tasks import selected
from harness.errors import GateFailed
from harness.output import emit, say, show_table
from harness.registry import Task
from harness.runs.plan import parse_seeds
from parley.proof.mutants.run import FATES, LEAST, SEEDS, MutantReport, TriedMutant, try_mutants

_HEADER = ("files", "mutants", *FATES)


def mutate_tasks(
    ctx: typer.Context, tasks: Sequence[Task], seeds: str | None, *, draw: int | None, workers: int, json: bool
) -> None:
    """Try mutants of these tasks, and of the shared code of whole families. Raises GateFailed if too many survive."""
    every = Counter(task.family for task in selected(ctx, []))
    whole = [family for family, count in Counter(task.family for task in tasks).items() if count == every[family]]
    chosen = parse_seeds(seeds) if seeds else SEEDS
    report = try_mutants(tasks, whole, chosen, draw=draw, workers=workers, progress=say)
    if json:
        emit({**report.model_dump(mode="json"), "ok": report.ok, "share": report.share})
    else:
        show_mutants(report)
    if report.rules_alive:
        raise GateFailed(
            f"{len(report.rules_alive)} mutants of rules survived: none in a task's server may",
            hint="write the client that notices, or list the line with a reason in equivalents.toml; docs/mutants.md",
        )
    if not report.ok:
        alive = len(report.of("survived", "unreached"))
        raise GateFailed(
            f"{alive} of {len(report.mutants)} mutants survived, at most {report.allowed} may: {LEAST:.0%} of all must die",
            hint="write a client or a check that notices the survivors; docs/mutants.md",
        )


def show_mutants(report: MutantReport) -> None:
    """Print a line for each survivor and the table on stdout, and the share of killed mutants on stderr."""
    for mutant in report.of("survived", "unreached"):
        print(_line(mutant))
    show_table(_HEADER, list(report.rows()))
    say(f"{report.share:.1%} of the mutants that are not equivalent died, {report.seconds:.0f} s")


def _line(mutant: TriedMutant) -> str:
    """Return `path:line: [operator] fate: change`, a format that editors parse."""
    was, becomes = (" ".join(text.split())[:60] for text in (mutant.was or mutant.text, mutant.becomes))
    return f"{mutant.path}:{mutant.line}: [{mutant.operator}] {mutant.fate}: `{was}` -> `{becomes}`"
