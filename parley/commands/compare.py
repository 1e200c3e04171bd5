"""`harness compare A B`: test if B is worse than A, by how much, and with which certainty; a gate for CI by its exit code.

Exit 0: no larger drop than allowed is shown. 1: B is worse than allowed. 2: the two cannot be compared; the error says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from harness.cli.tasks import Json
from harness.errors import GateFailed, UsageError
from harness.output import emit, say
from harness.registry import Task
from parley.commands.report import registry, shown
from parley.reports.brief import decisions
from parley.reports.comparison import Comparison, check, compared, matched, tables, with_holm
from parley.reports.evidence import Run, gather, naming_misfits, read_runs
from parley.sweeps.early_stopping import BIASED, Decision

FEWEST = 6
"""Minimum number of tasks for a sign test with p below .05: if five tasks all differ in one direction, p is 2 / 2^5."""


class Sides(NamedTuple):
    """The two compared sides, and their names in messages."""

    first: list[Run]
    second: list[Run]
    names: tuple[str, str]


def compare_command(
    ctx: typer.Context,
    operands: Annotated[
        list[str],
        typer.Argument(
            metavar="A B",
            help="Two folders of runs (join several with commas), a sweep of two, or a sweep and two of its players.",
        ),
    ],
    max_drop: Annotated[str, typer.Option(help="Largest drop of B that is allowed, such as 2pp or 0.02.")] = "0",
    strict: Annotated[bool, typer.Option("--strict", help="Fail also if a larger drop than allowed is not ruled out.")] = False,
    across: Annotated[
        list[str] | None, typer.Option(help="Compare although these differ: options, budget or texts. Repeatable.")
    ] = None,
    every_task: Annotated[bool, typer.Option("--every-task", help="Show all tasks, not only those that differ most.")] = False,
    json: Json = False,
) -> None:
    """Compare two runs on the tasks and seeds that both played."""
    allowed, sides = points(max_drop), chosen(operands)
    with naming_misfits([*sides.first, *sides.second]):
        comparisons = with_holm(_compared(sides, registry(ctx), allowed, across or ()))
    worse = [one for one in comparisons if one.is_worse]
    open_ = [one for one in comparisons if one.may_be_worse] if strict else []
    made = tables(comparisons, every_task=every_task or json)
    if json:
        verdict = {"worse": [one.family for one in worse], "not_ruled_out": [one.family for one in open_]}
        emit({"first": sides.names[0], "second": sides.names[1], **verdict, "tables": [one.document() for one in made]})
    else:
        print(f"A = {sides.names[0]}\nB = {sides.names[1]}")
        shown(made, print)
    _tell_too_few(comparisons)
    if (decision := _decided(sides)) is not None:
        say(f"played with --until, so the p values and intervals above do not hold: {decision.told()}\n  {BIASED}")
        _judge_early(decision, sides, allowed, strict=strict)
        return
    _judge(worse, open_, max_drop)


def _tell_too_few(comparisons: Sequence[Comparison]) -> None:
    """Warn about families with too few tasks to show a drop, so that exit code 0 is not mistaken for proof."""
    for one in comparisons:
        if 0 < len(one.tasks) < FEWEST:
            count = f"{len(one.tasks)} task{'s' if len(one.tasks) > 1 else ''}"
            say(f"{one.family}: {count} cannot show a drop; at least {FEWEST} are needed, and --strict fails with fewer")


def points(text: str) -> float:
    """Return `2pp`, `2%` or `0.02` as a share. Raises UsageError for anything else."""
    written = re.fullmatch(r"\s*(\d*\.?\d+)\s*(pp|%)?\s*", text)
    value = float(written[1]) / (100 if written[2] else 1) if written else 2.0
    if value >= 1:
        raise UsageError(f"--max-drop must look like 2pp or 0.02, not {text!r}")
    return value


def chosen(operands: Sequence[str]) -> Sides:
    """Return the two sides that the operands name. Raises UsageError if they are not two."""
    hint = "harness compare A B, or harness compare SWEEP, or harness compare SWEEP PLAYER PLAYER"
    if len(operands) == 2:
        first, second = (read_runs([Path(path) for path in operand.split(",")]) for operand in operands)
        return Sides(first, second, (operands[0], operands[1]))
    if len(operands) not in {1, 3}:
        raise UsageError(f"compare takes two sides, and {len(operands)} were given", hint=hint)
    runs = read_runs([Path(operands[0])])
    if len(operands) == 3:
        sides = [[run for run in runs if name in _names(run)] for name in operands[1:]]
        for name, side in zip(operands[1:], sides, strict=True):
            if not side:
                known = ", ".join(dict.fromkeys(run.path.name for run in runs))
                raise UsageError(f"{operands[0]} has no part {name!r}; there are {known}", hint=hint)
        return Sides(sides[0], sides[1], (operands[1], operands[2]))
    if len(runs) != 2:
        raise UsageError(f"{operands[0]} contains {len(runs)} runs, and compare takes two", hint=hint)
    for decision in decisions([Path(operands[0])]):
        runs.sort(key=lambda run: run.path.name != decision.until.first)
    return Sides([runs[0]], [runs[1]], (runs[0].path.name, runs[1].path.name))


def _decided(sides: Sides) -> Decision | None:
    """Return the early decision between these two players, if there is one."""
    players = {run.path.name for side in sides[:2] for run in side}
    made = decisions([run.path for side in sides[:2] for run in side])
    return next((one for one in made if {one.until.first, one.until.second} == players), None)


def _judge_early(decision: Decision, sides: Sides, allowed: float, *, strict: bool) -> None:
    """Raise GateFailed if the anytime-valid interval shows a drop, or (strict) does not rule it out."""
    low, high = decision.interval
    drop = (low, high) if sides.first[0].path.name == decision.until.first else (-high, -low)
    if drop[0] > allowed or (strict and drop[1] > allowed):
        shown = "is shown" if drop[0] > allowed else "is not ruled out"
        raise GateFailed(f"a drop of more than {100 * allowed:g} points {shown}: A - B lies in {drop[0]:+.2f}..{drop[1]:+.2f}")


def _names(run: Run) -> set[str]:
    """Return the names by which a part of a sweep may be selected."""
    words = run.path.name.split(",")
    model = run.planned.agent.model or ""
    called = {model, model.rpartition("/")[2], *(word.partition("=")[2] for word in words)}
    return {run.path.name, *words, *called} - {""}


def _compared(sides: Sides, tasks: Sequence[Task], allowed: float, across: Sequence[str]) -> list[Comparison]:
    """Return one comparison per common family and set-up. Raises UsageError if nothing can be compared."""
    families = [list(dict.fromkeys(result.family for run in side for result in run.results)) for side in sides[:2]]
    common = [family for family in families[0] if family in families[1]]
    if not common:
        told = " and ".join(", ".join(some) or "nothing finished" for some in families)
        raise UsageError(f"not comparable: A played {told.partition(' and ')[0]}, B {told.partition(' and ')[2]}")
    for alone in {*families[0], *families[1]} - {*common}:
        say(f"{alone} is left out: only one side played it")
    made: list[Comparison] = []
    for family in common:
        first, second = gather(sides.first, family, tasks), gather(sides.second, family, tasks)
        pairs = matched(first, second)
        for one in check(first, second, pairs, across):
            say(f"compared although they differ in {one.name}: {one.told}")
        made += [compared(family, a, b, allowed) for a, b in pairs]
    return made


def _judge(worse: Sequence[Comparison], unsure: Sequence[Comparison], max_drop: str) -> None:
    """Raise GateFailed for a significant drop, or for one that must be ruled out and is not."""
    allowed = f"more than {max_drop} " if max_drop != "0" else ""
    if worse:
        told = ", ".join(f"{one.family} {100 * (one.mean or 0):+.1f} points (p {_p(one.adjusted)})" for one in worse)
        raise GateFailed(f"B is {allowed}worse than A: {told}")
    if unsure:
        told = ", ".join(f"{one.family} ({_low(one)})" for one in unsure)
        raise GateFailed(f"a drop of {allowed or 'any size '}is not ruled out: {told}", hint="more tasks, seeds or attempts")


def _p(p: Any) -> str:
    return "<0.001" if p is not None and p < 0.0005 else f"{p or 0:.3f}"


def _low(one: Comparison) -> str:
    return f"down to {100 * one.interval[0]:+.1f} points" if one.interval else "one task has no interval"
