"""Docker client: the few calls that this project makes, typed and thread-safe, and what every container is given.

The docker SDK is imported when an engine is first created, because the import takes 100 ms that most commands do not need. Its
connection settings apply (DOCKER_HOST, TLS); no bind mounts and no local paths, so a remote engine works. Programs started by
`execute` use a hijacked connection: they send nothing before they have read something, or are read through the response's own
buffer, so that no early byte is lost.

Resources are removed by label: all of one run, or all that belong to dead processes. One without our owner label is never
touched, nor is that of a live owner. The engine may still create what a killed process requested, so a sweep repeats.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import socket
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from typing import Any

from harness.errors import RuntimeFailure, boundary
from harness.orphans import EPISODE_LABEL, OWNER_LABEL, RUN_LABEL, Orphan, is_dead, moment, this_owner
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.bridge import Frames
from harness.runtimes.seccomp import docker_profile

CONNECTIONS = 64
_CALL_LIMIT_S = 120
_CHUNK = 65_536
SECCOMP = "seccomp="
"""Prefix of the security option of a container that contains its system call profile."""

SETTLE_TRIES, SETTLE_PAUSE_S = 20, 0.05
"""Attempts to learn the exit of a program or a container from the engine, which notices it shortly after the last output."""

_GONE_TRIES, _GONE_PAUSE_S = 100, 0.05
_REMOVE_TRIES = 4
"""Number of attempts; in each, the engine itself waits about 10 seconds for a killed container to end."""
_THAW_S, _THAW_PAUSE_S = 5, 0.05
"""Retry time: a thawed container may be reported as paused, because the engine reads its events up to 2 s late."""


class Engine:
    """Docker engine; raises RuntimeFailure if none answers."""

    def __init__(self) -> None:
        sdk: Any = import_module("docker")
        self.errors = (sdk.errors.DockerException, import_module("requests").RequestException, OSError)
        self._refused, self.gone = sdk.errors.APIError, sdk.errors.NotFound
        limits = {"timeout": _CALL_LIMIT_S, "num_pools": CONNECTIONS, "max_pool_size": CONNECTIONS}
        try:
            self.api: Any = sdk.APIClient(**sdk.utils.kwargs_from_env(), version="auto", **limits)
        except self.errors as error:
            where = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
            # the operating system's message, which the SDK nests in its own
            said = re.findall(r"'([^']+)'", str(error)) or [_clause(error)]
            raise RuntimeFailure(f"no Docker engine answers at {where} ({said[-1]})", hint="docker info") from None

    @contextmanager
    def doing(self, what: str) -> Iterator[Any]:
        """Yield the raw client, and convert its exceptions to RuntimeFailure."""
        with boundary(RuntimeFailure, what, *self.errors):
            yield self.api

    def pull(self, name: str) -> str:
        """Pull an image; return the reason if that failed, otherwise ""."""
        try:
            self.api.pull(name, tag=None if re.search("[:@]", name.rpartition("/")[2]) else "latest")
        except self._refused as error:
            return " ".join(str(error.explanation or error).split())
        except self.errors as error:
            return _clause(error)
        return ""

    def version(self) -> str:
        """Return the engine's version."""
        with self.doing("asking Docker for its version") as api:
            return str(api.version(api_version=False)["Version"])

    @cached_property
    def filters_calls(self) -> bool:
        """True if containers can have a system call profile here."""
        with self.doing("asking Docker for its security options") as api:
            return any("name=seccomp" in option for option in api.info()["SecurityOptions"] or ())

    def create(self, image: str, command: Sequence[str] | None, *, host: Mapping[str, Any], **config: Any) -> str:
        """Create a container and return its id; `host` goes to create_host_config, `config` to create_container."""
        if not self.filters_calls:
            # otherwise the engine would refuse the container
            host = {**host, "security_opt": [one for one in host.get("security_opt") or () if not one.startswith(SECCOMP)]}
        with self.doing(f"creating a container of {image}") as api:
            made = api.create_container(
                image, list(command) if command is not None else None, host_config=api.create_host_config(**host), **config
            )
            return str(made["Id"])

    @contextmanager
    def running(self, image: str, command: Sequence[str], *, host: Mapping[str, Any], **config: Any) -> Iterator[str]:
        """Create and start a container as `create` does, yield its id, and remove it."""
        container = self.create(image, command, host=host, **config)
        try:
            self.start(container)
            yield container
        finally:
            self.remove(container)

    def start(self, container: str) -> None:
        """Start a created container."""
        with self.doing("starting a container") as api:
            api.start(container)

    def kill(self, container: str) -> None:
        """Send SIGKILL, and return once the container has stopped, or if it has already."""
        with self.doing("killing a container") as api:
            try:
                api.kill(container)
            except self._refused as error:
                if error.status_code not in (404, 409):
                    raise

    def remove(self, container: str) -> bool:
        """Kill and remove a container with its anonymous volumes, and return once it is gone, or if it does not exist."""
        with self.doing("removing a container") as api:
            for tries_left in reversed(range(_REMOVE_TRIES)):
                try:
                    api.remove_container(container, v=True, force=True)
                except self._refused as error:
                    if error.status_code == 500 and tries_left:
                        # the kernel may need longer to free the agent's resources than the engine waits
                        continue
                    if error.status_code not in (404, 409):
                        raise
                    # 409: another process is removing it now; wait, because its resources are free only afterwards.
                    self._await_gone(container)
                break
        return True

    def _await_gone(self, container: str) -> None:
        with suppress(self.gone):
            for _ in range(_GONE_TRIES):
                self.api.inspect_container(container)
                time.sleep(_GONE_PAUSE_S)

    def remove_volume(self, name: str) -> bool:
        """Remove a volume if it exists; return False if a container still uses it."""
        return self._gone_after(f"removing volume {name}", lambda api: api.remove_volume(name, force=True), (409,))

    def remove_network(self, name: str) -> bool:
        """Remove a network if it exists; return False if a container is still connected, which Docker says with 403 too."""
        return self._gone_after(f"removing network {name}", lambda api: api.remove_network(name), (403, 409))

    def _gone_after(self, what: str, remove: Callable[[Any], object], in_use: Sequence[int]) -> bool:
        with self.doing(what) as api:
            try:
                remove(api)
            except self._refused as error:
                if error.status_code not in (404, *in_use):
                    raise
                return bool(error.status_code == 404)
        return True

    def wait(self, container: str, timeout_s: float) -> int:
        """Wait for a container to stop and return its exit code."""
        with self.doing("waiting for a container") as api:
            return int(api.wait(container, timeout=timeout_s)["StatusCode"])

    def state(self, container: str) -> dict[str, Any]:
        """Return a container's state as Docker reports it: Running, ExitCode, OOMKilled."""
        with self.doing("inspecting a container") as api:
            return dict(api.inspect_container(container)["State"])

    def log_tail(self, container: str) -> bytes:
        """Return the last 20 lines of a container's output, at most 1 MiB."""
        with self.doing("reading a container's output") as api:
            return bytes(api.logs(container, tail=20))[-(1 << 20) :]

    def put(self, container: str, folder: str, archive: bytes) -> None:
        """Unpack a tar archive into a folder of a container whose root is writable."""
        with self.doing(f"copying files to {folder}") as api:
            api.put_archive(container, folder, archive)

    def archive(self, container: str, path: str, limit: int) -> bytes | None:
        """Return a tar archive of `path`, None if it does not exist; raises RuntimeFailure above `limit` bytes."""
        with self.doing(f"copying {path} out") as api:
            try:
                chunks, _ = api.get_archive(container, path, chunk_size=_CHUNK)
            except self._refused as error:
                # A link to itself is not a file either, and the engine reports it as its own failure.
                if error.status_code == 404 or "too many links" in str(error.explanation):
                    return None
                raise
            data = bytearray()
            for chunk in chunks:
                data += chunk
                if len(data) > limit:
                    # the engine cannot remove a container while its archive is open and unread
                    chunks.close()
                    raise RuntimeFailure(f"{path} takes more than {limit} bytes")
        return bytes(data)

    def execute(self, container: str, command: Sequence[str], **config: Any) -> Exec:
        """Start a program in a running container, with its three streams connected; `config` is passed to exec_create."""
        with self.doing(f"starting {command[0]} in a container") as api:
            number = self._once_thawed(lambda: api.exec_create(container, list(command), stdin=True, **config)["Id"])
            return Exec(self, number, self._once_thawed(lambda: api.exec_start(number, socket=True)))

    def _once_thawed(self, call: Callable[[], Any]) -> Any:
        until = time.monotonic() + _THAW_S
        while True:
            try:
                return call()
            except self._refused as error:
                if error.status_code != 409 or "is paused" not in str(error.explanation) or time.monotonic() > until:
                    raise
                time.sleep(_THAW_PAUSE_S)

    def attach(self, container: str) -> Streams:
        """Attach to a container's first process before it starts; its stdin ends with the connection."""
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        with self.doing("attaching to a container") as api:
            return Streams(api.attach_socket(container, params=streams))

    def labelled(self, label: str) -> dict[str, list[dict[str, Any]]]:
        """Return all containers (in any state), volumes and networks that carry a label."""
        chosen = {"label": label}
        with self.doing("listing containers, volumes and networks") as api:
            return {
                "containers": api.containers(all=True, filters=chosen),
                "volumes": api.volumes(filters=chosen).get("Volumes") or [],
                "networks": api.networks(filters=chosen),
            }


class Streams:
    """Connected streams of a program in a container, as `frames`."""

    def __init__(self, link: Any) -> None:
        self._until: float | None = None
        # The SDK returns the raw socket, but data that arrived with the response's head is in the buffer above it.
        self._response = getattr(link, "_response", None)
        self._link: socket.socket = getattr(link, "_sock", link)
        self._link.settimeout(None)
        self.frames = Frames(self._link, self._receive)

    def _receive(self) -> bytes:
        if self._until is not None:
            if (left := self._until - time.monotonic()) <= 0:
                raise TimeoutError
            self._link.settimeout(left)
        if self._response is None:
            return self._link.recv(_CHUNK)
        buffered = self._response.raw._fp.fp  # noqa: SLF001 - the SDK has no other way to these bytes
        # another thread may have closed it
        return bytes(buffered.read1(_CHUNK)) if buffered is not None else b""

    def limit(self, seconds: float) -> None:
        """Set a deadline after which reads and writes raise TimeoutError, however much data was transferred."""
        self._until = time.monotonic() + seconds
        self._link.settimeout(seconds)

    def end_input(self) -> None:
        """Close the program's stdin while its output is still read; needs a plain connection, not TLS."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection, which closes the program's stdin."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()
        if self._response is not None:
            self._response.close()


class Exec(Streams):
    """Program that was started in a running container."""

    def __init__(self, engine: Engine, number: str, link: Any) -> None:
        super().__init__(link)
        self._engine, self._number = engine, number

    def output(self, stdin: bytes, most: int) -> bytes | None:
        """Send the program its whole input and return its stdout; None if that is longer than `most` bytes."""
        self.frames.send(stdin)
        self.end_input()
        said = bytearray()
        while chunk := self.frames.receive():
            said += chunk
            if len(said) > most:
                return None
        return bytes(said)

    def exit_code(self, *, tries: int = 1) -> int | None:
        """Return the program's exit code, which the engine knows shortly after the last output; None while it runs."""
        for left in reversed(range(tries)):
            with self._engine.doing("asking for an exit code") as api:
                code = api.exec_inspect(self._number)["ExitCode"]
            if code is not None:
                return int(code)
            if left:
                time.sleep(SETTLE_PAUSE_S)
        return None

    def started(self) -> bool:
        """Return True if the program ever ran, as the engine says, because the program's streams cannot be trusted."""
        with self._engine.doing("asking for a process") as api:
            return bool(api.exec_inspect(self._number)["Pid"])


def regular_files(data: bytes) -> dict[str, bytes]:
    """Return the regular files at the top of an archive or one folder below, by name, without links."""
    contents: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is not None and entry.name.count("/") <= 1:
                contents[entry.name.rpartition("/")[2]] = content.read()
    return contents


def _clause(error: BaseException) -> str:
    """Return the last part of the SDK's nested messages, which contains the actual error."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text.rpartition(": ")[2].strip("()'\" ") or text


_PASSES, _SETTLE_S = 5, 0.3
"""Number of passes of a sweep, and seconds in which the engine may finish its work between them."""


def left_behind(engine: Engine) -> list[Orphan]:
    """Return the resources that dead processes of this host left behind, with their owners, without removing them."""
    things = [
        Orphan(kind[:-1], _name(thing), labels[OWNER_LABEL].rsplit(":", 2)[1], labels.get(RUN_LABEL, ""), moment(made))
        for kind, all_of_it in engine.labelled(OWNER_LABEL).items()
        for thing in all_of_it
        if is_dead((labels := thing.get("Labels") or {}).get(OWNER_LABEL, ""))
        for made in [thing.get("Created") or thing.get("CreatedAt")]
    ]
    return sorted(things, key=lambda thing: (thing.kind, thing.name))


def sweep(engine: Engine) -> list[str]:
    """Remove the resources that dead processes of this host left behind, and return their names."""
    gone: list[str] = []
    for _ in range(_PASSES):
        went = _remove(engine, OWNER_LABEL, lambda labels: is_dead(labels.get(OWNER_LABEL, "")))
        if not went:
            break
        gone += went
        time.sleep(_SETTLE_S)
    return sorted(gone)


def services_up(engine: Engine, run_id: str) -> dict[str, str]:
    """Return the engine id of one running container of a run for each service (`world` and `main` for a task of ours)."""
    containers = engine.labelled(f"{RUN_LABEL}={run_id}")["containers"]
    up = [container for container in containers if container["State"] == "running"]
    return {container["Names"][0].removeprefix("/parley-").rpartition("-")[0]: container["Id"] for container in up}


def remove_run(engine: Engine, run_id: str) -> list[str]:
    """Kill and remove everything of one run."""
    return _remove(engine, f"{RUN_LABEL}={run_id}", lambda labels: OWNER_LABEL in labels)


def remove_episode(engine: Engine, run_id: str, episode_id: str) -> list[str]:
    """Kill and remove everything of one episode."""
    return _remove(engine, f"{EPISODE_LABEL}={episode_id}", lambda labels: labels.get(RUN_LABEL) == run_id)


def _remove(engine: Engine, label: str, wanted: Callable[[dict[str, str]], bool]) -> list[str]:
    by_kind = {kind: [x for x in things if wanted(x.get("Labels") or {})] for kind, things in engine.labelled(label).items()}
    volumes, networks = ([x["Name"] for x in by_kind[kind]] for kind in ("volumes", "networks"))
    # Containers first, because volumes and networks in use cannot be removed.
    names = {c["Id"]: _name(c) for c in by_kind["containers"]}
    gone = [names[number] for number in _each(engine.remove, names)]
    return sorted(gone + _each(engine.remove_volume, volumes) + _each(engine.remove_network, networks))


def _each(remove: Callable[[str], bool], names: Iterable[str]) -> list[str]:
    """Remove all of them concurrently, and return the removed ones. Others are in use by a process that just started them."""
    names = list(names)
    with ThreadPoolExecutor(max_workers=16) as pool:
        return [name for name, went in zip(names, pool.map(remove, names), strict=True) if went]


def _name(container: dict[str, Any]) -> str:
    """Return the name of a container, a volume or a network."""
    names = container.get("Names") or [container.get("Name") or container["Id"][:12]]
    return str(names[0]).lstrip("/")


PIDS = 256
Check = Callable[[], None]
"""Function that raises Cancelled if the run was interrupted."""

_LOGGED = {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}


def fresh_name(room: str) -> str:
    """Return a name for one more container, volume or network."""
    return f"parley-{room}-{secrets.token_hex(6)}".lower()


def labels(spec: EpisodeSpec) -> dict[str, str]:
    """Return the labels that mark a container or volume as belonging to this episode and this process."""
    return {RUN_LABEL: spec.run_id, EPISODE_LABEL: spec.episode_id, OWNER_LABEL: this_owner()}


def security_options(*, is_used_again: bool = False) -> list[str]:
    """Return the security options of a container; with `is_used_again`, it cannot create objects that outlive a process."""
    return ["no-new-privileges", f"{SECCOMP}{docker_profile(is_used_again=is_used_again)}"]


def hardened(memory_mb: int, cpus: float, **more: Any) -> dict[str, Any]:
    """Return the host settings of every container of ours."""
    return {
        "cap_drop": ["ALL"], "security_opt": security_options(), "init": True, "pids_limit": PIDS,
        "mem_limit": f"{memory_mb}m", "memswap_limit": f"{memory_mb}m", "nano_cpus": int(cpus * 1e9), "log_config": _LOGGED,
        **more,
    }  # fmt: skip


GAME_S = 7 * 86_400.0
"""Time limit of a game in real seconds: the actual limits are turns and the timeouts of calls."""


def deadline_s(task: Task, wall_s: float) -> int:
    """Return the real seconds after which a container ends by itself: the longest possible episode, plus a margin."""
    longest = max(task.file.agent.timeout_sec or 0, GAME_S if task.is_seated else wall_s)
    return int(longest + task.file.verifier.timeout_sec + 600)
