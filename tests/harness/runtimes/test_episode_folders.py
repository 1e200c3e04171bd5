"""What bubblewrap's episodes leave on a host is found by the next sweep, however its owner ended, and nobody else's is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from harness.runtimes.bubblewrap.folders import GONE, UNNAMED, Folder, folders_root, sweep_folders

HALF_REMOVED = """
import os, shutil
from harness.runtimes.bubblewrap.folders import Folder

folder = Folder.make()
folder.part("workspace")
shutil.rmtree = lambda path, **how: ((path / "owner").unlink(), os._exit(9))
folder.remove()
"""
NEVER_NAMED = """
import os, pathlib
from harness.runtimes.bubblewrap.folders import Folder

pathlib.Path.rename = lambda *names: os._exit(9)
Folder.make()
"""


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These folders are apart from those of other runs on this host."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def dies(script: str) -> None:
    """Run what ends in the middle of something."""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9


@pytest.mark.property
@pytest.mark.parametrize("script", [HALF_REMOVED, NEVER_NAMED], ids=["half removed", "never named"])
def test_what_a_dead_process_had_begun_is_swept(script: str) -> None:
    """A folder goes though its owner died while removing it, its name gone already, or before the folder had its own name."""
    dies(script)
    (left,) = folders_root().iterdir()

    assert left.name.endswith(GONE) == (script == HALF_REMOVED)
    assert sweep_folders() == [str(left)]
    assert list(folders_root().iterdir()) == []


def test_what_lives_stays() -> None:
    """A folder of this process, one that it is removing, and one that nobody has signed yet are no leftovers."""
    mine, leaving = Folder.make(), Folder.make()
    leaving.path.rename(leaving.path.with_name(leaving.path.name + GONE))
    unsigned = Path(tempfile.mkdtemp(prefix=UNNAMED, dir=folders_root()))

    assert sweep_folders() == []
    assert {mine.path.name, leaving.path.name + GONE, unsigned.name} == {path.name for path in folders_root().iterdir()}


def test_what_is_still_being_written_goes_in_the_end() -> None:
    """A process that was killed may write for a moment more: removing tries again, and does not mind being done twice."""
    folder = Folder.make()
    folder.part("workspace")
    leaving = folder.path.with_name(folder.path.name + GONE)

    def write() -> None:
        while folder.path.exists():
            pass
        for number in range(50):
            with suppress(OSError):
                (leaving / "workspace" / f"{number}").mkdir()

    writer = threading.Thread(target=write)
    writer.start()
    folder.remove()
    writer.join()

    assert list(folders_root().iterdir()) == []
    folder.remove()
