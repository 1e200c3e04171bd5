"""Where control groups are made: on this host for real, and on copies of what other hosts show."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.orphans import this_owner
from harness.runtimes.bubblewrap import cgroups
from harness.runtimes.bubblewrap.cgroups import Cgroup, hierarchies, sweep

MOUNTS_2 = "30 23 0:26 / {top} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n23 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
MOUNTS_1 = (
    "35 31 0:32 {root} {top}/memory rw - cgroup cgroup rw,memory\n"
    "39 31 0:36 {root} {top}/pids rw - cgroup cgroup rw,pids\n"
    "40 31 0:37 / {top}/systemd rw - cgroup cgroup rw,name=systemd\n"
)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder like /proc/self, beside the control groups `top` that it speaks of."""
    (tmp_path / "self").mkdir()
    (tmp_path / "top").mkdir()
    return tmp_path / "self"


def version_2(host: Path, path: str, groups: dict[str, tuple[str, str]]) -> Path:
    """Writes a tree of version 2, each group with its controllers and those it hands down; returns its top."""
    top = host.parent / "top"
    (host / "cgroup").write_text(f"0::{path}\n", encoding="ascii")
    (host / "mountinfo").write_text(MOUNTS_2.format(top=top), encoding="ascii")
    for name, (has, hands_down) in groups.items():
        folder = top / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.controllers").write_text(has, encoding="ascii")
        (folder / "cgroup.subtree_control").write_text(hands_down, encoding="ascii")
        (folder / "cgroup.procs").write_text("", encoding="ascii")
    return top


def emptied(group: Cgroup) -> None:
    """Makes removable what is a plain folder here: the kernel's files vanish with their group, these do not."""
    for folder in group.folders:
        for path in folder.iterdir():
            path.unlink()


@pytest.mark.bubblewrap
def test_a_group_of_this_host_limits_who_joins() -> None:
    """Its limits are the kernel's own, whoever writes 0 is in it, and it is gone once it is empty."""
    places = hierarchies()
    assert places is not None
    group = places.make(64, 7)
    try:
        join = "import os, sys\nfor path in sys.argv[1:]: open(path, 'w').write('0')\nprint(open('/proc/self/cgroup').read())"
        done = subprocess.run([sys.executable, "-c", join, *map(str, group.entrances)], capture_output=True, check=True)
        limit = {1: "memory.limit_in_bytes", 2: "memory.max"}[places.version]
        assert int((group.folders[0] / limit).read_text()) == 64 << 20
        assert int((group.folders[-1] / "pids.max").read_text()) == 7
        assert done.stdout.decode().count(group.folders[0].name) == len(group.folders)
        assert group.kills() == 0
    finally:
        group.remove()
    group.remove()
    assert not any(folder.exists() for folder in group.folders)


@pytest.mark.bubblewrap
def test_what_a_dead_process_left_is_swept() -> None:
    """A group of a process that was killed is removed and named; one of a living process stays."""
    places = hierarchies()
    assert places is not None
    own = places.make(64, 7)
    make = "from harness.runtimes.bubblewrap.cgroups import hierarchies; print(*hierarchies().make(64, 7).folders)"
    env = {**os.environ, "PYTHONPATH": str(Path(cgroups.__file__).parents[3])}
    left = subprocess.run([sys.executable, "-c", make], capture_output=True, check=True, env=env).stdout.decode().split()
    try:
        assert set(left) <= set(sweep())
        assert not any(Path(folder).exists() for folder in left)
        assert all(folder.exists() for folder in own.folders)
    finally:
        own.remove()


@pytest.mark.bubblewrap
def test_who_is_in_a_group_does_not_learn_this_hosts_name() -> None:
    """The name of a group can be read in /proc/self/cgroup."""
    places = hierarchies()
    assert places is not None
    group = places.make(64, 7)
    group.remove()

    assert this_owner().split(":", 1)[1] in group.folders[0].name
    assert f"{socket.gethostname()}:" not in group.folders[0].name


def test_version_1_goes_below_our_own_groups(host: Path) -> None:
    """Also in a container, which sees its own group as the top."""
    top = host.parent / "top"
    (host / "cgroup").write_text("9:name=systemd:/\n8:pids:/docker/abc\n4:memory:/docker/abc/x\n0::/\n", encoding="ascii")
    (host / "mountinfo").write_text(MOUNTS_1.format(top=top, root="/docker/abc"), encoding="ascii")
    for folder in ("memory/x", "pids", "systemd"):
        (top / folder).mkdir(parents=True)

    places = cgroups._version_1(host)

    assert places is not None
    assert (places.parents, places.version) == ((top / "memory/x", top / "pids"), 1)


def test_version_2_of_root_is_the_nearest_that_hands_down(host: Path) -> None:
    """A session's scope hands nothing down, the slice above it does."""
    path = "/user.slice/user-0.slice/session-1.scope"
    slices = {"": ("cpu memory pids", "cpu memory pids"), "user.slice/user-0.slice": ("memory pids", "memory pids")}
    top = version_2(host, path, {**slices, "user.slice": ("memory pids", "memory pids"), path[1:]: ("memory pids", "")})

    places = cgroups._version_2(host)

    assert places is not None
    assert places.parents == (top / "user.slice/user-0.slice",)
    group = places.make(96, 40)
    written = {path.name: path.read_text(encoding="ascii") for path in group.folders[0].iterdir()}
    assert written == {"memory.max": f"{96 << 20}\n", "memory.swap.max": "0\n", "pids.max": "40\n"}
    (group.folders[0] / "memory.events").write_text("low 0\noom 3\noom_kill 2\n", encoding="ascii")
    assert group.kills() == 2
    assert group.entrances == [group.folders[0] / "cgroup.procs"]
    emptied(group)
    group.remove()
    assert not group.folders[0].exists()


def test_version_2_that_was_delegated_is_made_to_hand_down(host: Path) -> None:
    """We alone are in a scope of our own: we move into a child, and the scope hands memory and pids down."""
    top = version_2(host, "/run.scope", {"": ("cpu", "cpu"), "run.scope": ("cpu memory pids", "")})
    (top / "run.scope/cgroup.procs").write_text(f"{os.getpid()}\n", encoding="ascii")

    places = cgroups._version_2(host)

    assert places is not None
    assert places.parents == (top / "run.scope",)
    assert (top / "run.scope/cgroup.subtree_control").read_text() == "+memory +pids\n"
    (leaf,) = (top / "run.scope").glob("parley.*.self")
    assert (leaf / "cgroup.procs").read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("inside", ["1\n", "1\n{}\n"])
def test_version_2_with_others_in_it_is_left_alone(host: Path, inside: str) -> None:
    """Nobody else is moved, and nothing is made."""
    top = version_2(host, "/run.scope", {"": ("cpu", ""), "run.scope": ("cpu memory pids", "")})
    (top / "run.scope/cgroup.procs").write_text(inside.format(os.getpid()), encoding="ascii")

    assert cgroups._version_2(host) is None
    assert (top / "run.scope/cgroup.subtree_control").read_text() == ""


def test_a_host_without_groups_has_none(host: Path) -> None:
    """No controllers, no mounts, or files that say something else: None, and no exception."""
    version_2(host, "/a/b", {"": ("", ""), "a/b": ("", "")})
    assert hierarchies(host) is None
    (host / "mountinfo").write_text("", encoding="ascii")
    assert cgroups._version_1(host) is None
    assert cgroups._version_2(host) is None
