"""The policy of system calls in Docker: the calls that bubblewrap refuses are refused, with the same errors, in every room."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from docker.errors import NotFound

from harness.agent import Budget
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.orphans import RUN_LABEL
from harness.pod import EpisodeSpec
from harness.records import Key
from harness.runtimes.docker.runtime import DockerRuntime
from harness.runtimes.seccomp import docker_profile, policy_digest
from tests.bubblewrap.test_bubblewrap_kernel import REFUSED, TRY
from tests.shipped import SHIPPED

pytestmark = pytest.mark.docker


def refused(said: dict[str, int]) -> dict[str, int]:
    """What each call of the policy answered."""
    return {name: said[name] for name in REFUSED}


def test_main_has_the_policy(runtime: DockerRuntime, spec: Callable[..., EpisodeSpec]) -> None:
    """io_uring, AF_VSOCK and the rest are refused in `main`; ordinary sockets, memfd and System V memory stay open."""
    with runtime.open(spec(needs_main=True)) as pod:
        said = json.loads(pod.run(["python3", "-c", TRY], timeout_s=60, virtual_time=False).output)

    assert refused(said) == REFUSED
    assert [said[name] for name in ("family 1", "family 2", "family 10", "family 16", "memfd", "shmget")] == [0] * 6


def test_the_prover_has_the_policy(runtime: DockerRuntime) -> None:
    """So it is where a folder from elsewhere is proved."""
    said = runtime.confined("r", ["python3", "-c", TRY], b"", limit_s=60, most=1 << 16)

    assert refused(json.loads(said)) == REFUSED


def test_every_container_of_an_episode_has_the_policy(runtime: DockerRuntime, spec: Callable[..., EpisodeSpec]) -> None:
    """World, `main` and the verifier that waits: the engine was given the profile for each."""
    opened, options, until = spec(needs_main=True), [], time.monotonic() + 30
    with runtime.open(opened):
        while len(options) < 3 and time.monotonic() < until:
            known = runtime.engine.labelled(f"{RUN_LABEL}={opened.run_id}")["containers"]
            # one may be gone by the time it is looked at
            with suppress(NotFound):
                options = [runtime.engine.api.inspect_container(one["Id"])["HostConfig"]["SecurityOpt"] for one in known]

    assert len(options) == 3
    assert all(f"seccomp={docker_profile()}" in one for one in options)


def test_an_oracle_plays_under_the_policy_and_records_it(runtime: DockerRuntime) -> None:
    """The record has the policy's digest."""
    task = next(task for task in SHIPPED if task.task_id == "presigned-url-download")
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    runtime.prepare([task])
    result = run_episode(EpisodeSpec("calls", "e", task, 0), key, runtime, SolutionAgent(), Budget()).result

    assert (result.reward, result.syscalls) == (1.0, policy_digest())
