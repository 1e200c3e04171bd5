"""Sandboxes of episodes and of `harness verify`: their visible files, user and limits, as bwrap arguments or as a fork.

    template   a sandbox without an episode, with all imports done; one for worlds and one for verifiers
    pod        the outer sandbox of an episode: a network, and processes that end together
    world      its packages, the task's environment/api, its log, its clock; forked in the pod, on its network
    main       the agent's packages and shims, the world's clock read-only, sized tmpfs; by bwrap, on the pod's network
    verifier   its packages, the task's hidden tests, a copy of the log; forked, without network
    prover     its packages, this project's code; by bwrap, no network, and the task is sent as data on stdin

No sandbox sees another's files or processes. Each sees single folders of /usr and a small /etc made for the episode, but not
/usr/local, the packages of this host's own Pythons, this project, its environment, the tasks or a home directory. Only explicit
mounts are writable. The outer sandbox mounts folders in memory, which the others bind, because bwrap limits their size but not
their number of files. The kernel counts processes by user. So that each sandbox has its own limit, it gets a unique user id if
we are root, and otherwise a user namespace, in which the kernel counts separately.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.errors import RuntimeFailure
from harness.paths import ROOT
from harness.registry import Task
from harness.runtimes.bubblewrap.folders import Folder
from harness.runtimes.bubblewrap.inside import init, template
from harness.runtimes.bubblewrap.inside.forks import CONTROL, HOST
from harness.runtimes.bubblewrap.sandbox import COUNTING_FILTER, FILTER, ROOMS_INSIDE

SHOWN = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "share")
"""Folders of /usr that contain programs; not local, src, include, games."""

PARENTS = ("/usr", "/opt", "/run", "/srv", "/logs")
"""Folders in which other folders are mounted."""

MASKED = tuple(f"/proc/{name}" for name in ("kcore", "keys", "key-users", "latency_stats", "sched_debug", "timer_list"))
"""Files that Docker hides from its containers too."""

ROOT_KEEPS = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_SETPCAP")
"""Capabilities with which PID 1 starts programs as another user, without rights, and kills them. The programs have none."""

MEGABYTE = 1 << 20
PAGE = 4096
OWN_USER = 1000
FIRST_USER, LAST_USER = 0x70000000, 0x7FFFFFFF
"""Range of user ids that no distribution assigns."""


@dataclass(frozen=True)
class Scratch:
    """Folder in memory, with a size in megabytes and at most one file per page."""

    place: str
    megabytes: int
    mode: str = "1777"
    own: bool = False
    """True if it belongs to the user of the sandbox's programs."""

    @property
    def mount(self) -> list[str]:
        """Arguments of bwrap for a mount without an outer sandbox. It limits the size but not the number of files."""
        return ["--perms", self.mode, "--size", str(self.megabytes * MEGABYTE), "--tmpfs", self.place]

    def options(self, user: int | None) -> str:
        """Return the mount options (tmpfs(5))."""
        owner = f",uid={user},gid={user}" if self.own and user is not None else ""
        files = self.megabytes * MEGABYTE // PAGE
        return f"size={self.megabytes}m,nr_inodes={files},mode={self.mode}{owner}"


WORLD_MB, MAIN_MB, VERIFIER_MB, PROVER_MB = 1024, 2048, 1024, 2048
LEAST_MB = 32
"""Memory in MB below which the interpreter that runs an agent's commands does not start."""

PROCESSES = 256
KEEPERS = 8
"""Number of our own processes in a sandbox, mainly its PID 1."""

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

AGENT_ENV = {**BASE_ENV, "HOME": "/workspace", "USER": "agent", "LOGNAME": "agent"}

MOST_LIKELY_KILLED = 1000
"""Value of oom_score_adj for an agent's processes: the kernel kills them first when memory runs out."""

PLACES = ("/state", "/run/parley", "/srv/world", "/workspace", "/tests", "/logs/verifier", "/tmp")
"""Mount points for the files of an episode in a sandbox forked from a template."""

_PYTHON = "/usr/local/bin/python3"
_READ_ONLY = ("--remount-ro", "/dev", "--remount-ro", "/", "--")
_START = "import sys; sys.path.append(sys.argv[1]); from {} import main; main()"


@dataclass(frozen=True)
class Room:
    """Parts of the environment of one kind of sandbox, as folders of this host."""

    python: Path
    packages: Path
    ours: Path
    packages_place: str
    """Folder below /usr/local where the interpreter looks for packages."""


@dataclass(frozen=True)
class Start:
    """Sandbox to start: its configuration, its command, and the tmpfs (folder, options) that the outer sandbox mounts before.

    A sandbox to be forked from a template has `fork`, the fields of `inside.forks.Fork`, instead of a command.
    """

    config: Mapping[str, object]
    argv: Sequence[str] = ()
    mounts: Sequence[tuple[str, str]] = ()
    fork: Mapping[str, object] | None = None

    @property
    def how(self) -> dict[str, object]:
        """Additional fields of the `init.Program` that starts it."""
        return {"sandbox": self.fork} if self.fork else {"mounts": list(self.mounts), "on_host": True}


def memory_of(task: Task | None) -> int:
    """Return the memory of a task's `main` in MB; raises RuntimeFailure if it is too small to start anything."""
    memory = (task.file.environment.memory_mb if task else None) or MAIN_MB
    if memory < LEAST_MB:
        raise RuntimeFailure(f"memory_mb = {memory} is too little to start a command: a sandbox needs {LEAST_MB} MB")
    return memory


POD: Mapping[str, object] = {"network": True}
"""Fields of a fork that becomes a pod."""


def template_room(
    room: Room, modules: Sequence[str], folders: Path, environments: Path | None, control: int, etc: Mapping[str, int]
) -> list[str]:
    """Return the command line of a template started by this host; `control` and `etc` are the numbers of open files.

    `folders` is the parent of the episodes' folders; `environments` is the folder of all environments, for a template whose
    children start `main` by bwrap.
    """
    programs = environments is not None
    places = [part for place in PLACES for part in ("--dir", place)]
    below = host([environments] if environments else [], folders, programs=programs)
    view = [*secluded(), *system(), *etc_in_memory(etc), *devices(), *_packages(room), *places, *below]
    return [
        *view, *_READ_ONLY, _PYTHON, "-I", "-B", "-c", _START.format(template.__name__), ROOMS_INSIDE, *modules, str(control),
    ]  # fmt: skip


def world_room(folder: Folder, task: Task, groups: int) -> Start:
    """Return the world's sandbox, which joins `groups` control groups."""
    user = fresh_user()
    state, clock = folder.part("state", user, 0o700), folder.part("clock", user)
    binds = [(state, "/state", True), (clock, "/run/parley", True), (folder.copy(task, "environment/api"), "/srv/world", False)]
    most = _limits(WORLD_MB, LOG_MB, files=WORLD_FILES)
    return _forked("api", folder, user, binds, WORLD_SCRATCH, most, groups, network=False)


def main_room(folder: Folder, room: Room, task: Task | None, groups: int) -> Start:
    """Return the agent's sandbox, which joins `groups` control groups; raises RuntimeFailure if its memory is too small."""
    user = fresh_user()
    scratch = [(one, folder.part(f"main{one.place.replace('/', '-')}")) for one in MAIN_SCRATCH]
    view = [*_base(folder, "main", room, user), *read_only((folder.part("clock"), "/run/parley"))]
    view += [part for one, place in scratch for part in ("--bind", str(place), one.place)]
    own = {"user": user, "limits": _limits(memory_of(task), PLACE_MB), "oom": MOST_LIKELY_KILLED}
    config = {**own, "groups": _numbers(groups), "calls": FILTER if groups else COUNTING_FILTER}
    mounts = [(f"{HOST}{place}", one.options(user)) for one, place in scratch]
    return Start(config, [*isolated("main", network=True), *_finished(view, CONTROL)], mounts)


def verifier_room(folder: Folder, task: Task, groups: int) -> Start:
    """Return the verifier's sandbox, which joins `groups` control groups and has a network without other members."""
    user = fresh_user()
    verdict = folder.part("verdict", user, 0o700)
    read = [(folder.part("state"), "/state", False), (folder.copy(task, "tests"), "/tests", False)]
    binds = [*read, (verdict, "/logs/verifier", True)]
    return _forked("verifier", folder, user, binds, VERIFIER_SCRATCH, _limits(VERIFIER_MB, LOG_MB), groups, network=True)


def prover_room(folder: Folder, room: Room, control: int, groups: Sequence[int]) -> Start:
    """Return the prover's sandbox, which this host starts directly, with open files of these numbers."""
    user = fresh_user()
    view = [*_base(folder, "prover", room, user), *(part for one in PROVER_SCRATCH for part in one.mount)]
    config = {"user": user, "limits": _limits(PROVER_MB, LOG_MB), "groups": list(groups), "calls": FILTER}
    return Start(config, [*isolated("prover", network=False), *_finished(view, control)])


def _base(folder: Folder, name: str, room: Room, user: int | None) -> list[str]:
    """Return the mounts common to all sandboxes: the system, a small /etc, its Python as /usr/local, its packages."""
    own_etc = folder.path / f"etc-{name}"
    write_etc(own_etc, room.python, user)
    return [*system(), *read_only((own_etc, "/etc")), *alternatives(), *devices(), *_packages(room)]


def _packages(room: Room) -> list[str]:
    parts = [(room.python, "/usr/local"), (room.packages, f"/usr/local/{room.packages_place}"), (room.ours, "/opt/parley")]
    return read_only(*parts)


def _finished(view: list[str], control: int) -> list[str]:
    return [*view, *_READ_ONLY, _PYTHON, "-I", "-S", "-c", _START.format(init.__name__), ROOMS_INSIDE, str(control)]


def _forked(
    hostname: str, folder: Folder, user: int | None, binds: Sequence[tuple[Path, str, bool]], scratch: Sequence[Scratch],
    most: Mapping[str, int], groups: int, *, network: bool,
) -> Start:  # fmt: skip
    named = [(str(source), place, writable) for source, place, writable in binds]
    if user is not None:
        # each sandbox has its own; the template's contains only one user
        for name, text in who(user).items():
            path = folder.path / f"{hostname}-{name}"
            path.write_bytes(text)
            path.chmod(0o644)
            named.append((str(path), f"/etc/{name}", False))
    fork = {
        "hostname": hostname, "network": network, "binds": named, "masks": list(MASKED),
        "scratch": [(one.place, one.options(user)) for one in scratch], "user": None if is_root() else (OWN_USER, 0),
    }  # fmt: skip
    return Start({"user": user, "limits": most, "groups": _numbers(groups), "calls": FILTER}, fork=fork)


def _limits(memory_mb: int, file_mb: int, files: int = 1024) -> dict[str, int]:
    """Return the resource limits of each process: address space is 4 times memory, as threads reserve more than they use."""
    memory = memory_mb * MEGABYTE
    return {
        "DATA": memory, "AS": max(4 * memory, 4096 * MEGABYTE), "FSIZE": file_mb * MEGABYTE,
        "NPROC": PROCESSES, "NOFILE": files, "CORE": 0,
    }  # fmt: skip


def _numbers(groups: int) -> list[int]:
    """Return the file descriptors through which a sandbox joins its groups; they follow the control socket."""
    return list(range(CONTROL + 1, CONTROL + 1 + groups))


def is_root() -> bool:
    """Return True if sandboxes are made with the rights of root, not in user namespaces."""
    return os.geteuid() == 0


def bwrap() -> str:
    """Return the path of bwrap; raises RuntimeFailure if it is missing."""
    path = shutil.which("bwrap")
    if path is None:
        raise RuntimeFailure("bubblewrap is not installed (no bwrap on PATH)", hint="apt-get install bubblewrap")
    return path


def fresh_user() -> int | None:
    """Return a user id for one sandbox's programs; None if its user namespace has only one."""
    if not is_root():
        return None
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    if any(int(first) <= LAST_USER < int(first) + int(length) for first, _, length in ranges):
        return FIRST_USER + secrets.randbelow(LAST_USER - FIRST_USER)
    return 20_000 + secrets.randbelow(40_000)


def secluded() -> list[str]:
    """Return the bwrap command of a template with an empty view: own network and namespaces, and the right to make more."""
    # for an unprivileged user, this is root in a new user namespace, with rights only over objects created in it
    own = [] if is_root() else ["--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]
    alone = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--as-pid-1", "--die-with-parent"]
    return [bwrap(), *own, *alone, "--new-session", "--clearenv", "--setenv", "LANG", "C.UTF-8", "--setenv", "PATH", "/usr/bin"]


def host(read: Sequence[Path], written: Path, *, programs: bool) -> list[str]:
    """Return the mounts of a template below /host, by their paths on this host; `programs` adds what bwrap needs for sandboxes.

    The template sees no other folder of this host. bwrap remounts every mount below the visible folders, and fails if one of
    them has disappeared, which can happen at any time to the mounts of containers on this host.
    """
    view = ["--tmpfs", HOST]
    if programs:
        view += [part for name in SHOWN[:5] for part in _shown(Path("/") / name, HOST)]
        view += read_only(*((path, f"{HOST}{path}") for path in (Path("/usr"), Path("/etc"), Path(bwrap()), *read)))
        view += ["--dev-bind", "/dev", f"{HOST}/dev"]
    return [*view, "--proc", f"{HOST}/proc", "--bind", str(written), f"{HOST}{written}", "--remount-ro", HOST]


def isolated(hostname: str, *, network: bool) -> list[str]:
    """Return the bwrap command of a sandbox with an empty view; `network` shares the parent's network, loopback only."""
    own = ["--unshare-user", "--uid", str(OWN_USER), "--gid", str(OWN_USER), "--cap-drop", "ALL"]
    if is_root():
        own = ["--cap-drop", "ALL", *(part for name in ROOT_KEEPS for part in ("--cap-add", name))]
    alone = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1", "--die-with-parent"]
    net = [] if network else ["--unshare-net"]
    return [bwrap(), *own, *alone, *net, "--hostname", hostname, "--new-session", "--clearenv"]


def system() -> list[str]:
    """Return the mounts of the system's programs and libraries, read-only, without locally installed ones."""
    # bwrap would create these itself, but accessible only to root.
    view = [part for place in PARENTS for part in ("--dir", place)]
    for name in SHOWN:
        view += _shown(Path("/usr") / name)
    for name in SHOWN[:5]:
        view += _shown(Path("/") / name)
    return view + [part for path in _hidden() for part in ("--tmpfs", str(path), "--remount-ro", str(path))]


def devices() -> list[str]:
    """Return the mounts of its own /proc, without information about this host's kernel, and of the harmless devices."""
    masks = [part for path in MASKED if Path(path).exists() for part in ("--dev-bind", os.devnull, path)]
    return ["--proc", "/proc", *masks, "--dev", "/dev"]


def read_only(*pairs: tuple[Path, str]) -> list[str]:
    """Return read-only binds from this host, in order."""
    return [part for source, place in pairs for part in ("--ro-bind", str(source), place)]


def who(user: int | None) -> dict[str, bytes]:
    """Return the mounts of the files of /etc that define the user."""
    number = OWN_USER if user is None else user
    passwd = f"root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{number}:{number}::/workspace:/bin/bash\n"
    return {"passwd": passwd.encode(), "group": f"root:x:0:\nagent:x:{number}:\n".encode()}


def write_etc(folder: Path, python: Path, user: int | None) -> None:
    """Write the files of a small /etc: the user, the address of `api`, and links by which programs are found."""
    for name, data in etc_files(python, user).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "alternatives").mkdir()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def etc_files(python: Path, user: int | None) -> dict[str, bytes]:
    """Return the files of a small /etc, by path."""
    # Debian's /usr/bin/python3 finds its sitecustomize through a link into /etc.
    customizing = next(python.glob("lib*/python3*/sitecustomize.py"))
    return {
        "hosts": b"127.0.0.1 localhost api\n",
        **who(user),
        "nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
        "resolv.conf": b"",
        "ld.so.cache": (python / "etc" / "ld.so.cache").read_bytes(),
        **{f"{name}/sitecustomize.py": customizing.read_bytes() for name in _sitecustomized()},
    }


def etc_in_memory(files: Mapping[str, int]) -> list[str]:
    """Return the arguments for a small /etc made of open files, by path."""
    view = [part for folder in {"/etc"} | {f"/etc/{name}".rpartition("/")[0] for name in files} for part in ("--dir", folder)]
    for name, file in files.items():
        view += ["--perms", "0644", "--file", str(file), f"/etc/{name}"]
    return [*view, *alternatives()]


def alternatives() -> list[str]:
    """Return the mount of this host's alternatives (`awk` is one)."""
    place = Path("/etc/alternatives")
    return read_only((place, str(place))) if place.is_dir() else []


def _shown(path: Path, below: str = "") -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), f"{below}{path}"]
    return ["--ro-bind", str(path), f"{below}{path}"] if path.is_dir() else []


@cache
def _hidden() -> tuple[Path, ...]:
    """Return the visible folders that contain packages of this host's Pythons, or this project."""
    places = [path for kind in ("site", "dist") for path in Path("/usr").glob(f"lib*/python3*/{kind}-packages")]
    ours = [path for path in (ROOT, Path(sys.prefix)) if path != Path("/usr")]
    seen = {path.resolve() for path in (*places, *ours) if path.is_dir()}
    return tuple(sorted(path for path in seen if any(path.is_relative_to(Path("/usr") / name) for name in SHOWN)))


@cache
def _sitecustomized() -> tuple[str, ...]:
    """Return the folders of /etc from which a Python in this host's /usr imports its sitecustomize."""
    links = [path.readlink() for path in Path("/usr/lib").glob("python3*/sitecustomize.py") if path.is_symlink()]
    return tuple(sorted({link.parent.name for link in links if link.is_relative_to("/etc")}))
