"""What the bubblewrap suite shares: one runtime with its environments built, and a small task of its own.

The task's verifier is a shell script, so these tests say something about the runtime only, not about any family.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.pod import ROOMS, EpisodeSpec
from harness.registry import Task
from harness.runtimes.bubblewrap.folders import folders_root
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from tests.bubblewrap.players import USER, Player, write_task

Specs = Callable[..., EpisodeSpec]


def sandboxed(*, rooms: bool = False) -> set[int]:
    """Every process of this host that sees an episode's folder, or in `rooms` of ours, where only parts of one are mounted."""
    mark, found = re.compile(re.escape(f"{folders_root()}/pod-") + ("[^/]+/" if rooms else "")), set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            mounts = (folder / "mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
            if any(mark.match(line.split()[3]) for line in mounts):
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def in_time(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether a condition comes true in time."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Episodes of these tests have their folders apart from those of other runs on this host."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("folders"))
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        yield


@pytest.fixture(scope="session")
def runtime() -> BubblewrapRuntime:
    """The runtime, its environments built."""
    made = BubblewrapRuntime()
    probe = made.probe()
    assert probe.ok, probe.why
    made.prepare([])
    return made


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A task whose goal is to submit the token that GET /hello gives."""
    return write_task(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="session")
def written() -> Callable[..., Task]:
    """Writes the small task with other contents for some of its files."""
    return write_task


@pytest.fixture(scope="session")
def processes() -> Callable[[], set[int]]:
    """Asks for every process of this host that lives in a room of these tests."""
    return lambda: sandboxed(rooms=True)


@pytest.fixture(scope="session")
def eventually() -> Callable[..., bool]:
    """Asks whether a condition comes true in time."""
    return in_time


@pytest.fixture
def spec(task: Task) -> Iterator[Specs]:
    """Makes specs of one run; after the test no folder and no process of this test is left."""
    before, folders = sandboxed(), set(folders_root().iterdir())
    run = f"test-{secrets.token_hex(4)}"
    yield lambda episode="e1", **given: EpisodeSpec(run, episode, given.pop("task", task), given.pop("seed", 0), **given)

    assert in_time(lambda: sandboxed() <= before, 1)
    assert set(folders_root().iterdir()) <= folders


@pytest.fixture(scope="session")
def public(runtime: BubblewrapRuntime) -> Iterator[Path]:
    """A folder that every user of this host may read, with the sandboxes' environments and a home for an ordinary user."""
    folder = Path(tempfile.mkdtemp(prefix="parley-public-", dir="/tmp"))
    folder.chmod(0o755)
    cache = runtime.environments.python.parent
    wanted = {Path(part).name for room in ROOMS for part in runtime.prepare([])[room].split("+")}
    for name in wanted:
        shutil.copytree(cache / name, folder / "sandbox" / name, symlinks=True)
    (folder / "sandbox").chmod(0o777)
    (folder / "home").mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder / "home", USER, USER)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=["here", "counted", "user"])
def play(request: pytest.FixtureRequest, runtime: BubblewrapRuntime, public: Path) -> Player:
    """Runs scripts in a pod: of this process, of one whose memory is counted, and of an ordinary user (counted too)."""
    return Player(request.param, runtime, public)


@pytest.fixture(params=["counted", "user"])
def play_counted(request: pytest.FixtureRequest, runtime: BubblewrapRuntime, public: Path) -> Player:
    """Runs scripts in a pod that no control group bounds."""
    return Player(request.param, runtime, public)
