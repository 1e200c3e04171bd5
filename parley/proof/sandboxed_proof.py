"""Checks of an untrusted task in a sandbox. The folder is sent as data, and the result is treated as untrusted data.

The folder's code runs beside the prover and can forge its answer. So the answer's size is limited, its structure is validated
and its control characters are removed. Paths in it are shown but never opened, and the results of pods afterwards take
precedence over its checks.
"""

from __future__ import annotations

import json
import secrets
import time
import unicodedata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.agents.solutions import violation_names
from harness.errors import BoundaryError, RuntimeFailure, TaskInvalid
from harness.pod import SandboxedRuntime
from harness.registry import contents_of
from harness.runtime_choice import SANDBOXES, Say, probed, sandbox
from parley.proof.findings import Place, ProofCheck, Proved, failed, passed
from parley.proof.plays import NOP, SOLVE, Scope
from parley.proof.prover import MODULE, Instruction, ProverJob

LIMIT_S = 900.0
"""Timeout of the checks of one task in real seconds; ours take up to 10."""

MOST = 16 << 20
"""Maximum bytes of an answer; ours have up to 100,000."""


def proved_apart(sandbox: SandboxedRuntime, scope: Scope) -> Proved:
    """Return the checks of a task in the sandbox. If the prover fails or gives an invalid answer, return a failed check."""
    started, task = time.perf_counter(), scope.task
    files = contents_of(task.path)
    job = ProverJob(what="prove", name=task.task_id, files=files, seeds=tuple(scope.seeds), thorough=scope.thorough)
    try:
        proved = Proved.model_validate(plain(_asked(sandbox, job)))
        if proved.task_id != task.task_id:
            raise RuntimeFailure(f"the prover answered for {proved.task_id!r}")
    except (BoundaryError, ValidationError, RecursionError) as error:
        known = isinstance(error, BoundaryError)
        why = str(error) if known else f"the prover's answer is not valid: {type(error).__name__}"
        broken = failed("prover", None, Place(task.path / "task.toml", 1), why)
        proved = Proved(task_id=task.task_id, checks=(broken,), clients=(), seconds=0.0)
    shown = Place(task.path, 1).finding("", "").path
    checks = [_placed(check, task.task_id, shown) for check in proved.checks]
    # the clients that a pod can play, as far as the folder's text shows them
    wanted = {(name, seed) for name in (SOLVE, NOP, *violation_names(task)) for seed in scope.seeds}
    clients = {(one.player, one.seed): one for one in proved.clients if (one.player, one.seed) in wanted}
    if all(check.ok for check in checks) and len(clients) != len(wanted):
        at = Place(task.path / "solution" / "violations.py", 1)
        checks.append(failed("clients", None, at, "the prover checked other clients than those that VIOLATIONS lists"))
    detail = f"checked in {sandbox.name}, where the folder's own code ran beside the prover: only the play in pods is evidence"
    told = (*checks, passed("apart", None, detail))
    return Proved(task_id=task.task_id, checks=told, clients=tuple(clients.values()), seconds=time.perf_counter() - started)


def instructed_apart(sandbox: SandboxedRuntime, folder: Path) -> bytes:
    """Return the instruction that a folder's world renders for seed 0 in the sandbox. Raises TaskInvalid if that fails."""
    said = _asked(sandbox, ProverJob(what="instruct", name=folder.name, files=contents_of(folder)))
    try:
        told = Instruction.model_validate(said)
    except ValidationError:
        raise RuntimeFailure("the prover's answer is not a valid instruction") from None
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


def choose_sandbox(name: str, say: Say) -> SandboxedRuntime:
    """Return the sandbox of that name, or for `auto` the best that works here; raises UsageError or RuntimeFailure."""
    if name != "auto":
        return sandbox(name, say)
    why: list[str] = []
    for known in SANDBOXES:
        made = sandbox(known, say)
        probe = probed(made)
        if probe.ok:
            return made
        why.append(f"{known}: {probe.why}")
    raise RuntimeFailure(
        f"code from elsewhere needs a sandbox, and none works here: {'; '.join(why)}", hint="harness doctor, or --trust"
    )
