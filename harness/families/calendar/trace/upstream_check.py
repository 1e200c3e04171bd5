"""A trace of the published layout held against our rules: messages, what each round came to, and the state at the end.

Measures are not compared: the released code's own differ in their formulas (docs/calendar.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.families.calendar.trace.differences import differences
from harness.families.calendar.trace.game import GameRecord, Retold
from harness.families.calendar.trace.upstream import UpstreamReplies, UpstreamTrace, read_upstream, upstream_game
from harness.reading.traces import Replayed

_STATE = {
    "calendars": "calendars",
    "per_agent_cost": "per_agent_cost_shown",
    "per_agent_messages_sent": "per_agent_messages_sent",
    "per_agent_messages_received": "per_agent_messages_received",
}
"""Of the final state: the published name, and ours for what means that."""

_SENT = ("dm_sent", "participant_groupchat_sent", "all_groupchat_sent")


def replay_upstream(document: Any) -> Replayed:
    """Play such a file again; raises UsageError where no game can be made of it."""
    trace = read_upstream(document)
    record, again = upstream_game(trace)
    wrong = tuple(differing(trace, again))
    measured, played = again.measures, record.config.record
    return Replayed(
        title=f"{record.config.task.id}, {played.model or played.agent}, published layout: "
        f"{measured.scheduled} of {measured.meetings} meetings, reward {measured.reward:.4g}",
        agreed=() if wrong else (f"{len(_of(trace)['messages'])} messages", f"{len(_of(trace)['rounds'])} rounds"),
        differences=wrong,
        unchecked=("measures (other formulas)", "who played", "wall-clock times", *_guessed(record)),
    )


def _guessed(record: GameRecord) -> Iterator[str]:
    """What was put in the place of replies that the file does not have."""
    if isinstance(record.replies, UpstreamReplies) and record.replies.missing:
        yield f"{len(record.replies.missing)} replies that the file does not have, taken for silence"


def differing(trace: UpstreamTrace, again: Retold) -> Iterator[str]:
    """Where the file tells another game than its replies come to by our rules, under the profile `paper`."""
    ours = again.final.model_dump(mode="json")
    theirs = _of(trace)
    known = {name: _listed(trace.final_state[name]) for name in _STATE if name in trace.final_state}
    meant = {
        **_told((event.type, event.data) for event in again.events),
        "final_state": {name: ours[_STATE[name]] for name in known},
    }
    yield from differences({**theirs, "final_state": known}, meant)


def _of(trace: UpstreamTrace) -> dict[str, list[Any]]:
    return _told((event.type, event.data) for event in trace.events)


def _told(events: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Any]]:
    """Messages and rounds, by what both layouts say of them."""
    messages, rounds = [], []
    for kind, data in events:
        if kind in _SENT:
            to = [data["to_agent"]] if data.get("to_agent") is not None else sorted(data.get("to_agents") or [])
            messages.append([data.get("from_agent"), to, data.get("content")])
        elif kind == "resolution":
            slots = data.get("per_agent_slot") or {}
            rounds.append({"per_agent_slot": {str(k): v for k, v in slots.items()}, "coordinated": data.get("coordinated")})
    return {"messages": messages, "rounds": rounds}


def _listed(value: Any) -> Any:
    """By agent, as a list, also where it is told by the agents' numbers."""
    if isinstance(value, dict) and all(str(key).isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value
