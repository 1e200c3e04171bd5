"""Creates task folders that pass `harness verify` immediately: the family's skeleton, and everything that `sync` writes.

The skeleton is a small working task. An author changes it, and `harness verify` reports what no longer holds.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.errors import UsageError
from harness.plugins import family_part_or_none
from parley.proof.sync import instructed, sync, vouched
from parley.proof.templates import Files, family

LONGEST_NAME = 31
"""Maximum length, since Harbor truncates the names of its trials after 32 characters."""


def new_task(root: Path, family_name: str, name: str, style: str = "") -> Path:
    """Write `root`/`family_name`/`name` and return it.

    Raises UsageError for a bad or taken name, and for an unknown family or style.
    """
    checked_name(name)
    module = None if style else family_part_or_none(family_name, "authoring.skeleton")
    files: Files = module.skeleton(name) if module else family(family_name).skeleton(name, style)
    taken = next((path for path in root.glob("*/*") if path.name == name), None)
    if taken is not None:
        raise UsageError(f"{taken} exists already", hint=f"harness new {family_name} OTHER-NAME")
    stated = {relative: content.decode() for relative, content in files.items()}
    return write_folder(root / family_name / name, stated, hint="the same command with another --tasks")


def checked_name(name: str) -> str:
    """Return a valid task name unchanged. Raises UsageError if it cannot be the name of a folder, or of a task under Harbor."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(
            f"a task's name consists of lower-case letters, digits and single hyphens, and starts with a letter, not {name!r}"
        )
    if len(name) > LONGEST_NAME:
        raise UsageError(f"a task's name has at most {LONGEST_NAME} characters, but {name!r} has {len(name)}")
    return name


WORLD = "environment/api"

TASK = """\
schema_version = "1.4"
artifacts = [{{ source = "/state/events.jsonl", service = "api" }}]

[task]
name = "parley/{name}"
version = "1.0.0"
description = {description}
keywords = [{keywords}]

[metadata.parley]
family = "{family}"
category = "none"
pattern = {pattern}
{certificate}difficulty = "{difficulty}"
seats = {seats}
seeds = {seeds}
interfaces = ["seats"]
{options}
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
"""Template of a game's task.toml; the last part defines how the game is run and judged."""


def write_folder(folder: Path, stated: Mapping[str, str], *, hint: str) -> Path:
    """Write the given files and those that `sync` derives. Raises UsageError if the folder cannot be written.

    A folder that did not exist before is removed after an error.
    """
    fresh = not folder.exists()
    try:
        for relative, text in stated.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        # a folder that existed before may contain its own, untrusted server
        sync(folder, vouched if fresh or not (folder / WORLD / "server.py").exists() else instructed)
    except BaseException as error:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(f"{folder} cannot be written: {error.strerror}", hint=hint) from None
        raise
    return folder
