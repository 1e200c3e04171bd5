"""Expected usage of an episode, estimated from earlier runs beside this one, or else from measured defaults.

1. Earlier episodes are used if they are of the same family with the same interface. Those of the same model take precedence
over those of other models. The newest runs are read first, up to a limit on files.
2. Otherwise, `typical.toml` contains the usage of a scripted model that makes no mistake (docs/running.md). A real model writes
its reasoning and makes mistakes, so it uses more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import fmean

import tomli

from harness.agent import AgentSpec
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.run_files import runs_in
from worlds.core.models import Strict

TYPICAL = Path(__file__).with_name("typical.toml")
SEATS, NO_MODEL = "seats", "no-model"

MOST_RUNS, MOST_EPISODES = 20, 400
"""Limits on the earlier runs that are searched, and on their episodes that are read."""


class Typical(Strict):
    """Mean usage of one episode."""

    calls: float = 0
    prompt: float = 0
    """Prompt tokens."""

    cached: float = 0
    completion: float = 0
    seconds: float = 0
    """Real seconds."""


@dataclass(frozen=True)
class Basis:
    """Expected usage of an episode, and the source of the estimate."""

    takes: Typical
    source: str


def interface_of(spec: AgentSpec, task: Task) -> str:
    """Return the interface between a spec and a task: `shell`, `tool`, `seats`, or `no-model` if it uses no model."""
    has_model = spec.model is not None or any(one.kind == "model" for one in spec.holders)
    if not has_model:
        return NO_MODEL
    return SEATS if task.is_seated else spec.interface


class Experience:
    """Recorded episodes of some folders."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._results = tuple(_recent(folders))

    def basis(self, spec: AgentSpec, task: Task) -> Basis:
        """Return the expected usage of an episode of this agent at this task's family."""
        how = interface_of(spec, task)
        mine = [one for one in self._results if one.family == task.family and _interface(one) == how]
        if how == NO_MODEL:
            mine = [one for one in mine if one.agent == spec.title]
        own = [one for one in mine if one.model == spec.model]
        chosen, whose = (own, spec.model or spec.title) if own else (mine, "other players")
        if chosen:
            return Basis(_mean(chosen), f"{len(chosen)} earlier episode{'' if len(chosen) == 1 else 's'} of {whose}")
        return Basis(_defaults().get(task.family, {}).get(how, Typical()), "defaults, measured with a scripted player")


def _interface(result: Result) -> str:
    return (result.interface or "shell") if result.tokens.calls else NO_MODEL


def _mean(results: Sequence[Result]) -> Typical:
    return Typical(
        calls=fmean(one.tokens.calls for one in results),
        prompt=fmean(one.tokens.prompt for one in results),
        cached=fmean(one.tokens.cached for one in results),
        completion=fmean(one.tokens.completion for one in results),
        seconds=fmean(one.timings.total for one in results),
    )


def _recent(folders: Iterable[Path]) -> Iterator[Result]:
    """Yield graded episodes of the newest runs in these folders, skipping those that cannot be read."""
    left = MOST_EPISODES
    for run in sorted(sorted({run for folder in folders for run in _runs(folder)}), key=_begun, reverse=True)[:MOST_RUNS]:
        for result in islice(RunFolder(run).results(damaged=[]), left):
            left -= 1
            if result.status == "graded":
                yield result
        if left <= 0:
            return


def _runs(folder: Path) -> Iterator[Path]:
    yield from (run.resolve() for run in runs_in(folder))


def _begun(run: Path) -> float:
    try:
        return (run / "run.json").stat().st_mtime
    except OSError:
        return 0.0


@cache
def _defaults() -> dict[str, dict[str, Typical]]:
    table = tomli.loads(TYPICAL.read_text(encoding="utf-8"))
    return {family: {how: Typical.model_validate(row) for how, row in rows.items()} for family, rows in table.items()}
