"""Loader of the single World class in a task's server.py, which opens episodes of it.

The world container, the in-process runtime and the test kit use the same loader, so a task is written once.
A server.py that holds a FastAPI app is loaded again for every episode, so that episodes share no module state.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from worlds.core.errors import WorldError
from worlds.core.events import EventLog
from worlds.core.manifest import OptionValue, read_manifest
from worlds.core.operations import adopt_app, find_app
from worlds.core.parts import import_part
from worlds.core.world import World, WorldSetup

SCENARIO = "scenario.json"
"""File of a task folder that replaces server.py if the family's own world runs the task."""

_loaded: dict[str, type[World]] = {}
_numbers = count()

_building = threading.RLock()
"""Lock for building and adopting apps, because FastAPI mutes a process-wide warning while it builds a route."""

os.register_at_fork(before=_building.acquire, after_in_parent=_building.release, after_in_child=_building.release)


def load_world(folder: Path) -> type[World]:
    """Return the World class of `folder/server.py`, or of the family; raises WorldError unless there is exactly one."""
    path = folder / "server.py"
    if not path.exists() and (folder / SCENARIO).exists():
        return _world_of(read_manifest(folder / "world.json").family)
    try:
        name = "parley_task_" + hashlib.sha256(str(path).encode() + path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise WorldError(f"{path}: {error.strerror}") from None
    if name in _loaded:
        return _loaded[name]
    with _building:
        # two threads may load an app at once, and each needs its own
        module = _import(f"{name}_{next(_numbers)}", path)
        cls = _only_world(module, path)
        if (app := find_app(module)) is None:
            _loaded[name] = cls
            return cls
        del sys.modules[module.__name__]
        try:
            adopt_app(cls, app)
        except WorldError as error:
            raise WorldError(f"{path}: {error}") from None
        return cls


def open_world(
    folder: Path,
    *,
    seed: int = 0,
    key: str | None = None,
    overrides: Mapping[str, OptionValue] | None = None,
    host_token: str | None = None,
    sink: Callable[[bytes], object] | None = None,
    open_turns: bool = False,
    texts: Mapping[str, str] | None = None,
) -> World:
    """Open a new episode of the task whose environment/api folder is `folder`; `key` defaults to the published one.

    `texts` override the family's own texts, by file name.
    """
    extra: dict[str, Any] = {"key": key} if key else {}
    setup = WorldSetup(
        read_manifest(folder / "world.json"), seed, overrides=overrides or {}, host_token=host_token, folder=folder,
        open_turns=open_turns, texts=texts or {}, **extra,
    )  # fmt: skip
    return load_world(folder)(setup, EventLog(sink))


def setup_variables(environ: Mapping[str, str] = os.environ) -> tuple[int, str | None]:
    """Read seed and key from the environment; raises WorldError if the seed is not a whole number."""
    seed = environ.get("PARLEY_SEED") or "0"
    if not seed.isdecimal():
        raise WorldError(f"PARLEY_SEED must be a whole number from 0, not {seed!r}")
    return int(seed), environ.get("PARLEY_KEY") or None


def _world_of(family: str) -> type[World]:
    """Return the World class of a family whose tasks are data."""
    module = import_part("worlds", family, "world")
    if module is None:
        raise WorldError(f"the family {family!r} has no world for a {SCENARIO}")
    return _only_world(module, Path(str(module.__file__)))


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WorldError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise WorldError(f"{path}: {type(error).__name__}: {error}") from error
    return module


def _only_world(module: ModuleType, path: Path) -> type[World]:
    world_classes = [
        v for v in vars(module).values() if isinstance(v, type) and issubclass(v, World) and v.__module__ == module.__name__
    ]
    if len(world_classes) != 1:
        raise WorldError(f"{path}: must define exactly one World class, found {len(world_classes)}")
    return world_classes[0]
