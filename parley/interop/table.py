"""Games inside another runner's container, with the same model at every seat and a record of the whole game.

This is the part of a game agent that does not depend on the runner. Another runner lets an agent only run commands in `main`,
where requests can be sent for every seat. So each request runs one short program there. The request is passed in environment
variables, split to fit the system's limit for one variable. The program prints one line: a marker, then the answer.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.completion import shortened
from harness.agents.llm.model import ModelClient
from harness.agents.seats.game import SeatedGame
from harness.agents.seats.holders import SeatReply
from harness.agents.seats.model import ModelSeat
from harness.agents.trajectory import Trajectory
from harness.errors import WorldFailure
from worlds.core.turns import OpenTurn
from worlds.core.wire import API_HOST, WireRequest, WireResponse

_MARK = "parley-answer"
_PIECE = 96 << 10
"""Characters per variable; Linux allows 131,071 bytes in one argument of a command."""

_PROGRAM = f"""
import base64, http.client, os
pieces = [os.environ[f"PARLEY_BODY_{{n}}"] for n in range(int(os.environ["PARLEY_PIECES"]))]
world = http.client.HTTPConnection(os.environ["PARLEY_WORLD"], timeout=120)
world.request(os.environ["PARLEY_METHOD"], os.environ["PARLEY_TARGET"], base64.b64decode("".join(pieces)))
answer = world.getresponse()
print("{_MARK}", answer.status, base64.b64encode(answer.read()).decode())
"""

COMMAND = f"python3 -I -c {shlex.quote(_PROGRAM)}"
"""The command that is run in the container, the same for every request."""

Run = Callable[[str, Mapping[str, str]], str]
"""Function that runs a command with these variables in the container and returns its output."""


class ContainerGame:
    """A game that is reached through a container."""

    def __init__(self, run: Run, world: str = API_HOST) -> None:
        self._run, self._world = run, world
        self.stopped: str | None = None
        """The exhausted budget because of which the game was abandoned; there is no host that could end the game."""

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Send one request. Raises WorldFailure if no answer comes back."""
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
        """Record the cause. Only a host can end a game, so the seats stop answering, and the unfinished game is judged."""
        self.stopped = cause


class ModelTable:
    """A game with a model at every seat."""

    def __init__(
        self, client: ModelClient, host: ContainerGame, budget: Budget, instruction: str, name: str, session: str
    ) -> None:
        """Prepare the game; `name` is the agent's name in its record and `session` the id of the episode."""
        self.report = Report(agent=name, model=client.name)
        self._client, self._host, self._session = client, host, session
        self._game = SeatedGame(host, budget, self.report)
        self._whole = self._begun(name)
        self._whole.user(instruction)

    @property
    def has_begun(self) -> bool:
        """True if the seats are filled."""
        return bool(self._game.seats)

    def play(self) -> None:
        """Play until the game is over or a budget is exhausted. Raises ProviderFailure, WorldFailure and Cancelled."""
        for row in self._game.session()["seats"]:
            number, rules = int(row["seat"]), str(row["system"])
            trajectory = self._begun(f"seat {number}")
            trajectory.system(rules)
            self._whole.seat(trajectory)
            self._game.seats[number] = _RecordedSeat(number, self._client, rules, trajectory, whole=self._whole)
        self._game.play()

    def record(self) -> dict[str, Any]:
        """Return the game so far as ATIF: each reply in order, and each seat's conversation as a nested trajectory."""
        return self._whole.to_dict(extra={"provider_wait_s": round(self._game.waited_s, 3)})

    def told(self) -> dict[str, Any]:
        """Return further data about the game: its seats with their cost, and the budget that stopped it, if any."""
        seats = [
            seat.result().model_dump(include={"seat", "tokens", "cost_usd", "latency_s"}) for seat in self._game.seats.values()
        ]
        forfeits = [{"seat": seat, "cause": why, "count": count} for (seat, why), count in sorted(self.report.forfeits.items())]
        disturbed = dict(self.report.disturbed)
        told = {"turns": self.report.tool_calls, "stopped_by": self._host.stopped, "seats": seats}
        return {**told, "disturbed": disturbed, "forfeits": forfeits}

    def _begun(self, name: str) -> Trajectory:
        return Trajectory(self._session, f"{self._session}-{name.replace(' ', '-')}", name, self._client.name)


class _RecordedSeat(ModelSeat):
    """Seat of a model whose replies are also added to the record of the whole game."""

    def __init__(self, *seat: Any, whole: Trajectory) -> None:
        super().__init__(*seat)
        self._whole = whole

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Add the reply to the records of the seat and the game. Tokens are recorded only for the seat."""
        super().keep(turn, reply)
        told = {"seat": turn.seat, "turn": turn.id, "phase": turn.phase, "round": turn.round}
        self._whole.agent(f"seat {turn.seat}: {shortened(reply.text)}", llm_call_count=1, extra=told)
