"""Export of a run as a Harbor job for `harbor view`: a folder with config.json, result.json and one folder per trial.

1. Trials are written one by one as their episodes are read. Only the name, reward and task of each trial stay in memory, for
   the statistics in the job's result.json, which is written last.
2. Tasks are named as in `harness export harbor`, so the job can be compared with one that Harbor played. An ungraded episode is
   a trial with an exception and without a reward, and is excluded from means.
3. Phase times come from the record, in sequence from the start of the episode. Ids are derived from names, so repeated exports
   of a run are identical.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import prod
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from harness.agents.trajectory import AGENT_VERSION
from harness.atomic_write import make_folder, write_file
from harness.records import Result
from parley.interop.atif import facts
from parley.reports.reading import RecordedEpisode

Document = Mapping[str, Any]
_TRIES = (2, 4, 5, 8, 10, 15, 16, 20, 25, 30, 32, 35, 40, 45, 50, 64)
"""Values of k for which Harbor reports pass@k, up to a run's number of attempts: powers of two and multiples of five."""


@dataclass
class _Eval:
    """Harbor's statistics of one agent on one data set."""

    rewards: defaultdict[float, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Names of the trials, by reward."""

    exceptions: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    wins: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Rewards of the trials, by task."""

    def told(self) -> dict[str, Any]:
        """Return the statistics in the format of `AgentDatasetStats`."""
        count = sum(map(len, self.rewards.values()))
        mean = sum(reward * len(names) for reward, names in self.rewards.items()) / max(count, 1)
        return {
            "n_trials": count,
            "n_errors": sum(map(len, self.exceptions.values())),
            "metrics": [{"mean": mean}] if count else [],
            "pass_at_k": self._pass_at_k(),
            "reward_stats": {"reward": {str(reward): names for reward, names in self.rewards.items()}} if count else {},
            "exception_stats": self.exceptions,
        }

    def _pass_at_k(self) -> dict[str, float]:
        """Return pass@k for each k, or an empty dictionary unless every reward is 0 or 1."""
        if not self.rewards.keys() <= {0.0, 1.0}:
            return {}
        least = min(map(len, self.wins.values()), default=0)
        return {
            str(k): sum(_passes(len(tries), int(sum(tries)), k) for tries in self.wins.values()) / len(self.wins)
            for k in _TRIES
            if k <= least
        }


class HarborJob:
    """Folder of a job, to which trials are added one by one."""

    def __init__(self, folder: Path, run: str, began: datetime, digests: Mapping[str, str]) -> None:
        """Create the folder. `run` is the run's name, `began` its start, `digests` its task digests by task id."""
        self._folder, self._began, self._ended, self._digests = folder, began, began, digests
        self._id = uuid5(NAMESPACE_URL, f"parley:{run}")
        self._evals: defaultdict[str, _Eval] = defaultdict(_Eval)
        self._agents: dict[tuple[str, str | None], None] = {}
        self._sets: dict[str, None] = {}
        self._spent: defaultdict[str, float] = defaultdict(int)
        self._trials, self._attempts = 0, 1
        make_folder(folder)

    def add(self, episode: RecordedEpisode, trajectory: Document, verifier: bytes) -> None:
        """Write the trial of one episode; `verifier` is the output of its hidden tests."""
        result, name = episode.result, trial_name(episode.result)
        folder = self._folder / name
        began = _began(trajectory) or self._began
        trial = _trial(result, self._id, began) | {"task_checksum": self._digests.get(result.task_id, "")}
        for room in ("agent", "verifier"):
            make_folder(folder / room)
        write_file(folder / "config.json", _json(trial["config"]))
        write_file(folder / "agent" / "trajectory.json", _json(trajectory))
        write_file(folder / "agent" / "agent.log", episode.agent_log.encode(errors="replace"))
        write_file(folder / "verifier" / "test-stdout.txt", verifier)
        if result.status == "graded":
            write_file(folder / "verifier" / "reward.json", _json({"reward": result.reward}))
        write_file(folder / "result.json", _json(trial))
        self._count(result, name, began)

    def close(self) -> None:
        """Write the job's config.json and result.json."""
        agents = [{"name": name, "model_name": model} for name, model in self._agents]
        config = {
            "job_name": self._folder.name,
            "n_attempts": self._attempts,
            "agents": agents or [{"name": "nop"}],
            "datasets": [{"name": name} for name in self._sets],
        }
        errors = sum(len(names) for one in self._evals.values() for names in one.exceptions.values())
        stats = {
            "n_completed_trials": self._trials,
            "n_errored_trials": errors,
            "evals": {key: one.told() for key, one in self._evals.items()},
            **self._spent,
        }
        write_file(self._folder / "config.json", _json(config))
        times = {"started_at": self._began, "updated_at": self._ended, "finished_at": self._ended}
        told = {"id": self._id, **times, "n_total_trials": self._trials, "stats": stats}
        write_file(self._folder / "result.json", _json(told))

    def _count(self, result: Result, name: str, began: datetime) -> None:
        data_set = f"parley-{result.family}"
        key = "__".join(part for part in (result.agent, _model(result).get("name"), data_set) if part)
        one = self._evals[key]
        if result.reward is None:
            one.exceptions[_exception(result)].append(name)
        else:
            one.rewards[result.reward].append(name)
            one.wins[result.task_id].append(result.reward)
        self._agents[result.agent, result.model] = self._sets[data_set] = None
        self._trials += 1
        self._attempts = max(self._attempts, result.attempt)
        self._ended = max(self._ended, began + timedelta(seconds=result.timings.total))
        for kind, amount in _spent(result).items():
            self._spent[kind] += amount


def trial_name(result: Result) -> str:
    """Return the name of an episode's trial. Task ids are unique in a run."""
    return f"{result.task_id}__s{result.seed}-a{result.attempt}"


def _trial(result: Result, job: UUID, began: datetime) -> dict[str, Any]:
    """Return the trial in the format of `TrialResult`, without the task's digest."""
    task = {"path": f"tasks/{result.task_id}", "source": f"parley-{result.family}"}
    model = _model(result)
    graded = result.status == "graded"
    return {
        "id": uuid5(job, result.key.name),
        "task_name": f"parley/{result.task_id}",
        "trial_name": trial_name(result),
        "trial_uri": f"parley:{result.run}/{result.key.name}",
        "task_id": {"path": task["path"]},
        "source": task["source"],
        "config": {
            "task": task, "trial_name": trial_name(result), "job_id": job,
            "agent": {"name": result.agent, "model_name": result.model},
        },
        "agent_info": {"name": result.agent, "version": AGENT_VERSION, "model_info": model or None},
        "agent_result": {
            **_spent(result), "metadata": {**facts(result), "severity": result.severity, "options": result.options},
        },
        "verifier_result": {"rewards": {"reward": result.reward}} if graded else None,
        "exception_info": None if graded else _failure(result, began),
        **_phases(result, began),
    }  # fmt: skip


def _phases(result: Result, began: datetime) -> dict[str, Any]:
    """Return the start and end of each phase."""
    spent, at = result.timings, began
    phases: dict[str, Any] = {"started_at": began, "finished_at": began + timedelta(seconds=spent.total)}
    lasted = {"environment_setup": spent.open, "agent_execution": spent.agent, "verifier": spent.finish + spent.judge}
    for name, seconds in lasted.items():
        phases[name] = {"started_at": at, "finished_at": (at := at + timedelta(seconds=seconds))}
    return phases


def _failure(result: Result, began: datetime) -> dict[str, Any]:
    told, ended = result.why_ungraded, began + timedelta(seconds=result.timings.total)
    said = {"exception_type": _exception(result), "exception_message": told, "exception_traceback": told}
    return {**said, "occurred_at": ended}


def _exception(result: Result) -> str:
    """Return the failure as a class name, for example `ProviderFailure`."""
    return f"{(result.cause or 'unknown').capitalize()}Failure"


def _model(result: Result) -> dict[str, Any]:
    """Split a model such as `openai/gpt-5` into name and provider, as Harbor does. Empty if no model played."""
    if not result.model:
        return {}
    provider, slash, name = result.model.partition("/")
    return {"name": name, "provider": provider} if slash else {"name": provider, "provider": None}


def _spent(result: Result) -> dict[str, Any]:
    tokens = result.tokens
    counts = {"n_input_tokens": tokens.prompt, "n_cache_tokens": tokens.cached, "n_output_tokens": tokens.completion}
    return (counts if tokens.calls else {}) | ({} if result.cost_usd is None else {"cost_usd": result.cost_usd})


def _began(trajectory: Document) -> datetime | None:
    """Return the time of the trajectory's first step, or None if no trajectory was recorded."""
    nested = (inner for inner in trajectory.get("subagent_trajectories", ()))
    steps = (step for one in (trajectory, *nested) for step in one.get("steps", ()))
    stamps = (_time(step.get("timestamp")) for step in steps)
    return min(filter(None, stamps), default=None)


def _time(stamp: object) -> datetime | None:
    """Parse an ISO timestamp, as UTC if it has no time zone. Return None for anything else."""
    try:
        told = datetime.fromisoformat(str(stamp))
    except ValueError:
        return None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def _passes(tries: int, wins: int, k: int) -> float:
    """Return the probability that at least one of k attempts, drawn from these, succeeded."""
    return 1.0 - prod((tries - wins - i) / (tries - i) for i in range(k))


def _json(document: Document) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False, default=_plain).encode(errors="replace") + b"\n"


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
