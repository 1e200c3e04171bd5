"""The Dockerfile of a room of one of our tasks that ships none: the base image, and for a world the files of its folder.

Under Harbor the same is said by docker_image in task.toml, for `main`, and by docker-compose.yaml, for the world.
"""

from __future__ import annotations

from harness.registry import Task

MAIN_IMAGE = "parley/agent:1"


def plain_recipe(task: Task, room: str) -> str | None:
    """The text of that Dockerfile; None where the folder has to have one."""
    if room == "agent" and task.file.environment.docker_image == MAIN_IMAGE:
        return f"FROM {MAIN_IMAGE}\n"
    return "FROM parley/world:1\nCOPY . /srv/world/\n" if room == "world" else None
