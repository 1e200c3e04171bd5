"""The world container's process: one episode, its log on /state, its clock in a file, HTTP on port 8080.

Started as `python3 -m worlds.core.serve` in the folder that holds server.py. The environment says which episode:
PARLEY_SEED, PARLEY_KEY, PARLEY_OPTIONS (JSON object), PARLEY_HOST_TOKEN, PARLEY_STATE, PARLEY_CLOCK_FILE; with
PARLEY_OPEN_TURNS=1 a game takes its turns from anybody, though there is a host. PARLEY_TEXTS (JSON object) holds texts that
stand in the place of the family's own. PARLEY_BRIDGE=1 forks the bridge off, which takes stdin and stdout; a second start of
Python would cost more than an episode's requests.
The server adds no header of its own (no Date, no Server), so responses are the same bytes in every runtime.
It listens in two places: the port, which whoever shares its network may crowd, and a path in its own /tmp for the bridge.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    # Imports make a hundred thousand objects that all stay: to look for garbage among them costs a fifth of a start.
    gc.disable()

import json
import os
import resource
import socket
from collections.abc import MutableMapping
from pathlib import Path

from worlds.core import bridge
from worlds.core.clock import VirtualClock
from worlds.core.connections import QUEUE, guarded_server, most_connections
from worlds.core.loading import open_world, setup_variables
from worlds.core.served import ServedWorld
from worlds.core.world import World

PORT = 8080
MAX_HEAD = 65_536
"""h11's limit on request line plus headers; above `wire.MAX_HEAD_BYTES`, so our own transports never meet it."""

PATIENCE_S = 600
"""Real seconds for which a connection may be silent, or half a request: an agent's clock is virtual."""

FILES = 4096
"""Open files that a world asks for, where it may have so many."""


def open_from_environment(folder: Path, environ: MutableMapping[str, str] = os.environ) -> World:
    """The episode that the environment describes; its log is created anew and must not exist, and the token is taken out."""
    seed, key = setup_variables(environ)
    state = Path(environ.get("PARLEY_STATE", "/state"))
    log = os.open(state / "events.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
    overrides = json.loads(environ.get("PARLEY_OPTIONS") or "{}")
    token = environ.pop("PARLEY_HOST_TOKEN", None) or None
    world = open_world(
        folder, seed=seed, key=key, overrides=overrides, host_token=token, sink=lambda line: os.write(log, line),
        open_turns=environ.get("PARLEY_OPEN_TURNS") == "1", texts=json.loads(environ.pop("PARLEY_TEXTS", "{}")),
    )  # fmt: skip
    clock_file = Path(environ.get("PARLEY_CLOCK_FILE", "/run/parley/clock"))
    if clock_file.parent.is_dir() and os.access(clock_file.parent, os.W_OK):
        world.clock.listen(lambda clock: write_clock(clock, clock_file))
    return world


def write_clock(clock: VirtualClock, path: Path) -> None:
    """Put virtual now where libfaketime reads it: beside, then renamed, so that no reader sees half a line.

    Seconds since 1970, which mean the same in every time zone a command may choose.
    """
    beside = path.with_name(path.name + ".new")
    now_ms = int(clock.epoch.timestamp()) * 1000 + clock.elapsed_ms
    beside.write_text(f"{now_ms // 1000}.{now_ms % 1000:03d}\n", encoding="ascii")
    beside.chmod(0o644)
    os.replace(beside, path)


def main() -> None:
    """Serve one episode until killed."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if os.environ.pop("PARLEY_BRIDGE", "") == "1":
        fork_bridge()
    world = open_from_environment(Path.cwd())
    gc.freeze()
    gc.enable()
    serve(world, local=bridge.LOCAL)


def fork_bridge() -> None:
    """Hand stdin and stdout to a bridge of its own process; what the world prints is its last words, like its errors."""
    if os.fork() == 0:
        os.environ.pop("PARLEY_HOST_TOKEN", None)
        bridge.main()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)


def serve(world: World, port: int = PORT, local: Path | None = None) -> None:
    """Answer on `port`, and at the path `local`, until killed."""
    server = guarded_server(
        ServedWorld(world), each=most_connections(), request_s=PATIENCE_S, timeout_keep_alive=PATIENCE_S, date_header=False,
        h11_max_incomplete_event_size=MAX_HEAD,
    )  # fmt: skip
    # The path first: whoever sees the port open finds it there.
    near = _listen_at(local) if local else None
    # The protocol by its number: asyncio sends at once only where it reads TCP there, else an answer takes 40 ms more.
    far = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    far.bind(("0.0.0.0", port))
    far.listen(QUEUE)
    server.run(sockets=[near, far] if near else [far])


def _listen_at(path: Path) -> socket.socket | None:
    """A socket at a path that only this user may connect to; None where nothing may be made there."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
    except OSError:
        listening.close()
        return None
    listening.listen(QUEUE)
    return listening


if __name__ == "__main__":
    main()
