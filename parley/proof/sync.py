"""Writes the generated files of a task folder: boilerplate, and files that follow from the others.

1. Boilerplate comes from the family's templates, world.json from task.toml, instruction.md from the world's rendering for seed
0, certificate and plan from the family's `derived`, if any. Only the rendering runs code of the folder, so the caller decides
where it runs.
2. A file with the stamp of an earlier template is removed if no template creates it any more.
3. `sync` writes only files that differ, so a second run changes nothing. `drift` reports what it would change.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import TaskInvalid, UnknownTask, quoted
from harness.plugins import family_part_or_none
from harness.registry import files_of
from harness.taskfile import TaskFile, read_taskfile
from harness.trust import require_folder
from parley.proof.findings import Finding, Place, first_difference, raised_in
from parley.proof.templates import STAMP, family, is_executable
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
