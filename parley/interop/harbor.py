"""Harbor agent that plays a game of several seats with a separate model conversation for each seat.

Harbor's other agents play all seats in one conversation, which leaks each seat's private information to the others. The loop of
`harness run` (`harness.agents.seats`) waits for models, so it runs on a thread and passes its container commands to Harbor's
event loop. When Harbor's timeout expires, the thread ends at its next request and the replies until then are recorded. If
anything but the model fails, the trial has no valid reward. This module can be imported where Harbor is installed, with Python
3.12:

    harbor run -p TASK --agent parley.interop.harbor:SeatsAgent --model openai/gpt-5
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
from parley.interop.table import ContainerGame, ModelTable, Run

_BaseAgent: Any = import_module("harbor.agents.base").BaseAgent
_Capabilities: Any = import_module("harbor.agents.capabilities").AgentCapabilities
_ApiError: Any = import_module("harbor.agents.installed.base").ApiError
_HealthcheckError: Any = import_module("harbor.environments.base").HealthcheckError

_REQUEST_S = 150
"""Timeout of one request to the world, in real seconds. The world answers in milliseconds; the command times out at 120."""


class SeatsAgent(_BaseAgent):  # type: ignore[misc] # Any where types are checked, since Harbor is not installed there
    """A model that plays every seat, in one conversation per seat."""

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
        """Configure the agent from --ak: `api_base` (OpenAI-compatible), `temperature`, tokens per reply, turns per seat."""
        super().__init__(*positional, **named)
        if not self.model_name:
            raise UsageError("SeatsAgent needs a model", hint="harbor run ... --model openai/gpt-5")
        settings = ModelSettings(self.model_name, api_base=api_base, temperature=temperature, max_tokens=reply_tokens)
        self._client, self._budget = ModelClient(settings, say=self.logger.info), Budget(turns=turns)

    @staticmethod
    def name() -> str:
        """Return the agent's name in Harbor."""
        return "parley-seats"

    def version(self) -> str:
        """Return the version that all agents of the harness share."""
        return AGENT_VERSION

    async def setup(self, environment: Any) -> None:
        """Check the model, key and address before the first turn. Nothing is installed."""
        del environment
        await asyncio.wrap_future(begun(lambda client: client.check(), self._client))

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Play the game. However it ends, write trajectory.json and report the cost to Harbor."""
        host = ContainerGame(self._commands(environment))
        session = str(self.session_id or self.name())
        table = ModelTable(self._client, host, self._budget, instruction, self.name(), session)
        playing = begun(ModelTable.play, table)
        try:
            # shielded, because a thread cannot be cancelled, and its result would be lost
            await asyncio.shield(asyncio.wrap_future(playing))
        except ProviderFailure as failure:
            raise _ApiError(str(failure)) from failure
        except WorldFailure as failure:
            why = "" if table.has_begun else "no game was started, and only tasks with seats are games: "
            raise _HealthcheckError(f"{why}{failure}") from failure
        finally:
            self._client.halt.set()
            self._tell(table, context)

    def _commands(self, environment: Any) -> Run:
        """Return a function that runs commands in `main` from the game's thread, until the agent is stopped."""
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
