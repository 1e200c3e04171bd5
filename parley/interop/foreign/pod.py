"""Pod of a foreign Harbor task (no [metadata.parley]), with Harbor's guarantees as far as one container engine allows.

The image of `main` comes from environment/Dockerfile, environment.docker_image or the compose file. Its ENTRYPOINT is kept; its
CMD becomes a sleep. The root is writable, the user is the image's, and the capabilities are Docker's default, because such
tasks install software. There is no world and no log. `finish` runs the verifier in `main`, after killing the agent's processes
(shared), or in a container of its own, after killing `main` (separate). It stores the result in `verdict` for `judge`. If the
agent damages `main`, commands fail, but the episode goes on. Commands need bash and coreutils' `timeout` in the image.

Before a shared verifier starts, the agent's processes are killed. A root agent may have replaced sh, ps and kill, and processes
can restart each other, so the container is frozen, and a helper container from our own image, which shares its process
namespace, kills all but those recorded before the agent's first command, by their start time, and their children; orphans do
not count as children of process 1 (docs/decisions/0019-shared-verifier.md).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from harness.errors import RuntimeFailure, VerifierFailure
from harness.pod import CommandResult, EpisodeSpec, Judgement
from harness.runtimes import commands
from harness.runtimes.archives import pack
from harness.runtimes.docker.engine.client import Check, Engine, deadline_s, labels
from parley.interop.foreign import asked, grading
from parley.interop.foreign.compose import Service
from parley.interop.foreign.containers import Containers, Networks
from worlds.core.wire import WireRequest, WireResponse

LIST = "cat /proc/[0-9]*/stat 2> /dev/null || true"
"""Command that prints the existing processes, run with the image's own cat before the agent. A process may end meanwhile."""

_FREEZES_AGAIN_S = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Real seconds between attempts to freeze: on a busy host freezing may fail while processes are being created."""
_HELPER_S = 60
_HELPER = """
import json, os, signal, sys
kept = {(pid, start) for pid, start in json.loads(sys.argv[1])}
alive = {}
for name in filter(str.isdecimal, os.listdir("/proc")):
    try:
        with open(f"/proc/{name}/stat", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        continue
    if int(name) != os.getpid():
        alive[int(name)] = (int(fields[1]), int(fields[19]))

def stays(pid):
    seen = set()
    while pid in alive and pid not in seen:
        seen.add(pid)
        parent, start = alive[pid]
        if (pid, start) in kept:
            return True
        if parent == 1:
            return False
        pid = parent
    return False

for pid in alive:
    if not stays(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
"""


def listed(stat: bytes) -> list[tuple[int, int]]:
    """Parse the output of `LIST` into process ids with their start times in clock ticks since boot (proc(5), field 22)."""
    processes = []
    for line in stat.decode("utf-8", "replace").splitlines():
        head, _, rest = line.rpartition(")")
        fields = rest.split()
        if len(fields) > 19 and head.partition(" ")[0].isdecimal():
            processes.append((int(head.partition(" ")[0]), int(fields[19])))
    return processes


def kill_others(engine: Engine, container: str, kept: list[tuple[int, int]], image: str, labels: Mapping[str, str]) -> None:
    """Kill every process of a container except those in `kept` and their children; raises RuntimeFailure if that fails."""
    host = {
        "pid_mode": f"container:{container}", "network_mode": "none", "read_only": True, "cap_drop": ["ALL"],
        "cap_add": ["KILL"], "security_opt": ["no-new-privileges"], "mem_limit": "128m", "pids_limit": 16,
    }  # fmt: skip
    command = ["python3", "-I", "-S", "-c", _HELPER, json.dumps(kept)]
    _freeze(engine, container)
    try:
        with engine.running(image, command, host=host, user="0", entrypoint=[], labels=dict(labels)) as helper:
            if (code := engine.wait(helper, _HELPER_S)) != 0:
                said = engine.log_tail(helper)[-200:]
                raise RuntimeFailure(f"the helper that ends the agent's processes ended with {code}: {said!r}")
    finally:
        with engine.doing("thawing a container") as api:
            api.unpause(container)


def _freeze(engine: Engine, container: str) -> None:
    for wait_s in (*_FREEZES_AGAIN_S, None):
        try:
            with engine.doing("freezing a container") as api:
                api.pause(container)
            return
        except RuntimeFailure:
            if wait_s is None:
                raise
            time.sleep(wait_s)


_GONE = b"this machine is gone\n"
_ENTRYPOINT = "Entrypoint"


class ForeignPod:
    """Open episode of a foreign task."""

    has_main = True

    def __init__(
        self, engine: Engine, spec: EpisodeSpec, images: Mapping[str, str], *, check: Check, cpus: float, wall_s: float
    ) -> None:
        """Prepare the pod; `check` is called after each creation, and raises if the run was aborted meanwhile."""
        self._engine, self._task, self._images, self._check = engine, spec.task, images, check
        self._services, self._verifier = asked.services_of(spec.task), asked.verifier_of(spec.task)
        self._labels = labels(spec)
        self._containers = Containers(engine, spec, images, cpus=cpus)
        self._networks = Networks(engine, self._labels, asked.public_phases(spec.task), many=len(self._services) > 1)
        self._apart = Networks(engine, self._labels, {"verifier": asked.verifier_is_public(spec.task)}, many=False)
        self._sleep = ("sh", "-c", f"sleep {deadline_s(spec.task, wall_s)}")
        self._first: list[tuple[int, int]] = []
        self._has_tests = False
        self.instruction = (spec.task.path / "instruction.md").read_text(encoding="utf-8")
        self.verdict: Judgement | VerifierFailure | None = None

    def start(self) -> None:
        """Start every service after its dependencies, and return when all that have a healthcheck are healthy."""
        self._networks.create()
        self._networks.enter("start")
        for name, service in self._services.items():
            for needed, condition in service.depends_on.items():
                self._containers.wait(needed, condition)
            self._create(service)
            self._check()
            self._containers.start(name)
        for name, service in self._services.items():
            if service.healthcheck:
                self._containers.wait(name, "service_healthy")
        grading.make_folders(self._containers, "main")
        self._upload()
        self._healthcheck()
        self._has_tests = self._containers.execute("main", ["test", "-e", grading.TESTS], 60, user="0").code == 0
        self._first = listed(self._containers.as_root("main", "sh", "-c", LIST))
        self._networks.enter("agent")

    def call(self, request: WireRequest) -> WireResponse:
        """Raise RuntimeFailure, because there is no world to call."""
        raise RuntimeFailure(f"{self._task.task_id} is a foreign task: it has no world to send requests to")

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Raise RuntimeFailure, because there is no world to call."""
        return self.call(request)

    def stop(self, cause: str) -> None:
        """Do nothing, because a foreign task has no log in which the cause could be recorded."""

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in `main` as the agent's user, always in real time, for at most [agent].timeout_sec."""
        agent = self._task.file.agent
        user, limit = "" if agent.user is None else str(agent.user), min(timeout_s, agent.timeout_sec or math.inf)
        try:
            return self._containers.execute("main", command, limit, stdin, user=user, workdir=self._workdir)
        except RuntimeFailure:
            # if the engine answers, the agent has caused this itself
            said = f"{command[0]} cannot be started\n".encode() if self._containers.is_running("main") else _GONE
            return CommandResult(commands.KILLED, said)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files anywhere in `main`, readable and executable by every user."""
        self._containers.put("main", "/", pack(files, mode=0o755))

    def finish(self) -> bytes:
        """Judge while the pod exists, kill everything, and return an empty log."""
        try:
            self.verdict = self._judge_shared() if self._verifier is None else self._judge_apart(self._verifier)
        except VerifierFailure as failure:
            self.verdict = failure
        self.close()
        return b""

    def close(self) -> bool:
        """Kill and remove everything of this pod; safe to call twice; return False if something is still in use."""
        self._containers.remove()
        return all([self._networks.close(), self._apart.close()])

    @property
    def _workdir(self) -> str | None:
        return self._task.file.environment.workdir

    def _create(self, service: Service) -> None:
        main = service.name == "main"
        environment = {**service.environment, **(asked.main_environment(self._task) if main else {})}
        self._containers.create(
            service.name, self._networks, self._task.file.environment, environment, guarded=main, init=main or service.init,
            command=service.command or (self._sleep if main else None), user=service.user, working_dir=service.working_dir,
            healthcheck=service.healthcheck, entrypoint=list(service.entrypoint) if service.entrypoint is not None else None,
        )  # fmt: skip

    def _upload(self) -> None:
        """Copy the files of environment/ to the working directory of a prebuilt image."""
        files = asked.upload_of(self._task)
        if files is None or not (files.files or files.links):
            return
        if self._workdir is not None:
            self._containers.as_root("main", "mkdir", "-p", "--", self._workdir)
        here = (self._workdir or self._containers.execute("main", ["pwd"], 60).output.decode().strip()).rstrip("/")
        data = {f"{here}/{name}": file.data for name, file in files.files.items()}
        links = {f"{here}/{name}": target for name, target in files.links.items()}
        self._containers.put("main", "/", pack(data, mode=0o755, links=links))

    def _healthcheck(self) -> None:
        """Run [environment.healthcheck] as Harbor does: failures in the start period do not count, and one success ends it."""
        check = self._task.file.environment.healthcheck
        failures, began = 0, time.monotonic()
        while check:
            early = time.monotonic() - began < check.start_period_sec
            done = self._containers.execute("main", ["bash", "-c", check.command], check.timeout_sec, workdir=self._workdir)
            if done.code == 0:
                return
            failures += not early
            if failures >= check.retries:
                said = self._containers.tail(done.output)
                raise RuntimeFailure(f"the environment's healthcheck failed {failures} times: {said or 'no output'}")
            time.sleep(check.start_interval_sec if early else check.interval_sec)

    def _judge_shared(self) -> Judgement:
        """Run the tests in `main` (shared mode), after all processes of the agent have ended.

        If the engine answers but `main` accepts no tests, only the agent can have broken `main`, which ran when the agent
        began.
        """
        try:
            note = self._end_agent()
            self._collect(of_main=True)
            self._collect(of_main=False)
            grading.upload_tests(self._containers, "main", self._task, merged=self._has_tests)
            grading.prepare(self._containers, "main")
        except RuntimeFailure as failure:
            self._containers.is_running("main")
            return Judgement(b'{"reward": 0.0}\n', b"", f"main takes no tests after the agent: {failure}\n".encode())
        self._networks.enter("verifier")
        judged = grading.judge(self._containers, "main", self._task, self._workdir)
        return Judgement(judged.reward, judged.verdict, note.encode() + judged.log)

    def _judge_apart(self, verifier: asked.Verifier) -> Judgement:
        """Run the tests in a container of their own (separate mode), after taking artifacts and killing `main`."""
        self._collect(of_main=True)
        taken, notes = grading.take(self._containers, self._task, of_main=True)
        self._engine.kill(self._containers.ids["main"])
        self._collect(of_main=False)
        others, more = grading.take(self._containers, self._task, of_main=False)
        self._apart.create()
        settings = verifier.settings
        self._containers.create(
            asked.VERIFIER, self._apart, settings, verifier.environment, guarded=True, init=True, command=self._sleep
        )
        self._check()
        self._containers.start(asked.VERIFIER)
        grading.make_folders(self._containers, asked.VERIFIER)
        if settings.workdir is not None:
            self._containers.as_root(asked.VERIFIER, "mkdir", "-p", "--", settings.workdir)
        if verifier.uploads_tests:
            grading.upload_tests(self._containers, asked.VERIFIER, self._task, merged=True)
        grading.give(self._containers, asked.VERIFIER, {**taken, **others})
        grading.prepare(self._containers, asked.VERIFIER)
        judged = grading.judge(self._containers, asked.VERIFIER, self._task, settings.workdir)
        return Judgement(judged.reward, judged.verdict, "".join(f"{line}\n" for line in (*notes, *more)).encode() + judged.log)

    def _end_agent(self) -> str:
        """End every process of the agent in `main`. Services of the image continue; if not, return the reason."""
        main, note = self._containers.ids["main"], ""
        if self._containers.is_running("main") and self._has_services() and self._first:
            try:
                kill_others(self._engine, main, self._first, self._images[asked.HELPER], self._labels)
                return note
            except RuntimeFailure as failure:
                note = f"main was started anew, and its services with it: {failure}\n"
        self._engine.kill(main)
        self._containers.start("main")
        if self._has_services():
            with suppress(RuntimeFailure):
                self._healthcheck()
        return note

    def _has_services(self) -> bool:
        """Return True if `main` runs more than our sleep command: an ENTRYPOINT, or a command of the task."""
        main = self._services["main"]
        if main.command is not None or main.entrypoint is not None:
            return True
        with self._engine.doing("inspecting an image") as api:
            return bool(api.inspect_image(self._images["main"])["Config"].get(_ENTRYPOINT))

    def _collect(self, *, of_main: bool) -> None:
        """Run the collect hooks of `main`, or of the other services; a failing hook only means missing evidence."""
        for hook in self._task.file.verifier.collect:
            if (hook.service == "main") == of_main:
                shell = "bash" if of_main else "sh"
                workdir = self._workdir if of_main else None
                user = "" if hook.user is None else str(hook.user)
                with suppress(RuntimeFailure):
                    self._containers.execute(
                        hook.service, [shell, "-c", hook.command], hook.timeout_sec, user=user, workdir=workdir
                    )
