"""Process of the world container: one episode, its log in /state, its clock in a file, HTTP on port 8080.

It is started as `python3 -m worlds.core.serve` in the folder of server.py. The environment selects the episode: PARLEY_SEED,
PARLEY_KEY, PARLEY_OPTIONS (JSON object), PARLEY_HOST_TOKEN, PARLEY_STATE, PARLEY_CLOCK_FILE. With PARLEY_OPEN_TURNS=1 a game
accepts turns from any caller although there is a host. PARLEY_TEXTS (JSON object) overrides texts of the family.
PARLEY_BRIDGE=1 forks the bridge, which takes over stdin and stdout; a second start of Python would take longer than the
requests of an episode. The server adds no Date or Server header, so responses are identical bytes in every runtime. It
listens on the port, which other containers of the network may flood, and on a Unix socket in its own /tmp for the bridge.
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
from worlds.core.connections import QUEUE, guarded_server, max_connections
from worlds.core.loading import open_world, setup_variables
from worlds.core.served import ServedWorld
from worlds.core.world import World

PORT = 8080
MAX_HEAD = 65_536
"""h11's limit on request line plus headers; above `wire.MAX_HEAD_BYTES`, so our own transports never reach it."""

PATIENCE_S = 600
"""Real seconds before an idle connection or a partial request times out; long, because an agent's clock is virtual."""

FILES = 4096
"""Limit on open files that a world requests, if the hard limit allows it."""


def open_from_environment(folder: Path, environ: MutableMapping[str, str] = os.environ) -> World:
    """Open the episode that the environment describes and remove its token; the log file must not exist yet."""
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
    """Write virtual now to the file that libfaketime reads; a rename makes the write atomic.

    The value is in seconds since 1970, which are independent of the time zone that a command may choose.
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
    """Fork the bridge, which takes over stdin and stdout; output of the world then goes to stderr."""
    if os.fork() == 0:
        os.environ.pop("PARLEY_HOST_TOKEN", None)
        bridge.main()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)


def serve(world: World, port: int = PORT, local: Path | None = None) -> None:
    """Serve on `port`, and on the Unix socket `local`, until killed."""
    server = guarded_server(
        ServedWorld(world), each=max_connections(), request_s=PATIENCE_S, timeout_keep_alive=PATIENCE_S, date_header=False,
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
    """Return a listening Unix socket that only this user may connect to; None if it cannot be created."""
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
