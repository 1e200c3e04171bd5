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

CellRecord = dict[str, Any] | None
"""A cell in the format of published task files: `errand_id` or `meeting_id`, `cost`, and `blocked` for a blocked one."""


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


class CostScale(Strict):
    """The costs shown to agents, and the scored cost of each."""

    shown: tuple[int, ...]
    scored: tuple[int, ...]


class RoundOutcome(Strict):
    """Outcome of one meeting; a meeting that was never reached has no slots."""

    round: int
    meeting_id: int
    coordinated: bool
    label: str
    letter: str | None
    per_agent_slot: dict[str, int | None]
    consistency_violated_meeting_ids: tuple[int, ...]
    reached: bool


class FinalState(Strict):
    """State at the end of a game."""

    calendars: tuple[tuple[CellRecord, ...], ...]
    per_agent_cost: tuple[int, ...]
    """Cost charged to each agent at the end."""

    per_agent_cost_shown: tuple[int, ...]
    oracle_per_agent_cost: tuple[int | None, ...]
    """The optimum of the scheduled meetings."""

    per_agent_messages_sent: tuple[int, ...]
    per_agent_messages_received: tuple[int, ...]
    messages_by_channel: dict[str, int]
    round_outcomes: tuple[RoundOutcome, ...]
    total_displacement_cost: int
    rounds_succeeded: int
    rounds_failed: int
    consistency_violations: int
    """Total number of earlier meetings broken by rounds."""


class TraceTool(Strict):
    """The tool that wrote the file."""

    name: str
    version: str


class Trace(Strict):
    """A trace file."""

    schema_: Literal["parley-calendar-trace/1", "parley-calendar-trace/2"] = Field(alias="schema")
    tool: TraceTool
    game_id: str
    task_id: str
    task_digest: str
    cost_scale: CostScale
    config: TraceConfig
    events: tuple[TraceEvent, ...]
    final_state: FinalState
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
