"""Creates task folders from a family's skeleton, and writes their boilerplate and the files that follow from others.

1. Boilerplate comes from the family's templates, world.json from task.toml, instruction.md from the world's rendering for seed
0, certificate and plan from the family's `derived`, if any. Only the rendering runs code of the folder, so the caller decides
where it runs.
2. A file with the stamp of an earlier template is removed if no template creates it any more.
3. `sync` writes only files that differ, so a second run changes nothing. `drift` reports what it would change.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import TaskInvalid, UnknownTask, UsageError, quoted
from harness.plugins import family_part_or_none
from harness.registry import files_of
from harness.taskfile import TaskFile, read_taskfile
from harness.trust import require_folder
from parley.proof.findings import Finding, Place, first_difference, raised_in
from parley.proof.templates import STAMP, Files, family, is_executable
from worlds.core.errors import ParleyError
from worlds.core.events import EventLog
from worlds.core.loading import load_world
from worlds.core.world import WorldSetup

EXECUTABLE, PLAIN = 0o755, 0o644
Instruct = Callable[[Path], bytes]
"""Function that renders a folder's instruction for seed 0: `instructed` here, `parley.proof.sandboxed_proof` in a sandbox."""

_AGAIN = "run: harness sync"
_STAMPED_WITHIN = 512
"""Bytes from the start of a file that may contain its stamp: the first line, or the end of a docstring."""


def task_folders(root: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the folders that match the ids, globs, families or paths, including folders without boilerplate.

    Without names, return all folders. Raises UnknownTask.
    """
    known = sorted(path.parent for path in root.glob("*/*/task.toml"))
    if not names:
        return known
    chosen: list[Path] = []
    for name in names:
        folders = [p for p in known if name in (p.name, p.parent.name) or fnmatch.fnmatchcase(p.name, name)]
        if not folders and (Path(name) / "task.toml").exists():
            folders = [Path(name).resolve()]
        if not folders:
            raise UnknownTask(f"no task folder is named {name!r}", hint="harness list")
        chosen += [path for path in folders if path not in chosen]
    return chosen


def instructed(folder: Path, *, admitted: bool = False) -> bytes:
    """Return the instruction that the folder's own world renders for seed 0, in this process.

    Raises UsageError if the folder's code may not run here, and TaskInvalid with the failing line of server.py or the template.
    """
    require_folder(folder, admitted=admitted)
    manifest, api = read_taskfile(folder / "task.toml").manifest(), folder / "environment" / "api"
    if manifest is None:
        raise TaskInvalid(f"{folder / 'task.toml'}:1: needs [task] and [metadata.parley] to generate the instruction")
    try:
        world = load_world(api)(WorldSetup(manifest, folder=api), EventLog())
    except Exception as error:
        at = blamed(error, api)
        what = str(error).removeprefix(f"{at.path}: ") if isinstance(error, ParleyError) else f"{type(error).__name__}: {error}"
        raise TaskInvalid(f"{at.path}:{at.line}: {what}") from error
    return world.instruction.encode()


vouched: Instruct = partial(instructed, admitted=True)
"""Renderer for a folder whose files were all generated, or whose code a person vouches for."""


def sync(folder: Path, instruct: Instruct = instructed) -> list[Path]:
    """Write files that are missing or differ, and return their paths. Raises TaskInvalid for a foreign or broken folder."""
    fixed = dict(_fixed(folder, read_taskfile(folder / "task.toml")))
    changed = [path for path, content in fixed.items() if _write(folder, path, content)]
    # the world reads the files that were just written
    changed += [path for path, content in {"instruction.md": instruct(folder)}.items() if _write(folder, path, content)]
    outdated = list(_outdated(folder, fixed))
    for path in outdated:
        path.unlink()
    return [*(folder / path for path in changed), *outdated]


def drift(folder: Path, instruct: Instruct = instructed) -> list[Finding]:
    """Return the changes that `sync` would make, each at the first line that differs. Raises TaskInvalid as `sync` does."""
    expected = {**dict(_fixed(folder, read_taskfile(folder / "task.toml"))), "instruction.md": instruct(folder)}
    differing = [finding for path, content in expected.items() if (finding := _differs(folder / path, content))]
    outdated = [
        Place(path, 1).finding("drift", f"is from an earlier template; {_AGAIN}") for path in _outdated(folder, expected)
    ]
    return [*differing, *outdated]


def _fixed(folder: Path, file: TaskFile) -> Iterator[tuple[str, bytes]]:
    """Yield the files that follow from task.toml and the templates alone."""
    manifest = file.manifest()
    if manifest is None:
        raise TaskInvalid(f"{folder / 'task.toml'}:1: needs [task] and [metadata.parley] to generate the boilerplate")
    yield from family(manifest.family).boilerplate().items()
    yield "environment/api/world.json", manifest.to_json().encode()
    if module := family_part_or_none(manifest.family, "authoring.derived"):
        yield from module.derived(folder).items()


def _outdated(folder: Path, expected: Container[str]) -> Iterator[Path]:
    """Yield files that carry the stamp and that no template creates."""
    for path in files_of(folder):
        relative = path.relative_to(folder).as_posix()
        if relative not in expected and STAMP.encode() in path.read_bytes()[:_STAMPED_WITHIN]:
            yield path


def blamed(error: BaseException, api: Path) -> Place:
    """Return the file that a world's error names (`path: message`), or else server.py, at the line that raised the error."""
    name = str(error).partition(": ")[0]
    return raised_in(error, Path(name) if name.startswith(str(api)) else api / "server.py")


def _write(folder: Path, relative: str, content: bytes) -> bool:
    path = folder / relative
    for part in (path, *path.parents[: relative.count("/")]):
        if part.is_symlink():
            raise TaskInvalid(f"{part}:1: is a link, and sync writes only inside the folder", hint=f"rm {quoted(part)}")
    mode = EXECUTABLE if is_executable(path.name) else PLAIN
    if path.is_file() and path.read_bytes() == content and path.stat().st_mode & 0o777 == mode:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return True


def _differs(path: Path, content: bytes) -> Finding | None:
    if not path.is_file():
        return Place(path, 1).finding("drift", f"is missing; {_AGAIN}")
    given = path.read_bytes()
    if given == content:
        return None
    return Place(path, first_difference(content, given)).finding("drift", f"differs from what sync writes; {_AGAIN}")


def spread_json(document: Mapping[str, Any], opened: Container[str]) -> bytes:
    """Return JSON with one line per key; the values of the `opened` keys, at any depth, have one line per entry."""
    return (_spread(document, opened, 0) + "\n").encode()


def _spread(value: Any, opened: Container[str], depth: int) -> str:
    if not value:
        # the files of tasks are pinned by their digests, so an empty document keeps its lines
        return json.dumps(value) if depth else "{\n\n}"
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(inner + json.dumps(one, ensure_ascii=False) for one in value) + outer + "]"
    entries = (
        f"{json.dumps(str(key))}: "
        + (_spread(one, opened, depth + 1) if key in opened else json.dumps(one, ensure_ascii=False))
        for key, one in value.items()
    )
    return "{" + ",".join(inner + entry for entry in entries) + outer + "}"


LONGEST_NAME = 31
"""Maximum length, since Harbor truncates the names of its trials after 32 characters."""


def new_task(root: Path, family_name: str, name: str, style: str = "") -> Path:
    """Write and return `root`/`family_name`/`name`. Raises UsageError for a bad or taken name, an unknown family or style."""
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
    """Write the given files and those that `sync` derives; after an error, a new folder is removed. Raises UsageError."""
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
