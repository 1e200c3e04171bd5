"""Ordinary users of this machine, made for these tests and removed after them, and a checkout that they can only read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pydantic
import pytest

from harness.paths import ROOT

SHARED = ("harness", "parley", "worlds", "oracles", "validators", "docker")
TASKS = ("contract/presigned-url-download", "contract/api-rate-limit-patience")


@dataclass(frozen=True)
class User:
    """One user, and how it runs the harness."""

    name: str
    home: Path
    python: str
    checkout: Path
    packages: Path

    def start(self, *arguments: str | Path, umask: int = 0o022) -> subprocess.Popen[str]:
        """The command line, begun as this user in the shared checkout."""
        environ = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": f"{self.checkout}:{self.packages}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        command = ["runuser", "-u", self.name, "--", self.python, "-m", "harness", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.checkout, env=environ, umask=umask, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkout below /var/tmp that everybody may read and nobody but root may write."""
    place = Path("/var/tmp") / f"parley-checkout-{os.getpid()}"
    leave = shutil.ignore_patterns("__pycache__")
    for name in (*SHARED, *(f"tasks/{task}" for task in TASKS)):
        shutil.copytree(ROOT / name, place / name, ignore=leave)
    shutil.copy(ROOT / "pyproject.toml", place)
    subprocess.run(["chmod", "-R", "u=rwX,go=rX", place], check=True)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="session")
def packages(checkout: Path) -> Path:
    """The packages of the interpreter that runs these tests, where everybody can read them."""
    ours = Path(pydantic.__file__).parents[1]
    if subprocess.run(["runuser", "-u", "nobody", "--", "ls", ours], capture_output=True, check=False).returncode:
        shutil.copytree(ours, checkout / "packages")
        return checkout / "packages"
    return ours


@pytest.fixture
def user(checkout: Path, packages: Path) -> Iterator[Callable[..., User]]:
    """Makes users, in groups where named."""
    made: list[str] = []

    def make(*groups: str) -> User:
        name = f"parley-t{os.getpid() % 100_000}-{len(made)}"
        subprocess.run(["useradd", "-m", *(("-G", ",".join(groups)) if groups else ()), name], check=True)
        made.append(name)
        return User(name, Path(f"~{name}").expanduser(), _python(name), checkout, packages)

    yield make
    for name in made:
        uid = int(subprocess.run(["id", "-u", name], check=True, capture_output=True, text=True).stdout)
        subprocess.run(["userdel", "-r", name], check=True, capture_output=True)
        shutil.rmtree(f"/tmp/parley-{uid}", ignore_errors=True)


def _python(name: str) -> str:
    """An interpreter of this version that a user can run: the one that runs these tests may lie where only root can look."""
    short = f"python3.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/local/bin/{short}", f"/usr/bin/{short}"):
        tried = subprocess.run(["runuser", "-u", name, "--", python, "-c", ""], capture_output=True, check=False)
        if tried.returncode == 0:
            return python
    pytest.fail(f"no {short} here can be run by an ordinary user")
