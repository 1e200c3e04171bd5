"""Sandboxes of an episode and of a proof: visible files, user, and limits of each.

    template   a room without an episode, with all imports done; one for worlds and one for verifiers
    pod        common parts of the rooms of an episode: a network, and processes that end together
    world      its packages, the task's environment/api, its log, its clock; forked in the pod, on its network
    main       the agent's packages and shims, the world's clock read-only, sized tmpfs; by bwrap, on the pod's network
    verifier   its packages, the task's hidden tests, a copy of the log; forked, without network
    prover     its packages, this project's code; by bwrap, no network, and the task is sent as data on stdin

No room sees another's files or processes, and none sees this project, its environment or a home directory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RuntimeFailure
from harness.pod import EpisodeSpec, world_variables
from harness.registry import Task
from harness.runtimes.bubblewrap.environments import Room
from harness.runtimes.bubblewrap.folders import Folder
from harness.runtimes.bubblewrap.inside.forks import HOST
from harness.runtimes.bubblewrap.sandbox import CONTROL, COUNTING_FILTER, FILTER, ROOMS_INSIDE, pid1, template_pid1
from harness.runtimes.bubblewrap.view import (
    MASKED,
    OWN_USER,
    Scratch,
    devices,
    etc,
    etc_in_memory,
    fresh_user,
    host,
    is_root,
    isolated,
    limits,
    mounted,
    read_only,
    secluded,
    system,
    unmounted,
    who,
    write_etc,
)

WORLD_MB, MAIN_MB, VERIFIER_MB, PROVER_MB = 1024, 2048, 1024, 2048
LEAST_MB = 32
"""Memory in MB below which the interpreter that runs an agent's commands does not start."""

PROCESSES = 256
KEEPERS = 8
"""Number of our own processes in a room, mainly its PID 1."""

WORLD_FILES = 4096
"""Maximum open files of a world, which closes connections at a number below this."""

PLACE_MB = 256
"""Size of /workspace and of /tmp."""

SHM = Scratch("/dev/shm", 64)
MAIN_SCRATCH = (Scratch("/workspace", PLACE_MB, "0755", own=True), Scratch("/tmp", PLACE_MB), SHM)
WORLD_SCRATCH = (Scratch("/tmp", 16), SHM)
VERIFIER_SCRATCH = (Scratch("/workspace", 64), Scratch("/tmp", 64), SHM)
PROVER_SCRATCH = (Scratch("/tmp", PLACE_MB), SHM)

LOG_MB = 64
PATH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
BASE_ENV = {"PATH": PATH, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
"""Variables of every program's environment."""

MOST_LIKELY_KILLED = 1000
"""Value of oom_score_adj for an agent's processes: the kernel kills them first when memory runs out."""

PLACES = ("/state", "/run/parley", "/srv/world", "/workspace", "/tests", "/logs/verifier", "/tmp")
"""Mount points for the files of an episode in a room forked from a template."""

_PYTHON = "/usr/local/bin/python3"
_READ_ONLY = ("--remount-ro", "/dev", "--remount-ro", "/", "--")


@dataclass(frozen=True)
class Start:
    """Sandbox to start: command, configuration, and tmpfs that the outer one mounts before (folder, options)."""

    argv: Sequence[str]
    config: Mapping[str, object]
    mounts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ForkedRoom:
    """Description of a sandbox to fork from a template: the fields of `inside.forks.Fork`, and its configuration."""

    fields: Mapping[str, object]
    config: Mapping[str, object]


def memory_of(task: Task | None) -> int:
    """Return the memory of a task's `main` in MB; raises RuntimeFailure if it is too small to start anything."""
    memory = (task.file.environment.memory_mb if task else None) or MAIN_MB
    if memory < LEAST_MB:
        raise RuntimeFailure(f"memory_mb = {memory} is too little to start a command: a sandbox needs {LEAST_MB} MB")
    return memory


POD: Mapping[str, object] = {
    "hostname": "", "network": True, "binds": [], "scratch": [], "masks": [], "user": None, "lifeline": None,
}  # fmt: skip
"""Fields of a fork that becomes a pod."""


def template_room(
    room: Room, modules: Sequence[str], folders: Path, environments: Path | None, control: int, etc: Mapping[str, int]
) -> list[str]:
    """Return the command line of a template started by this host; `control` and `etc` are the numbers of open files.

    `folders` is the parent of the episodes' folders; `environments` is the folder of all rooms' environments, for a template
    whose children start `main` by bwrap.
    """
    programs = environments is not None
    places = [part for place in PLACES for part in ("--dir", place)]
    below = host([environments] if environments else [], folders, programs=programs)
    view = [*secluded(), *system(), *etc_in_memory(etc), *devices(), *_packages(room), *places, *below]
    return [*view, *_READ_ONLY, *template_pid1(_PYTHON, ROOMS_INSIDE, modules, control)]


def world_room(folder: Folder, task: Task, groups: int) -> ForkedRoom:
    """Return the world's sandbox, which joins `groups` control groups."""
    user = fresh_user()
    state, clock = folder.part("state", user, 0o700), folder.part("clock", user)
    binds = [(state, "/state", True), (clock, "/run/parley", True), (folder.copy(task, "environment/api"), "/srv/world", False)]
    most = limits(memory_mb=WORLD_MB, processes=PROCESSES, file_mb=LOG_MB, files=WORLD_FILES)
    return _forked("api", folder, user, binds, WORLD_SCRATCH, most, _numbers(groups), network=False)


def main_room(folder: Folder, room: Room, task: Task | None, groups: int) -> Start:
    """Return the agent's sandbox, which joins `groups` control groups; raises RuntimeFailure if its memory is too small."""
    user = fresh_user()
    scratch = [(one, folder.part(f"main{one.place.replace('/', '-')}")) for one in MAIN_SCRATCH]
    view = [*_base(folder, "main", room, user), *read_only((folder.part("clock"), "/run/parley")), *mounted(scratch)]
    most = limits(memory_mb=memory_of(task), processes=PROCESSES, file_mb=PLACE_MB)
    own = {"user": user, "limits": most, "oom": MOST_LIKELY_KILLED}
    config = {**own, "groups": _numbers(groups), "calls": FILTER if groups else COUNTING_FILTER}
    return Start([*isolated("main", network=True), *_finished(view, CONTROL)], config, _mounts(scratch, user))


def verifier_room(folder: Folder, task: Task, groups: int) -> ForkedRoom:
    """Return the verifier's sandbox, which joins `groups` control groups and has a network without other members."""
    user = fresh_user()
    verdict = folder.part("verdict", user, 0o700)
    read = [(folder.part("state"), "/state", False), (folder.copy(task, "tests"), "/tests", False)]
    most = limits(memory_mb=VERIFIER_MB, processes=PROCESSES, file_mb=LOG_MB)
    binds = [*read, (verdict, "/logs/verifier", True)]
    return _forked("verifier", folder, user, binds, VERIFIER_SCRATCH, most, _numbers(groups), network=True)


def prover_room(folder: Folder, room: Room, control: int, groups: Sequence[int]) -> Start:
    """Return the prover's sandbox, which this host starts directly, with open files of these numbers."""
    user = fresh_user()
    view = [*_base(folder, "prover", room, user), *unmounted(PROVER_SCRATCH)]
    most = limits(memory_mb=PROVER_MB, processes=PROCESSES, file_mb=LOG_MB)
    config = {"user": user, "limits": most, "groups": list(groups), "calls": FILTER}
    return Start([*isolated("prover", network=False), *_finished(view, control)], config)


def world_env(spec: EpisodeSpec, token: str) -> dict[str, str]:
    """Return the environment that tells a world its episode."""
    return {**BASE_ENV, **world_variables(spec, token)}


def agent_env(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command in `main`."""
    return {**BASE_ENV, "HOME": "/workspace", "USER": "agent", "LOGNAME": "agent", **more}


def verifier_env(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the hidden tests."""
    return {**BASE_ENV, "HOME": "/tmp", **more}


def _base(folder: Folder, name: str, room: Room, user: int | None) -> list[str]:
    """Return the mounts common to all sandboxes: the system, a small /etc, its Python as /usr/local, its packages."""
    own_etc = folder.path / f"etc-{name}"
    write_etc(own_etc, room.python, user)
    return [*system(), *etc(own_etc), *devices(), *_packages(room)]


def _packages(room: Room) -> list[str]:
    parts = [(room.python, "/usr/local"), (room.packages, f"/usr/local/{room.packages_place}"), (room.ours, "/opt/parley")]
    return read_only(*parts)


def _finished(view: list[str], control: int) -> list[str]:
    return [*view, *_READ_ONLY, *pid1(_PYTHON, ROOMS_INSIDE, control)]


def _forked(
    hostname: str, folder: Folder, user: int | None, binds: Sequence[tuple[Path, str, bool]], scratch: Sequence[Scratch],
    most: Mapping[str, int], groups: list[int], *, network: bool,
) -> ForkedRoom:  # fmt: skip
    named = [(str(source), place, writable) for source, place, writable in binds]
    if user is not None:
        # everybody's own, where the template's knows one user
        for name, text in who(user).items():
            path = folder.path / f"{hostname}-{name}"
            path.write_text(text, encoding="ascii")
            path.chmod(0o644)
            named.append((str(path), f"/etc/{name}", False))
    fork = {
        "hostname": hostname, "network": network, "binds": named, "masks": list(MASKED),
        "scratch": [(one.place, one.options(user)) for one in scratch], "user": None if is_root() else (OWN_USER, 0),
        "lifeline": None,
    }  # fmt: skip
    return ForkedRoom(fork, {"user": user, "limits": dict(most), "groups": groups, "calls": FILTER})


def _mounts(scratch: Sequence[tuple[Scratch, Path]], user: int | None) -> list[tuple[str, str]]:
    return [(f"{HOST}{folder}", one.options(user)) for one, folder in scratch]


def _numbers(groups: int) -> list[int]:
    """Return the file descriptors through which a room joins its groups; they follow the control socket."""
    return list(range(CONTROL + 1, CONTROL + 1 + groups))
