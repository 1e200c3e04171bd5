"""A recorded run as a log of Inspect, which its viewer and Scout read: a zip of JSON, in which each sample is a file.

1. A sample is known as `family/task/sN`, its epoch is the attempt. `success` is C or I with the label as its answer, `reward` a
   number beside it; metadata has task, seed, family, severity, what the episode cost, and the hash of its log.
2. Each conversation is a span: one seat's branch, in which each answer is a model call, or of a policy a call of that policy.
3. What was never graded is a sample with an error and without scores.
4. Samples are written one after the other, and so are their summaries, which lists in a viewer are made of, into a file beside.
Inspect is not needed to write it. Times are those of the record; where it has none, all stands at the log's own time.
"""

from __future__ import annotations

import json
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryFile
from typing import Any, Self
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from harness.interop.atif import endings
from harness.reading import Conversation, RecordedEpisode, Utterance
from harness.records import Result
from harness.version import package_version

MODEL = "parley/scripted"
"""What plays where no model does."""

_SHOWN = 1_000
"""Characters of an instruction that a list may show."""


@dataclass
class LogTally:
    """What the head of a log says of all its episodes, which are not kept."""

    models: set[str] = field(default_factory=set)
    samples: set[tuple[str, int]] = field(default_factory=set)
    """Tasks with their seeds."""

    rewards: array[float] = field(default_factory=lambda: array("d"))
    """Of the episodes that were graded."""

    episodes: int = 0
    attempts: int = 1
    caveat: str = ""
    """That the set-up was at fault in more than 10 % of the episodes."""

    @classmethod
    def of(cls, results: Iterable[Result]) -> Self:
        """Of these results, read one after the other."""
        tally = cls()
        for result in results:
            tally.models |= {result.model} if result.model else set()
            tally.samples.add((result.task_id, result.seed))
            if result.status == "graded":
                tally.rewards.append(result.reward or 0.0)
            tally.episodes += 1
            tally.attempts = max(tally.attempts, result.attempt)
        return tally


def write_log(file: Path, name: str, created: datetime, tally: LogTally, episodes: Iterable[RecordedEpisode]) -> None:
    """Write one log; `name` is the run's, `created` when it was begun, `tally` that of the same episodes."""
    at = created.isoformat()
    head = _head(name, at, tally)
    with ZipFile(file, "x") as log, TemporaryFile() as summaries:
        _write(log, "_journal/start.json", {part: head[part] for part in ("version", "eval", "plan")}, created)
        for number, episode in enumerate(episodes):
            sample = _sample(episode, at) | {"uuid": f"{name}/{episode.result.key.name}"}
            _write(log, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample, created)
            summaries.write((b",\n" if number else b"[") + json.dumps(_summary(sample)).encode())
        summaries.write(b"]" if tally.episodes else b"[]")
        summaries.seek(0)
        with log.open(_entry("summaries.json", created), "w", force_zip64=True) as into:
            shutil.copyfileobj(summaries, into)
        _write(log, "header.json", head, created)


def _write(log: ZipFile, name: str, document: Mapping[str, Any], created: datetime) -> None:
    log.writestr(_entry(name, created), json.dumps(document))


def _entry(name: str, created: datetime) -> ZipInfo:
    """A file of the zip, with the time of the run, so that the export of a run is the same each time."""
    entry = ZipInfo(name, created.timetuple()[:6])
    entry.compress_type = ZIP_DEFLATED
    return entry


def _head(name: str, created: str, tally: LogTally) -> dict[str, Any]:
    """What a log says of all its samples."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": created,
            "task": "parley",
            "task_id": name,
            "run_id": name,
            "eval_id": name,
            "dataset": {"name": "parley", "samples": len(tally.samples)},
            "model": next(iter(tally.models)) if len(tally.models) == 1 else MODEL,
            "config": {"epochs": tally.attempts},
            "packages": {"parley-bench": package_version()},
            **({"metadata": {"caveat": tally.caveat}} if tally.caveat else {}),
        },
        "plan": {},
        "results": {
            "total_samples": tally.episodes,
            "completed_samples": len(tally.rewards),
            "scores": [_metrics("reward", tally.rewards)] if tally.rewards else [],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
    }


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    """What a list of samples shows of one."""
    kept = ("uuid", "id", "epoch", "target", "metadata", "scores", "total_time")
    told = {"completed": True, "message_count": len(sample["messages"]), "input": str(sample["input"])[:_SHOWN]}
    failed = {"error": sample["error"]["message"]} if "error" in sample else {}
    return {**{name: sample[name] for name in kept if name in sample}, **told, **failed}


def _metrics(name: str, values: Sequence[float]) -> dict[str, Any]:
    spread = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    means = {"mean": fmean(values), "stderr": spread}
    return {"name": name, "scorer": name, "metrics": {key: {"name": key, "value": value} for key, value in means.items()}}


def _sample(episode: RecordedEpisode, created: str) -> dict[str, Any]:
    result = episode.result
    talks = talks_of(episode)
    sample: dict[str, Any] = {
        "id": f"{result.family}/{result.task_id}/s{result.seed}",
        "epoch": result.attempt,
        "input": episode.instruction or result.task_id,
        "target": "SUCCESS",
        "messages": messages_of(talks),
        "metadata": _metadata(result),
        "events": events_of(talks, result, created),
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
        told = result.why_ungraded
        sample["error"] = {"message": told, "traceback": told, "traceback_ansi": told}
    return sample


def talks_of(episode: RecordedEpisode) -> list[Conversation]:
    """Its conversations: those of the seats in a game, whose trajectory says besides them one line about them."""
    return [one for one in episode.conversations if one.seat is not None] or list(episode.conversations)


def messages_of(talks: Sequence[Conversation]) -> list[dict[str, Any]]:
    """All of them as Inspect's messages, one conversation after the other."""
    return [message for talk in talks for number, said in enumerate(talk.utterances) for message in _said(said, number)]


def events_of(talks: Sequence[Conversation], result: Result, created: str) -> list[dict[str, Any]]:
    """All of them as Inspect's events: a span each, in it a model call for each answer."""
    return [event for talk in talks for event in _span(talk, result, created)]


def _metadata(result: Result) -> dict[str, Any]:
    names = (
        "task_id", "family", "seed", "attempt", "agent", "model", "reward", "failure_label", "severity", "trace_hash",
        "options", "cost_usd", "steps", "virtual_time_elapsed", "stopped_by",
    )  # fmt: skip
    return {name: getattr(result, name) for name in names} | endings(result)


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
