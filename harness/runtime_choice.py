"""Choice of the runtime of a run: the requested one, or the best that works here, tested once by running a pod.

The order is Docker, bubblewrap, in process. `auto` reports its choice, and why the runtimes before it in this order do not
work. A runtime requested by name that does not work is an error. `auto` can always fall back to in process, unless the agent
needs a shell or a task folder is not ours, because such tasks require a sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import HarnessError, RuntimeFailure, UsageError
from harness.live_agent import Agent
from harness.plugins import load, plugin, plugins
from harness.pod import BulkRuntime, Probe, Runtime, SandboxedRuntime
from harness.registry import Task
from harness.trust import HINT, TrustGate, runs_here
from worlds.core.errors import ManifestError
from worlds.core.levels import LEVEL

Say = Callable[[str], None]

SANDBOXES = {
    "docker": "harness.runtimes.docker.runtime:DockerRuntime",
    "bubblewrap": "harness.runtimes.bubblewrap.runtime:BubblewrapRuntime",
}
IN_PROCESS = "inprocess"
RUNTIMES = {**SANDBOXES, IN_PROCESS: "harness.runtimes.inprocess:InProcessRuntime"}
"""Our runtimes, best first, with their classes, which are imported on demand; others come by entry points `parley.runtimes`."""


def sandbox(name: str, say: Say) -> SandboxedRuntime:
    """Return the sandboxed runtime of that name."""
    made: SandboxedRuntime = load(SANDBOXES[name])(say=say)
    return made


def runtime_named(name: str, say: Say) -> Runtime:
    """Return the runtime of that name, ours or one of another distribution; raises UsageError if there is none."""
    if name == IN_PROCESS:
        return in_process()
    if name in SANDBOXES:
        return sandbox(name, say)
    brought = plugin("runtimes", name)
    if brought is None:
        raise UsageError(f"runtime must be one of {', '.join(('auto', *RUNTIMES, *plugins('runtimes')))}, not {name!r}")
    made: Runtime = brought(say=say)
    return made


def in_process() -> BulkRuntime:
    """Return the in-process runtime, which is always available."""
    made: BulkRuntime = load(RUNTIMES[IN_PROCESS])()
    return made


def choose_runtime(name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
    """Return the runtime to use for these tasks and agents; raises UsageError or RuntimeFailure before anything starts."""
    if name == "auto":
        return _best(tasks, agents, say)
    runtime = untried_runtime(name, tasks, agents, say)
    probe = probed(runtime)
    if not probe.ok:
        raise RuntimeFailure(f"{name} does not work here: {probe.why}", hint="harness doctor")
    return runtime


def untried_runtime(name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
    """Return the runtime of that name, checked against tasks and agents but not probed. Raises UsageError."""
    runtime = runtime_named(name, say)
    if why := _unfit(runtime, tasks, agents):
        raise why
    return runtime


def runnable(tasks: Sequence[Task], names: Sequence[str], say: Say, levels: Sequence[str] = ()) -> list[Task]:
    """Return the tasks that a runtime can play at all of these levels, and report each task that is left out.

    Raises the failure of a task that `names` names by its id or path, and the first failure if no task is left.
    """
    docker = sandbox("docker", _unheard) if any(task.parley is None for task in tasks) else None
    why = {task.path: failure for task in tasks if (failure := _unplayable(task, docker, levels)) is not None}
    for task in tasks:
        is_named = any(name == task.task_id or ("/" in name and Path(name).resolve() == task.path.resolve()) for name in names)
        if task.path in why and (is_named or len(why) == len(tasks)):
            raise why[task.path]
    for failure in why.values():
        say(f"left out: {failure}")
    return [task for task in tasks if task.path not in why]


def _unplayable(task: Task, docker: Runtime | None, levels: Sequence[str]) -> HarnessError | None:
    """Return the reason why no runtime plays a task at these levels; None if one does."""
    try:
        if docker is not None and task.parley is None:
            refused = docker.refuses(task)
            return UsageError(refused) if refused else None
        if levels and (manifest := task.file.manifest()) is not None:
            [manifest.at_chosen_level({LEVEL: level}) for level in levels]
    except HarnessError as error:
        return error
    except ManifestError as error:
        return UsageError(str(error), hint=f"harness show {task.task_id}")
    return None


def _unheard(line: str) -> None:
    """Discard a line."""


def _best(tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
    passed_over: list[str] = []
    problem: HarnessError | None = None
    broken: list[str] = []
    for name in RUNTIMES:
        runtime = runtime_named(name, say)
        unfit = _unfit(runtime, tasks, agents)
        problem = problem or unfit
        probe = Probe(False, str(unfit)) if unfit else probed(runtime)
        if probe.ok:
            say(f"runtime: {name} ({probe.why})")
            for line in passed_over:
                say(f"  not {line}")
            return runtime
        passed_over.append(f"{name}: {probe.why}")
        broken += [] if unfit else passed_over[-1:]
    if broken and TrustGate(tuple(tasks)).outside:
        # report why the sandboxes do not work, not that in-process is not a sandbox
        raise UsageError(
            f"no runtime can play this: {'; '.join(passed_over)}", hint="harness doctor, or harness run ... --trust"
        )
    if problem and broken:
        raise UsageError(f"{problem}; {'; '.join(broken)}", hint=problem.hint)
    raise problem or RuntimeFailure(f"no runtime works here: {'; '.join(passed_over)}", hint="harness doctor")


def probed(runtime: Runtime) -> Probe:
    """Probe a runtime, and set it up first if that is all it lacks."""
    probe = runtime.probe()
    if not probe.missing:
        return probe
    try:
        runtime.set_up()
    except HarnessError as failure:
        return Probe(False, f"{failure}" + (f"; try: {failure.hint}" if failure.hint else ""))
    return runtime.probe()


def _unfit(runtime: Runtime, tasks: Sequence[Task], agents: Sequence[Agent]) -> HarnessError | None:
    """Return the reason why a runtime that works here cannot play these tasks with these agents; None if it can."""
    for task in tasks:
        if why := runtime.refuses(task):
            if task.parley is None and runtime.name == "docker":
                return UsageError(why)
            return UsageError(why, hint="harness run ... --runtime docker" if task.parley is None or runs_here(task) else HINT)
        try:
            for agent in agents:
                agent.needs_main(task, runtime.name)
        except HarnessError as error:
            return error
    return None
