"""The three sandboxes of an episode: what each one sees, who it runs as, and what it may use.

    world      its packages, the task's environment/api, its log, its clock; joins the pod's network
    main       the agent's packages and shims, the world's clock read-only, sized tmpfs; joins the pod's network
    verifier   its packages, the task's hidden tests, a copy of the log; no network
No room sees another's files or processes, and none sees this project, its environment or a home directory.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.registry import Task
from harness.runtimes.base import EpisodeSpec, world_variables
from harness.runtimes.bubblewrap.environments import Room
from harness.runtimes.bubblewrap.folders import Folder
from harness.runtimes.bubblewrap.sandbox import CONTROL, INIT_FILE, pid1
from harness.runtimes.bubblewrap.view import devices, etc, fresh_user, isolated, limits, read_only, system, tmpfs, write_etc

WORLD_MB, MAIN_MB, VERIFIER_MB = 1024, 2048, 1024
PROCESSES = 256
PLACE_MB = 256
"""Size of /workspace and of /tmp."""

LOG_MB = 64
PATH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
BASE_ENV = {"PATH": PATH, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
"""What every program's environment starts with."""

MOST_LIKELY_KILLED = 1000
"""The kernel's oom_score_adj of an agent's processes: where memory runs out, they go first."""

_PYTHON = ("/usr/local/bin/python3",)


def world_room(folder: Folder, room: Room, task: Task) -> list[str]:
    """The world's sandbox."""
    user = fresh_user()
    state, clock = folder.part("state", user, 0o700), folder.part("clock", user)
    places = ["--bind", str(state), "/state", "--bind", str(clock), "/run/parley"]
    view = [*_base(folder, "world", room, user), *read_only((task.world_folder, "/srv/world")), *places, *tmpfs("/tmp", 16)]
    most = limits(memory_mb=WORLD_MB, processes=PROCESSES, file_mb=LOG_MB)
    return [*isolated("api", network=True), *_finished(view), *_pid1(CONTROL, user=user, limits=most)]


def main_room(folder: Folder, room: Room, task: Task | None) -> list[str]:
    """The agent's sandbox."""
    user = fresh_user()
    memory = (task.file.environment.memory_mb if task else None) or MAIN_MB
    view = [
        *_base(folder, "main", room, user),
        *read_only((folder.part("clock"), "/run/parley")),
        *("--perms", "0755", *tmpfs("/workspace", PLACE_MB), "--perms", "1777", *tmpfs("/tmp", PLACE_MB)),
    ]
    most = limits(memory_mb=memory, processes=PROCESSES, file_mb=PLACE_MB)
    own = ["/workspace"] if user is not None else []
    inside = _pid1(CONTROL, user=user, limits=most, own=own, oom=MOST_LIKELY_KILLED)
    return [*isolated("main", network=True), *_finished(view), *inside]


def verifier_room(folder: Folder, room: Room, task: Task, control: int) -> list[str]:
    """The verifier's sandbox; this host starts it directly, on a control socket of this number."""
    user = fresh_user()
    verdict = folder.part("verdict", user, 0o700)
    places = [*read_only((folder.part("state"), "/state")), "--bind", str(verdict), "/logs/verifier"]
    scratch = ["--perms", "1777", *tmpfs("/workspace", 64), "--perms", "1777", *tmpfs("/tmp", 64)]
    view = [*_base(folder, "verifier", room, user), *read_only((task.path / "tests", "/tests")), *places, *scratch]
    most = limits(memory_mb=VERIFIER_MB, processes=PROCESSES, file_mb=LOG_MB)
    return [*isolated("verifier", network=False), *_finished(view), *_pid1(control, user=user, limits=most)]


def world_env(spec: EpisodeSpec, token: str) -> dict[str, str]:
    """The environment that says which episode a world is."""
    return {**BASE_ENV, **world_variables(spec, token)}


def agent_env(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command in `main`."""
    return {**BASE_ENV, "HOME": "/workspace", "USER": "agent", "LOGNAME": "agent", **more}


def verifier_env(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of the hidden tests."""
    return {**BASE_ENV, "HOME": "/tmp", **more}


def _base(folder: Folder, name: str, room: Room, user: int | None) -> list[str]:
    """What every sandbox sees: the system, a small /etc, its Python as /usr/local, its packages."""
    own_etc = folder.path / f"etc-{name}"
    write_etc(own_etc, room.python, user)
    parts = [(room.python, "/usr/local"), (room.packages, f"/usr/local/{room.packages_place}"), (room.ours, "/opt/parley")]
    return [*system(), *etc(own_etc), *devices(), *read_only(*parts)]


def _finished(view: list[str]) -> list[str]:
    return [*view, "--remount-ro", "/", "--"]


def _pid1(control: int, **config: object) -> list[str]:
    return pid1(_PYTHON, f"/opt/parley/{INIT_FILE.name}", control, **config)
