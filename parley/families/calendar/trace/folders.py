"""Conversion of traces to run folders, so that reports, `harness show` and audits read them like any other run.

The log is rebuilt from the trace, and the verdict from the log, by the validator and a newly computed certificate, because a
file's own measures are not trusted. `origin=imported` is among the options of each result, so that an imported game never
shares a row with one played here. Reasoning and tokens of models become the trajectory; its steps have no times, because a
trace has no times of single replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.agent import AgentIdentity, Budget, SeatSpec
from harness.agents.trajectory import SCHEMA_VERSION
from harness.errors import UsageError
from harness.frames import grouped
from harness.outcome import Outcome, record
from harness.records import Key, Result, RunFolder
from harness.runs.request import Environment, Planned, RunRecord
from parley.families.calendar.trace.game import ENDS, GameRecord, Retold
from parley.families.calendar.trace.model import TracedRecord, TraceEvent
from validators.calendar.replay import find_lies
from validators.calendar.verdict import assess
from validators.verdict import UNEXPLAINED, UNEXPLAINED_SEVERITY, Check, Verdict


def trajectory(events: Sequence[TraceEvent], played: TracedRecord) -> dict[str, Any] | None:
    """Return an ATIF trajectory, with a nested one for each seat with recorded data; None without such data."""
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


ORIGIN = {"origin": "imported"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.,=+-]+")
_EARNED = (
    "success", "reward", "failure_label", "severity", "failure_detail", "metrics", "recovered", "steps",
    "virtual_time_elapsed", "trace_hash",
)  # fmt: skip


@dataclass(frozen=True)
class TracedGame:
    """A game from a file."""

    path: Path
    record: GameRecord
    again: Retold
    ours: bool
    """True if its prompts are those of our world, so that its log must match exactly."""

    @property
    def key(self) -> Key:
        """Key of the episode."""
        config = self.record.config
        return Key(task_id=config.task.id, family=config.task.family, seed=config.seed, attempt=config.attempt)


def write_runs(games: Sequence[TracedGame], out: Path) -> list[Path]:
    """Write games as runs, and return their folders. Raises UsageError for two files of one episode, and for a used folder."""
    groups = grouped(games, _identity)
    folders: dict[Path, list[TracedGame]] = {}
    for mine in groups.values():
        name = _UNSAFE.sub("-", mine[0].record.config.record.run).lstrip(".-") or "imported"
        folder = out / name if len(groups) > 1 else out
        while folder in folders:
            folder = folder.with_name(f"{folder.name}-{len(folders)}")
        folders[folder] = mine
    for folder, mine in folders.items():
        _write(RunFolder(folder), mine)
    return list(folders)


def planned(games: Sequence[TracedGame]) -> Planned:
    """Return the plan that corresponds to games of one line-up."""
    config = games[0].record.config
    played = config.record
    seeds = sorted({game.key.seed for game in games})
    return Planned(
        tasks={game.key.task_id: game.record.config.task.digest for game in games},
        seeds=tuple(seeds),
        attempts=max(game.key.attempt for game in games),
        agent=_agent(played),
        budget=Budget(),
        options={name: str(value) for name, value in _options(games[0]).items()},
        key_digest=config.key_digest,
        templates=played.templates,
    )


def verdict(game: TracedGame) -> Verdict:
    """Return the verdict of a game. A log of ours with a false event fails."""
    episode = game.again.episode
    assessed = assess(episode, game.again.certificate.document())
    if not game.ours:
        return assessed
    lies = find_lies(episode)
    checks = (Check(name="test_log_is_true", ok=not lies, message=lies[0] if lies else ""),)
    failed: dict[str, Any] = {"checks": checks}
    if lies:
        told = {"failure_label": UNEXPLAINED, "severity": UNEXPLAINED_SEVERITY, "failure_detail": {"reason": lies[0]}}
        failed |= {"reward": 0.0, "success": False, **told}
    return assessed.model_copy(update=failed)


def _agent(played: TracedRecord) -> AgentIdentity:
    """Return the player as in a plan, with the seats held by other players."""
    main = played.model or played.agent
    others = tuple(
        SeatSpec(seat=one.seat, kind=one.kind, name=one.name) for one in played.seats if one.name not in {main, played.model}
    )
    told: dict[str, Any] = {"name": played.agent, **({"seats": others} if others else {})}
    if played.model is not None:
        requested = played.parameters.get("requested")
        told |= {"model": played.model, "requested": requested, "prompt_digest": played.prompt_digest}
    return AgentIdentity(**told)


def _options(game: TracedGame) -> dict[str, Any]:
    """Return the options that were set, and those that mark an imported game: its origin, and seats with prompt variants."""
    told = zip(game.record.systems, game.record.prompts, strict=True)
    nosy = [str(seat) for seat, (rules, prompt) in enumerate(told) if prompt != rules]
    return {**game.record.config.record.options, **ORIGIN, **({"variants": "+".join(nosy)} if nosy else {})}


def _identity(game: TracedGame) -> str:
    """Return the settings that games of one run have in common, as a string."""
    config, plan = game.record.config, planned([game])
    told = plan.model_dump(mode="json", include={"agent", "options", "key_digest", "templates"})
    hint = config.record.hint.mode if config.record.hint else None
    return json.dumps({**told, "run": config.record.run if game.ours else "", "hint": hint}, sort_keys=True)


def _write(run: RunFolder, games: Sequence[TracedGame]) -> None:
    if run.path.exists() and any(run.path.iterdir()):
        raise UsageError(f"{run.path} is not empty; runs are never overwritten", hint="--out NEW_FOLDER")
    numbered = _numbered(games)
    with run.held():
        plan = RunRecord(
            run=run.path.name, identity=planned(list(numbered.values())), environment=Environment(runtime="imported")
        )
        run.write_plan(plan.model_dump(mode="json", exclude={"request"}))
        results = [
            record(_outcome(key, game, run.path.name), run, game.record.config.record.hint) for key, game in numbered.items()
        ]
        run.write_rewards(results)


def _numbered(games: Sequence[TracedGame]) -> dict[Key, TracedGame]:
    """Return games by episode; files without an attempt number get the next one."""
    numbered: dict[Key, TracedGame] = {}
    for game in games:
        key = game.key
        if key in numbered and game.ours:
            raise UsageError(f"{game.path} and {numbered[key].path} are both {key.name}", hint="import one of them")
        while key in numbered:
            key = key.model_copy(update={"attempt": key.attempt + 1})
        numbered[key] = game
    return numbered


def _outcome(key: Key, game: TracedGame, run: str) -> Outcome:
    config, log = game.record.config, game.again.log
    played = config.record
    files: dict[str, bytes] = {"events.jsonl": log.dump(), "agent.log": f"imported from {game.path.name}".encode()}
    if (told := trajectory(game.again.events, played)) is not None:
        files["trajectory.json"] = json.dumps(told, ensure_ascii=False, indent=2).encode() + b"\n"
    earned: Mapping[str, Any] = {}
    if played.status == "graded":
        judged = verdict(game)
        files["verdict.json"] = judged.model_dump_json(indent=2).encode() + b"\n"
        files["reward.json"] = json.dumps({"reward": judged.reward}).encode() + b"\n"
        earned = {name: getattr(judged, name) for name in _EARNED}
    said = played.model_dump(exclude={"run", "runtime", "options", "hint"})
    result = Result.model_validate(
        {
            **said,
            **earned,
            "run": run,
            "runtime": "imported",
            "options": _options(game),
            "category": config.task.category,
            "key_digest": config.key_digest,
            **key.model_dump(),
        }
    )
    return Outcome(result, files)
