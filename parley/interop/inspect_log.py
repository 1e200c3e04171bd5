"""Export of a run as an Inspect log for its viewer and Scout: a zip of JSON files, one per sample.

1. A sample's id is `family/task/sN` and its epoch is the attempt. The score `success` is C or I with the label as its answer;
   the score `reward` is a number. Metadata has task, seed, family, severity, the episode's cost and the hash of its log.
2. Each conversation is a span; in a game, each seat has one. Each answer in it is a model call, or a call of a policy.
3. An ungraded episode is a sample with an error and without scores.
4. Samples are written one by one. Their summaries, from which viewers build lists, go to a separate file.
Inspect is not needed to write the log. Times are those of the record, or the log's own time if the record has none.
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

from harness.records import Result
from harness.version import package_version
from parley.interop.atif import endings
from parley.reports.reading import Conversation, RecordedEpisode, Utterance

MODEL = "parley/scripted"
"""Name of the model if no model played."""

_SHOWN = 1_000
"""Maximum characters of an instruction in a list of samples."""


@dataclass
class LogTally:
    """Totals over all episodes for the header of a log. The episodes are not kept in memory."""

    models: set[str] = field(default_factory=set)
    samples: set[tuple[str, int]] = field(default_factory=set)
    """Tasks with their seeds."""

    rewards: array[float] = field(default_factory=lambda: array("d"))
    """Rewards of the graded episodes."""

    episodes: int = 0
    attempts: int = 1
    caveat: str = ""
    """Warning if the set-up was at fault in more than 10 % of the episodes."""

    @classmethod
    def of(cls, results: Iterable[Result]) -> Self:
        """Count these results, reading them one by one."""
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
    """Write a log. `name` is the run's name, `created` its start, and `tally` the totals of the same episodes."""
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
    """Return a zip entry with the time of the run, so that repeated exports of a run are identical."""
    entry = ZipInfo(name, created.timetuple()[:6])
    entry.compress_type = ZIP_DEFLATED
    return entry


def _head(name: str, created: str, tally: LogTally) -> dict[str, Any]:
    """Return the header of the log, which describes all its samples."""
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
    """Return the fields of a sample that a list of samples shows."""
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
    """Return the episode's conversations: in a game only the seats', since its own trajectory is a one-line summary."""
    return [one for one in episode.conversations if one.seat is not None] or list(episode.conversations)


def messages_of(talks: Sequence[Conversation]) -> list[dict[str, Any]]:
    """Return all conversations as Inspect messages, one after the other."""
    return [message for talk in talks for number, said in enumerate(talk.utterances) for message in _said(said, number)]


def events_of(talks: Sequence[Conversation], result: Result, created: str) -> list[dict[str, Any]]:
    """Return all conversations as Inspect events: one span each, with a model call for each answer."""
    return [event for talk in talks for event in _span(talk, result, created)]


def _metadata(result: Result) -> dict[str, Any]:
    names = (
        "task_id", "family", "seed", "attempt", "agent", "model", "reward", "failure_label", "severity", "trace_hash",
        "options", "cost_usd", "steps", "virtual_time_elapsed", "stopped_by",
    )  # fmt: skip
    return {name: getattr(result, name) for name in names} | endings(result)


def _span(conversation: Conversation, result: Result, created: str) -> Iterator[dict[str, Any]]:
    """Yield the events of one branch of the transcript: an event for each answer, with the messages before it as input."""
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
    """Return an utterance as Inspect messages: the message itself, then the replies of tools and of the harness."""
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
