"""From a request to the line that answered it: routing as the app does it, then the source of the handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.authoring.findings import Place, definition
from harness.registry import Task
from harness.trust import require
from worlds.core.loading import open_world
from worlds.core.routes import compiled
from worlds.core.world import World


def handler_place(task: Task, method: str, path: str) -> Place:
    """The `def` line of the handler of a request; the first line of server.py where none answers it."""
    require(task)
    world = open_world(task.world_folder)
    handler = _handler(world, method, path)
    return _source(handler) if handler is not None else Place(task.world_folder / "server.py", 1)


def _handler(world: World, method: str, path: str) -> Callable[..., Any] | None:
    if (method, path) == ("POST", "/submission"):
        return world.judge_submission
    for rule, handler in world.rules():
        if rule.method == method and compiled(rule.path).match(path):
            route_handler: Callable[..., Any] = handler
            return route_handler
    return None


def _source(handler: Callable[..., Any]) -> Place:
    # a path operation stands behind what calls its app
    written = inspect.unwrap(handler)
    return definition(Path(inspect.getfile(written)), written.__name__)
