"""Tasks and orders in the form sent to a node, and episodes in the form returned. A node uses its own files and secrets.

1. A task is sent as its digest and path. The node reads its own folder, and plays it only if the digest is equal.
2. Variables granted to foreign tasks are sent by name only, and API keys of models not at all: they must be in the node's
environment, or the node is refused.
3. The files of an episode are returned as one archive, split into several results of less than 100 kB. Ray sends a result of
that size together with the message that a task is done. It stores a larger result on the node, where it is lost if the node
fails. The part of an archive above 1 MB (about 10 MB of logs) is stored on the node until it is fetched.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.agent import AgentSpec
from harness.agent_factory import Options
from harness.errors import HarnessError, RuntimeFailure, TaskInvalid, UsageError
from harness.records import Result
from harness.registry import Task, read_task
from harness.runs.executors.base import Order
from harness.runs.executors.sites import Needed
from harness.secrets import public_address
from harness.trust import own_roots
from parley.interop.foreign.variables import grant

PIECE = 64 << 10
PIECES = 16

RESULTS = 1 + PIECES + 1
"""Number of return values of a Ray task: the manifest, the pieces, and the rest."""

MOST = 1 << 30
"""Maximum bytes of an episode's unpacked files."""


@dataclass(frozen=True)
class SentTask:
    """Task in a form that another machine can find."""

    task_id: str
    digest: str
    path: str
    """Path on the machine of the run."""

    own: str
    """Path relative to the folder of our own tasks, which differs between machines; "" for any other task."""

    admitted: bool
    granted: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Folder of the task on this machine."""
        inner = [root / self.own for root in own_roots() if self.own]
        return next((folder for folder in inner if (folder / "task.toml").is_file()), Path(self.path))

    def digest_here(self) -> str:
        """Return the digest of this machine's folder; "" if it is missing or invalid."""
        try:
            return read_task(self.folder).digest
        except TaskInvalid:
            return ""

    def here(self) -> Task:
        """Return this machine's task; raises RuntimeFailure if it differs from the run's, TaskInvalid and UsageError."""
        task = replace(read_task(self.folder), admitted=self.admitted)
        if task.digest != self.digest:
            raise RuntimeFailure(f"{task.path} differs from the {self.task_id} of the run")
        return grant([task], self.granted)[0]


def sent_task(task: Task) -> SentTask:
    """Return a task in the form in which it is sent."""
    real = task.path.resolve()
    own = next((str(real.relative_to(root)) for root in own_roots() if root in real.parents), "")
    return SentTask(task.task_id, task.digest, str(real), own, task.admitted, tuple(task.granted))


@dataclass(frozen=True)
class SentNeeds:
    """Requirements of a run for its nodes."""

    runtime: str
    tasks: tuple[SentTask, ...]
    players: tuple[tuple[AgentSpec, Options], ...]


def sent_needs(needed: Needed) -> SentNeeds:
    """Return the requirements of a run as they are sent; raises UsageError if it cannot be played on another machine."""
    for spec, _ in needed.players:
        if spec.has_people:
            raise UsageError(
                "people play at a terminal, which the nodes of a cluster do not have", hint="harness run ... --executor here"
            )
        if spec.api_base and public_address(spec.api_base) != spec.api_base:
            why = "a password in --api-base would be sent to every node"
            raise UsageError(why, hint="export it on the nodes, as the key of the provider")
    return SentNeeds(needed.runtime, tuple(map(sent_task, needed.tasks)), needed.players)


@dataclass(frozen=True)
class SentOrder:
    """Episode to play, in the form in which it is sent."""

    order: Order
    """Order with a task from which the granted variables were removed."""

    task: SentTask
    runtime: str

    def here(self, task: Task) -> Order:
        """Return the order with this machine's task."""
        return replace(self.order, spec=replace(self.order.spec, task=task))


def sent_order(order: Order, runtime: str) -> SentOrder:
    """Return an order in the form in which it is sent."""
    spec = order.spec
    bare = replace(order, spec=replace(spec, task=replace(spec.task, granted={})))
    return SentOrder(bare, sent_task(spec.task), runtime)


@dataclass(frozen=True)
class EpisodeManifest:
    """Manifest that a Ray task returns for its episode."""

    node: str
    """Node that played it."""

    result: Result | None = None
    digests: Mapping[str, str] | None = None
    """SHA-256 of each file."""

    failure: HarnessError | None = None
    """Error that ends the run, if there is no result."""


def packed(files: Mapping[str, bytes]) -> list[bytes]:
    """Pack files into the fixed number of pieces that a Ray task returns besides its manifest."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    data = whole.getvalue()
    return [*(data[place * PIECE : (place + 1) * PIECE] for place in range(PIECES)), data[PIECES * PIECE :]]


def unpacked(pieces: Sequence[bytes], digests: Mapping[str, str]) -> dict[str, bytes]:
    """Unpack the files in these pieces; raises RuntimeFailure if they do not match the manifest."""
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
            if sum(one.file_size for one in archive.infolist()) > MOST:
                raise RuntimeFailure(f"the files of an episode have more than {MOST} bytes")
            for name in archive.namelist():
                files[name] = archive.read(name)
    except (zipfile.BadZipFile, EOFError) as error:
        raise RuntimeFailure(f"the files of an episode did not arrive: {error}") from None
    if {name: digest(data) for name, data in files.items()} != digests or any("/" in name for name in files):
        raise RuntimeFailure("the files of an episode did not arrive as they were sent")
    return files


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()
