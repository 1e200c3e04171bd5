"""What a trace knows of models' thoughts and tokens, as the trajectory of an imported episode; none where it knows nothing.

The steps have no times: a trace has none of single replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.families.calendar.trace.model import TracedRecord, TraceEvent
from harness.families.calendar.trace.telling import ENDS

SCHEMA_VERSION = "ATIF-v1.8"


def trajectory(events: Sequence[TraceEvent], played: TracedRecord) -> dict[str, Any] | None:
    """ATIF, with a trajectory for each seat of which something is known."""
    prompts = {event.data["turn_id"]: event.data["prompt_sent"] for event in events if "prompt_sent" in event.data}
    rules = {event.data["agent_id"]: event.data for event in events if event.type == "agent_registered"}
    seats = [_seat(seat.seat, seat.model, events, prompts, rules[seat.seat]) for seat in played.seats if seat.seat in rules]
    known = [one for one in seats if one is not None]
    if not known:
        return None
    step = {"step_id": 1, "source": "system", "message": "imported from a trace"}
    agent = {"name": played.agent, "version": "imported", **({"model_name": played.model} if played.model else {})}
    return {"schema_version": SCHEMA_VERSION, "agent": agent, "steps": [step], "subagent_trajectories": known}


def _seat(
    seat: int, model: str | None, events: Sequence[TraceEvent], prompts: dict[str, str], registered: dict[str, Any]
) -> dict[str, Any] | None:
    ended = [event.data for event in events if event.type in ENDS and event.data["agent_id"] == seat]
    if not registered["is_nosy_agent"] and not any(data["usage"] or data["reasoning"] for data in ended):
        return None
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "system", "message": registered["system_prompt"]}]
    for data in ended:
        steps.append({"step_id": len(steps) + 1, "source": "user", "message": prompts[data["turn_id"]]})
        reply = {"step_id": len(steps) + 1, "source": "agent", "message": data["text"] or data["raw"]}
        thought = {"reasoning_content": data["reasoning"], "metrics": data["usage"]}
        steps.append({**reply, **{name: value for name, value in thought.items() if value is not None}})
    agent = {"name": f"seat {seat}", "version": "imported", **({"model_name": model} if model else {})}
    return {"schema_version": SCHEMA_VERSION, "trajectory_id": f"seat-{seat}", "agent": agent, "steps": steps}
