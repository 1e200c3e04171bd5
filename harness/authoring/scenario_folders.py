"""Writes the folder of a task that is data: what its family states here, everything else by `sync`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.authoring.sync import instructed, sync, vouched
from harness.errors import UsageError

WORLD = "environment/api"

RUNNING = """
[agent]
timeout_sec = 600.0
user = "agent"

[verifier]
timeout_sec = 120.0
environment_mode = "separate"

[environment]
docker_image = "parley/agent:1"
cpus = 1
memory_mb = 1024
workdir = "/workspace"
"""
"""How such a task is run and judged: the end of its task.toml."""


def write_folder(folder: Path, stated: Mapping[str, str], *, hint: str) -> Path:
    """Write the files that are stated, by path, and what follows from them; raises UsageError where there is no room.

    A folder that was not there before is not there after an error either.
    """
    fresh = not folder.exists()
    try:
        for relative, text in stated.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        # a folder that was here before may hold a server of its own, which nobody has vouched for
        sync(folder, instructed if (folder / WORLD / "server.py").exists() else vouched)
    except BaseException as error:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(f"{folder} cannot be written: {error.strerror}", hint=hint) from None
        raise
    return folder
