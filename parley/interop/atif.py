"""Self-contained ATIF document of a recorded episode: the task, the outcome and the conversations.

1. `extra` holds task, family, seed, attempt, agent, model, reward, label and success, where Harbor's and other readers look for
   them.
2. Recorded steps are unchanged. Each seat of a game is a nested trajectory, even if a protocol played it: a seat without a
   recorded trajectory gets one that is built from the world's log, which contains every seat.
3. Viewers show only the outermost steps, so those of a game are the instruction and then each reply in log order. Tokens and
   cost are in the steps of the seats; the game has their sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.agents.trajectory import AGENT_VERSION, SCHEMA_VERSION
from harness.records import Result
from parley.reports.reading import Conversation, RecordedEpisode, Utterance


def whole_trajectory(episode: RecordedEpisode, recorded: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the ATIF document of an episode. `recorded` is the object in its trajectory.json, or None."""
    result, given = episode.result, dict(recorded or {})
    name = f"{result.run}/{result.key.name}"
    agent = {"version": AGENT_VERSION, **given.get("agent", {}), "name": result.agent}
    extra = given.get("extra")
    document = {
        "schema_version": SCHEMA_VERSION,
        **given,
        "steps": given.get("steps") or [_step(1, "user", episode.instruction or result.task_id)],
        "session_id": result.run,
        "trajectory_id": name,
        "agent": agent | ({"model_name": result.model} if result.model else {}),
        "extra": {**(extra if isinstance(extra, dict) else {}), **facts(result)},
    }
    seats = [one for one in episode.conversations if one.seat is not None]
    if seats:
        document["steps"] = _game(document["steps"][0], seats)
        document["subagent_trajectories"] = list(_seats(name, given, seats))
        document["final_metrics"] = _spent(result, len(document["steps"]))
    return document


def facts(result: Result) -> dict[str, Any]:
    """Return the episode's task, agent, model and outcome. Reward, label and success are None unless it was graded."""
    graded = result.status == "graded"
    return {
        **result.key.model_dump(),
        "agent": result.agent,
        "model": result.model,
        "reward": result.reward,
        "label": result.failure_label,
        "success": result.success if graded else None,
        **endings(result),
    }


def endings(result: Result) -> dict[str, Any]:
    """Return what ended an episode, what disturbed it, and which turns were forfeited, under a record's field names."""
    return result.model_dump(mode="json", include={"ended_by", "disturbed", "forfeits"})


def _game(instruction: dict[str, Any], seats: list[Conversation]) -> list[dict[str, Any]]:
    """Return the instruction and then every reply of the seats, in log order."""
    said = [(one, two) for one in seats for two in one.utterances if two.speaker == "agent"]
    said.sort(key=lambda pair: pair[1].moment.seq if pair[1].moment else 0)
    steps = [instruction]
    for number, (talk, reply) in enumerate(said, start=2):
        text = reply.text if reply.forfeit is None else f"[no reply: {reply.forfeit}]"
        told = {"seat": talk.seat, **_moment(reply)}
        steps.append(_step(number, "agent", f"{talk.name}: {text}", timestamp=reply.said_at, extra=told))
    return steps


def _seats(name: str, given: Mapping[str, Any], seats: list[Conversation]) -> Iterator[dict[str, Any]]:
    """Yield the trajectory of each seat: the recorded one, or one built from the log."""
    recorded = {str(one["agent"]["name"]): one for one in given.get("subagent_trajectories", ())}
    for talk in seats:
        own = f"seat {talk.seat}"
        agent = {"name": own, "version": AGENT_VERSION, **({"model_name": talk.model} if talk.model else {})}
        steps = (_uttered(number, one) for number, one in enumerate(talk.utterances, start=1))
        yield recorded.get(own) or {
            "schema_version": SCHEMA_VERSION, "session_id": name, "trajectory_id": f"{name}/{own.replace(' ', '-')}",
            "agent": agent, "steps": list(steps),
        }  # fmt: skip


def _uttered(number: int, said: Utterance) -> dict[str, Any]:
    if said.speaker != "agent":
        return _step(number, said.speaker, said.text)
    told = {**_moment(said), **({"no_reply": said.forfeit} if said.forfeit else {})}
    model = {"metrics": said.usage, "reasoning_content": said.reasoning} if said.usage else {}
    return _step(number, "agent", said.text, timestamp=said.said_at, extra=told, llm_call_count=int(bool(said.usage)), **model)


def _moment(said: Utterance) -> dict[str, Any]:
    """Return the position of an utterance in its game."""
    return said.moment.model_dump() if said.moment else {}


def _spent(result: Result, steps: int) -> dict[str, Any]:
    tokens = result.tokens
    spent = {
        "total_prompt_tokens": tokens.prompt,
        "total_completion_tokens": tokens.completion,
        "total_cached_tokens": tokens.cached,
        **({"total_cost_usd": result.cost_usd} if result.cost_usd is not None else {}),
    }
    return {"total_steps": steps, **(spent if tokens.calls else {})}


def _step(number: int, source: str, message: str, **more: Any) -> dict[str, Any]:
    said = {key: value for key, value in more.items() if value not in (None, {})}
    return {"step_id": number, "source": source, "message": message, **said}
