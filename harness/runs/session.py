"""A request is played here: tasks found again, plans made and checked, a runtime chosen once, then one plan after the other.

Nothing here prints: what a person should hear or decide goes through a `Person`, so a command line, a test and a service can
all hand in a request and get results.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from harness.agent import Agent
from harness.agents.path import is_bent
from harness.errors import UsageError
from harness.play.agents import Cast, Make, make_agent
from harness.play.choose import Say, choose_runtime
from harness.pod import Runtime
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.executors.base import Progress
from harness.runs.executors.processes import get_ready
from harness.runs.plan import Plan, plans
from harness.runs.request import RunRequest, read_record, requested
from harness.runs.run import run_plan
from harness.runs.templates import check_templates
from harness.trust import gate

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Person:
    """Who started a run: hears lines, says yes or no, and watches episodes."""

    say: Say
    confirmed: Callable[[str], bool]
    watching: Callable[[int], AbstractContextManager[Progress]]
    """Makes the listener for so many episodes."""


@dataclass(frozen=True)
class Resumed:
    """What a folder holds of a run: its request, and which parts of it lie where."""

    request: RunRequest
    parts: tuple[str, ...]
    """The parts to go on with: all of them, or the one that the folder is."""


def read_resumed(folder: Path) -> Resumed:
    """The run in a folder, or the sweep whose parts lie in it; raises UsageError where there is none that can be rebuilt."""
    alone = read_record(RunFolder(folder))
    if alone is not None:
        return Resumed(requested(alone, folder), (alone.part,))
    inner = sorted(path.parent for path in folder.glob("*/run.json"))
    records = {path: record for path in inner if (record := read_record(RunFolder(path))) and record.part == path.name}
    if not records:
        raise UsageError(f"{folder} holds no run.json to resume", hint="harness run --out FOLDER")
    first, *others = [requested(record, path) for path, record in records.items()]
    for path, other in zip(list(records)[1:], others, strict=True):
        if fields := first.differing(other):
            raise UsageError(f"{path} is a part of another run than its neighbours: other {', '.join(fields)}")
    return Resumed(first, tuple(part.name for part in first.parts))


class RunSession:
    """The plans of one request with their folders, ready to be checked and played."""

    def __init__(
        self,
        request: RunRequest,
        tasks: Sequence[Task],
        key: str,
        folder: Path,
        person: Person,
        only: Sequence[str] = (),
        make: Make = make_agent,
    ) -> None:
        """`make` makes the agents, also other ones than those of a command line: people at pages."""
        self.request, self.tasks, self.folder, self._person = request, tasks, folder, person
        made = plans(request, tasks, key, folder.name)
        self.plans: Mapping[Path, Plan] = {
            folder if len(only) == 1 else folder / name: plan for name, plan in made.items() if not only or name in only
        }
        self._cast = Cast(make, say=person.say)
        self.agents: list[Agent] = [self._cast.agent(plan.agent, plan.overrides) for plan in self.plans.values()]

    def check(self, *, resumed: bool) -> None:
        """Everything that can be wrong before anything starts; raises UsageError. Says what was set without any effect."""
        for (folder, plan), agent in zip(self.plans.items(), self.agents, strict=True):
            for task in plan.tasks:
                plan.options(task)
            check_templates(plan.templates, plan.tasks, plan.agent)
            agent.check()
            if not resumed and RunFolder(folder).is_planned:
                raise UsageError(f"{folder} already holds a run", hint=f"harness run ... --resume {folder}")
        for line in dict.fromkeys(line for plan in self.plans.values() for line in plan.idle()):
            self._person.say(f"warning: {line}")

    def play(self) -> list[Result]:
        """Choose the runtime and play every plan; raises Cancelled, UsageError and the failures of a runtime."""
        runtime = choose_runtime(self.request.runtime, self.tasks, self.agents, self._person.say)
        for line in gate(self.tasks, trust=False).told(runtime.name):
            self._person.say(line)
        self._check_path(runtime)
        return [result for path, plan in self.plans.items() for result in self._played(plan, path, runtime)]

    def _check_path(self, runtime: Runtime) -> None:
        bent = any(is_bent(plan.overrides) for plan in self.plans.values())
        if bent and any(agent.needs_main(task, runtime.name) for task in self.tasks for agent in self.agents):
            raise UsageError(
                "what runs in main speaks to the world directly, out of reach of --mutate, --handles and --mitigate",
                hint="harness run ... --interface tool",
            )

    def _played(self, plan: Plan, folder: Path, runtime: Runtime) -> list[Result]:
        for name in runtime.sweep():
            self._person.say(f"removed {name}, left by a dead run")
        _log.info("%s: %s prepares %d tasks ...", folder, runtime.name, len(plan.tasks))
        images = runtime.prepare(plan.tasks)
        workers, agent = self.request.workers, self._cast.agent(plan.agent, plan.overrides)
        get_ready(runtime, agent, len(plan.keys), workers)
        _log.info("%s: %d episodes by %s, %d at once", folder, len(plan.keys), agent.name, workers)
        with self._person.watching(len(plan.keys)) as heard:
            return run_plan(plan, runtime, RunFolder(folder), workers=workers, images=images, progress=heard, cast=self._cast)
