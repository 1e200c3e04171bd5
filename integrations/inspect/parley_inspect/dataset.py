"""Tasks and seeds as Inspect's samples: one episode each, known as `family/task/sN`.

The instruction is drawn from the seed by the world itself, so a sample's input only names the episode; what models read is in
the transcript.
"""

from __future__ import annotations

from inspect_ai.dataset import MemoryDataset, Sample

from harness.env import tasks_named
from harness.runs.deciding import shuffled
from harness.runs.plan import parse_seeds


def episodes(tasks: str | list[str], seeds: str | int = "0", *, drawn: bool = False) -> MemoryDataset:
    """A sample for each task and seed; `tasks` are ids, globs or families, one or several behind commas.

    `drawn`: in the order in which early stopping looks at tasks, which is drawn from their names alone.

    Raises UnknownTask and UsageError.
    """
    chosen = {task.task_id: task for task in tasks_named(*(tasks.split(",") if isinstance(tasks, str) else tasks))}
    order = shuffled(chosen) if drawn else tuple(chosen)
    each = [(chosen[name], seed) for name in order for seed in parse_seeds(str(seeds))]
    samples = [
        Sample(
            id=f"{task.family}/{task.task_id}/s{seed}",
            input=f"{task.task_id}, seed {seed}",
            metadata={"task_id": task.task_id, "family": task.family, "seed": seed},
        )
        for task, seed in each
    ]
    return MemoryDataset(samples, name="parley")
