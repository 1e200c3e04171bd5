"""Grading of a foreign task: runs its tests in a container and reads the reward they write, after clearing old files.

In both modes the tests are /tests/test.sh, run as their own user in the container's working directory, and their exit code is
ignored, as under Harbor. There are two differences from Harbor. A script that is killed at its limit earns no reward, even if
it has written one. And /tests is emptied first unless the image contains it, so that no conftest.py of the agent is left there.
"""

from __future__ import annotations

import copy
import io
import json
import math
import posixpath
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from harness.errors import RuntimeFailure, VerifierFailure
from harness.pod import CommandResult, Judgement
from harness.registry import Task, contents_of
from harness.runtimes.archives import pack
from harness.taskfile import Artifact
from parley.interop.foreign.asked import artifacts_of, tests_environment
from parley.interop.foreign.containers import Containers

REWARDS = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
REWARD_LIMIT = 1 << 16
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHOWN = 60


def file_in(archive: bytes, path: str) -> bytes:
    """Return the bytes of the single regular file in an archive; raises VerifierFailure for any other content."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        entry = opened.next()
        content = opened.extractfile(entry) if entry is not None and entry.isreg() else None
        if content is None:
            raise VerifierFailure(f"{path} is not a regular file")
        return content.read()


def reward_of(data: bytes, path: str) -> float:
    """Parse the reward in a file's bytes; raises VerifierFailure naming the problem."""
    if path.endswith(".json"):
        value = _from_json(data, path)
    else:
        text = data.decode("utf-8", "replace").strip()
        if not _NUMBER.fullmatch(text):
            raise VerifierFailure(f"{path} must hold one number, not {text[:_SHOWN]!r}")
        value = _finite(float(text), text, path)
    if not 0 <= value <= 1:
        raise VerifierFailure(f"{path} must hold a reward in 0..1, not {value!r}")
    return value


def _from_json(data: bytes, path: str) -> float:
    try:
        rewards = json.loads(data, object_pairs_hook=_unique, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise VerifierFailure(f"{path} is not the JSON of one object: {str(error)[:_SHOWN]}") from None
    if not isinstance(rewards, dict) or not rewards:
        raise VerifierFailure(f"{path} must hold an object with a number, not {_shown(rewards)}")
    numbers = {name: _finite(value, name, path) for name, value in rewards.items()}
    if "reward" not in numbers and len(numbers) > 1:
        raise VerifierFailure(f"{path} has {len(numbers)} keys and none is 'reward': {_shown(sorted(numbers))}")
    return numbers.get("reward", next(iter(numbers.values())))


def _finite(value: Any, name: str, path: str) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise VerifierFailure(f"{path}: {name[:_SHOWN]!r} must be a finite number, not {_shown(value)}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with unique keys; raises ValueError for duplicates, because it is unclear which reward counts."""
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _shown(value: Any) -> str:
    return json.dumps(value)[:_SHOWN]


LIMIT = 256 << 20
"""Maximum bytes of one artifact; a larger one counts as missing, because only the agent can have created it."""


@dataclass(frozen=True)
class Clean:
    """Archive that is safe to unpack, and the names of removed entries."""

    archive: bytes | None
    left_out: tuple[str, ...]


def cleaned(archive: bytes) -> Clean:
    """Return the part of an agent's archive that may reach a verifier: nothing if it is invalid or its top entry unsafe."""
    buffer, left_out = io.BytesIO(), []
    kept: set[str] = set()
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as source, tarfile.open(fileobj=buffer, mode="w") as target:
            for entry in source:
                if not _is_kept(entry, kept):
                    left_out.append(entry.name)
                    continue
                kept.add(posixpath.normpath(entry.name))
                plain = copy.copy(entry)
                plain.mode, plain.pax_headers = entry.mode & 0o777, {}
                target.addfile(plain, source.extractfile(entry) if entry.isreg() else None)
    except (tarfile.TarError, OSError, ValueError):
        return Clean(None, ("an invalid archive",))
    return Clean(buffer.getvalue() if kept else None, tuple(left_out))


def _is_kept(entry: tarfile.TarInfo, kept: set[str]) -> bool:
    name = posixpath.normpath(entry.name)
    if name.startswith(("/", "..")):
        return False
    if entry.issym():
        # the first part of every name is the artifact itself
        top, meant = name.split("/")[0], posixpath.normpath(posixpath.join(posixpath.dirname(name), entry.linkname))
        return not entry.linkname.startswith("/") and "/" in name and meant.split("/")[0] == top
    if entry.islnk():
        return posixpath.normpath(entry.linkname) in kept
    return entry.isreg() or entry.isdir()


LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")
TESTS = "/tests"


def make_folders(containers: Containers, name: str) -> None:
    """Create the folders that Harbor mounts, writable by every user."""
    containers.as_root(name, "mkdir", "-p", *LOGS)
    containers.as_root(name, "chmod", "777", *LOGS)


def upload_tests(containers: Containers, name: str, task: Task, *, merged: bool) -> None:
    """Copy tests/ to /tests, in addition to the image's files there (`merged`) or instead of them."""
    if not merged:
        containers.as_root(name, "rm", "-rf", "--", TESTS)
    files = {f"{TESTS}/{path}": file.data for path, file in contents_of(task.path, "tests").items()}
    containers.put(name, "/", pack(files, mode=0o755))


def prepare(containers: Containers, name: str) -> None:
    """Remove old files from the place of the reward, and make the tests executable."""
    containers.as_root(name, "rm", "-rf", "--", *REWARDS)
    containers.as_root(name, "chmod", "+x", f"{TESTS}/test.sh")


def judge(containers: Containers, name: str, task: Task, workdir: str | None) -> Judgement:
    """Run the tests and read the reward; raises VerifierFailure if they leave none."""
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
    """Return the cleaned artifacts of `main`, or of all other services, by source, and one line for each part left out."""
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
    """Copy artifacts to their original paths, replacing existing files."""
    for source, archive in taken.items():
        parent = str(PurePosixPath(source.rstrip("/")).parent)
        containers.as_root(name, "mkdir", "-p", "--", parent)
        containers.as_root(name, "rm", "-rf", "--", source)
        containers.put(name, parent, archive)


def _clean(containers: Containers, artifact: Artifact) -> Clean:
    """Return one cleaned artifact. One that is too large counts as missing, because only the agent can have caused it."""
    try:
        data = containers.archive(artifact.service or "main", artifact.source.rstrip("/"), LIMIT)
    except RuntimeFailure as failure:
        if f"more than {LIMIT}" not in str(failure):
            raise
        return Clean(None, (str(failure),))
    return Clean(None, ()) if data is None else cleaned(data)
