"""Models of a trace: one game in one JSON file, in the paper's layout (Appendix A.6, Table 5), sufficient to replay it.

`timestamp` is virtual milliseconds. Wall-clock time is included only if the record has it, so every export of an episode gives
the same bytes. Costs are on the scored scale except those called shown. Seats are agents, from 0. Rounds count from 1, turns
(sweeps) from 0.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from harness.records import Hint, SeatResult, Tokens
from worlds.core.models import Strict

SCHEMA: Final = "parley-calendar-trace/1"
ASKING: Final = "parley-calendar-trace/2"
"""Schema of games with questions about beliefs, which have more measures, and events that the first schema does not have."""

OPENING: Final = {"seed", "epoch", "key_digest", "budgets", "options", "instruction"}
"""Fields that a configuration shares with the first event of a log."""


class TraceEvent(Strict):
    """An event; `data` has `round`, `turn`, `phase` and `agent_id`, None if not applicable."""

    type: str
    timestamp: int
    """Virtual milliseconds since the episode began."""

    data: dict[str, Any]


class TracedTask(Strict):
    """The task of the game."""

    id: str
    digest: str
    """Digest of its folder, as planned; "" if no plan has it."""

    family: str
    category: str | None


class TracedRecord(Strict):
    """Contents of result.json besides the verdict: players, cost, and end of the episode."""

    run: str
    agent: str
    model: str | None = None
    interface: str | None = None
    runtime: str
    status: Literal["graded", "ungraded"]
    cause: str | None = None
    error: str | None = None
    options: dict[str, Any] = {}
    hint: Hint | None = None
    stopped_by: str | None = None
    tool_calls: int = 0
    tokens: Tokens = Tokens()
    cost_usd: float | None = None
    price: str = "none"
    parameters: dict[str, Any] = {}
    prompt_digest: str | None = None
    templates: str = ""
    seats: tuple[SeatResult, ...] = ()


class TraceConfig(Strict):
    """The complete set-up of an episode."""

    task: TracedTask
    seed: int
    attempt: int
    epoch: str
    key_digest: str
    budgets: dict[str, int]
    options: dict[str, Any]
    """Every option of the world with its effective value."""

    instruction: str
    public: dict[str, Any]
    scenario: dict[str, Any]
    record: TracedRecord


class Trace(Strict):
    """A trace file."""

    schema_: Literal["parley-calendar-trace/1", "parley-calendar-trace/2"] = Field(alias="schema")
    tool: dict[str, str]
    """Name and version of the tool that wrote the file."""

    game_id: str
    task_id: str
    task_digest: str
    cost_scale: dict[str, Any]
    """The costs `shown` to agents, and the `scored` cost of each."""

    config: TraceConfig
    events: tuple[TraceEvent, ...]
    final_state: dict[str, Any]
    metrics: dict[str, Any]
    """Measures of the verdict, by the names of `worlds.calendar.rules.measures`."""

    trace_hash: str
    """The last hash of the world's log."""

    started_at: str | None
    ended_at: str | None
    stopped: str | None
    """The budget or stop that ended the game early."""

    def text(self) -> str:
        """Return the text of the file."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"
