"""A task folder's server.py is found, imported once, and refused in one clause when it is not one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.registry import Task
from worlds.core.errors import WorldError
from worlds.core.loading import load_world, open_world
from worlds.core.testing import client, world_in_process
from worlds.core.wire import request


def test_same_folder_same_class(presigned: Task) -> None:
    """A server is imported once in a process."""
    assert load_world(presigned.world_folder) is load_world(presigned.world_folder)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "must define exactly one World class, found 0"),
        ("from worlds.core.world import World\n", "must define exactly one World class, found 0"),
        (
            "from worlds.core.world import World\nclass A(World): ...\nclass B(A): ...\n",
            "must define exactly one World class, found 2",
        ),
        ("import nowhere_at_all\n", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_no_world(tmp_path: Path, source: str, why: str) -> None:
    """A server without its one world is named with the reason."""
    (tmp_path / "server.py").write_text(source, encoding="utf-8")

    with pytest.raises(WorldError, match=f"^{re.escape(f'{tmp_path}/server.py: {why}')}$"):
        load_world(tmp_path)


def test_missing_server(tmp_path: Path) -> None:
    """So is a folder without one."""
    with pytest.raises(WorldError, match=f"^{re.escape(str(tmp_path))}/server.py: No such file or directory$"):
        load_world(tmp_path)


def test_private_key_is_another_edition(presigned: Task) -> None:
    """Another key gives another instance and is recorded by digest only."""
    public, private = (open_world(presigned.world_folder, key=key) for key in (None, "held-out"))

    assert public.instruction != private.instruction
    assert b"held-out" not in private.log.dump()


@pytest.mark.parametrize("seed", range(5))
def test_same_seed_same_bytes(presigned: Task, seed: int) -> None:
    """Equal requests to one seed leave equal logs."""
    logs = []
    for _ in range(2):
        world = world_in_process(presigned.world_folder, seed=seed)
        for target in ("/task", "/api/precheck", "/nowhere"):
            world(request("GET", target))
        logs.append(world.log.dump())

    assert logs[0] == logs[1]


def test_client_sends_what_httpx_would(presigned: Task) -> None:
    """The kit's httpx client reaches the world with its own target, headers and body."""
    with client(world_in_process(presigned.world_folder)) as api:
        answer = api.post("/clock/wait", json={"seconds": 1.5})

    assert (200, 1.5, "http://api:8080/clock/wait") == (answer.status_code, answer.json()["virtual_time"], str(answer.url))
