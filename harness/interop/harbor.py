"""An agent for Harbor that plays a game of several seats, each with a model conversation of its own.

    harbor run -p TASK --agent harness.interop.harbor:SeatsAgent --model openai/gpt-5

1. Any other agent of Harbor's holds all seats in one conversation, and so knows what no seat may know. This one asks each seat
   with its own rules and its own turns, by the loop that `harness run` has (`harness.agents.seating`).
2. The loop waits for models, so it runs on a thread, and hands what it asks of the container to Harbor's own event loop. When
   Harbor's time is up the thread ends at its next request, and what was said by then is recorded.
3. What fails beside the model has no valid reward: a provider is an `ApiError` of Harbor's, a world that does not answer, or
   that has no seats, a `HealthcheckError`.

Harbor is no dependency of ours: this module can be imported where it is installed, with Python 3.12.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from harness.agent import Budget
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.parallel import begun
from harness.agents.trajectory import AGENT_VERSION
from harness.errors import Cancelled, ProviderFailure, UsageError, WorldFailure
from harness.interop.table import ContainerGame, ModelTable, Run

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
