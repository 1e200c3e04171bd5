"""Proof of an untrusted task in a sandbox. The folder goes in as data; the result comes back as untrusted data.

The folder's code runs beside the prover and can forge its answer. So the answer's size is limited, its shape is validated and
its control characters are removed. Places that it names are shown but never opened, and none of its checks outweighs what pods
show afterwards.
"""

from __future__ import annotations

import json
import secrets
import stat
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.agents.solutions import violation_names
from harness.errors import BoundaryError, RuntimeFailure, TaskInvalid
from harness.pod import SandboxedRuntime
from harness.registry import Task, files_of
from parley.proof.findings import Place, ProofCheck, Proved, ProvedClient, failed, passed
from parley.proof.plays import NOP, SOLVE, Scope
from parley.proof.prover import MODULE, Carried, Instruction, ProverJob

LIMIT_S = 900.0
"""Timeout of one proof in real seconds; ours take up to 10."""

MOST = 16 << 20
"""Maximum bytes of an answer; ours have up to 100,000."""


def proved_apart(sandbox: SandboxedRuntime, scope: Scope) -> Proved:
    """Return the sandbox's proof of a task. A prover that fails or gives an invalid answer becomes a failed check."""
    started, task = time.perf_counter(), scope.task
    files = _carried(task.path)
    job = ProverJob(what="prove", name=task.task_id, files=files, seeds=tuple(scope.seeds), thorough=scope.thorough)
    try:
        proved = Proved.model_validate(plain(_asked(sandbox, job)))
        if proved.task_id != task.task_id:
            raise RuntimeFailure(f"the prover told of {proved.task_id!r}")
    except BoundaryError as error:
        proved = Proved(task_id=task.task_id, checks=(_broken(task, str(error)),), clients=(), seconds=0.0)
    except (ValidationError, RecursionError) as error:
        why = _broken(task, f"the prover's answer is no proof: {type(error).__name__}")
        proved = Proved(task_id=task.task_id, checks=(why,), clients=(), seconds=0.0)
    shown = Place(task.path, 1).finding("", "").path
    checks = [_placed(check, task.task_id, shown) for check in proved.checks]
    clients = _playable(scope, proved.clients)
    if all(check.ok for check in checks) and len(clients) != len(_wanted(scope)):
        at = Place(task.path / "solution" / "violations.py", 1)
        checks.append(
            failed("clients", None, at, "the clients that were proved are not those that VIOLATIONS names in its text")
        )
    detail = f"proved in {sandbox.name}, where the folder's own code ran beside the prover: what pods played is the evidence"
    told = (*checks, passed("apart", None, detail))
    return Proved(task_id=task.task_id, checks=told, clients=clients, seconds=time.perf_counter() - started)


def instructed_apart(sandbox: SandboxedRuntime, folder: Path) -> bytes:
    """Return the instruction that a folder's world renders for seed 0 in the sandbox. Raises TaskInvalid if it does not."""
    said = _asked(sandbox, ProverJob(what="instruct", name=folder.name, files=_carried(folder)))
    try:
        told = Instruction.model_validate(said)
    except ValidationError:
        raise RuntimeFailure("the prover's answer is no instruction") from None
    if told.error:
        raise TaskInvalid(f"{folder.parent}/{plain(told.error)}")
    return told.text.encode(errors="replace")


def _asked(sandbox: SandboxedRuntime, job: ProverJob) -> Any:
    """Return the prover's answer as unvalidated JSON. Raises RuntimeFailure if it is not JSON."""
    run_id = f"prove-{secrets.token_hex(4)}"
    command, stdin = ["python3", "-m", MODULE], job.model_dump_json().encode()
    try:
        said = sandbox.confined(run_id, command, stdin, limit_s=LIMIT_S, most=MOST)
    except KeyboardInterrupt:
        sandbox.abort(run_id)
        raise
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as error:
        raise RuntimeFailure(f"the prover's answer is not JSON: {type(error).__name__}") from None


def _carried(folder: Path) -> tuple[Carried, ...]:
    return tuple(
        Carried(
            path=path.relative_to(folder).as_posix(),
            executable=bool(path.stat().st_mode & stat.S_IXUSR),
            content=path.read_bytes(),
        )
        for path in files_of(folder)
    )


def plain(value: Any) -> Any:
    """Return a value with control and bidirectional characters replaced."""
    if isinstance(value, str):
        return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\ufffd" for c in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {plain(key): plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _placed(check: ProofCheck, name: str, shown: str) -> ProofCheck:
    """Return the check with paths of this host's folder in its findings instead of the sandbox's copy."""
    moved = tuple(
        one.model_copy(
            update={"path": f"{shown}/{one.path.removeprefix(f'{name}/')}" if one.path.startswith(f"{name}/") else one.path}
        )
        for one in check.findings
    )
    return check.model_copy(update={"findings": moved})


def _wanted(scope: Scope) -> set[tuple[str, int]]:
    """Return every client that a pod can be asked to play, as far as the folder's text shows them."""
    names = {SOLVE, NOP, *violation_names(scope.task)}
    return {(name, seed) for name in names for seed in scope.seeds}


def _playable(scope: Scope, told: Sequence[ProvedClient]) -> tuple[ProvedClient, ...]:
    """Return the reported clients that are playable, without duplicates."""
    by_key = {(client.player, client.seed): client for client in told}
    return tuple(client for key, client in by_key.items() if key in _wanted(scope))


def _broken(task: Task, why: str) -> ProofCheck:
    return failed("prover", None, Place(task.path / "task.toml", 1), why)
