"""`-v` tells which phase of an episode begins and how long it took, on stderr, before or after the command's name."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
LINE = re.compile(r"^\d\d:\d\d:\d\d\.\d{3} contract/presigned-url-download/s(\d+)-a1: (\w+) (\.\.\.|took \d+\.\d\d s)$")
PHASES = ("open", "agent", "finish", "judge", "close")


def phases(stderr: str) -> list[tuple[str, str, bool]]:
    """Seed, phase and whether it begins, line by line."""
    lines = [match for line in stderr.splitlines() if (match := LINE.match(line))]
    return [(match[1], match[2], match[3] == "...") for match in lines]


@pytest.mark.property
@pytest.mark.parametrize(("before", "after"), [(("-v",), ()), ((), ("-v",)), ((), ("--verbose",))])
def test_phases_are_told_as_they_happen(
    harness: Command, tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """Each begins and ends in its turn; nothing of it is on stdout."""
    done = harness(
        *before, "run", "presigned-url-download", "--runtime", "inprocess", "--out", tmp_path / "run", "--json", *after
    )

    assert done.returncode == 0, done.stderr
    assert phases(done.stderr) == [("0", phase, begins) for phase in PHASES for begins in (True, False)]
    assert "open ..." not in done.stdout
    assert "inprocess prepares 1 tasks" in done.stderr


@pytest.mark.property
def test_a_quiet_run_says_none_of_it(harness: Command, tmp_path: Path) -> None:
    """Without the flag a run is as quiet as before."""
    done = harness("run", "presigned-url-download", "--runtime", "inprocess", "--out", tmp_path / "run")

    assert (done.returncode, phases(done.stderr)) == (0, [])


@pytest.mark.property
def test_processes_tell_theirs_too(harness: Command, tmp_path: Path) -> None:
    """An episode that another process plays is heard while it plays; judging is one for a whole chunk."""
    run = ("presigned-url-download", "--agent", "nop", "--seeds", "0-29", "--runtime", "inprocess")
    done = harness("run", *run, "--out", tmp_path / "run", "-v")
    begun = [(seed, phase) for seed, phase, begins in phases(done.stderr) if begins]

    assert done.returncode == 0, done.stderr
    assert sorted(begun) == sorted((str(seed), phase) for seed in range(30) for phase in PHASES if phase != "judge")
