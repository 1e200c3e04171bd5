"""Several people on one machine: a checkout they can only read, caches and runs of their own, and any umask."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.users.conftest import TASKS, User

Make = Callable[..., User]
NAMES = tuple(task.partition("/")[2] for task in TASKS)


def ended(running: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code of a command, and what it said to people."""
    _, said = running.communicate(timeout=300)
    assert "Traceback" not in said
    return running.returncode, said


def writable_by_others(*places: Path) -> list[str]:
    """What its group or others can write."""
    every = [path for place in places for path in (place, *place.rglob("*"))]
    return [str(path) for path in every if not path.is_symlink() and path.stat().st_mode & 0o022]


def together(users: dict[User, int], runtime: str) -> None:
    """Tasks played by all users at once, each under its umask, succeed and leave nothing that others can write."""
    running = {
        user: user.start("run", *NAMES, "--runtime", runtime, "--out", user.home / f"runs/{umask:03o}", umask=umask)
        for user, umask in users.items()
    }
    for user, one in running.items():
        code, said = ended(one)

        assert (code, "2 of 2 succeeded" in said) == (0, True), said
        caches = [user.home / ".cache"] if runtime == "bubblewrap" else []
        assert writable_by_others(user.home / "runs", *caches) == []


@pytest.mark.bubblewrap
@pytest.mark.parametrize("runtime", ["bubblewrap", "inprocess"])
def test_two_users_at_once(user: Make, runtime: str) -> None:
    """One checkout that neither can write; caches are each user's own, built under an open umask and under a closed one."""
    first, second = user(), user()
    together({first: 0o000, second: 0o077}, runtime)
    together({first: 0o077, second: 0o000}, runtime)


@pytest.mark.docker
def test_docker_is_for_who_may_use_it(user: Make) -> None:
    """A user in the group runs under either umask; one who is not is told why in one line, with exit code 3."""
    group = Path("/var/run/docker.sock").group()
    inside, outside = user(group), user()
    for umask in (0o000, 0o077):
        together({inside: umask}, "docker")
    code, said = ended(outside.start("run", NAMES[0], "--runtime", "docker", "--out", outside.home / "run"))

    assert code == 3
    assert "docker does not work here: no Docker engine answers at unix:///var/run/docker.sock (Permission denied)" in said
    assert not (outside.home / "run").exists()


@pytest.mark.bubblewrap
def test_checkout_that_is_read_only(user: Make) -> None:
    """Without --out a run would lie in the checkout: one line says that it cannot, and what to do."""
    code, said = ended(user().start("run", NAMES[0], "--runtime", "inprocess"))

    assert code == 2
    assert "cannot be written: Permission denied" in said
    assert "try: the same command with another path" in said


@pytest.mark.bubblewrap
def test_file_that_may_not_be_read(user: Make, checkout: Path) -> None:
    """A file that is not this user's to read is named, with exit code 4."""
    somebody = user()
    secret = checkout / "tasks" / TASKS[0] / "solution" / "solve.py"
    mode = secret.stat().st_mode
    secret.chmod(0)
    try:
        code, said = ended(somebody.start("run", NAMES[0], "--runtime", "inprocess", "--out", somebody.home / "run"))
    finally:
        secret.chmod(mode)

    assert (code, f"{secret}:1: cannot be read: Permission denied" in said) == (4, True), said


@pytest.mark.bubblewrap
def test_root_in_a_checkout_that_is_closed_to_others(user: Make, checkout: Path, tmp_path: Path) -> None:
    """What was cloned under umask 077 is root's alone; its sandboxes run as other users, and see what they need."""
    closed = tmp_path / "closed"
    subprocess.run(["cp", "-r", checkout, closed], check=True)
    subprocess.run(["chmod", "-R", "go=", closed], check=True)
    root = replace(user(), name="root", home=tmp_path, checkout=closed)
    code, said = ended(root.start("run", *NAMES, "--runtime", "bubblewrap", "--out", tmp_path / "run", umask=0o077))

    assert (code, "2 of 2 succeeded" in said) == (0, True), said
    assert writable_by_others(tmp_path / "run") == []
