"""Episodes in bubblewrap sandboxes: no daemon, no images, a tenth of a second a pod; `auto` falls back to it from Docker.

A pod is a tree of sandboxes that this process starts (`harness.runtimes.bubblewrap.pod`). A verdict, or a program of the
prover, runs in one more sandbox, without network. All of them die with this process, however it ends. What can be left are
folders of files and control groups, which name their owner; `sweep` removes them when the next run starts. `limits` says what
this runtime cannot do on this host.
"""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from harness.errors import HarnessError, RuntimeFailure
from harness.leftovers import Leftover
from harness.places import ROOT
from harness.pod import EpisodeSpec, Judgement, Pod, Probe, Say
from harness.registry import Task
from harness.runtimes.bubblewrap import bounds, cgroups
from harness.runtimes.bubblewrap.confined import Confined
from harness.runtimes.bubblewrap.environments import Environments
from harness.runtimes.bubblewrap.folders import folders_left, sweep_folders
from harness.runtimes.bubblewrap.judge import Judging
from harness.runtimes.bubblewrap.pod import BubblewrapPod
from harness.runtimes.bubblewrap.probe import try_out
from harness.runtimes.bubblewrap.rooms import memory_of
from harness.runtimes.bubblewrap.templates import template
from harness.runtimes.bubblewrap.view import is_root
from harness.runtimes.bubblewrap.watcher import Watcher
from harness.runtimes.recipes import plain_recipe

TEMPLATES: Mapping[str, tuple[str, str, str]] = {
    "agent": ("environment/Dockerfile", r"FROM parley/agent:1", ""),
    "world": ("environment/api/Dockerfile", r"FROM parley/world:1", r"COPY (--\S+ )*.+ /srv/world/?"),
    "verifier": ("tests/Dockerfile", r"FROM parley/verifier:1", r"COPY (--\S+ )*.+ /tests/?|RUN mkdir -p [/\w ]+"),
}
"""Each room's Dockerfile, its first line, and what its other lines may be: what sandboxes do without building anything."""


class _Killable(Protocol):
    def kill(self) -> None: ...


class BubblewrapRuntime:
    """The runtime `bubblewrap`."""

    name = "bubblewrap"
    plays_in_process = False

    def __init__(self, *, root: Path = ROOT, cache: Path | None = None, say: Say = lambda line: None) -> None:
        self.environments = Environments(root, cache, say)
        self._lock = threading.Lock()
        self._live: defaultdict[str, set[_Killable]] = defaultdict(set)
        self._aborted: set[str] = set()
        self._watcher = Watcher()

    def probe(self) -> Probe:
        """Whether a pod's worth of sandboxes works here; never raises."""
        began = time.monotonic()
        try:
            try_out(self.environments)
        except (HarnessError, OSError) as error:
            return Probe(False, str(error))
        how = "as root, each sandbox under its own user id" if is_root() else "in user namespaces"
        return Probe(True, f"a sandboxed program answered in {time.monotonic() - began:.1f} s, {how}")

    def limits(self) -> str:
        """What this runtime cannot do here, in one line."""
        missing = ["the CPU of a pod is not limited"]
        if not bounds.has_groups():
            counted = "a pod above its memory is ended within a tenth of a second or so, not at the byte"
            missing.append(f"no control group can be made: {counted}, and its number of processes is its user's")
        if not is_root():
            missing.append("the agent and the world run under one user id, apart in namespaces only")
        if not list(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")):
            missing.append("programs read the machine's date, not the world's (apt-get install libfaketime)")
        return "; ".join(missing)

    def set_up(self) -> None:
        """Build the rooms' environments."""
        self.environments.digests()

    def refuses(self, task: Task) -> str | None:
        """Why sandboxes cannot run a task: it is foreign, or its Dockerfiles build something."""
        if task.parley is None:
            return f"{task.path}/task.toml:1: a foreign Harbor task needs Docker"
        try:
            memory_of(task)
        except RuntimeFailure as failure:
            return f"{task.path}/task.toml:1: {failure}"
        return next((why for room in TEMPLATES if (why := _differs(task, room))), None)

    def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Build the rooms' environments; their digests by room."""
        return self.environments.digests()

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """A pod, ready to answer."""
        pod = BubblewrapPod(spec, self.environments, self._watcher)
        try:
            with self._killable(spec.run_id, pod):
                # it imports while this episode is played
                template(self.environments, "verifier")
                pod.start()
                yield pod
        finally:
            pod.close()

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Run the task's hidden tests over a log, in a sandbox without network."""
        judging = Judging(spec.task, self.environments, log)
        try:
            with self._killable(spec.run_id, judging):
                return judging.run()
        finally:
            judging.close()

    def confined(self, run_id: str, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """What a program says on stdout in the prover's room, built when it is first needed."""
        prover = Confined(self.environments.room("prover"))
        try:
            with self._killable(run_id, prover):
                return prover.run(command, stdin, limit_s=limit_s, most=most)
        finally:
            prover.close()

    def leftovers(self) -> list[Leftover]:
        """The folders and control groups that dead runs of this host left behind."""
        return [*folders_left(), *cgroups.groups_left()]

    def sweep(self) -> list[str]:
        """Remove the folders and control groups that dead runs of this host left behind; their processes died with them."""
        return [*sweep_folders(), *cgroups.sweep()]

    def abort(self, run_id: str) -> None:
        """Kill everything of a run, from any thread; nothing of it starts any more."""
        with self._lock:
            self._aborted.add(run_id)
            live = list(self._live[run_id])
        for one in live:
            one.kill()

    @contextmanager
    def _killable(self, run_id: str, one: _Killable) -> Iterator[None]:
        """Let `abort` reach something while the context is open; raises RuntimeFailure for a run that was aborted."""
        with self._lock:
            if run_id in self._aborted:
                raise RuntimeFailure(f"run {run_id} was aborted")
            self._live[run_id].add(one)
        try:
            yield
        finally:
            with self._lock:
                self._live[run_id].discard(one)


def _differs(task: Task, room: str) -> str | None:
    """Where a room's Dockerfile is not the template, as `path:line: what`; a room may do without one."""
    name, first, others = TEMPLATES[room]
    dockerfile = task.path / name
    if not dockerfile.exists() and plain_recipe(task, room) is not None:
        return None
    try:
        lines = dockerfile.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        return f"{dockerfile}:1: {error.strerror}; bubblewrap runs only tasks made from the template"
    except UnicodeDecodeError:
        return f"{dockerfile}:1: it is not UTF-8; bubblewrap runs only tasks made from the template"
    stripped = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    written = [(number, line) for number, line in stripped if line and not line.startswith("#")]
    for place, (number, line) in enumerate(written):
        if not re.fullmatch(others if place else first, line):
            return f"{dockerfile}:{number}: {line[:60]!r} is not in the template, so this task needs Docker"
    return None if written else f"{dockerfile}:1: it is empty, so this task needs Docker"
