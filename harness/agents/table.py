"""Agents by name: the table that `--agent` reads, and the error that lists it.

`oracle`, `nop`, `violation:<name>`, `scripted` (with a file of actions), `llm` (with a model), and for games with seats
whatever players their family offers (`imap`, `sd-map`, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.agents.base import Agent
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.agents.scripted import NopAgent, ScriptedAgent, read_actions
from harness.agents.seats import SeatAgent, seat_names, seat_players
from harness.agents.solutions import SolutionAgent
from harness.errors import UsageError

NAMES = ("oracle", "nop", "violation:<name>", "scripted", "llm")


def make_agent(
    name: str | None,
    *,
    llm: LlmConfig | None = None,
    script: Path | None = None,
    by_call: bool = False,
    families: Sequence[str] = (),
    say: Callable[[str], None],
) -> Agent:
    """The agent that the flags mean; raises UsageError, with the valid names, for flags that mean none.

    `by_call`: a task's own clients speak to the world through the harness, also where there is a `main`. `families`: those
    of the tasks that will be played, whose seat players are agents too.
    """
    name = name or ("llm" if llm else "scripted" if script else "oracle")
    if (name == "llm") != (llm is not None):
        raise UsageError("the llm agent and --model go together", hint="harness run --model gpt-5")
    if (name == "scripted") != (script is not None):
        raise UsageError(
            "the scripted agent and --script go together", hint="harness run --agent scripted --script actions.json"
        )
    if name == "oracle":
        return SolutionAgent(by_call=by_call)
    if name == "nop":
        return NopAgent()
    if name.startswith("violation:") and name != "violation:":
        return SolutionAgent(name.removeprefix("violation:"), by_call=by_call)
    if script is not None:
        return ScriptedAgent(read_actions(script))
    if llm is not None:
        return LlmAgent(llm, say=say)
    if any(name in seat_players(family) for family in families):
        return SeatAgent(name)
    raise UsageError(f"no agent is called {name!r}; there are {', '.join((*NAMES, *seat_names(families)))}")
