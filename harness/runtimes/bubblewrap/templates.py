"""Template processes that worlds and verdicts are forked from: one of each for this process, started on demand.

1. A template is a sandbox made by bwrap, whose PID 1 has imported what an episode's programs import. A pod and a verdict are
forked from it into namespaces of their own (`inside.forks`), which takes 1/40 of the time of a start.
2. It receives nothing about an episode except the name of a folder, and nothing that ran in an episode is reused.
3. It dies with this process for any reason, together with everything forked from it; a dead one is replaced.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from harness.runtimes.bubblewrap.environments import Environments
from harness.runtimes.bubblewrap.folders import Folder, folders_root
from harness.runtimes.bubblewrap.rooms import Room, etc_files, template_room
from harness.runtimes.bubblewrap.sandbox import Branch, Control, Sandbox

MODULES: Mapping[str, Sequence[str]] = {
    "world": (
        "worlds.core.serve", "worlds", "uvicorn.protocols.http.h11_impl", "uvicorn.loops.asyncio", "uvicorn.lifespan.off",
        "fastapi.openapi.utils", "logging.config", "encodings.idna",
    ),
    "verifier": ("validators.warm", "validators", "_pytest", "pytest"),
}  # fmt: skip
"""Modules that a template imports; packages are imported with all their modules."""

STARTS_MAIN = "world"
"""Name of the template whose children start `main` by bwrap."""

TAIL = 600


class Template(Sandbox):
    """Template process."""

    def __init__(self, room: Room, modules: Sequence[str], folders: Path, environments: Path | None) -> None:
        """Start it without waiting; raises RuntimeFailure if bwrap is missing. See `rooms.template_room`."""
        control, self._said = Control(), os.memfd_create("parley-template")
        control.configure()
        with ExitStack() as stack:
            etc: dict[str, int] = {}
            for name, data in etc_files(room.python, None).items():
                file = stack.enter_context(os.fdopen(os.memfd_create("parley-etc"), "w+b", buffering=0))
                file.write(data)
                file.seek(0)
                etc[name] = file.fileno()
            argv = template_room(room, modules, folders, environments, control.far.fileno(), etc)
            super().__init__(argv, control, self._said, tuple(etc.values()))

    def fork(self, fork: Mapping[str, object], folder: Folder, control: Control, files: Sequence[int]) -> Branch:
        """Fork the sandbox of an episode, given by its folder; `files` are its descriptors, with its control socket."""
        return Branch(self.control, folder.path.name, fork, control, files)

    def last_words(self) -> str:
        """Return the end of its error output."""
        try:
            size = os.fstat(self._said).st_size
            return os.pread(self._said, TAIL, max(0, size - TAIL)).decode("utf-8", "replace").strip()
        except OSError:
            # another one has its place already
            return ""

    def close(self) -> None:
        """Kill it, and everything that was forked from it."""
        super().close()
        os.close(self._said)


_starting = threading.Lock()
_templates: dict[tuple[object, ...], Template] = {}


def template(environments: Environments, name: str) -> Template:
    """Return the template of a room in this process, started if there is none; raises RuntimeFailure without bwrap."""
    room, folders = environments.room(name), folders_root()
    # a fork of this process must not share its template: that dies with the thread which started it
    key = (os.getpid(), room, folders)
    with _starting:
        warm = _templates.get(key)
        if warm is None or warm.has_ended():
            if warm is not None:
                warm.close()
            below = environments.folder if name == STARTS_MAIN else None
            warm = _templates[key] = Template(room, MODULES[name], folders, below)
    return warm


@atexit.register
def _close_templates() -> None:
    # in a fork they belong to its parent
    for key, warm in _templates.items():
        if key[0] == os.getpid():
            warm.close()
