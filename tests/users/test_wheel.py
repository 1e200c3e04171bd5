"""What a stranger installs: the wheel alone, in an empty environment and an empty folder, on every Python that we promise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.registry import discover

pytestmark = pytest.mark.bubblewrap

PYTHONS = ("3.11", "3.12", "3.13")
TRACE = "b93ee53071ecf15659d9ed408617f4be21a78f756efad7cd6854dcb9971002db"
"""What the oracle of presigned-url-download leaves at seed 0, on any machine."""

SEARCH = os.pathsep.join((os.environ["PATH"], str(Path(sys.executable).parent)))
"""Where commands are; last of all beside this Python, where `make setup` puts uv."""


@pytest.fixture(scope="session")
def uv() -> str:
    """The uv of this machine, or that `make setup` brought."""
    command = shutil.which("uv", path=SEARCH)
    assert command is not None
    return command


@pytest.fixture(scope="session")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([uv, "build", "-q", "--wheel", "-o", folder, ROOT], check=True, capture_output=True)
    return next(folder.glob("parley_bench-*.whl"))


def interpreter(version: str) -> Path | None:
    """A Python of this version: the one that runs, else pyenv's, else one on PATH."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = shutil.which(f"python{version}")
    places = [*sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")), *([Path(on_path)] if on_path else [])]
    works = [path for path in places if subprocess.run([path, "-V"], check=False, capture_output=True).returncode == 0]
    return works[0] if works else None


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty folder to work in, with caches of its own."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture(params=PYTHONS)
def installed(request: pytest.FixtureRequest, uv: str, wheel: Path, tmp_path: Path) -> Path:
    """The `harness` of an environment that has the wheel and what it depends on."""
    python = interpreter(request.param)
    if python is None:
        # continuous integration has them all
        assert not os.environ.get("CI"), f"no Python {request.param} here"
        pytest.skip(f"no Python {request.param} here")
    place = tmp_path / "environment"
    subprocess.run([uv, "venv", "-q", "--no-project", "--python", python, place], check=True)
    install = [uv, "pip", "install", "-q", "--python", place / "bin/python", "-c", ROOT / "requirements.lock", wheel]
    subprocess.run(install, check=True)
    return place / "bin/harness"


def typed(harness: Path, home: Path, *words: str, code: int = 0) -> str:
    """What a command says on both of its streams; it must end with this code."""
    ours = ("PARLEY_", "PYTHON", "VIRTUAL_ENV")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environ |= {"PATH": SEARCH, "XDG_CACHE_HOME": str(home / ".cache")}
    done = subprocess.run(
        [harness, *words],
        cwd=home,
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_wheel_needs_nothing_beside_it(installed: Path, home: Path) -> None:
    """Every task is there, one of each family runs, and what needs an extra says which."""
    names = ("presigned-url-download", "uniform-01", "bakery-switch")

    assert len(json.loads(typed(installed, home, "list", "--json"))) == len(discover(ROOT / "tasks"))
    said = typed(installed, home, "run", *names, "--runtime", "inprocess", "--out", "three")
    assert f"trace {TRACE}" in said
    assert "3 of 3 succeeded" in said
    assert "oracle" in typed(installed, home, "show", "three")
    assert "try: pip install 'parley-bench[report]'" in typed(installed, home, "pack", "three", code=2)


@pytest.mark.parametrize("installed", [f"{sys.version_info[0]}.{sys.version_info[1]}"], indirect=True)
def test_whoever_has_the_wheel_alone_has_sandboxes_and_writes_tasks(installed: Path, home: Path) -> None:
    """The recipes of rooms lie in the package, and a new task goes into the folder one is in, never into the package."""
    assert "1 of 1 succeeded" in typed(installed, home, "run", "presigned-url-download", "--runtime", "bubblewrap")
    typed(installed, home, "new", "contract", "my-task")
    assert (home / "tasks/contract/my-task/task.toml").is_file()
    assert "1 of 1 tasks passed" in typed(installed, home, "verify", "my-task", "--trust", "--seeds", "0")


PLUGINS = '''
"""An agent, a runtime and a command that another distribution brings."""

from collections.abc import Callable

from harness.runtimes.inprocess import InProcessRuntime
from parley import Agent, Budget, Pod, Report, Task
from worlds.core.wire import request


class Knock(Agent):
    """Agent that asks for one page, and leaves."""

    name = "knock"

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Ask once."""
        report.log.append(f"answered {pod.call(request('GET', '/nothing')).status}")


class Nearby(InProcessRuntime):
    """The runtime of this process under another name."""

    name = "nearby"

    def __init__(self, *, say: Callable[[str], object]) -> None:
        super().__init__()
        say("nearby is open")


def hello(name: str) -> None:
    """Say hello."""
    print(f"hello {name}")
'''

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "tiny-plugins"
version = "1.2"

[project.entry-points."parley.agents"]
knock = "tiny_plugins:Knock"
broken = "tiny_plugins:Nothing"

[project.entry-points."parley.runtimes"]
nearby = "tiny_plugins:Nearby"

[project.entry-points."parley.commands"]
hello = "tiny_plugins:hello"
"""


@pytest.mark.parametrize("installed", [f"{sys.version_info[0]}.{sys.version_info[1]}"], indirect=True)
def test_agents_runtimes_and_commands_of_other_distributions(installed: Path, home: Path, uv: str, tmp_path: Path) -> None:
    """What another distribution registers plays, is recorded with its version, and is named where it is missing or broken."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (package / "tiny_plugins.py").write_text(PLUGINS, encoding="utf-8")
    pip = [uv, "pip", "install", "-q", "--python", installed.with_name("python")]
    subprocess.run([*pip, package], check=True)

    assert typed(installed, home, "hello", "you") == "hello you\n"
    played = typed(
        installed, home, "run", "presigned-url-download", "--agent", "knock", "--runtime", "nearby", "--out", "knocked"
    )
    assert "nearby is open\n" in played
    assert "0 of 1 succeeded" in played
    record = json.loads((home / "knocked/run.json").read_text(encoding="utf-8"))
    assert record["identity"]["agent"] == {"name": "knock"}
    assert record["environment"]["runtime"] == "nearby"
    assert record["environment"]["versions"]["tiny-plugins"] == "1.2"
    assert "module 'tiny_plugins' has no attribute 'Nothing'" in typed(
        installed, home, "run", "presigned-url-download", "--agent", "broken", code=2
    )
    assert "inprocess, nearby, not 'far'" in typed(installed, home, "run", "presigned-url-download", "--runtime", "far", code=2)
    subprocess.run([uv, "pip", "uninstall", "-q", "--python", installed.with_name("python"), "tiny-plugins"], check=True)
    assert "no installed distribution provides the agent 'knock'" in typed(
        installed, home, "run", "--resume", "knocked", "--seeds", "0-1", code=2
    )
