"""The Inspect task: `-T family=contract`, `-T tasks=presigned-*`, `-T seeds=0-2`, `-T options=condition=full`."""

from __future__ import annotations

from typing import Any, Literal

from inspect_ai import Task, task

from parley_inspect.dataset import episodes
from parley_inspect.scorer import parley_scorer
from parley_inspect.solver import parley_solver
from parley_inspect.stopping import UntilClear


@task
def parley(
    family: str = "",
    tasks: str | list[str] = "",
    seeds: str | int = "0",
    options: dict[str, Any] | None = None,
    turns: int = 120,
    protocol: Literal["tools", "text"] = "tools",
    until: str = "",
    alpha: float = 0.05,
) -> Task:
    """Return Parley's tasks, run in process and judged by their hidden tests.

    `tasks` names some of them, else `family` all of one. `until` is the folder of a run: the eval stops as soon as it is clear
    which of both is better.
    """
    return Task(
        dataset=episodes(tasks or family or [], seeds, drawn=bool(until)),
        solver=parley_solver(options, turns, protocol),
        scorer=parley_scorer(),
        early_stopping=UntilClear(until, alpha) if until else None,
    )
