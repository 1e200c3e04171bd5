"""Runs a foreign task's tests in a container and reads the reward they leave, whatever lay there before.

Shared or separate, the tests are /tests/test.sh, run as their own user in the container's working directory, and their exit
code counts for nothing, as under Harbor. What differs: a script that is killed at its limit has no reward, also where it had
written one; and a /tests that the image did not bring is emptied first, so that no conftest.py of the agent's lies in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from harness.errors import RuntimeFailure, VerifierFailure
from harness.pod import CommandResult, Judgement
from harness.registry import Task, contents_of
from harness.runtimes.archives import pack
from harness.runtimes.docker.foreign import artifacts
from harness.runtimes.docker.foreign.asked import artifacts_of, tests_environment
from harness.runtimes.docker.foreign.containers import Containers
from harness.runtimes.docker.foreign.rewards import REWARD_LIMIT, REWARDS, file_in, reward_of
from harness.taskfile import Artifact

LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")
TESTS = "/tests"


def make_folders(containers: Containers, name: str) -> None:
    """Make the folders that Harbor mounts, writable by everybody."""
    containers.as_root(name, "mkdir", "-p", *LOGS)
    containers.as_root(name, "chmod", "777", *LOGS)


def upload_tests(containers: Containers, name: str, task: Task, *, merged: bool) -> None:
    """Put tests/ at /tests, beside what the image has there (`merged`) or as all there is."""
    if not merged:
        containers.as_root(name, "rm", "-rf", "--", TESTS)
    files = {f"{TESTS}/{path}": file.data for path, file in contents_of(task.path, "tests").items()}
    containers.put(name, "/", pack(files, mode=0o755))


def prepare(containers: Containers, name: str) -> None:
    """Remove what lies where the reward goes, and let the tests be started."""
    containers.as_root(name, "rm", "-rf", "--", *REWARDS)
    containers.as_root(name, "chmod", "+x", f"{TESTS}/test.sh")


def judge(containers: Containers, name: str, task: Task, workdir: str | None) -> Judgement:
    """Run the tests and read the reward; raises VerifierFailure where they leave none."""
    verifier = task.file.verifier
    user = "" if verifier.user is None else str(verifier.user)
    script = ("bash", "-c", f"({TESTS}/test.sh)")
    environment = tests_environment(task)
    done = containers.execute(name, script, verifier.timeout_sec, user=user, environment=environment, workdir=workdir)
    return Judgement(json.dumps({"reward": _reward(containers, name, done)}).encode() + b"\n", b"", done.output)


def _reward(containers: Containers, name: str, done: CommandResult) -> float:
    said = containers.tail(done.output)
    if done.code is None:
        raise VerifierFailure(f"the verifier was killed at its limit: {said}")
    for path in REWARDS:
        try:
            left = containers.archive(name, path, REWARD_LIMIT)
        except RuntimeFailure as failure:
            raise VerifierFailure(str(failure)) from None
        if left is not None:
            return reward_of(file_in(left, path), path)
    raise VerifierFailure(f"the verifier ended with {done.code} and left neither reward.json nor reward.txt: {said}")


def take(containers: Containers, task: Task, *, of_main: bool) -> tuple[dict[str, bytes], list[str]]:
    """The artifacts of `main`, or of every other service, cleaned, by source; and one line for each thing left out."""
    taken: dict[str, bytes] = {}
    notes: list[str] = []
    for artifact in artifacts_of(task):
        if ((artifact.service or "main") == "main") == of_main:
            clean = _clean(containers, artifact)
            notes += [f"artifact {artifact.source}: left out {name}" for name in clean.left_out]
            if clean.archive is not None:
                taken[artifact.source] = clean.archive
    return taken, notes


def give(containers: Containers, name: str, taken: Mapping[str, bytes]) -> None:
    """Put artifacts where they were, in place of what is there."""
    for source, archive in taken.items():
        parent = str(PurePosixPath(source.rstrip("/")).parent)
        containers.as_root(name, "mkdir", "-p", "--", parent)
        containers.as_root(name, "rm", "-rf", "--", source)
        containers.put(name, parent, archive)


def _clean(containers: Containers, artifact: Artifact) -> artifacts.Clean:
    """One artifact; what is too large was made so by the agent alone, and is as good as missing."""
    try:
        data = containers.archive(artifact.service or "main", artifact.source.rstrip("/"), artifacts.LIMIT)
    except RuntimeFailure as failure:
        if f"more than {artifacts.LIMIT}" not in str(failure):
            raise
        return artifacts.Clean(None, (str(failure),))
    return artifacts.Clean(None, ()) if data is None else artifacts.cleaned(data)
