"""Early stopping for Inspect: ends an eval as soon as its model is clearly better or worse than a recorded run.

This is the sequential test of `harness run --until`, task by task against the rewards of a recorded run. Tasks come in an order
drawn from their names alone, a task is scored once all of its samples are, and no samples are scheduled after the decision. If
neither is better, the probability of a decision is at most `alpha`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop, EarlyStopping

from harness.errors import UsageError
from harness.records import RunFolder
from parley.sweeps.early_stopping import FEWEST, Decision, Until, shuffled


class UntilClear(EarlyStopping):
    """Compares this eval with a recorded run of `harness run`, on the tasks and seeds that both have."""

    def __init__(self, baseline: str | Path, alpha: float = 0.05, fewest: int = FEWEST) -> None:
        """Read the baseline, which is a run's folder. Raises UsageError if it has no graded episodes."""
        self._baseline = _rewards(Path(baseline))
        if not self._baseline:
            raise UsageError(f"{baseline} has no graded episode", hint="harness report RUN")
        self._alpha, self._fewest = alpha, fewest
        self._open: dict[str, set[tuple[str, int]]] = {}
        self._values: defaultdict[str, list[float]] = defaultdict(list)
        self._seeds: dict[str, tuple[str, int]] = {}
        self._decision: Decision | None = None
        self._waiting: list[str] = []

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Record which samples belong to each task."""
        for sample in samples:
            metadata = sample.metadata or {}
            name, seed = str(metadata["task_id"]), int(metadata["seed"])
            if (name, seed) in self._baseline:
                self._seeds[str(sample.id)] = (name, seed)
                self._open.setdefault(name, set()).update((str(sample.id), epoch) for epoch in range(1, epochs + 1))
        if len(self._open) < self._fewest:
            raise UsageError(f"early stopping needs {self._fewest} tasks that the run has too, and there are {len(self._open)}")
        until = Until(first="this eval", second="the recorded run", alpha=self._alpha, order=shuffled(self._open))
        self._decision, self._waiting = Decision(until=until), list(until.order)
        return "parley: until it is clear"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Return an EarlyStop for every sample after the decision, otherwise None."""
        if self._decision is None or self._decision.winner is None:
            return None
        return EarlyStop(id=id, epoch=epoch, reason=f"{self._decision.winner} is better")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Score a task once all of its samples are complete."""
        if str(id) not in self._seeds:
            return
        name, seed = self._seeds[str(id)]
        self._open[name].discard((str(id), epoch))
        if scores:
            value = next(iter(scores.values())).score.as_float()
            self._values[name].append(value - self._baseline[name, seed])
        self._score()

    def _score(self) -> None:
        """Add complete tasks in the fixed order, so that the speed of a task has no influence."""
        while self._decision is not None and self._decision.winner is None and self._waiting:
            name = self._waiting[0]
            if self._open[name]:
                return
            del self._waiting[0]
            if self._values[name]:
                self._decision = self._decision.after(name, fmean(self._values[name]))

    async def complete_task(self) -> dict[str, Any]:
        """Return the state of the test."""
        if self._decision is None:
            return {}
        low, high = self._decision.interval
        return {"winner": self._decision.winner, "tasks": len(self._decision.path), "low": low, "high": high}


def _rewards(folder: Path) -> Mapping[tuple[str, int], float]:
    """Return the mean reward of a run for each task and seed."""
    rewards: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for result in RunFolder(folder).results():
        if result.status == "graded":
            rewards[result.task_id, result.seed].append(result.reward or 0.0)
    return {cell: fmean(values) for cell, values in rewards.items()}
