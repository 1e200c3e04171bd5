"""A foreign Harbor task (no [metadata.parley]) as a pod: Harbor's promises, kept as far as one container engine can.

1. `main` is built from environment/Dockerfile, or environment.docker_image, or composed (harness.runtimes.docker.compose). Its
   ENTRYPOINT runs, its CMD is replaced by a sleep, as Harbor does. Services share a network of their own and their names.
2. Its root is writable, its user the image's own and its capabilities Docker's default, because such tasks install things.
   The network is Docker's bridge, since Harbor's default is public, or none where task.toml says no-network.
3. There is no world and no log. `finish` runs the verifier while the pod stands (shared), or in a container of its own after
   `main` is dead (separate), and keeps what came of it in `verdict` for `judge`.
4. Commands need bash and coreutils' `timeout` in the image. Builds use the classic builder: no `RUN --mount`, no heredocs.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import RuntimeFailure, TaskInvalid, VerifierFailure
from harness.registry import Task, contents_of
from harness.runtimes import commands
from harness.runtimes.archives import pack
from harness.runtimes.base import CommandResult, EpisodeSpec, Judgement
from harness.runtimes.docker.compose import Build, Service, fill, read_compose
from harness.runtimes.docker.engine import Engine
from harness.runtimes.docker.images import ROOM_LABEL, TASK_LABEL, Images, folder_context, image_name
from harness.runtimes.docker.pod import Check, deadline_s, labels
from harness.taskfile import Artifact
from worlds.core.wire import WireRequest, WireResponse

MEMORY_MB, PIDS = 4096, 1024
ARTIFACT_LIMIT, REWARD_LIMIT = 256 << 20, 1 << 16
HEALTHY_LIMIT_S = 300.0
_LOGS = "/logs/agent /logs/verifier /logs/artifacts"
_REWARDS = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")


def services_of(task: Task) -> dict[str, Service]:
    """Every service of a task in the order they start, `main` with Harbor's defaults; raises TaskInvalid."""
    folder, section = task.path / "environment", task.file.environment
    file = folder / "docker-compose.yaml"
    found = read_compose(file, {**os.environ, **main_environment(task)}) if file.exists() else {}
    main = found.get("main", Service("main"))
    if main.image is None and main.build is None:
        main = replace(main, image=section.docker_image, build=None if section.docker_image else Build(folder))
    return {**{name: service for name, service in found.items() if name != "main"}, "main": main}


def main_environment(task: Task) -> dict[str, str]:
    """[environment.env], with `${NAME}` filled in from this host as Harbor does."""
    return {name: fill(value, os.environ) for name, value in task.file.environment.env.items()}


def unsupported(task: Task) -> str | None:
    """What of Harbor a task needs that is not done here, or None; raises TaskInvalid for a compose file out of bounds."""
    section, verifier = task.file.environment, task.file.verifier
    needs = {
        "an operating system other than linux": section.os not in (None, "linux"),
        "GPUs": bool(section.gpus or section.tpu),
        "MCP servers or skills": bool(section.mcp_servers or section.skills_dir),
        "a network allowlist": "allowlist" in (section.network_mode, verifier.network_mode, task.file.agent.network_mode),
        "verifier.collect": bool(verifier.collect),
        "services beside the verifier": (task.path / "tests" / "docker-compose.yaml").exists(),
        "artifacts with exclude": any(artifact.exclude for artifact in task.file.artifacts),
    }
    services_of(task)
    return next(
        (f"{task.task_id} needs {what}, which this harness does not do" for what, needed in needs.items() if needed), None
    )


def build_images(task: Task, images: Images) -> dict[str, str]:
    """The image of each service, and of the verifier where it has its own, by name."""
    tags = {name: service.image or _build(task, name, service.build, images) for name, service in services_of(task).items()}
    if task.file.verifier.environment_mode == "separate":
        given = (task.file.verifier.environment or {}).get("docker_image")
        own = Build(task.path / "tests") if (task.path / "tests" / "Dockerfile").exists() else None
        tags["verifier"] = given or (_build(task, "verifier", own, images) if own else tags["main"])
    for tag in tags.values():
        images.need(tag)
    return tags


class ForeignPod:
    """One open episode of a foreign task."""

    has_main = True

    def __init__(
        self, engine: Engine, spec: EpisodeSpec, images: Mapping[str, str], *, check: Check, cpus: float, wall_s: float
    ) -> None:
        self._engine, self._spec, self._images, self._cpus = engine, spec, images, cpus
        self._file, self._services = spec.task.file, services_of(spec.task)
        self._check = check
        self._deadline = str(deadline_s(spec.task, wall_s))
        self._containers: dict[str, str] = {}
        self._network = ""
        self.instruction = (spec.task.path / "instruction.md").read_text(encoding="utf-8")
        self.verdict: Judgement | VerifierFailure | None = None

    def start(self) -> None:
        """Start every service, each after what it depends on; return when all that have a healthcheck are healthy."""
        if len(self._services) > 1:
            self._network = f"parley-net-{secrets.token_hex(6)}"
            with self._engine.doing("creating a network") as api:
                api.create_network(self._network, driver="bridge", internal=not self._public(), labels=labels(self._spec))
        for name, service in self._services.items():
            for needed, condition in service.depends_on.items():
                self._await(needed, condition)
            self._containers[name] = self._create(service)
            self._check()
            self._engine.start(self._containers[name])
        for name, service in self._services.items():
            if service.healthcheck:
                self._await(name, "service_healthy")
        self._as_root("main", f"mkdir -p {_LOGS} /tests && chmod 777 {_LOGS}")
        self._healthcheck()

    def call(self, request: WireRequest) -> WireResponse:
        """There is no world to call; raises RuntimeFailure."""
        raise RuntimeFailure(f"{self._spec.task.task_id} is a foreign task: it has no world to send requests to")

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """There is no world to call; raises RuntimeFailure."""
        return self.call(request)

    def stop(self, cause: str) -> None:
        """There is no log to note it in: a foreign task is judged by what it left."""

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in `main` as the agent's user; time is real whatever is asked."""
        user = self._file.agent.user
        return self._exec("main", command, timeout_s, stdin, user="" if user is None else str(user))

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files anywhere in `main`, readable and executable by everybody."""
        self._engine.put(self._containers["main"], "/", pack(files, mode=0o755))

    def finish(self) -> bytes:
        """Judge while the pod stands, kill everything, and return no log."""
        try:
            separate = self._file.verifier.environment_mode == "separate"
            self.verdict = self._judge_apart() if separate else self._judge("main", upload=True)
        except VerifierFailure as failure:
            self.verdict = failure
        self.close()
        return b""

    def close(self) -> bool:
        """Kill and remove everything of this pod; safe to call twice; False where something is still held."""
        for container in self._containers.values():
            self._engine.remove(container)
        gone = not self._network or self._engine.remove_network(self._network)
        self._containers, self._network = {}, ""
        return gone

    def _create(self, service: Service) -> str:
        main = service.name == "main"
        environment = {**service.environment, **(main_environment(self._spec.task) if main else {})}
        command = service.command or (("sh", "-c", f"sleep {self._deadline}") if main else None)
        extra: dict[str, Any] = {"user": service.user, "working_dir": service.working_dir, "healthcheck": service.healthcheck}
        if service.entrypoint is not None:
            extra["entrypoint"] = list(service.entrypoint)
        if self._network:
            with self._engine.doing("naming a service") as api:
                there = api.create_endpoint_config(aliases=[service.name])
                extra["networking_config"] = api.create_networking_config({self._network: there})
        return self._contain(service.name, command, self._network or self._alone(), environment, main or service.init, **extra)

    def _contain(
        self, name: str, command: Sequence[str] | None, network: str, environment: Mapping[str, str], init: bool, **extra: Any
    ) -> str:
        section = self._file.environment
        memory = f"{section.memory_mb or MEMORY_MB}m"
        host = {
            "network_mode": network, "init": init, "mem_limit": memory, "memswap_limit": memory, "pids_limit": PIDS,
            "nano_cpus": int(min(section.cpus or self._cpus, self._cpus) * 1e9),
        }  # fmt: skip
        given = {key: value for key, value in extra.items() if value is not None}
        return self._engine.create(
            self._images[name], command, host=host, environment=dict(environment), labels=labels(self._spec),
            name=f"parley-{name}-{secrets.token_hex(6)}".lower(), **given,
        )  # fmt: skip

    def _public(self) -> bool:
        section = self._file.environment
        return section.network_mode in (None, "public") and section.allow_internet is not False

    def _alone(self) -> str:
        return "bridge" if self._public() else "none"

    def _await(self, name: str, condition: str) -> None:
        """Wait until a service is what another needs it to be; raises RuntimeFailure when it ends or takes too long."""
        until = time.monotonic() + HEALTHY_LIMIT_S
        while condition != "service_started":
            state = self._engine.state(self._containers[name])
            health = (state.get("Health") or {}).get("Status")
            if condition == "service_healthy" and health == "healthy":
                return
            ended = not state["Running"]
            if ended and condition == "service_completed_successfully" and state["ExitCode"] == 0:
                return
            if ended or health == "unhealthy" or time.monotonic() > until:
                said = self._engine.log_tail(self._containers[name]).decode("utf-8", "replace").strip()[-300:]
                raise RuntimeFailure(f"service {name} is not {condition.removeprefix('service_')}: {said or 'no output'}")
            time.sleep(0.1)

    def _healthcheck(self) -> None:
        """[environment.healthcheck]: one success ends it."""
        asked = self._file.environment.healthcheck
        if not asked:
            return
        time.sleep(float(asked.get("start_period_sec", 0)))
        for _ in range(int(asked.get("retries", 3))):
            done = self._exec("main", ["bash", "-c", str(asked["command"])], float(asked.get("timeout_sec", 30)))
            if done.code == 0:
                return
            time.sleep(float(asked.get("interval_sec", 5)))
        raise RuntimeFailure(f"the environment's healthcheck never succeeded: {done.output[-300:].decode('utf-8', 'replace')}")

    def _judge_apart(self) -> Judgement:
        """Separate mode: artifacts out, everything of the agent dead, then a container of the verifier's own."""
        wanted = list(self._file.artifacts)
        found = {a.source: self._artifact(a) for a in wanted if (a.service or "main") == "main"}
        self._engine.kill(self._containers["main"])
        found |= {a.source: self._artifact(a) for a in wanted if (a.service or "main") != "main"}
        environment, network = (
            self._file.verifier.env,
            "none" if self._file.verifier.network_mode == "no-network" else self._alone(),
        )
        sleep = ("sh", "-c", f"sleep {self._deadline}")
        self._containers["verifier"] = self._contain("verifier", sleep, network, environment, init=True)
        self._engine.start(self._containers["verifier"])
        self._as_root("verifier", f"mkdir -p {_LOGS} /tests && chmod 777 {_LOGS}")
        for source, data in found.items():
            if data is not None:
                folder = str(PurePosixPath(source).parent)
                self._as_root("verifier", f"mkdir -p '{folder}'")
                self._engine.put(self._containers["verifier"], folder, data)
        return self._judge("verifier", upload=self._images["verifier"] == self._images["main"])

    def _artifact(self, artifact: Artifact) -> bytes | None:
        container = self._containers.get(artifact.service or "main")
        if container is None:
            raise VerifierFailure(f"artifact {artifact.source} names service {artifact.service}, which does not exist")
        return self._engine.archive(container, artifact.source, ARTIFACT_LIMIT)

    def _judge(self, name: str, *, upload: bool) -> Judgement:
        """Run the tests in a container and read the reward; what lay there before is deleted first."""
        if upload:
            tests = contents_of(self._spec.task.path, "tests")
            files = {f"/tests/{path}": file.data for path, file in tests.items()}
            self._engine.put(self._containers[name], "/", pack(files, mode=0o755))
        self._as_root(name, f"rm -rf {' '.join(_REWARDS)}")
        verifier = self._file.verifier
        user = "root" if verifier.user is None else str(verifier.user)
        done = self._exec(name, ["bash", "/tests/test.sh"], verifier.timeout_sec, user=user, environment=verifier.env)
        return Judgement(self._reward(name, done), b"", done.output)

    def _reward(self, name: str, done: CommandResult) -> bytes:
        """The reward as `{"reward": x}`, from reward.json or else reward.txt; raises VerifierFailure without one."""
        for path in _REWARDS:
            left = self._engine.fetch(self._containers[name], path, REWARD_LIMIT) or {}
            for data in left.values():
                return json.dumps({"reward": _number(data, path)}).encode() + b"\n"
        why = "was killed at its limit" if done.code is None else f"ended with {done.code}"
        tail = done.output[-600:].decode("utf-8", "replace").strip()
        raise VerifierFailure(f"the verifier {why} and left neither reward.json nor reward.txt: {tail}")

    def _as_root(self, name: str, script: str) -> None:
        done = self._exec(name, ["sh", "-c", script], 60, user="0")
        if done.code != 0:
            raise RuntimeFailure(
                f"{script.partition(' ')[0]} failed in {name}: {done.output[-300:].decode('utf-8', 'replace')}"
            )

    def _exec(
        self,
        name: str,
        command: Sequence[str],
        timeout_s: float,
        stdin: bytes = b"",
        *,
        user: str = "",
        environment: Any = None,
    ) -> CommandResult:
        limit = math.ceil(timeout_s)
        guarded = ["bash", "-c", 'exec "$@" 2>&1', "bash", "timeout", "-s", "KILL", str(limit), *command]
        began = time.monotonic()
        program = self._engine.execute(self._containers[name], guarded, user=user, environment=dict(environment or {}))
        try:
            program.limit(limit + commands.GRACE_S)
            with self._engine.doing(f"running {command[0]}"):
                program.frames.send(stdin)
                program.end_input()
                output, omitted = commands.capped(program.frames.receive)
            code = program.exit_code()
        finally:
            program.close()
        killed = code in (124, 137) and time.monotonic() - began >= limit
        return CommandResult(None if killed else code, output, omitted)


def _build(task: Task, name: str, build: Build | None, images: Images) -> str:
    if build is None or not (build.context / build.dockerfile).is_file():
        where = build.context / build.dockerfile if build else task.path / "environment" / "Dockerfile"
        raise TaskInvalid(f"{where}:1: the file is missing, and service {name} has no image")
    context = folder_context(Path(build.context), dockerfile=build.dockerfile)
    below = [images.image_id(line.split()[1]) or "" for line in context.recipe if line.upper().startswith("FROM ")]
    tag = image_name(task, name) + ":" + context.digest(json.dumps(dict(build.args), sort_keys=True), *below)
    return images.build(context, tag, {TASK_LABEL: task.task_id, ROOM_LABEL: name}, build.args)


def _number(data: bytes, path: str) -> float:
    """The one number of a reward file; raises VerifierFailure for anything else."""
    try:
        value = json.loads(data)
        if isinstance(value, dict):
            value = value["reward"] if "reward" in value else value[next(iter(value))]
        if math.isfinite(number := float(value)):
            return number
    except (ValueError, TypeError, KeyError, StopIteration, OverflowError, RecursionError):
        pass
    raise VerifierFailure(f"{path} holds no finite number: {data[:60]!r}")
