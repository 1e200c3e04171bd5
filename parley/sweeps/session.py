"""Session with `--until`: two parts are played task by task until it is clear which is better (`early_stopping`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path

from harness.errors import UsageError
from harness.headline import headline_of
from harness.pod import Runtime
from harness.records import Key, Result, RunFolder
from harness.runs.executors.base import Progress, Scored
from harness.runs.plan import Plan
from harness.runs.request import RunRequest, Until
from harness.runs.run import collected, recorded_of
from harness.runs.session import EarlyDecision, RunSession, WatchedRun
from parley.caveats import difference
from parley.sweeps.early_stopping import BIASED, Decision, planned, read_decision, write_decision

Play = Callable[[str, Sequence[Key]], Sequence[Result]]
"""Function that plays the unfinished ones of a part's given episodes, and returns the results of all given ones."""


def play_until(
    until: Until, plan: Plan, folder: Path, workers: int, play: Play, may_go_on: Callable[[], bool] = lambda: True,
    tell: Progress = lambda news: None,
) -> Decision:  # fmt: skip
    """Play until the comparison is decided, no task is left, or a limit is reached.

    `plan` is the plan of either part; the two plans differ only in the agent. Raises UsageError if the folder has another plan.
    """
    decision = read_decision(folder) or Decision(until=until)
    if decision.until != until:
        raise UsageError(f"{folder} compares other players or tasks", hint="harness run ... --out NEW_FOLDER")
    tell(_news_of(decision))
    by_task: dict[str, list[Key]] = {}
    for key in plan.keys:
        by_task.setdefault(key.task_id, []).append(key)
    left, at_once = decision.left, ceil(workers / (len(plan.keys) / len(plan.tasks)))
    for begin in range(0, len(left), at_once):
        if decision.winner is not None or not may_go_on():
            break
        block = {task: by_task[task] for task in left[begin : begin + at_once]}
        keys = [key for mine in block.values() for key in mine]
        results = {name: play(name, keys) for name in (until.first, until.second)}
        decision = _scored(decision, block, results, folder, tell)
    return decision


def _scored(
    decision: Decision,
    block: Mapping[str, Sequence[Key]],
    results: Mapping[str, Sequence[Result]],
    folder: Path,
    tell: Progress,
) -> Decision:
    """Return the decision after the tasks of a block that both players have finished, up to the one that decides."""
    for task, keys in block.items():
        first, second = (
            [result for result in results[name] if result.task_id == task]
            for name in (decision.until.first, decision.until.second)
        )
        if any(len(mine) < len(keys) or any(one.cause == "limit" for one in mine) for mine in (first, second)):
            # the run's limit was reached within this block
            continue
        gap = difference(first, second, headline_of(keys[0].family))
        if gap is None:
            continue
        decision = decision.after(task, gap)
        write_decision(folder, decision)
        tell(_news_of(decision))
        if decision.winner is not None:
            break
    return decision


def _news_of(decision: Decision) -> Scored:
    until, last = decision.until, decision.path[-1] if decision.path else None
    return Scored(
        first=until.first, second=until.second, ahead=decision.ahead, e_value=decision.e_value, needed=decision.needed,
        scored=len(decision.path), tasks=len(until.order),
        task=last.task if last else None, difference=last.difference if last else None,
    )  # fmt: skip


def aliases(request: RunRequest) -> dict[str, frozenset[str]]:
    """Return the names of each part that a user may type: its own, its model with or without the provider, or its agent."""
    known = {}
    for part in request.parts:
        model = part.agent.model or ""
        agent = model or part.agent.title
        known[part.name] = frozenset({part.name, part.name.partition("=")[2], agent, agent.rpartition("/")[2]} - {""})
    return known


class DecidingSession(RunSession):
    """Session that ends when the comparison is decided."""

    @staticmethod
    def planned(text: str, request: RunRequest, alpha: float) -> Until:
        """Return the comparison that `--until` asks for; raises UsageError if it cannot be decided early."""
        if request.retry is not None:
            raise UsageError(
                "--until plays both players from the start, and --retry-of only failed episodes", hint="harness compare A B"
            )
        if request.shard is not None:
            raise UsageError("--until decides by all tasks so far, and a shard plays only some of them", hint="omit --shard")
        return planned(text, aliases(request), alpha, request.tasks)

    def decided(self) -> EarlyDecision | None:
        """Return the current state of the comparison."""
        decision = read_decision(self.folder)
        if decision is None:
            return None
        document = decision.model_dump(mode="json") | {"winner": decision.winner}
        return EarlyDecision(decision.winner, document, f"{decision.told()}\n  {BIASED}")

    def _all_played(self, runtime: Runtime) -> list[Result]:
        """Play both parts task by task until one is better, or a limit of the run is reached."""
        until = self.request.until
        assert until is not None
        parts = {plan.part: (plan, path) for path, plan in self.plans.items()}
        images = {part: self._ready(plan, path, runtime) for part, (plan, path) in parts.items()}
        commands = dict.fromkeys(parts, self._command)
        (plan, _), *_ = parts.values()
        done = tuple(one for each, path in parts.values() for one in self._left(recorded_of(each.keys, RunFolder(path))))
        with self._person.watching(WatchedRun(self.episodes, done, self.meter, self.folder)) as heard:

            def play(part: str, keys: Sequence[Key]) -> list[Result]:
                one, folder = parts[part]
                return self._run(one, runtime, folder, images[part], heard, keys=keys, command=commands.pop(part, None))

            workers = self.request.workers
            play_until(until, plan, self.folder, workers, play, lambda: self.meter.reached is None, heard)
        folders = [(one, RunFolder(path)) for one, path in parts.values()]
        return [result for one, folder in folders if folder.is_planned for result in collected(one, folder)]
