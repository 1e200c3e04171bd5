"""View and limits of a sandbox, as bwrap arguments: the system's programs, one room's environment, and sized tmpfs.

1. The view contains folders of /usr, one by one, and a small /etc made for the episode. It hides /usr/local, every folder of
packages of this host's own Pythons, and this project, its environment and the tasks if they are below /usr.
2. Only explicit mounts are writable: the root and /dev are made read-only at the end.
3. Folders in memory are mounted by the outer sandbox and bound, because bwrap limits their size but not their number of files.
Programs in a sandbox cannot mount more: they have no capability, and the filter refuses user namespaces.
4. As root, each sandbox gets unique user ids, so that its limit on processes is its own (the kernel counts them by user). For
other users it gets a user namespace, in which the kernel counts separately.
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
from harness.runtimes.bubblewrap.inside.forks import HOST

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
    """Folder in memory, with a size in megabytes and one file allowed per page."""

    place: str
    megabytes: int
    mode: str = "1777"
    own: bool = False
    """True if it belongs to the user of the room's programs."""

    def options(self, user: int | None) -> str:
        """Return the mount options (tmpfs(5))."""
        owner = f",uid={user},gid={user}" if self.own and user is not None else ""
        files = self.megabytes * MEGABYTE // PAGE
        return f"size={self.megabytes}m,nr_inodes={files},mode={self.mode}{owner}"


def is_root() -> bool:
    """Return True if sandboxes are made with root's own rights rather than in user namespaces."""
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
    return FIRST_USER + secrets.randbelow(LAST_USER - FIRST_USER) if _maps(LAST_USER) else 20_000 + secrets.randbelow(40_000)


def secluded() -> list[str]:
    """Return the bwrap command of a template with an empty view: own network and namespaces, and the right to make more."""
    # as a user this is root in a namespace of his own, who has rights over what is made in there and nowhere else
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
    # bwrap would make these itself, and close them to all but root.
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


def mounted(scratches: Sequence[tuple[Scratch, Path]]) -> list[str]:
    """Return the binds of folders in memory that the outer sandbox has mounted on folders of this host."""
    return [part for scratch, folder in scratches for part in ("--bind", str(folder), scratch.place)]


def unmounted(scratches: Sequence[Scratch]) -> list[str]:
    """Return the mounts of folders in memory without an outer sandbox, which have a size but no limit on files."""
    return [
        part
        for scratch in scratches
        for part in ("--perms", scratch.mode, "--size", str(scratch.megabytes * MEGABYTE), "--tmpfs", scratch.place)
    ]


def read_only(*pairs: tuple[Path, str]) -> list[str]:
    """Return read-only binds from this host, in order."""
    return [part for source, place in pairs for part in ("--ro-bind", str(source), place)]


def who(user: int | None) -> dict[str, str]:
    """Return the files of /etc that define the user."""
    number = OWN_USER if user is None else user
    return {
        "passwd": f"root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:{number}:{number}::/workspace:/bin/bash\n",
        "group": f"root:x:0:\nagent:x:{number}:\n",
    }


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
    texts = {
        "hosts": "127.0.0.1 localhost api\n",
        **who(user),
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "resolv.conf": "",
    }
    # Debian's /usr/bin/python3 finds its sitecustomize through a link into /etc.
    customizing = next(python.glob("lib*/python3*/sitecustomize.py"))
    return {
        **{name: text.encode("ascii") for name, text in texts.items()},
        "ld.so.cache": (python / "etc" / "ld.so.cache").read_bytes(),
        **{f"{name}/sitecustomize.py": customizing.read_bytes() for name in _sitecustomized()},
    }


def etc(folder: Path) -> list[str]:
    """Return the mounts of a small /etc, with this host's alternatives (`awk` is one)."""
    return [*read_only((folder, "/etc")), *_alternatives()]


def etc_in_memory(files: Mapping[str, int]) -> list[str]:
    """Return the arguments for a small /etc made of open files, by path."""
    view = [part for folder in {"/etc"} | {f"/etc/{name}".rpartition("/")[0] for name in files} for part in ("--dir", folder)]
    for name, file in files.items():
        view += ["--perms", "0644", "--file", str(file), f"/etc/{name}"]
    return [*view, *_alternatives()]


def _alternatives() -> list[str]:
    place = Path("/etc/alternatives")
    return read_only((place, str(place))) if place.is_dir() else []


def limits(*, memory_mb: int, processes: int, file_mb: int, files: int = 1024) -> dict[str, int]:
    """Return the resource limits of each process.

    Address space is 4 times memory, because threads reserve more than they use.
    """
    memory = memory_mb * MEGABYTE
    return {
        "DATA": memory, "AS": max(4 * memory, 4096 * MEGABYTE), "FSIZE": file_mb * MEGABYTE,
        "NPROC": processes, "NOFILE": files, "CORE": 0,
    }  # fmt: skip


def _shown(path: Path, below: str = "") -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), f"{below}{path}"]
    return ["--ro-bind", str(path), f"{below}{path}"] if path.is_dir() else []


@cache
def _hidden() -> tuple[Path, ...]:
    """Return the folders in the view that contain packages of this host's Pythons, or this project."""
    places = [path for kind in ("site", "dist") for path in Path("/usr").glob(f"lib*/python3*/{kind}-packages")]
    ours = [path for path in (ROOT, Path(sys.prefix)) if path != Path("/usr")]
    seen = {path.resolve() for path in (*places, *ours) if path.is_dir()}
    return tuple(sorted(path for path in seen if any(path.is_relative_to(Path("/usr") / name) for name in SHOWN)))


@cache
def _sitecustomized() -> tuple[str, ...]:
    """Return the folders of /etc from which a Python in this host's /usr imports its sitecustomize."""
    links = [path.readlink() for path in Path("/usr/lib").glob("python3*/sitecustomize.py") if path.is_symlink()]
    return tuple(sorted({link.parent.name for link in links if link.is_relative_to("/etc")}))


def _maps(user: int) -> bool:
    """Return True if this user namespace has such a user id."""
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    return any(int(first) <= user < int(first) + int(length) for first, _, length in ranges)
