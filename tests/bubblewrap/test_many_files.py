"""Many pods at once are many open files: numbers above 1,023 are listened to, and a low limit of the shell is raised."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.runtimes.bubblewrap.sandbox import Control


@pytest.fixture
def a_thousand_files() -> Iterator[None]:
    """So many open files that the next one has a number above 1,023."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2048), limits[1]))
    nothing = os.open(os.devnull, os.O_RDONLY)
    opened = [os.dup(nothing) for _ in range(1100)]
    yield
    for one in (*opened, nothing):
        os.close(one)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("a_thousand_files")
def test_a_control_socket_of_any_number_is_heard() -> None:
    """What a sandbox says arrives: else the memory of the hundredth pod would be watched by nobody."""
    control = Control()
    assert control.far.fileno() > 1023

    control.far.send(b"here")
    control.far.send(b"look 7")

    assert control.process() == os.getpid()
    assert control.ended("look", 20.0) == 7
    control.close()


@pytest.mark.bubblewrap
def test_a_low_limit_of_open_files_is_raised(tmp_path: Path) -> None:
    """Sixteen pods play under a limit that would do for ten."""
    command = [sys.executable, "-m", "harness", "run", "presigned-url-download", "--seeds", "0-31", "-n", "16"]
    more = ["--runtime", "bubblewrap", "--out", str(tmp_path / "run")]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    done = subprocess.run(
        [*command, *more], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, most)),
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-600:]
    assert "32 of 32 succeeded" in done.stdout + done.stderr
