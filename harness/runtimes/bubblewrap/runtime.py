"""Episodes in bubblewrap sandboxes: no daemon, no images, 0.1 s per pod. `auto` uses this runtime if Docker does not work.

A pod is a tree of sandboxes that this process starts (`harness.runtimes.bubblewrap.pod`). The hidden tests, and a program of
the prover, each run in another sandbox, without network. All sandboxes end when this process ends for any reason. Only folders
of files and control groups can be left over. They name their owner, and `sweep` removes them when the next run starts. `limits`
reports what this runtime cannot do on this host.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from harness.errors import HarnessError, RuntimeFailure, VerifierFailure
from harness.orphans import Orphan
from harness.paths import ROOT
from harness.pod import EpisodeSpec, Judgement, Pod, Probe, Say
from harness.registry import Task
from harness.runtimes.bubblewrap import bounds, cgroups, rooms
from harness.runtimes.bubblewrap.bounds import Watcher, entrances, new_group
from harness.runtimes.bubblewrap.environments import Environments
from harness.runtimes.bubblewrap.folders import Folder, folders_left, folders_root, sweep_folders
from harness.runtimes.bubblewrap.pod import BubblewrapPod
from harness.runtimes.bubblewrap.sandbox import Branch, Control, Sandbox, null
from harness.runtimes.bubblewrap.templates import Template, template
from harness.runtimes.recipes import plain_recipe, runs_plain_tests
from harness.runtimes.seccomp import policy_digest

LIMIT_S = 20.0
_PROGRAM = """
import json, os, resource, socket
with socket.create_server(("api", 8080)) as server, socket.create_connection(("api", 8080)):
    pass
open("/workspace/written", "w").close()
print(json.dumps([os.getuid(), resource.getrlimit(resource.RLIMIT_NPROC)[0]]))
"""


def try_out(environments: Environments) -> None:
    """Run one program like an agent's command; raises RuntimeFailure with the first thing that did not work."""
    rooms.bwrap()
    with ExitStack() as stack:
        folder, outer, main = Folder.make(), Control(), Control()
        for end in (folder.remove, outer.close, main.close):
            stack.callback(end)
        room = environments.bare("agent", folder.part("no-packages"))
        origin = Template(room, (), folders_root(), environments.folder)
        stack.callback(origin.close)
        try:
            with folder.log("sandbox.log") as said, folder.log("program.log") as log, null() as nothing:
                outer.configure()
                stack.callback(origin.fork(rooms.POD, folder, outer, [nothing, nothing, said, outer.far.fileno()]).close)
                start = rooms.main_room(folder, room, None, groups=0)
                main.configure(**start.config)
                files = [nothing, nothing, said, main.far.fileno()]
                outer.start("main", start.argv, files, {}, **start.how)
                main.far.close()
                main.start("program", ["python3", "-I", "-c", _PROGRAM], [nothing, log, said], rooms.BASE_ENV)
        except BrokenPipeError:
            complaint = folder.tail("sandbox.log") or origin.last_words()
            raise RuntimeFailure(complaint or "bwrap ended at once") from None
        main.ended("program", LIMIT_S)
        _check(folder.tail("program.log"), folder.tail("sandbox.log") or origin.last_words())


def _check(answer: str, complaint: str) -> None:
    try:
        user, processes = json.loads(answer)
    except ValueError:
        raise RuntimeFailure(complaint.splitlines()[-1] if complaint else "a sandboxed program gave no answer") from None
    if user == 0 or processes > rooms.PROCESSES:
        raise RuntimeFailure(f"a sandboxed program ran as user {user} with a limit of {processes} processes")


VERDICT_LIMIT = 1 << 20
_SCRIPT = ("bash", "/tests/test.sh")
WARM_TESTS = "validators.warm:main"
"""Replacement for test.sh of our tasks in a process that has already imported pytest."""


class _OneSandbox:
    """Single sandbox outside a pod, with its folder, its control group and its control socket."""

    def __init__(self, memory_mb: int) -> None:
        self._folder, self._control, self._group = Folder.make(), Control(), new_group(memory_mb)
        self._sandbox: Branch | Sandbox | None = None

    def kill(self) -> None:
        """Kill the sandbox, from any thread."""
        if self._sandbox is not None:
            self._sandbox.kill()

    def close(self) -> None:
        """Kill the sandbox and remove its resources; safe to call twice."""
        if self._sandbox is not None:
            self._sandbox.close()
        self._control.close()
        if self._group is not None:
            self._group.remove()
        self._folder.remove()


class Judging(_OneSandbox):
    """Sandbox of one verdict."""

    def __init__(self, task: Task, environments: Environments, log: bytes) -> None:
        super().__init__(rooms.VERIFIER_MB)
        self._task, self._environments = task, environments
        (self._folder.part("state") / "events.jsonl").write_bytes(log)
        (self._folder.part("state") / "events.jsonl").chmod(0o644)

    def run(self) -> Judgement:
        """Run the hidden tests; raises VerifierFailure if they leave no verdict."""
        limit = self._task.file.verifier.timeout_sec
        warm = template(self._environments, "verifier")
        with self._folder.log("verifier.log") as said, null() as nothing, entrances(self._group) as groups:
            start = rooms.verifier_room(self._folder, self._task, len(groups))
            self._control.configure(**start.config)
            files = [nothing, nothing, said, self._control.far.fileno(), *groups]
            try:
                self._sandbox = warm.fork(start.fork or {}, self._folder, self._control, files)
                env = {**rooms.BASE_ENV, "HOME": "/tmp", **self._task.file.verifier.env}
                how = {"cwd": "/workspace", "vital": True, "call": WARM_TESTS if runs_plain_tests(self._task) else ""}
                self._control.start("verifier", _SCRIPT, [nothing, said, said], env, **how)
            except OSError:
                why = self._folder.tail("verifier.log") or warm.last_words()
                raise RuntimeFailure(f"the verifier's sandbox ended: {why}") from None
        code = self._control.ended("verifier", limit)
        why = f"ended with {code}" if code is not None else f"was killed at its limit of {limit:g} s"
        self._sandbox.kill()
        if not self._sandbox.has_ended():
            # leave nothing for the next verdict
            warm.close()
            raise VerifierFailure(f"the verifier {why}, and a process of it cannot be ended")
        return self._collect(why)

    def _collect(self, why: str) -> Judgement:
        output = self._folder.tail("verifier.log", VERDICT_LIMIT)
        try:
            reward, verdict = (self._folder.read(f"verdict/{name}.json", VERDICT_LIMIT) for name in ("reward", "verdict"))
        except OSError as error:
            raise VerifierFailure(f"the verifier {why}: {error}: {output[-600:] or 'no output'}") from None
        return Judgement(reward, verdict, output.encode())


class Confined(_OneSandbox):
    """Sandbox of one program of the prover. Its streams are files in the folder, so that no process blocks on another."""

    def __init__(self, room: rooms.Room) -> None:
        super().__init__(rooms.PROVER_MB)
        self._room = room

    def run(self, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """Return the program's stdout; raises RuntimeFailure if it fails, prints too much, or times out."""
        (self._folder.path / "stdin").write_bytes(stdin)
        asked = os.open(self._folder.path / "stdin", os.O_RDONLY | os.O_CLOEXEC)
        try:
            with self._folder.log("stdout") as out, self._folder.log("stderr") as said, entrances(self._group) as groups:
                start = rooms.prover_room(self._folder, self._room, self._control.far.fileno(), groups)
                self._control.configure(**start.config)
                self._sandbox = Sandbox(start.argv, self._control, said, groups)
                self._control.start("prover", command, [asked, out, said], {**rooms.BASE_ENV, "HOME": "/tmp"}, cwd="/tmp")
                code = self._control.ended("prover", limit_s)
        except OSError:
            raise RuntimeFailure(f"the prover's sandbox ended: {self._folder.tail('stderr')}") from None
        finally:
            os.close(asked)
        self._sandbox.kill()
        if code != 0:
            why = f"ended with {code}" if code is not None else f"was killed, after at most {limit_s:g} s"
            raise RuntimeFailure(f"the prover {why}: {self._folder.tail('stderr') or 'no output'}")
        try:
            return self._folder.read("stdout", most)
        except OSError as error:
            raise RuntimeFailure(f"the prover's answer: {error}") from None


TEMPLATES: Mapping[str, tuple[str, str, str]] = {
    "agent": ("environment/Dockerfile", r"FROM parley/agent:1", ""),
    "world": ("environment/api/Dockerfile", r"FROM parley/world:1", r"COPY (--\S+ )*.+ /srv/world/?"),
    "verifier": ("tests/Dockerfile", r"FROM parley/verifier:1", r"COPY (--\S+ )*.+ /tests/?|RUN mkdir -p [/\w ]+"),
}
"""For each kind of sandbox, its Dockerfile with the first line and the other lines that sandboxes reproduce without a build."""


T = TypeVar("T", BubblewrapPod, Judging, Confined)


class BubblewrapRuntime:
    """Runtime `bubblewrap`."""

    name = "bubblewrap"
    plays_in_process = False

    def __init__(self, *, root: Path = ROOT, cache: Path | None = None, say: Say = lambda line: None) -> None:
        self.environments = Environments(root, cache, say)
        self._lock = threading.Lock()
        self._live: defaultdict[str, set[BubblewrapPod | _OneSandbox]] = defaultdict(set)
        self._aborted: set[str] = set()
        self._watcher = Watcher()

    def probe(self) -> Probe:
        """Probe whether the sandboxes of a pod work here; never raises."""
        began = time.monotonic()
        try:
            try_out(self.environments)
        except (HarnessError, OSError) as error:
            return Probe(False, str(error))
        how = "as root, each sandbox under its own user id" if rooms.is_root() else "in user namespaces"
        return Probe(True, f"a sandboxed program answered in {time.monotonic() - began:.1f} s, {how}")

    def syscalls(self, task: Task) -> str:
        """Return the digest of our policy."""
        return policy_digest()

    def limits(self) -> str:
        """Return the limitations of this runtime here, in one line."""
        missing = ["the CPU of a pod is not limited"]
        if not bounds.has_groups():
            counted = "a pod that exceeds its memory is killed after about 0.1 s, not immediately"
            missing.append(f"no control group can be created: {counted}, and the limit of processes applies to its user")
        if not rooms.is_root():
            missing.append("the agent and the world share one user id and are separated only by namespaces")
        if not list(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")):
            missing.append("programs read the machine's date, not the world's (apt-get install libfaketime)")
        return "; ".join(missing)

    def set_up(self) -> None:
        """Build the environments."""
        self.environments.digests()

    def refuses(self, task: Task) -> str | None:
        """Return the reason why sandboxes cannot run a task: it is foreign, or its Dockerfiles build something."""
        if task.parley is None:
            return f"{task.path}/task.toml:1: a foreign Harbor task needs Docker"
        try:
            rooms.memory_of(task)
        except RuntimeFailure as failure:
            return f"{task.path}/task.toml:1: {failure}"
        return next((why for room in TEMPLATES if (why := _differs(task, room))), None)

    def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Build the environments, and return their digests by kind of sandbox."""
        return self.environments.digests()

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """Open a pod that is ready to answer."""
        with self._closing(spec.run_id, BubblewrapPod(spec, self.environments, self._watcher)) as pod:
            # its imports run while this episode is played
            template(self.environments, "verifier")
            pod.start()
            yield pod

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Run the task's hidden tests on a log, in a sandbox without network."""
        with self._closing(spec.run_id, Judging(spec.task, self.environments, log)) as judging:
            return judging.run()

    def confined(self, run_id: str, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """Run a program in the prover's sandbox, whose environment is built on first use, and return its stdout."""
        with self._closing(run_id, Confined(self.environments.room("prover"))) as prover:
            return prover.run(command, stdin, limit_s=limit_s, most=most)

    def leftovers(self) -> list[Orphan]:
        """Return the folders and control groups that dead runs of this host left behind."""
        return [*folders_left(), *cgroups.groups_left()]

    def sweep(self) -> list[str]:
        """Remove what dead runs left on this host (folders, control groups), and return the names; their processes are gone."""
        return [*sweep_folders(), *cgroups.sweep()]

    def abort(self, run_id: str) -> None:
        """Kill everything of a run, from any thread, and prevent further starts."""
        with self._lock:
            self._aborted.add(run_id)
            live = list(self._live[run_id])
        for one in live:
            one.kill()

    @contextmanager
    def _closing(self, run_id: str, one: T) -> Iterator[T]:
        """Yield an object that `abort` may kill, then close it; raises RuntimeFailure if the run was aborted."""
        try:
            with self._lock:
                if run_id in self._aborted:
                    raise RuntimeFailure(f"run {run_id} was aborted")
                self._live[run_id].add(one)
            yield one
        finally:
            with self._lock:
                self._live[run_id].discard(one)
            one.close()


def _differs(task: Task, room: str) -> str | None:
    """Return the place where a Dockerfile differs from the template, as `path:line: what`; the file may be missing."""
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
