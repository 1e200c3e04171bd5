"""Decisions of runs with `--until`: the winner, the e-value, and the share of tasks played.

The plain mean of such a run is biased, and the table says so. The valid result is the confidence sequence beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from harness.runs.request import player_of
from parley.reports.table import Column, Table, table_of
from parley.sweeps.early_stopping import BIASED, Decision, Step, read_decision

_COLUMNS = (
    Column("first", "A", of=lambda one: player_of(one.until.first)),
    Column("second", "B", of=lambda one: player_of(one.until.second)),
    Column("winner", "Better", of=lambda one: player_of(one.winner) if one.winner else "not decided"),
    Column("e_value", "e-value", "rate", of=lambda one: one.path[-1].e_value if one.path else None),
    Column("needed", "needs", "rate", of=lambda one: one.needed),
    Column("tasks", "Tasks", of=lambda one: len(one.path)),
    Column("of", "of", of=lambda one: len(one.until.order)),
    Column("share", "Played %", "percent", of=lambda one: one.share),
    Column("interval", "A - B, anytime-valid", "signed_interval", of=lambda one: one.interval if one.path else None),
    Column("mean", "Mean so far (biased)", "signed", of=lambda one: fmean(one.differences) if one.path else None),
    Column("alpha", "alpha", "p", shown=False, of=lambda one: one.until.alpha),
    Column("path", "Path", shown=False, of=lambda one: " ".join(map(_step, one.path)) or None),
)
_METHOD = (
    "one difference per task, in the order of the plan; betting e-process, decided at 1 / alpha in either direction; "
    "until.json has the path"
)


def decisions(paths: Iterable[Path]) -> list[Decision]:
    """Return the decisions of the sweeps at these paths, each once. A path is a sweep, a part of one, or a folder of sweeps."""
    folders = dict.fromkeys(
        folder.resolve() for path in paths for folder in (path, path.parent, *sorted(path.glob("*/until.json")))
    )
    tops = dict.fromkeys(folder.parent if folder.name == "until.json" else folder for folder in folders)
    return [decision for folder in tops if (decision := read_decision(folder)) is not None]


def tables(made: Sequence[Decision]) -> list[Table]:
    """Return one table of these decisions, or no table if there are none."""
    return table_of("until", "Decided early", _COLUMNS, made, (_METHOD, BIASED))


def _step(step: Step) -> str:
    return f"{step.task}:{step.difference:+.4f}:{step.e_value:.4g}"
