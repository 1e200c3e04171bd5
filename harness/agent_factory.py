"""Agents by name (`--agent`), and creation of live agents from their specs.

`oracle`, `nop`, `violation:<name>`, `scripted` (with a file of actions), `llm` (with a model), `replay:<run>`, `human` (at the
terminal); for games with seats, the players of their family (`imap`, `sd-map`, ...); and the agents that other distributions
register under `parley.agents`, which are classes called without arguments.
1. `agent_named` converts flags to a spec, which is data: it can be frozen in a plan, written to a file and sent to a process.
2. `make_agent` creates the agent, with its clients and locks, in the process where it plays. An `AgentPool` creates each once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.agent import AgentIdentity, AgentSpec
from harness.agents.llm.meter import Meter
from harness.errors import UsageError
from harness.live_agent import Agent, ReplyCache
from harness.log_context import to_stderr
from harness.options import is_bent
from harness.plugins import load, plugin, plugins
from harness.prices import Price
from harness.records import RunFolder
from harness.teams import HUMAN, is_seat_player, seat_names
from worlds.core.manifest import OptionValue

NAMES = ("oracle", "nop", "violation:<name>", "scripted", "llm", "replay:<run>", "human")

_MADE = {
    "oracle": "harness.agents.solutions:SolutionAgent", "violation": "harness.agents.solutions:SolutionAgent",
    "nop": "harness.agents.scripted:NopAgent", "scripted": "harness.agents.scripted:ScriptedAgent",
    "replay": "parley.replayed:ReplayAgent",
    "llm": "harness.agents.seats.agent:SeatAgent", "seats": "harness.agents.seats.agent:SeatAgent",
}  # fmt: skip
"""Class of the live agent for each kind of spec, imported on demand."""

_INTERFACE = "harness.agents.llm.interface:Interface"
_ACTIONS = "harness.agents.scripted:read_actions"
_PRICE = "harness.agents.llm.model_table:listed_price"
_LOG = "harness.agents.llm.local:keep_log"
"""Functions and classes that are imported only if a run uses models, or a script."""

_ALONE = {"oracle": AgentSpec(kind="oracle"), "nop": AgentSpec(kind="nop")}
"""Agents without settings."""

_NAMED = frozenset({"violation", "replay"})
"""Kinds whose agents are typed as `kind:name`, with a wrong client or a run."""

Options = Mapping[str, OptionValue]
Say = Callable[[str], None]
Make = Callable[[AgentSpec, Options, Say, Meter | None], Agent]


def agent_named(
    name: str | None,
    *,
    model: AgentSpec | None = None,
    script: Path | None = None,
    families: Sequence[str] = (),
    table: AgentSpec = AgentSpec(),  # noqa: B008 - it is frozen
) -> AgentSpec:
    """Return the spec of the agent that the flags describe; raises UsageError with the valid names if they describe none.

    `model` is the spec of the llm agent, if a model was named, or of the team of a replayed run. `families` are the families of
    the tasks to be played; their seat players are agents too. `table` contains the line-up of games, and the settings of the
    models at the seats.
    """
    name = name or ("llm" if model else "scripted" if script else "oracle")
    if (name == "llm") != (model is not None):
        raise UsageError("the llm agent and --model must be used together", hint="harness run --model gpt-5")
    if (name == "scripted") != (script is not None):
        raise UsageError(
            "the scripted agent and --script must be used together", hint="harness run --agent scripted --script actions.json"
        )
    if name == HUMAN or is_seat_player(name, families):
        return table.model_copy(update={"kind": "seats", "name": name})
    if model is not None:
        return model
    if table.seats or table.has_variants:
        flag = "--seat" if table.seats else "--variant"
        raise UsageError(
            f"{name} does not play seats, so {flag} has no effect", hint="harness run calendar --agent imap --seat 3=gpt-5"
        )
    if name in _ALONE:
        return _ALONE[name]
    kind, _, about = name.partition(":")
    if kind in _NAMED and about:
        return AgentSpec.model_validate({"kind": kind, "name": about})
    if script is not None:
        return AgentSpec(kind="scripted", actions=tuple(load(_ACTIONS)(script)))
    if plugin("agents", name) is not None:
        return AgentSpec(kind="plugin", name=name)
    known = (*NAMES, *seat_names(families), *plugins("agents"))
    raise UsageError(f"no agent named {name!r}; known: {', '.join(known)}")


def make_agent(
    spec: AgentSpec, options: Options, say: Say = to_stderr, meter: Meter | None = None, *, replies: ReplyCache | None = None
) -> Agent:
    """Create the live agent of a spec, with the world options of its run; raises UsageError for an invalid spec.

    `replies` is the cache of model replies. `meter` counts the calls of the agent's models, and may forbid them. If the options
    modify requests between agent and world, the clients of a task run in the harness even if there is a `main`.
    """
    made: Agent
    if spec.kind == "plugin":
        made = _plugged_in(spec.name)()
        return made
    make = load(_MADE[spec.kind])
    if spec.kind in {"oracle", "violation"}:
        made = make("solve" if spec.kind == "oracle" else spec.name, by_call=is_bent(options))
    elif spec.kind == "nop":
        made = make()
    elif spec.kind == "scripted":
        made = make(spec.actions)
    elif spec.kind == "replay":
        made = make(spec.name, handles=offers_handles(options))
    else:
        talk = str(options.get("talk", ""))
        made = make(spec, handles=offers_handles(options), meter=meter, say=say, replies=replies, talk=talk)
    return made


def _plugged_in(name: str) -> Callable[[], Agent]:
    """Return the class of an agent of another distribution; raises UsageError if no agent of that name is installed."""
    made: Callable[[], Agent] | None = plugin("agents", name)
    if made is None:
        raise UsageError(
            f"no installed distribution provides the agent {name!r}", hint="pip install the distribution that provides it"
        )
    return made


def identity_of(spec: AgentSpec, options: Options) -> AgentIdentity:
    """Return the identity of a spec's agent in a run with these world options, without creating the agent."""
    if spec.kind == "replay":
        run = RunFolder(Path(spec.name))
        plan = run.read_plan() or {}
        return AgentIdentity.model_validate({"name": spec.kind, "replay_of": plan.get("run") or run.path.name})
    if spec.kind != "llm":
        return spec.identity()
    return spec.identity(load(_INTERFACE)(spec.interface, handles=offers_handles(options)).prompt_digest(spec.protocol))


def listed_price(model: str) -> Price | None:
    """Return the token price of a model; None if it is unknown."""
    price: Price | None = load(_PRICE)(model)
    return price


def keep_logs(specs: Sequence[AgentSpec], folder: Path) -> None:
    """Copy the logs of servers that were started for these agents to the folder of their run."""
    if any(spec.models for spec in specs):
        load(_LOG)(folder)


def offers_handles(options: Options) -> bool:
    """Return True if these options enable value handles. An option may be a typed value, or the text that the user typed."""
    return str(options.get("handles", False)).lower() == "true"


class AgentPool:
    """Live agents of a run, each created once, so that one model client serves all threads."""

    def __init__(self, make: Make = make_agent, say: Say = to_stderr, meter: Meter | None = None) -> None:
        self.make, self.meter, self._say = make, meter, say
        self._agents: dict[tuple[str, bool, bool, str], Agent] = {}
        self._lock = threading.Lock()

    def agent(self, spec: AgentSpec, options: Options) -> Agent:
        """Return the agent of a spec with these options."""
        called = (spec.model_dump_json(), is_bent(options), offers_handles(options), str(options.get("talk", "")))
        with self._lock:
            if called not in self._agents:
                self._agents[called] = self.make(spec, options, self._say, self.meter)
            return self._agents[called]
