"""Settings of every container, ours or foreign: labels that identify the owner, limits, and a deadline."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from harness.orphans import EPISODE_LABEL, OWNER_LABEL, RUN_LABEL, this_owner
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.docker.engine.client import SECCOMP
from harness.runtimes.seccomp import docker_profile

PIDS = 256
Check = Callable[[], None]
"""Function that raises Cancelled if the run was interrupted."""

_LOGGED = {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}


def fresh_name(room: str) -> str:
    """Return a name for one more container, volume or network."""
    return f"parley-{room}-{secrets.token_hex(6)}".lower()


def labels(spec: EpisodeSpec) -> dict[str, str]:
    """Return the labels that mark a container or volume as belonging to this episode and this process."""
    return {RUN_LABEL: spec.run_id, EPISODE_LABEL: spec.episode_id, OWNER_LABEL: this_owner()}


def security_options(*, is_used_again: bool = False) -> list[str]:
    """Return the security options of a container; with `is_used_again`, it cannot create objects that outlive a process."""
    return ["no-new-privileges", f"{SECCOMP}{docker_profile(is_used_again=is_used_again)}"]


def hardened(memory_mb: int, cpus: float, **more: Any) -> dict[str, Any]:
    """Return the host settings of every container of ours."""
    return {
        "cap_drop": ["ALL"], "security_opt": security_options(), "init": True, "pids_limit": PIDS,
        "mem_limit": f"{memory_mb}m", "memswap_limit": f"{memory_mb}m", "nano_cpus": int(cpus * 1e9), "log_config": _LOGGED,
        **more,
    }  # fmt: skip


GAME_S = 7 * 86_400.0
"""Time limit of a game in real seconds: the actual limits are turns and the timeouts of calls."""


def deadline_s(task: Task, wall_s: float) -> int:
    """Return the real seconds after which a container ends by itself: the longest possible episode, plus a margin."""
    longest = max(task.file.agent.timeout_sec or 0, GAME_S if task.is_seated else wall_s)
    return int(longest + task.file.verifier.timeout_sec + 600)
