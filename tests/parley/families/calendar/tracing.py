"""Traces for tests: a log as a recorded episode, its trace as a document, and what the published layout has of that."""

from __future__ import annotations

import json
from typing import Any

from harness.records import Result, SeatResult
from parley.families.calendar.trace.exporting import exported
from parley.reports.reading import RecordedEpisode
from parley.reports.reading.episode import seat_conversations
from worlds.core.events import Opened, read_log

Document = dict[str, Any]

PUBLISHED_EVENTS = (
    "game_start", "agent_registered", "round_start", "turn_start", "turn_end", "dm_sent", "participant_groupchat_sent",
    "all_groupchat_sent", "invalid_tool_call", "decide_start", "decide_end", "batch_rejected", "decision_failed",
    "batch_applied", "batch_rolled_back", "consistency_violation", "resolution", "game_end",
)  # fmt: skip
"""The types that the published harness writes (specification 11)."""

_OURS = ("turn_id", "attempt", "parse", "no_reply", "reasoning", "conflicts", "label", "kept", "standing", "tool", "name")


def recorded(log: bytes, name: str = "scripted", **told: Any) -> RecordedEpisode:
    """An episode as `harness show` reads one, with a log and nothing else that was played."""
    events = tuple(read_log(log))
    (opened,) = (event for event in events if isinstance(event, Opened))
    agents = len(next(event for event in events if event.type == "session").seats)  # type: ignore[attr-defined]
    result = Result(
        run="run", task_id=opened.task_id, family=opened.family, category=opened.category, seed=opened.seed, attempt=1,
        agent=name, runtime="inprocess", status="graded", options={}, key_digest=opened.key_digest,
        seats=tuple(SeatResult(seat=seat, kind="policy", name=name) for seat in range(agents)), **told,
    )  # fmt: skip
    conversations = tuple(seat_conversations(events, []))
    return RecordedEpisode(path="run/episodes/calendar/t/s0-a1", result=result, conversations=conversations, events=events)


def trace_of(log: bytes) -> Document:
    """The trace of a log, as its file says it."""
    return as_read(exported(recorded(log), "digest").text())


def as_read(text: str) -> Document:
    """A file's document."""
    document: Document = json.loads(text)
    return document


def of_type(document: Document, *kinds: str) -> list[Document]:
    """The data of the events of some types."""
    return [event["data"] for event in document["events"] if event["type"] in kinds]


def in_published_layout(document: Document, turn_cap: int | None) -> Document:
    """What the published harness would have written of a game: no scenario, no schema, no events for second tries."""
    events = []
    for event in document["events"]:
        again = event["type"] in {"decide_start", "decide_end"} and event["data"]["attempt"] > 1
        if event["type"] in PUBLISHED_EVENTS and not again:
            data = {key: value for key, value in event["data"].items() if key not in _OURS}
            if isinstance(data.get("round"), int):
                data["round"] -= 1
            events.append({"type": event["type"], "timestamp": 1_760_000_000.5 + len(events), "data": data})
    start = events[0]["data"]
    state = document["final_state"]
    config = {"experiment": {"decision_retries": 3, "seed": start["seed"]}, "agents": [{"type": "llm"}] * start["num_agents"]}
    if turn_cap is not None:
        config["experiment"]["max_turns_per_round"] = turn_cap
    return {
        "game_id": "0b9c2b4e-8e1c-4d8e-9d9a-0d6a4b5f7c11", "config": config, "events": events,
        "final_state": {
            "calendars": state["calendars"],
            "per_agent_cost": {str(agent): cost for agent, cost in enumerate(state["per_agent_cost_shown"])},
            "per_agent_messages_sent": state["per_agent_messages_sent"],
            "per_agent_messages_received": state["per_agent_messages_received"],
        },
        "metrics": {"coordination_rate": 1.0},
        "started_at": "2026-05-01T12:00:00+00:00", "ended_at": "2026-05-01T12:05:00+00:00", "stopped": False,
    }  # fmt: skip
