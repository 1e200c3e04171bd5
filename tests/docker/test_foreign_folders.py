"""Foreign folders through the command line under Docker: links, limits, failed builds, and what is chosen for a proof."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ImageFailure
from harness.pod import EpisodeSpec
from harness.registry import read_task
from harness.runtimes.docker.runtime import DockerRuntime
from parley.proof.attacks.plant_files import named_programs
from parley.proof.attacks.suite import ATTACKS, run_attacks
from tests.harness.test_other_folders import made

pytestmark = pytest.mark.docker

Command = Callable[..., subprocess.CompletedProcess[str]]

CHECKS = """#!/bin/bash
{check} && reward=1 || reward=0
echo "out is $(cat /app/out.txt)"
echo $reward > /logs/verifier/reward.txt
"""


def test_a_link_reaches_the_image_as_a_link(harness: Command, tmp_path: Path) -> None:
    """As Docker copies it; and a folder is proved in Docker without anybody naming it, its letters beyond ASCII and all."""
    check = CHECKS.format(check="[ -L /app/alias.txt ] && [ hello = $(cat /app/out.txt) ]")
    copied = {"environment/Dockerfile": "FROM parley/agent:1\nCOPY . /app/\nWORKDIR /app\n", "tests/test.sh": check}
    folder = made(tmp_path / "größe", copied)
    (folder / "environment" / "alias.txt").symlink_to("Dockerfile")

    done = harness("verify", folder)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "runtime: docker, which Harbor tasks of other projects need" in done.stderr
    assert "1 of 1 tasks passed" in done.stderr


def test_an_agent_whose_time_is_up_is_graded(harness: Command, tmp_path: Path) -> None:
    """By what it left: its processes are dead, and the verifier has its own time."""
    limits = 'version = "1.0"\n[agent]\ntimeout_sec = 3.0\n[verifier]\ntimeout_sec = 10.0\n'
    slow = "#!/bin/bash\necho hello > /app/out.txt; sleep 100 & sleep 100\n"
    check = CHECKS.format(check="[ hello = $(cat /app/out.txt) ]")
    folder = made(tmp_path / "slow", {"task.toml": limits, "solution/solve.sh": slow, "tests/test.sh": check})

    done = harness("run", folder, "--out", tmp_path / "run")

    assert done.returncode == 0, done.stderr
    assert "1 of 1 succeeded" in done.stderr


def test_one_failed_build_costs_no_other(harness: Command, tmp_path: Path) -> None:
    """It is told once with its line and its command; the other folder plays, and how it failed is told by its tests' log."""
    made(tmp_path / "set" / "bad", {"environment/Dockerfile": "FROM parley/agent:1\n\nRUN echo why && \\\n  false\n"})
    made(tmp_path / "set" / "base", {"environment/Dockerfile": "FROM nowhere.invalid/some:1\n"})
    made(tmp_path / "set" / "good", {"tests/test.sh": CHECKS.format(check="false")})

    done = harness("--tasks", tmp_path / "set", "run", "--yes", "--out", tmp_path / "run")
    bad = tmp_path / "set" / "bad" / "environment"
    base = tmp_path / "set" / "base" / "environment" / "Dockerfile:1"

    assert done.returncode == 3
    assert done.stderr.count("the build failed") == 1
    assert f"bad cannot be played: {bad}/Dockerfile:3: the build failed: " in done.stderr
    assert f"(why); try: docker build {bad}\n" in done.stderr
    assert f"base cannot be played: {base}: image nowhere.invalid/some:1 is missing and cannot be pulled: " in done.stderr
    assert "OTHER: the task's tests gave 0; their log ends: out is hello, reward 0" in done.stderr
    assert "2 of 3 episodes are ungraded" in done.stderr
    assert "harness images" not in done.stderr


def test_a_failed_build_is_tried_once(tmp_path: Path, runtime: DockerRuntime) -> None:
    """Each episode of such a task ends at once, and none of them builds again."""
    task = read_task(made(tmp_path / "bad", {"environment/Dockerfile": "FROM parley/agent:1\nRUN false\n"}))
    with pytest.raises(ImageFailure, match=r"environment/Dockerfile:2: the build failed: ") as told:
        runtime.prepare([task])
    (tmp_path / "bad" / "environment" / "Dockerfile").write_text("FROM parley/agent:1\n", encoding="utf-8")

    with pytest.raises(ImageFailure, match=r"^its image cannot be built \(.*/bad/environment/Dockerfile:2\)$") as again:
        runtime.open(EpisodeSpec("r", "e", task, 0, needs_main=True)).__enter__()
    assert (told.value.hint, told.value.may_pass) == (again.value.hint, False)


def test_attacks_on_a_folder_with_a_link(tmp_path: Path, runtime: DockerRuntime) -> None:
    """Whatever reads the folder passes the link over: no attack is kept from being made by it."""
    folder = made(tmp_path / "linked", {"environment/data.txt": "see /app/out.txt and tool.sh"})
    (folder / "environment" / "alias.txt").symlink_to("data.txt")
    task = read_task(folder)

    assert named_programs(task) == ["tool.sh"]
    siege = run_attacks([task], runtime, attacks=[one for one in ATTACKS if one.number in (1, 5)])
    assert [row.outcome for row in siege.rows if row.outcome == "error"] == []


def test_attacks_on_what_cannot_be_built(harness: Command, tmp_path: Path) -> None:
    """The build is told once, and the last words are that no attack could be made."""
    folder = made(tmp_path / "bad", {"environment/Dockerfile": "FROM parley/agent:1\nRUN false\n"})

    done = harness("verify", "--attacks", folder)

    assert done.returncode == 3
    assert (done.stdout + done.stderr).count("the build failed") == 1
    assert "18 of 18 attacks could not be made in docker" in done.stderr
    assert "attacks succeeded" not in done.stderr
    assert f"try: docker build {folder}/environment" in done.stderr
