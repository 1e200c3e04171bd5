"""A recorded episode as a sample of an Inspect log, which its viewer and Scout read; the log is plain JSON, written in parts.

1. A sample is known as `family/task/sN`, its epoch is the attempt. `success` is C or I with the label as its answer, `reward` a
   number beside it; metadata has task, seed, family, severity, what the episode cost, and the hash of its log.
2. Each conversation is a span: one seat's branch, in which each answer is a model call, or of a policy a call of that policy.
3. What was never graded is a sample with an error and without scores.
Inspect is not needed to write it. Times are those of the record; where it has none, all stands at the log's own time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from harness.reading.model import Conversation, RecordedEpisode, Utterance
from harness.records import Result
from harness.version import package_version

MODEL = "parley/scripted"
"""What plays where no model does."""


def log_parts(name: str, created: str, results: Iterable[Result], episodes: Iterable[RecordedEpisode]) -> Iterator[str]:
    """The text of one log in pieces, one a sample: `created` is an ISO time, `results` those of the same episodes.

    Neither results nor episodes are held, since there may be a hundred thousand.
    """
    yield json.dumps(_head(name, created, results))[:-1] + ', "samples": ['
    for number, episode in enumerate(episodes):
        yield (",\n" if number else "\n") + json.dumps(_sample(episode, created))
    yield "]}\n"


def _head(name: str, created: str, results: Iterable[Result]) -> dict[str, Any]:
    """All of a log but its samples."""
    samples, models, rewards, total, epochs = set[tuple[str, int]](), set[str](), list[float](), 0, 1
    for result in results:
        total, epochs = total + 1, max(epochs, result.attempt)
        samples.add((result.task_id, result.seed))
        models |= {result.model} if result.model else set()
        rewards += [result.reward or 0.0] if result.status == "graded" else []
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": created,
            "task": "parley",
            "task_id": name,
            "run_id": name,
            "eval_id": name,
            "dataset": {"name": "parley", "samples": len(samples)},
            "model": models.pop() if len(models) == 1 else MODEL,
            "config": {"epochs": epochs},
            "packages": {"parley-bench": package_version()},
        },
        "plan": {},
        "results": {
            "total_samples": total,
            "completed_samples": len(rewards),
            "scores": [_metrics("reward", rewards)] if rewards else [],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
    }


def _metrics(name: str, values: Sequence[float]) -> dict[str, Any]:
    spread = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    means = {"mean": fmean(values), "stderr": spread}
    return {"name": name, "scorer": name, "metrics": {key: {"name": key, "value": value} for key, value in means.items()}}


def _sample(episode: RecordedEpisode, created: str) -> dict[str, Any]:
    result = episode.result
    # what a game's trajectory says besides its seats is one line about them
    talks = [one for one in episode.conversations if one.seat is not None] or list(episode.conversations)
    sample: dict[str, Any] = {
        "id": f"{result.family}/{result.task_id}/s{result.seed}",
        "epoch": result.attempt,
        "input": episode.instruction or result.task_id,
        "target": "SUCCESS",
        "messages": [message for one in talks for message in _messages(one)],
        "metadata": _metadata(result),
        "events": [event for one in talks for event in _span(one, result, created)],
        "total_time": result.timings.total,
    }
    if result.status == "graded":
        why = episode.breach.sentence if episode.breach else result.failure_label
        answer = {"answer": result.failure_label, "explanation": why}
        sample["scores"] = {
            "success": {"value": "C" if result.success else "I", **answer},
            "reward": {"value": result.reward, **answer},
        }
    else:
        told = f"{result.cause}: {result.error}"
        sample["error"] = {"message": told, "traceback": told, "traceback_ansi": told}
    return sample


def _metadata(result: Result) -> dict[str, Any]:
    names = (
        "task_id", "family", "seed", "attempt", "agent", "model", "reward", "failure_label", "severity", "trace_hash",
        "options", "cost_usd", "steps", "virtual_time_elapsed", "stopped_by",
    )  # fmt: skip
    return {name: getattr(result, name) for name in names}


def _span(conversation: Conversation, result: Result, created: str) -> Iterator[dict[str, Any]]:
    """A branch of the transcript: one event an answer, with the words that it answers."""
    key = f"{result.key.name}/{conversation.name}"
    yield {"event": "span_begin", "id": key, "name": conversation.name, "type": "agent", "span_id": key, "timestamp": created}
    heard: list[dict[str, Any]] = []
    for number, said in enumerate(conversation.utterances):
        messages = _said(said, number)
        if said.speaker != "agent":
            heard += messages
            continue
        model = conversation.model or result.model or MODEL
        yield {
            "event": "model", "model": model, "span_id": key, "timestamp": said.said_at or created, "input": heard, "tools": [],
            "tool_choice": "auto", "config": {}, "output": _output(model, messages[0], said.usage),
        }  # fmt: skip
        heard = messages[1:]
    yield {"event": "span_end", "id": key, "span_id": key, "timestamp": created}


def _output(model: str, message: Mapping[str, Any], usage: Mapping[str, Any] | None) -> dict[str, Any]:
    prompt, completion = ((usage or {}).get(f"{kind}_tokens") or 0 for kind in ("prompt", "completion"))
    counted = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
    choice = {"message": dict(message), "stop_reason": "tool_calls" if "tool_calls" in message else "stop"}
    return {"model": model, "choices": [choice], **({"usage": counted} if usage else {})}


def _messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    for number, said in enumerate(conversation.utterances):
        yield from _said(said, number)


def _said(said: Utterance, number: int) -> list[dict[str, Any]]:
    """One entry as Inspect's messages: what was said, then what tools and the harness answered."""
    if said.speaker != "agent":
        return [{"role": said.speaker, "content": said.text}]
    calls = [
        {"id": f"call_{number}_{place}", "type": "function", "function": tool.tool, "arguments": _arguments(tool.arguments)}
        for place, tool in enumerate(said.tools)
    ]
    reasoning = [{"type": "reasoning", "reasoning": said.reasoning}] if said.reasoning else []
    content: Any = [*reasoning, {"type": "text", "text": said.text}] if reasoning else said.text
    told = [
        {"role": "tool", "content": tool.answer or "", "tool_call_id": call["id"], "function": tool.tool}
        for tool, call in zip(said.tools, calls, strict=True)
    ]
    feedback = [{"role": "user", "content": text} for text in said.feedback]
    return [{"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}, *told, *feedback]


def _arguments(text: str) -> dict[str, Any]:
    value = json.loads(text)
    return value if isinstance(value, dict) else {"value": value}
