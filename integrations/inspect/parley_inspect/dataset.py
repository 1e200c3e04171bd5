"""Tasks and seeds as Inspect samples: one episode each, with the id `family/task/sN`.

The world renders the instruction for the seed, so a sample's input only names the episode. The prompts are in the transcript.
"""

from __future__ import annotations

from inspect_ai.dataset import MemoryDataset, Sample

from harness.runs.plan import parse_seeds
from parley.sweeps.early_stopping import shuffled
from parley.training import tasks_named


def episodes(tasks: str | list[str], seeds: str | int = "0", *, drawn: bool = False) -> MemoryDataset:
    """Return a sample for each task and seed. `tasks` are ids, globs or families, as a list or separated by commas.

    `drawn` uses the task order of early stopping, which depends only on the task names.

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
