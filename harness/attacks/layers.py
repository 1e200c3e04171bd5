"""What a folder's own Dockerfile adds to the image of `main`: the files of its layers, and what its history and settings say.

The layers of the image that it is built FROM are left out, where that image is here. Files that a later layer takes away
again are told apart: an agent in a container cannot read them, whoever has the image can.
"""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple

from harness.pod import Runtime
from harness.registry import Task
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.runtime import DockerRuntime

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.IGNORECASE | re.MULTILINE)
_MOST = 64 << 20
_TAKEN, _OPAQUE = ".wh.", ".wh..wh..opq"


class Added(NamedTuple):
    """One file of a layer; `gone` where a later layer takes it away."""

    path: str
    data: bytes
    gone: bool = False


def image_of(task: Task, runtime: Runtime) -> str | None:
    """The id of the image that the folder builds for `main`, or None where it builds none."""
    if not isinstance(runtime, DockerRuntime):
        return None
    built = runtime.prepare([task])
    return built.get(f"{task.task_id}:{'agent' if task.parley else 'main'}")


def settings_of(runtime: Runtime, image: str) -> bytes:
    """What an image's history and settings say."""
    engine = _engine(runtime)
    with engine.doing("reading an image's history") as api:
        told = [row.get("CreatedBy", "") for row in api.history(image)]
        return json.dumps([told, api.inspect_image(image)["Config"]], ensure_ascii=False).encode()


def added_files(task: Task, runtime: Runtime, image: str) -> Iterator[Added]:
    """Every regular file, of at most 64 MiB, that the folder's Dockerfile adds."""
    engine = _engine(runtime)
    below = _layers_below(task, engine, image)
    with tempfile.TemporaryFile() as file:
        with engine.doing("saving an image") as api:
            for chunk in api.get_image(image):
                file.write(chunk)
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            manifest = json.load(_member(archive, "manifest.json"))
            names: list[str] = manifest[0]["Layers"][below:]
            gone = _taken_away(archive, names)
            for place, name in enumerate(names):
                for path, data in _regular(archive, name):
                    yield Added(path, data, gone=any(_covers(taken, path) for later in gone[place + 1 :] for taken in later))


def _layers_below(task: Task, engine: Engine, image: str) -> int:
    """How many layers belong to what the image is built on."""
    with engine.doing("inspecting an image") as api:
        mine = api.inspect_image(image)["RootFS"]["Layers"]
        dockerfile = task.path / "environment" / "Dockerfile"
        # an image that a foreign folder names instead of building it is its own, layer by layer; ours is the base of all
        named = [task.file.environment.docker_image or ""] if task.parley else []
        bases = _FROM.findall(dockerfile.read_text(encoding="utf-8", errors="replace")) if dockerfile.is_file() else named
        most = 0
        for base in bases:
            try:
                layers = api.inspect_image(base)["RootFS"]["Layers"]
            except engine.gone:
                continue
            if mine[: len(layers)] == layers:
                most = max(most, len(layers))
    return most


def _taken_away(archive: tarfile.TarFile, names: list[str]) -> list[set[str]]:
    """For each layer the paths that it takes away from those below; a folder stands for all in it."""
    taken: list[set[str]] = []
    for name in names:
        with tarfile.open(fileobj=_member(archive, name)) as layer:
            marks = [PurePosixPath(entry.name) for entry in layer if PurePosixPath(entry.name).name.startswith(_TAKEN)]
        paths = (mark.parent if mark.name == _OPAQUE else mark.with_name(mark.name.removeprefix(_TAKEN)) for mark in marks)
        taken.append({str(path) for path in paths})
    return taken


def _regular(archive: tarfile.TarFile, name: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=_member(archive, name)) as layer:
        for entry in layer:
            content = layer.extractfile(entry) if entry.isreg() and 0 < entry.size <= _MOST else None
            if content is not None:
                yield entry.name.removeprefix("./"), content.read()


def _covers(taken: str, path: str) -> bool:
    return path == taken or path.startswith(f"{taken}/")


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    member = archive.extractfile(name)
    assert member is not None, name
    return member


def _engine(runtime: Any) -> Engine:
    assert isinstance(runtime, DockerRuntime)
    return runtime.engine
