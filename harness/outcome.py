"""Outcome of an episode: its result and the other files of its folder, built from its final state.

A failed episode has a complete record too: log, trajectory and agent.log contain everything before the failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from harness.agent import Usage
from harness.attribution import EpisodeState, writable
from harness.causes import CauseName, cause_of_old_record
from harness.errors import VerifierFailure
from harness.pod import EpisodeSpec
from harness.records import Forfeits, Hint, Result, RunFolder, Timings, first_problem
from validators.verdict import UNEXPLAINED, UNEXPLAINED_SEVERITY, Verdict
from worlds.core.chance import key_digest
from worlds.core.events import Requested, read_log
from worlds.core.texts import texts_digest

WORLD_BUDGETS: tuple[CauseName, ...] = ("steps", "virtual_time", "request_cap")
"""Budgets that the world counts, by their names in its log."""

LONGEST_TEXT = 1 << 20
"""Characters that are kept of one text of a trajectory, or of one entry of agent.log."""


@dataclass
class Outcome:
    """Outcome of an episode: its result and the other files of its folder."""

    result: Result
    files: dict[str, bytes]


def record(outcome: Outcome, folder: RunFolder, hint: Hint | None = None) -> Result:
    """Write an episode's folder and return its result as written."""
    result = outcome.result.model_copy(update={"path": str(folder.episode(outcome.result.key)), "hint": hint})
    folder.write(result.key, {**outcome.files, "result.json": result.model_dump_json(indent=2).encode() + b"\n"})
    return result


def outcome_of(spec: EpisodeSpec, runtime: str, played: EpisodeState, images: Mapping[str, str] | None = None) -> Outcome:
    """Return the record of an episode that has ended in any way."""
    key = played.key
    verdict, reward = _verdict(played)
    if verdict is not None and verdict.failure_detail.get("reason") == "fault":
        played.blame("world_fault", _fault(played.log))
    trajectory = _trajectory(spec.run_id, played, verdict, reward)
    graded = played.graded
    report, usage = played.report, played.report.usage
    stopped_by = report.stopped_by or _closed_by(played.log)
    seconds = {name: round(value, 4) for name, value in played.seconds.items()}
    result = Result(
        run=spec.run_id, task_id=key.task_id, family=key.family, seed=key.seed, attempt=key.attempt,
        category=spec.task.parley.category if spec.task.parley else None,
        agent=report.agent, model=report.model, interface=report.interface, runtime=runtime,
        status="graded" if graded else "ungraded", cause=played.cause, may_pass=played.may_pass and not graded,
        error=played.error or (report.failed and writable(report.failed)),
        reward=reward if graded else None, options=dict(spec.overrides), key_digest=key_digest(spec.key),
        stopped_by=stopped_by, ended_by=_ended_by(played, stopped_by), disturbed=dict(report.disturbed),
        forfeits=tuple(Forfeits(seat=seat, cause=why, count=n) for (seat, why), n in sorted(report.forfeits.items())),
        tool_calls=report.tool_calls,
        tokens=usage.tokens(), cost_usd=usage.cost_usd, kept_usd=usage.kept_usd,
        price=_price(usage), parameters={"requested": report.requested, "effective": report.effective},
        prompt_digest=report.prompt_digest, templates=texts_digest(spec.texts),
        seats=tuple(report.seats), timings=Timings(**seconds), images=dict(images or {}), syscalls=played.syscalls,
        **(_graded_fields(verdict, reward) if graded else {}),
    )  # fmt: skip
    return Outcome(result, _files(played) | trajectory)


def _ended_by(played: EpisodeState, stopped_by: str | None) -> CauseName | None:
    """Return the cause that ended the episode: a failure, then a budget, then the agent's own report of its end."""
    named = played.failed_by or cause_of_old_record(None, stopped_by) or played.report.ended_by
    return named or ("agent_error" if played.report.failed else None)


def _verdict(played: EpisodeState) -> tuple[Verdict | None, float]:
    """Return the verifier's verdict and reward; a malformed pair is recorded as a failure of the verifier."""
    if played.judgement is None:
        return None, 0.0
    try:
        reward = _read_reward(played.judgement.reward)
        if not isinstance(reward, dict) or set(reward) != {"reward"} or not _is_number(reward["reward"]):
            raise ValueError("reward.json must hold exactly one key, reward, with a number")
        if not 0 <= reward["reward"] <= 1:
            raise ValueError("the reward must lie in 0..1")
        verdict = _read_verdict(played.judgement.verdict) if played.judgement.verdict else None
        if verdict is not None and verdict.reward != reward["reward"]:
            raise ValueError("reward.json and verdict.json differ")
    except (ValueError, TypeError, RecursionError) as error:
        played.blame(VerifierFailure.name, str(error).splitlines()[0])
        return None, 0.0
    return verdict, float(reward["reward"])


def _read_reward(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise ValueError(f"reward.json is not JSON ({len(data)} bytes): {error}; did its last writer end too early?") from None


def _read_verdict(data: bytes) -> Verdict:
    try:
        return Verdict.model_validate_json(data)
    except ValidationError as error:
        raise ValueError(f"verdict.json is not a valid verdict ({len(data)} bytes): {first_problem(error)}") from None


def _closed_by(log: bytes) -> CauseName | None:
    """Return the budget of the world that ended the episode according to its last event, or None."""
    try:
        last = json.loads(log.rstrip().rpartition(b"\n")[2] or b"{}")
    except (ValueError, RecursionError):
        return None
    is_closed = isinstance(last, dict) and last.get("type") == "closed"
    return next((cause for cause in WORLD_BUDGETS if is_closed and last.get("cause") == cause), None)


def _fault(log: bytes) -> str:
    """Describe a world's failure: the exception type and the request. Its message is left out, as it may contain an answer."""
    for event in reversed(read_log(log)):
        if isinstance(event, Requested) and event.kind == "fault":
            return f"its rule raised {event.rule} at {event.method} {event.path}"
    return "a rule of the world failed"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _graded_fields(verdict: Verdict | None, reward: float) -> dict[str, Any]:
    """Return the fields of a verdict; without one (a foreign task, a dead world) the reward alone."""
    if verdict is None:
        success = reward == 1.0
        label, severity = ("SUCCESS", 1.0) if success else (UNEXPLAINED, UNEXPLAINED_SEVERITY)
        return {"success": success, "failure_label": label, "severity": severity}
    names = (
        "success",
        "failure_label",
        "severity",
        "failure_detail",
        "metrics",
        "recovered",
        "steps",
        "virtual_time_elapsed",
        "trace_hash",
    )
    return {name: getattr(verdict, name) for name in names}


def _price(usage: Usage) -> Any:
    if not usage.calls:
        return "none"
    if usage.cost_usd is None:
        return "no price"
    return "estimated" if usage.estimated else "exact"


def _files(played: EpisodeState) -> dict[str, bytes]:
    told = "\n".join(_bounded(line) for line in played.report.log)
    files = {"events.jsonl": played.log, "agent.log": told.encode(errors="replace")}
    if wire := played.wire.dump(failed=played.cause in {"provider", "setup"}):
        files["wire.json"] = wire
    if played.judgement is not None:
        files |= {
            "reward.json": played.judgement.reward,
            "verdict.json": played.judgement.verdict,
            "verifier.log": played.judgement.log,
        }
    return files


def _bounded(value: Any) -> Any:
    """Return a JSON value with texts cut to LONGEST_TEXT: a quarter from the head, the rest from the tail."""
    if isinstance(value, str):
        if len(value) <= LONGEST_TEXT:
            return value
        head, left_out = LONGEST_TEXT // 4, len(value) - LONGEST_TEXT
        return f"{value[:head]}\n[{left_out} characters left out]\n{value[head + left_out :]}"
    if isinstance(value, dict):
        return {name: _bounded(inner) for name, inner in value.items()}
    return [_bounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _trajectory(run: str, played: EpisodeState, verdict: Verdict | None, reward: float) -> dict[str, bytes]:
    """Return trajectory.json with the episode's identity and score, so that the file can be understood without the others.

    A trajectory that cannot be serialized is the agent's failure, and the episode is stored without one.
    """
    if played.report.trajectory is None:
        return {}
    graded = _graded_fields(verdict, reward) if played.graded else {}
    try:
        trajectory = {
            **_bounded(played.report.trajectory),
            "session_id": run,
            "trajectory_id": f"{run}/{played.key.name}",
            "extra": {
                **played.key.model_dump(),
                "reward": reward if played.graded else None,
                "label": graded.get("failure_label"),
                "success": graded.get("success"),
                "model": played.report.model,
            },
        }
        written = json.dumps(trajectory, indent=2, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        played.blame("agent_error", f"its trajectory cannot be written: {error}")
        return {}
    return {"trajectory.json": written.encode(errors="replace") + b"\n"}
