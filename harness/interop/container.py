"""A game that is reached through commands in another program's container: each request is one short program there.

1. Somebody else's runner gives an agent nothing but commands in `main`. There every seat is open, as the instruction says.
2. A request travels in environment variables, in pieces that a system takes as one argument, and its answer as one line of the
   output behind a mark, so that nothing else that is printed there can be taken for it.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Mapping

from harness.errors import WorldFailure
from worlds.core.wire import API_HOST, WireRequest, WireResponse

_MARK = "parley-answer"
_PIECE = 96 << 10
"""Characters of one variable; Linux takes 131,071 bytes as one argument of a command."""

_PROGRAM = f"""
import base64, http.client, os
pieces = [os.environ[f"PARLEY_BODY_{{n}}"] for n in range(int(os.environ["PARLEY_PIECES"]))]
world = http.client.HTTPConnection(os.environ["PARLEY_WORLD"], timeout=120)
world.request(os.environ["PARLEY_METHOD"], os.environ["PARLEY_TARGET"], base64.b64decode("".join(pieces)))
answer = world.getresponse()
print("{_MARK}", answer.status, base64.b64encode(answer.read()).decode())
"""

COMMAND = f"python3 -I -c {shlex.quote(_PROGRAM)}"
"""What is run in the container, the same for every request."""

Run = Callable[[str, Mapping[str, str]], str]
"""Runs a command with these variables in the container; its output."""


class ContainerGame:
    """A game behind a container."""

    def __init__(self, run: Run, world: str = API_HOST) -> None:
        self._run, self._world = run, world
        self.stopped: str | None = None
        """The budget because of which the game was left where it stands: there is no host who could end it."""

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Send one request; raises WorldFailure where no answer comes back."""
        body = base64.b64encode(request.body).decode()
        pieces = [body[place : place + _PIECE] for place in range(0, len(body), _PIECE)]
        variables = {
            "WORLD": self._world,
            "METHOD": request.method,
            "TARGET": request.target.decode(),
            "PIECES": str(len(pieces)),
        }
        variables |= {f"BODY_{number}": piece for number, piece in enumerate(pieces)}
        output = self._run(COMMAND, {f"PARLEY_{name}": value for name, value in variables.items()})
        marked = [line for line in output.splitlines() if line.startswith(f"{_MARK} ")]
        if not marked:
            told = next((line for line in reversed(output.splitlines()) if line.strip()), "nothing")
            raise WorldFailure(f"no answer came from {self._world} in the container, which printed last: {told[-200:]}")
        _, status, answer = f"{marked[-1]} ".split(" ", 2)
        return WireResponse(int(status), body=base64.b64decode(answer))

    def stop(self, cause: str) -> None:
        """Only a host can end a game: here nobody answers any more, and it is judged as far as it got."""
        self.stopped = cause
