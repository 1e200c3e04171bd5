"""One program in the prover's sandbox: bytes in, bytes out, nothing else of this host."""

from __future__ import annotations

import os
from collections.abc import Sequence

from harness.errors import RuntimeFailure
from harness.runtimes.bubblewrap.bounds import entrances, new_group
from harness.runtimes.bubblewrap.environments import Room
from harness.runtimes.bubblewrap.folders import Folder
from harness.runtimes.bubblewrap.rooms import BASE_ENV, PROVER_MB, prover_room
from harness.runtimes.bubblewrap.sandbox import Control, Sandbox


class Confined:
    """One such program; its streams are files of the episode's folder, so nobody waits for anybody."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._folder = Folder.make()
        self._control = Control()
        self._group = new_group(PROVER_MB)
        self._sandbox: Sandbox | None = None

    def run(self, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """What it says on stdout; raises RuntimeFailure where it fails, says too much, or does not end in time."""
        (self._folder.path / "stdin").write_bytes(stdin)
        asked = os.open(self._folder.path / "stdin", os.O_RDONLY | os.O_CLOEXEC)
        try:
            with self._folder.log("stdout") as out, self._folder.log("stderr") as said, entrances(self._group) as groups:
                start = prover_room(self._folder, self._room, self._control.far.fileno(), groups)
                self._control.configure(**start.config)
                self._sandbox = Sandbox(start.argv, self._control, said, groups)
                self._control.start("prover", command, [asked, out, said], {**BASE_ENV, "HOME": "/tmp"}, "/tmp")
                code = self._control.ended("prover", limit_s)
        except OSError:
            raise RuntimeFailure(f"the prover's sandbox ended: {self._folder.tail('stderr')}") from None
        finally:
            os.close(asked)
        self._sandbox.kill()
        if code != 0:
            why = f"ended with {code}" if code is not None else f"was killed, after at most {limit_s:g} s"
            raise RuntimeFailure(f"the prover {why}: {self._folder.tail('stderr') or 'no output'}")
        try:
            return self._folder.read("stdout", most)
        except OSError as error:
            raise RuntimeFailure(f"the prover's answer: {error}") from None

    def kill(self) -> None:
        """Kill it, from any thread."""
        if self._sandbox is not None:
            self._sandbox.kill()

    def close(self) -> None:
        """Kill and remove everything of it; safe to call twice."""
        if self._sandbox is not None:
            self._sandbox.close()
        self._control.close()
        if self._group is not None:
            self._group.remove()
        self._folder.remove()
