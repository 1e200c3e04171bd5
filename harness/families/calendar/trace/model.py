"""A trace is one game in one JSON file: the paper's layout (Appendix A.6, Table 5), and what it takes to play it again.

1. `config`, `events`, `final_state`, `metrics`, `started_at`, `ended_at`, `stopped` and the types of events are the paper's.
   Ours are `schema`, the task's id and digest, both scales of cost, the tool's version, and the hash of the world's log.
2. `timestamp` is virtual milliseconds. Wall-clock time stands only where the record has it, so one episode is one file, byte
   by byte, however often it is exported.
3. Costs are on the scored scale but for those called shown. Seats are agents, from 0. Rounds count from 1, turns (sweeps)
   from 0.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from harness.records import Hint, SeatResult, Tokens
from worlds.core.models import Strict

SCHEMA: Final = "parley-calendar-trace/1"
ASKING: Final = "parley-calendar-trace/2"
"""Of a game in which beliefs were asked for: events that a reader of the first does not know, and measures beside its own."""

CellRecord = dict[str, Any] | None
"""One cell as published task files have it: `errand_id` or `meeting_id`, `cost`, `blocked` where it is."""


class TraceEvent(Strict):
    """Something that happened; `data` has `round`, `turn`, `phase` and `agent_id`, None where that means nothing."""

    type: str
    timestamp: int
    """Virtual ms since the episode began."""

    data: dict[str, Any]


class TracedTask(Strict):
    """Which task was played."""

    id: str
    digest: str
    """Of its folder, as planned; "" where no plan says it."""

    family: str
    category: str | None


class TracedRecord(Strict):
    """What result.json says of an episode besides its verdict: who played it, at what cost, and how it ended."""

    run: str
    agent: str
    model: str | None = None
    interface: str | None = None
    runtime: str
    status: Literal["graded", "ungraded"]
    cause: str | None = None
    error: str | None = None
    options: dict[str, Any] = {}
    """Those that were set."""

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
    """The whole set-up of an episode."""

    task: TracedTask
    seed: int
    attempt: int
    epoch: str
    key_digest: str
    budgets: dict[str, int]
    options: dict[str, Any]
    """Every option of the world, as it held."""

    instruction: str
    public: dict[str, Any]
    scenario: dict[str, Any]
    record: TracedRecord


class CostScale(Strict):
    """What agents are shown, and what each of it counts for."""

    shown: tuple[int, ...]
    scored: tuple[int, ...]


class RoundOutcome(Strict):
    """What became of one meeting; one that was never reached has no slots."""

    round: int
    meeting_id: int
    coordinated: bool
    label: str
    letter: str | None
    per_agent_slot: dict[str, int | None]
    consistency_violated_meeting_ids: tuple[int, ...]
    reached: bool


class FinalState(Strict):
    """Where a game ended."""

    calendars: tuple[tuple[CellRecord, ...], ...]
    per_agent_cost: tuple[int, ...]
    """What is on each account at the end."""

    per_agent_cost_shown: tuple[int, ...]
    oracle_per_agent_cost: tuple[int | None, ...]
    """The optimum of the meetings that were scheduled."""

    per_agent_messages_sent: tuple[int, ...]
    per_agent_messages_received: tuple[int, ...]
    messages_by_channel: dict[str, int]
    round_outcomes: tuple[RoundOutcome, ...]
    total_displacement_cost: int
    rounds_succeeded: int
    rounds_failed: int
    consistency_violations: int
    """Earlier meetings that rounds broke, all together."""


class TraceTool(Strict):
    """What wrote the file."""

    name: str
    version: str


class Trace(Strict):
    """One file."""

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
    """Those of the verdict, by the names of `worlds.calendar.rules.measures`."""

    trace_hash: str
    """The last hash of the world's log."""

    started_at: str | None
    ended_at: str | None
    stopped: str | None
    """The budget or stop that cut the game short."""

    def text(self) -> str:
        """The file."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"
