"""The prover, which runs in a sandbox: `python3 -m parley.proof.prover` reads a task folder as data on stdin and checks it.

It runs in a sandbox without network and without files of a host, so it may import the folder's code.
1. stdin is a `ProverJob`; stdout is the answer as JSON, a `Proved` or an `Instruction`. The folder's code cannot access them:
while it runs, file descriptor 0 is /dev/null and 1 is a copy of 2.
2. The checks are those of `harness verify`, in two processes. The folder's code runs beside them and can forge their output, so
the answer must not be trusted before pods have played the same clients.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict

from harness.registry import read_task
from harness.safe_read import Content
from harness.trust import admitted
from parley.proof.claims import prove, replay, settled
from parley.proof.plays import Scope
from parley.proof.sync import vouched
from parley.proof.workers import WorkerPool
from worlds.core.errors import ParleyError
from worlds.core.models import Strict

MODULE = "parley.proof.prover"


class ProverJob(Strict):
    """The action, and the files of the folder as data."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    what: Literal["prove", "instruct"]
    name: str
    files: Mapping[str, Content]
    seeds: tuple[int, ...] = ()
    thorough: bool = False


class Instruction(Strict):
    """The world's rendering for seed 0, or the reason why there is none."""

    text: str = ""
    error: str = ""


def answer(job: ProverJob, root: Path) -> str:
    """Run a job on a copy of the folder below `root`, and return the answer as JSON."""
    folder = _unpacked(job, root)
    # findings have paths relative to the working directory, so from here they begin with the folder's name
    os.chdir(root)
    if job.what == "prove":
        return _proved(job, folder)
    try:
        return Instruction(text=vouched(folder).decode()).model_dump_json()
    except ParleyError as error:
        return Instruction(error=str(error).replace(f"{root}/", "")).model_dump_json()


def _proved(job: ProverJob, folder: Path) -> str:
    scope = Scope(admitted(read_task(folder)), job.seeds, job.thorough)
    with WorkerPool(2) as pool:
        ((_, proved, replayed),) = pool.run([("both", (prove, (scope,)), (replay, (scope,)))])
    return settled(scope, proved, replayed).model_dump_json()


def _unpacked(job: ProverJob, root: Path) -> Path:
    folder = root / job.name
    folder.mkdir()
    for name, file in job.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(0o755 if file.executable else 0o644)
    return folder


def main() -> None:
    """Run one job from stdin."""
    job = ProverJob.model_validate_json(sys.stdin.buffer.read())
    said = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as root, os.fdopen(said, "wb") as out:
        out.write(answer(job, Path(root).resolve()).encode())


if __name__ == "__main__":
    main()
