"""One episode is four verbs - open, play, finish, judge - and everything that happens becomes its record.

1. Whatever is raised is attributed to the boundary it crossed. Failures of provider, runtime and verifier, and a
   cancellation, leave the episode ungraded; a world that died under an agent is graded 0, because otherwise killing the world
   would be a way not to be counted. A provider that would serve no other episode (ProviderLost) ends the run.
2. What is raised while an agent plays and crossed none of these boundaries is the agent's own failure: a client that gave up,
   or something an agent wrote that broke whoever read it. Its log is judged like any other.
3. The record is complete also for an episode that failed: log, trajectory and agent.log are kept as far as they got.
4. A phase is told when it begins and when it ends, to whoever listens and to the log that `-v` shows.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from harness.agent import Agent, Budget, Report, Usage
from harness.agents.path import RoutedPod, is_bent
from harness.console import about
from harness.errors import BoundaryError, Cancelled, Cause, ProviderLost, VerifierFailure
from harness.pod import EpisodeSpec, Judgement, Pod, Runtime
from harness.records import Hint, Key, Result, RunFolder, Timings
from harness.runtimes.inprocess import InProcessRuntime
from harness.runtimes.judging import judge_all
from validators.verdict import UNEXPLAINED, UNEXPLAINED_SEVERITY, Verdict
from worlds.core.chance import key_digest
from worlds.core.errors import ManifestError, ParleyError, WireError
from worlds.core.errors import WorldError as WorldBroken
from worlds.core.events import Requested, read_log
from worlds.core.texts import digest_of

GRADED_CAUSES = frozenset({None, "agent", "world"})
"""Causes under which an episode counts."""


WORLD_BUDGETS = ("steps", "virtual_time", "request_cap")
"""What a world counts itself, as its log calls it."""

LONGEST_TEXT = 1 << 20
"""Characters of one text of a trajectory, or of one entry of agent.log, that are kept."""

PhaseName = Literal["open", "agent", "finish", "judge", "close"]
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)
"""What an episode consists of, in order."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Phase:
    """A phase of an episode begins, or has ended after some real seconds."""

    key: Key
    name: PhaseName
    seconds: float | None = None
    """None where it begins."""


Heard = Callable[[Phase], object]
Opening = Callable[[EpisodeSpec], AbstractContextManager[Pod]]
"""Gives the pod of an episode, as `Runtime.open` does."""


@dataclass
class Outcome:
    """What an episode left: its result and the other files of its folder."""

    result: Result
    files: dict[str, bytes]


def record(outcome: Outcome, folder: RunFolder, hint: Hint | None = None) -> Result:
    """Write an episode's folder; returns its result as it stands there."""
    result = outcome.result.model_copy(update={"path": str(folder.episode(outcome.result.key)), "hint": hint})
    folder.write(result.key, {**outcome.files, "result.json": result.model_dump_json(indent=2).encode() + b"\n"})
    return result


@dataclass
class _Play:
    """The state of one episode while it happens."""

    report: Report
    key: Key
    heard: Heard | None = None
    log: bytes = b""
    judgement: Judgement | None = None
    opened: bool = False
    cause: Cause | None = None
    error: str | None = None
    may_pass: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def graded(self) -> bool:
        """Whether the episode counts; one whose world never opened was nobody's doing."""
        return self.cause in GRADED_CAUSES and self.opened

    @contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        _log.info("%s: %s ...", self.key.name, name)
        self._tell(Phase(self.key, name))
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - started
            _log.info("%s: %s took %.2f s", self.key.name, name, self.seconds[name])
            self._tell(Phase(self.key, name, self.seconds[name]))

    @contextmanager
    def whole(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds["total"] = time.perf_counter() - started

    def _tell(self, phase: Phase) -> None:
        if self.heard is not None:
            self.heard(phase)


def run_episode(
    spec: EpisodeSpec,
    key: Key,
    runtime: Runtime,
    agent: Agent,
    budget: Budget,
    images: Mapping[str, str] | None = None,
    heard: Heard | None = None,
    opening: Opening | None = None,
) -> Outcome:
    """Play and judge one episode; raises ProviderLost, and nothing else that happens inside it.

    `heard` is told of each phase, in this thread. `opening` gives its pod, if not the runtime at that moment.
    """
    played = _Play(Report(agent=agent.name), key, heard)
    with played.whole(), about(key.name):
        _guarded(played, lambda: _play(spec, runtime, agent, budget, played, opening or runtime.open))
    return _outcome(spec, key, runtime, played, dict(images or {}))


def run_in_process(
    episodes: Sequence[tuple[EpisodeSpec, Key]], agent: Agent, budget: Budget, images: Mapping[str, str] | None = None
) -> list[Outcome]:
    """Play episodes one after the other in this process and judge them together: the same outcomes, for less."""
    runtime, played = InProcessRuntime(), [_Play(Report(agent=agent.name), key) for _, key in episodes]
    for one, (spec, _) in zip(played, episodes, strict=True):
        with one.whole():
            _guarded(one, lambda one=one, spec=spec: _acted(spec, runtime, agent, budget, one))
    finished = [
        (one, spec) for one, (spec, _) in zip(played, episodes, strict=True) if one.opened and one.cause in {None, "agent"}
    ]
    started = time.perf_counter()
    judged = judge_all([(spec.task, one.log) for one, spec in finished])
    share = (time.perf_counter() - started) / max(1, len(finished))
    for (one, _), judgement in zip(finished, judged, strict=True):
        one.seconds |= {"judge": share, "total": one.seconds["total"] + share}
        if isinstance(judgement, Judgement):
            one.judgement = judgement
        else:
            _blame(one, judgement.cause, str(judgement))
    return [_outcome(spec, key, runtime, one, dict(images or {})) for one, (spec, key) in zip(played, episodes, strict=True)]


def lost_in_process(
    episodes: Sequence[tuple[EpisodeSpec, Key]], agent: Agent, failure: BoundaryError, images: Mapping[str, str] | None = None
) -> list[Outcome]:
    """The outcomes of episodes that were lost with their process: ungraded, and blamed on what `failure` says."""
    runtime, outcomes = InProcessRuntime(), []
    for spec, key in episodes:
        played = _Play(Report(agent=agent.name), key)
        _blame(played, failure.cause, str(failure))
        outcomes.append(_outcome(spec, key, runtime, played, dict(images or {})))
    return outcomes


def _acted(spec: EpisodeSpec, runtime: Runtime, agent: Agent, budget: Budget, played: _Play) -> None:
    """Everything of an episode but its judgement."""
    with _opened(spec, runtime.open, played) as pod:
        _act(spec, pod, agent, budget, played)


@contextmanager
def _opened(spec: EpisodeSpec, opening: Opening, played: _Play) -> Iterator[Pod]:
    with ExitStack() as stack:
        closing = stack.enter_context(ExitStack())
        with played.phase("open"):
            pod = stack.enter_context(opening(spec))
        played.opened = True
        # the last to come is the first to go: from then on until the pod is gone it is being closed
        stack.callback(lambda: closing.enter_context(played.phase("close")))
        yield pod


def _act(spec: EpisodeSpec, pod: Pod, agent: Agent, budget: Budget, played: _Play) -> None:
    try:
        with played.phase("agent"), _own_failure(played):
            agent.play(spec.leveled, spec.seed, _seen(pod, spec), budget, played.report, played.key.attempt)
    finally:
        with played.phase("finish"):
            played.log = pod.finish()


@contextmanager
def _own_failure(played: _Play) -> Iterator[None]:
    """The one boundary around what agents make: what is raised here, and is nobody else's, is the agent's failure."""
    try:
        yield
    except WireError as failure:
        _blame(played, "agent", f"not sent: {failure}")
    except (ParleyError, OSError, MemoryError):
        # attributed by whoever raised it; the system's own word is about this machine, not about what an agent wrote
        raise
    except (Exception, SystemExit) as failure:  # noqa: BLE001 - otherwise writing something odd would be a way not to be counted
        _blame(played, "agent", f"{type(failure).__name__}: {failure}")
        played.report.log.append(traceback.format_exc())


def _play(spec: EpisodeSpec, runtime: Runtime, agent: Agent, budget: Budget, played: _Play, opening: Opening) -> None:
    with _opened(spec, opening, played) as pod:
        _act(spec, pod, agent, budget, played)
        with played.phase("judge"):
            played.judgement = runtime.judge(spec, played.log)


def _seen(pod: Pod, spec: EpisodeSpec) -> Pod:
    """The pod as the agent has it: behind the path that the options ask for, with the note of a retry."""
    seen = RoutedPod(pod, spec.task.family, spec.overrides) if is_bent(spec.overrides) else pod
    if spec.note:
        seen.instruction = f"{pod.instruction}\n{spec.note}\n"
    return seen


def _guarded(played: _Play, act: Any) -> None:
    try:
        act()
    except ProviderLost:
        # no other episode would fare better
        raise
    except BoundaryError as failure:
        _blame(played, failure.cause, str(failure), may_pass=failure.may_pass)
    except (Cancelled, KeyboardInterrupt):
        _blame(played, "cancelled", "interrupted")
    except (WorldBroken, ManifestError) as failure:
        _blame(played, "world", str(failure))
    except (Exception, SystemExit) as failure:  # noqa: BLE001 - a bad episode is data, neither a crash nor the end of a run
        _blame(played, "runtime", f"{type(failure).__name__}: {failure}", may_pass=isinstance(failure, OSError))
        played.report.log.append(traceback.format_exc())


def _blame(played: _Play, cause: Cause, error: str, *, may_pass: bool = False) -> None:
    if played.cause is None:
        played.may_pass = may_pass
        # what an exception says may hold half a character, and a record cannot
        played.cause, played.error = cause, _writable(error)


def _writable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _outcome(spec: EpisodeSpec, key: Key, runtime: Runtime, played: _Play, images: dict[str, str]) -> Outcome:
    verdict, reward = _verdict(played)
    if verdict is not None and verdict.failure_detail.get("reason") == "fault":
        _blame(played, "world", _fault(played.log))
    trajectory = _trajectory(spec.run_id, key, played)
    graded = played.graded
    report, usage = played.report, played.report.usage
    seconds = {name: round(value, 4) for name, value in played.seconds.items()}
    result = Result(
        run=spec.run_id, task_id=key.task_id, family=key.family, seed=key.seed, attempt=key.attempt,
        category=spec.task.parley.category if spec.task.parley else None,
        agent=report.agent, model=report.model, interface=report.interface, runtime=runtime.name,
        status="graded" if graded else "ungraded", cause=played.cause, may_pass=played.may_pass and not graded,
        error=played.error or (report.failed and _writable(report.failed)),
        reward=reward if graded else None, options=dict(spec.overrides), key_digest=key_digest(spec.key),
        stopped_by=report.stopped_by or _closed_by(played.log), tool_calls=report.tool_calls,
        tokens=usage.tokens(), cost_usd=usage.cost_usd, kept_usd=usage.kept_usd,
        price=_price(usage), parameters={"requested": report.requested, "effective": report.effective},
        prompt_digest=report.prompt_digest, templates=digest_of(spec.texts),
        seats=tuple(report.seats), timings=Timings(**seconds), images=images,
        **(_graded_fields(verdict, reward) if graded else {}),
    )  # fmt: skip
    return Outcome(result, _files(played) | trajectory)


def _verdict(played: _Play) -> tuple[Verdict | None, float]:
    """The verifier's verdict and reward; a malformed pair is the verifier's failure."""
    if played.judgement is None:
        return None, 0.0
    try:
        reward = json.loads(played.judgement.reward)
        if not isinstance(reward, dict) or set(reward) != {"reward"} or not _is_number(reward["reward"]):
            raise ValueError("reward.json must hold exactly one key, reward, and that a number")
        if not 0 <= reward["reward"] <= 1:
            raise ValueError("the reward must lie in 0..1")
        verdict = Verdict.model_validate_json(played.judgement.verdict) if played.judgement.verdict else None
        if verdict is not None and verdict.reward != reward["reward"]:
            raise ValueError("reward.json and verdict.json differ")
    except (ValueError, TypeError, RecursionError) as error:
        _blame(played, VerifierFailure.cause, str(error).splitlines()[0])
        return None, 0.0
    return verdict, float(reward["reward"])


def _closed_by(log: bytes) -> str | None:
    """The budget that only the world counts, where that ended the episode: its last event says so."""
    try:
        last = json.loads(log.rstrip().rpartition(b"\n")[2] or b"{}")
    except (ValueError, RecursionError):
        return None
    is_closed = isinstance(last, dict) and last.get("type") == "closed"
    return next((cause for cause in WORLD_BUDGETS if is_closed and last.get("cause") == cause), None)


def _fault(log: bytes) -> str:
    """What is known of a world's own failure: the kind of exception, and at which request. Its words might hold an answer."""
    for event in reversed(read_log(log)):
        if isinstance(event, Requested) and event.kind == "fault":
            return f"its rule raised {event.rule} at {event.method} {event.path}"
    return "a rule of the world failed"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _graded_fields(verdict: Verdict | None, reward: float) -> dict[str, Any]:
    """What a verdict says; where there is none (a foreign task, a dead world) the reward alone."""
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


def _files(played: _Play) -> dict[str, bytes]:
    told = "\n".join(_bounded(line) for line in played.report.log)
    files = {"events.jsonl": played.log, "agent.log": told.encode(errors="replace")}
    if played.judgement is not None:
        files |= {
            "reward.json": played.judgement.reward,
            "verdict.json": played.judgement.verdict,
            "verifier.log": played.judgement.log,
        }
    return files


def _bounded(value: Any) -> Any:
    """A value of JSON with texts no longer than LONGEST_TEXT: a quarter from the head, the rest from the tail."""
    if isinstance(value, str):
        if len(value) <= LONGEST_TEXT:
            return value
        head, left_out = LONGEST_TEXT // 4, len(value) - LONGEST_TEXT
        return f"{value[:head]}\n[{left_out} characters left out]\n{value[head + left_out :]}"
    if isinstance(value, dict):
        return {name: _bounded(inner) for name, inner in value.items()}
    return [_bounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _trajectory(run: str, key: Key, played: _Play) -> dict[str, bytes]:
    """trajectory.json; one that cannot be written down is its agent's failure, and the episode goes without."""
    if played.report.trajectory is None:
        return {}
    try:
        trajectory = {**_bounded(played.report.trajectory), "session_id": run, "trajectory_id": f"{run}/{key.name}"}
        written = json.dumps(trajectory, indent=2, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        _blame(played, "agent", f"its trajectory cannot be written: {error}")
        return {}
    return {"trajectory.json": written.encode(errors="replace") + b"\n"}
