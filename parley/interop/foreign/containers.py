"""Containers of one foreign episode by service name, and the networks of the episode, which only these containers join.

Each container has limits on memory, processes and CPU, and Docker's default capabilities. Containers that may run agent code or
files written by the agent (`main`, the verifier) cannot gain privileges unless the task needs that.

The network `outer` has egress, and reaches the host at its addresses, as under Harbor. The network `inner` is an internal
bridge without an address of the host, so that neither the outside nor services of the host can be reached. An episode that is
public in every phase has only `outer`. One that is never public has only `inner`, or no network if it has only one service. One
that is public in some phases has both: its containers are always on `inner`, and on `outer` in these phases.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from harness.errors import RuntimeFailure
from harness.pod import CommandResult, EpisodeSpec
from harness.runtimes import commands
from harness.runtimes.docker.engine.client import Engine, fresh_name, labels
from harness.taskfile import EnvironmentSection
from parley.interop.foreign.asked import may_gain_privileges
from parley.interop.foreign.variables import masked, masking

MEMORY_MB, PIDS = 4096, 1024
HEALTHY_LIMIT_S = 300.0
_PAUSE_S = 0.1
_TAIL = 300
_NO_HOST = {"com.docker.network.bridge.inhibit_ipv4": "true"}
_EXHAUSTED = ("address pool", "predefined address")


class Networks:
    """Networks of one episode, or of its verifier."""

    def __init__(self, engine: Engine, labels: Mapping[str, str], public: Mapping[str, bool], *, many: bool) -> None:
        """Prepare the networks; `public` maps phases to egress, and `many` is true if several containers communicate."""
        self._engine, self._labels, self._public = engine, dict(labels), dict(public)
        self._ever, self._always = any(public.values()), all(public.values())
        self._needs_inner = not self._always and (many or self._ever)
        self._inner = self._outer = ""
        self._names: dict[str, str] = {}
        self._joined = False

    def create(self) -> None:
        """Create the networks of the phases; raises RuntimeFailure, also if Docker has no free address range."""
        if self._needs_inner:
            self._inner = self._create(internal=True, options=_NO_HOST)
        if self._ever:
            self._outer = self._create()

    def settings(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the settings for creating a service's container: its network mode, and more arguments of create_container."""
        first = self._inner or self._outer
        if not first:
            return "none", {}
        with self._engine.doing("naming a service") as api:
            there = api.create_endpoint_config(aliases=[name])
            return first, {"networking_config": api.create_networking_config({first: there})}

    def add(self, name: str, container: str) -> None:
        """Register a created container, so that `enter` connects it too."""
        self._names[container] = name
        if self._joined:
            self._connect(container)

    def enter(self, phase: str) -> None:
        """Connect or disconnect egress of every container, as the phase requires."""
        wanted = self._public[phase]
        if not (self._inner and self._outer) or wanted == self._joined:
            return
        self._joined = wanted
        for container in self._names:
            if wanted:
                self._connect(container)
            else:
                with self._engine.doing("leaving a network") as api:
                    api.disconnect_container_from_network(container, self._outer, force=True)

    def close(self) -> bool:
        """Remove the networks; return False if a container is still connected."""
        gone = [self._engine.remove_network(name) for name in (self._inner, self._outer) if name]
        if all(gone):
            self._inner = self._outer = ""
        return all(gone)

    def _connect(self, container: str) -> None:
        with self._engine.doing("joining a network") as api:
            api.connect_container_to_network(container, self._outer, aliases=[self._names[container]])

    def _create(self, **settings: Any) -> str:
        name = fresh_name("net")
        try:
            with self._engine.doing("creating a network") as api:
                api.create_network(name, driver="bridge", labels=self._labels, **settings)
        except RuntimeFailure as failure:
            if any(words in str(failure) for words in _EXHAUSTED):
                raise RuntimeFailure(
                    "Docker has no address left for the network of one more episode",
                    hint="harness run ... -n 1, or docker network ls",
                ) from None
            raise
        return name


class Containers:
    """Containers of one episode."""

    def __init__(self, engine: Engine, spec: EpisodeSpec, images: Mapping[str, str], *, cpus: float) -> None:
        """Prepare the containers; `cpus` is the maximum per container on this engine."""
        self._engine, self._spec, self._images, self._cpus = engine, spec, images, cpus
        self._guarded = [] if may_gain_privileges(spec.task) else ["no-new-privileges"]
        self.ids: dict[str, str] = {}

    def create(
        self, name: str, networks: Networks, limits: EnvironmentSection, environment: Mapping[str, str], *, guarded: bool,
        **config: Any,
    ) -> None:  # fmt: skip
        """Create the container of a service; `config` is passed to create_container, except `command` and `init`."""
        memory = f"{limits.memory_mb or MEMORY_MB}m"
        mode, linked = networks.settings(name)
        host = {
            "network_mode": mode, "init": config.pop("init"), "mem_limit": memory, "memswap_limit": memory, "pids_limit": PIDS,
            "nano_cpus": math.ceil(min(limits.cpus or self._cpus, self._cpus) * 1e9),
            "security_opt": self._guarded if guarded else [],
        }  # fmt: skip
        command, given = config.pop("command"), {key: value for key, value in config.items() if value is not None}
        self.ids[name] = self._engine.create(
            self._images[name], command, host=host, environment=dict(environment), labels=labels(self._spec),
            name=fresh_name(name), **linked, **given,
        )  # fmt: skip
        networks.add(name, self.ids[name])

    def start(self, name: str) -> None:
        """Start a created container."""
        self._engine.start(self.ids[name])

    def is_running(self, name: str) -> bool:
        """Return True if a container is running; raises RuntimeFailure if the engine does not report it."""
        return bool(self._engine.state(self.ids[name])["Running"])

    def wait(self, name: str, condition: str) -> None:
        """Wait until a service reaches the state that another needs; raises RuntimeFailure if it ends or takes too long."""
        until = time.monotonic() + HEALTHY_LIMIT_S
        while condition != "service_started":
            state = self._engine.state(self.ids[name])
            health = (state.get("Health") or {}).get("Status")
            if condition == "service_healthy" and health == "healthy":
                return
            ended = not state["Running"]
            if ended and condition == "service_completed_successfully" and state["ExitCode"] == 0:
                return
            if ended or health == "unhealthy" or time.monotonic() > until:
                said = self.tail(self._engine.log_tail(self.ids[name]))
                raise RuntimeFailure(f"service {name} is not {condition.removeprefix('service_')}: {said or 'no output'}")
            time.sleep(_PAUSE_S)

    def put(self, name: str, folder: str, archive: bytes) -> None:
        """Unpack an archive into an existing folder."""
        self._engine.put(self.ids[name], folder, archive)

    def archive(self, name: str, path: str, limit: int) -> bytes | None:
        """Return a path as a tar archive, None if it does not exist; raises RuntimeFailure beyond `limit` bytes."""
        return self._engine.archive(self.ids[name], path, limit)

    def as_root(self, name: str, *command: str) -> bytes:
        """Run a command as root that must succeed, and return its output; raises RuntimeFailure."""
        done = self.execute(name, command, 60, user="0", workdir="/")
        if done.code != 0:
            raise RuntimeFailure(f"{command[0]} failed in {name}: {self.tail(done.output)}")
        return done.output

    def execute(
        self, name: str, command: Sequence[str], timeout_s: float, stdin: bytes = b"", *, user: str = "",
        environment: Mapping[str, str] | None = None, workdir: str | None = None,
    ) -> CommandResult:  # fmt: skip
        """Run a command, killed at its time limit (rounded up to seconds); granted values are masked in its output."""
        limit = math.ceil(timeout_s)
        guarded = ["sh", "-c", 'exec "$@" 2>&1', "sh", "timeout", "-s", "KILL", str(limit), *command]
        began = time.monotonic()
        config = {"user": user, "environment": dict(environment or {}), **({"workdir": workdir} if workdir else {})}
        with closing(self._engine.execute(self.ids[name], guarded, **config)) as program:
            try:
                program.limit(limit + commands.GRACE_S)
                with self._engine.doing(f"running {command[0]}"):
                    program.frames.send(stdin)
                    program.end_input()
                    output, omitted = commands.capped(masking(program.frames.receive, self._spec.task.granted))
                code = program.exit_code()
            except RuntimeFailure as failure:
                if not isinstance(failure.__cause__, TimeoutError):
                    raise
                return CommandResult(None, b"")
        killed = code is None or (code in (124, 137) and time.monotonic() - began >= limit)
        return CommandResult(None if killed else code, output, omitted)

    def tail(self, output: bytes) -> str:
        """Return the end of an output, masked, for one line of an error message."""
        return masked(output, self._spec.task.granted)[-_TAIL:].decode("utf-8", "replace").strip()

    def remove(self) -> None:
        """Kill and remove all containers; safe to call twice."""
        for container in self.ids.values():
            self._engine.remove(container)
        self.ids = {}
