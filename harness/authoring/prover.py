"""The prover's room: `python3 -m harness.authoring.prover` takes a task folder as data on stdin and proves it here.

It runs inside a sandbox without network and without any file of a host, so here the folder's code may be imported.
1. stdin is one `ProverJob`; stdout is its answer as JSON, a `Proved` or an `Instruction`. The folder's code gets neither:
   while it runs, file 0 is /dev/null and file 1 is what file 2 is.
2. The proof is what `harness verify` does, in two processes. The folder's code runs beside it and can make it say anything:
   who reads the answer believes none of it before pods have played the same clients.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict

from harness.authoring.plays import Scope
from harness.authoring.proving import prove, replay, settled
from harness.authoring.sync import vouched
from harness.authoring.workers import WorkerPool
from harness.registry import read_task
from harness.trust import admitted
from worlds.core.errors import ParleyError
from worlds.core.models import Strict

MODULE = "harness.authoring.prover"


class Carried(Strict):
    """A file of a task folder on its way into the room."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    path: str
    executable: bool
    content: bytes


class ProverJob(Strict):
    """What to do with which folder."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    what: Literal["prove", "instruct"]
    name: str
    files: tuple[Carried, ...]
    seeds: tuple[int, ...] = ()
    thorough: bool = False


class Instruction(Strict):
    """A world's own rendering for seed 0, or why there is none."""

    text: str = ""
    error: str = ""


def answer(job: ProverJob, root: Path) -> str:
    """Do one job with a copy of the folder below `root`; its answer as JSON."""
    folder = _unpacked(job, root)
    # places in findings are told from where one is, so from here they begin with the folder's name
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
    for file in job.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)
    return folder


def main() -> None:
    """One job."""
    job = ProverJob.model_validate_json(sys.stdin.buffer.read())
    said = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as root, os.fdopen(said, "wb") as out:
        out.write(answer(job, Path(root).resolve()).encode())


if __name__ == "__main__":
    main()
