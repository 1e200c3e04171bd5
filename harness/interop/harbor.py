"""An agent for Harbor that plays a game of several seats, each with a model conversation of its own.

    harbor run -p TASK --agent harness.interop.harbor:SeatsAgent --model openai/gpt-5

1. Any other agent of Harbor's holds all seats in one conversation, and so knows what no seat may know. This one asks each seat
   with its own rules and its own turns, by the loop that `harness run` has (`harness.agents.seating`).
2. The loop waits for models, so it runs on a thread, and hands what it asks of the container to Harbor's own event loop. When
   Harbor's time is up the thread ends at its next request, and what was said by then is recorded.
3. What fails beside the model has no valid reward: a provider is an `ApiError` of Harbor's, a world that does not answer, or
   that has no seats, a `HealthcheckError`.

Harbor is no dependency of ours: this module can be imported where it is installed, with Python 3.12.

A game that is reached through commands in another program's container: each request is one short program there.

1. Somebody else's runner gives an agent nothing but commands in `main`. There every seat is open, as the instruction says.
2. A request travels in environment variables, in pieces that a system takes as one argument, and its answer as one line of the
   output behind a mark, so that nothing else that is printed there can be taken for it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.completion import shortened
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.parallel import begun
from harness.agents.seating.game import SeatedGame
from harness.agents.seating.holders import SeatReply
from harness.agents.seating.model import ModelSeat
from harness.agents.trajectory import AGENT_VERSION, Trajectory
from harness.errors import Cancelled, ProviderFailure, UsageError, WorldFailure
from worlds.core.turns import OpenTurn
from worlds.core.wire import API_HOST, WireRequest, WireResponse


class ModelTable:
    """One game, with a model at every seat."""

    def __init__(
        self, client: ModelClient, host: ContainerGame, budget: Budget, instruction: str, name: str, session: str
    ) -> None:
        """`name` is what the agent is called in its record, `session` what the episode is."""
        self.report = Report(agent=name, model=client.name)
        self._client, self._host, self._session = client, host, session
        self._game = SeatedGame(host, budget, self.report)
        self._whole = self._begun(name)
        self._whole.user(instruction)

    @property
    def has_begun(self) -> bool:
        """Whether anybody sits here."""
        return bool(self._game.seats)

    def play(self) -> None:
        """Until the game is over or a budget is used up; raises ProviderFailure, WorldFailure and Cancelled."""
        for row in self._game.session()["seats"]:
            number, rules = int(row["seat"]), str(row["system"])
            trajectory = self._begun(f"seat {number}")
            trajectory.system(rules)
            self._whole.seat(trajectory)
            self._game.seats[number] = _RecordedSeat(number, self._client, rules, trajectory, whole=self._whole)
        self._game.play()

    def record(self) -> dict[str, Any]:
        """The game as ATIF, as far as it got: each reply in order, and each seat's conversation as a trajectory inside."""
        return self._whole.to_dict(extra={"provider_wait_s": round(self._game.waited_s, 3)})

    def told(self) -> dict[str, Any]:
        """What else there is to say of the game: who sat where, at what cost, and why it was left, if it was."""
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
    """A model at a seat whose replies stand in the record of the whole game too."""

    def __init__(self, *seat: Any, whole: Trajectory) -> None:
        super().__init__(*seat)
        self._whole = whole

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Write it down in both; its tokens stand with the seat."""
        super().keep(turn, reply)
        told = {"seat": turn.seat, "turn": turn.id, "phase": turn.phase, "round": turn.round}
        self._whole.agent(f"seat {turn.seat}: {shortened(reply.text)}", llm_call_count=1, extra=told)


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


_BaseAgent: Any = import_module("harbor.agents.base").BaseAgent
_Capabilities: Any = import_module("harbor.agents.capabilities").AgentCapabilities
_ApiError: Any = import_module("harbor.agents.installed.base").ApiError
_HealthcheckError: Any = import_module("harbor.environments.base").HealthcheckError

_REQUEST_S = 150
"""Real seconds of one request to the world, which answers in milliseconds; the command that carries it gives up at 120."""


class SeatsAgent(_BaseAgent):  # type: ignore[misc] # Any where types are checked, since Harbor is not installed there
    """One model at every seat, in as many conversations as there are seats."""

    capabilities = _Capabilities(atif=True)

    def __init__(
        self,
        *positional: Any,
        api_base: str | None = None,
        temperature: float | None = 0.0,
        reply_tokens: int | None = None,
        turns: int = 120,
        **named: Any,
    ) -> None:
        """Behind --ak: `api_base` of an OpenAI-compatible server, `temperature`, tokens of one reply, turns of one seat."""
        super().__init__(*positional, **named)
        if not self.model_name:
            raise UsageError("SeatsAgent needs a model", hint="harbor run ... --model openai/gpt-5")
        settings = ModelSettings(self.model_name, api_base=api_base, temperature=temperature, max_tokens=reply_tokens)
        self._client, self._budget = ModelClient(settings, say=self.logger.info), Budget(turns=turns)

    @staticmethod
    def name() -> str:
        """What Harbor calls it."""
        return "parley-seats"

    def version(self) -> str:
        """That of all our agents."""
        return AGENT_VERSION

    async def setup(self, environment: Any) -> None:
        """Nothing is installed; what would fail every turn is said before the first: a model, a key, an address."""
        del environment
        await asyncio.wrap_future(begun(lambda client: client.check(), self._client))

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Play the game; then, however it ended, write trajectory.json and tell Harbor what it cost."""
        host = ContainerGame(self._commands(environment))
        session = str(self.session_id or self.name())
        table = ModelTable(self._client, host, self._budget, instruction, self.name(), session)
        playing = begun(ModelTable.play, table)
        try:
            # shielded: a thread cannot be cancelled, and would find nobody to tell how it ended
            await asyncio.shield(asyncio.wrap_future(playing))
        except ProviderFailure as failure:
            raise _ApiError(str(failure)) from failure
        except WorldFailure as failure:
            why = "" if table.has_begun else "no game was begun, and only a task with seats has one: "
            raise _HealthcheckError(f"{why}{failure}") from failure
        finally:
            self._client.halt.set()
            self._tell(table, context)

    def _commands(self, environment: Any) -> Run:
        """Runs commands in `main` from the thread of the game, until that is to end."""
        loop = asyncio.get_running_loop()

        def run(command: str, variables: Mapping[str, str]) -> str:
            if self._client.halt.is_set():
                raise Cancelled("Harbor ended the game")
            asked = environment.exec(command, env=dict(variables), timeout_sec=_REQUEST_S)
            done = asyncio.run_coroutine_threadsafe(asked, loop).result()
            if done.return_code != 0:
                told = (done.stderr or done.stdout or "").strip()[-300:]
                raise WorldFailure(f"a request from the container failed with {done.return_code}: {told}")
            return str(done.stdout or "")

        return run

    def _tell(self, table: ModelTable, context: Any) -> None:
        document = json.dumps(table.record(), indent=1, ensure_ascii=False)
        (self.logs_dir / "trajectory.json").write_bytes(document.encode(errors="replace") + b"\n")
        (self.logs_dir / "agent.log").write_bytes("\n".join(table.report.log).encode(errors="replace") + b"\n")
        tokens = table.report.usage.tokens()
        context.n_input_tokens, context.n_output_tokens = tokens.prompt, tokens.completion
        context.n_cache_tokens, context.cost_usd = tokens.cached, table.report.usage.cost_usd
        context.metadata = {"calls": tokens.calls, **table.told()}
