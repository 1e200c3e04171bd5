"""Files of a run. They are written so that a kill at any time leaves no incomplete file.

    runs/<run-id>/
      run.json                                        the plan, frozen before the first episode
      rewards.jsonl                                   the collected rewards, one line per episode
      episodes/<family>/<task>/s<seed>-a<attempt>/
        result.json                                 written last: its presence means the episode is finished
        reward.json verdict.json                    as the verifier wrote them
        events.jsonl                                the world's log
        trajectory.json                             the agent's actions, ATIF-v1.8
        agent.log verifier.log
        wire.json                                   raw model calls before a failure, or all with --record-wire

1. An episode folder is filled under a temporary name and renamed. A graded one is never overwritten. An ungraded one that is
retried is kept under `attempts/` beside it. One process plays a run at a time: it holds a lock on the run's folder.
2. Only the owner can write the files of a run, whatever the umask is.
3. Every name that becomes a path is matched against a pattern, and an episode's folder must lie below episodes/ after
resolving links, so a result of unknown origin cannot lead to a path outside.
4. An error about a path is reported as a wrong flag, a full disk as a failure of the machine. Finished episodes are kept.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_serializer, model_validator

from harness.atomic_write import is_locked, locked, make_folder, write_file, writing
from harness.causes import CAUSES, CauseName, Responsible, cause_of_old_record
from harness.errors import HarnessError, UsageError, quoted
from harness.limits import RESULT_BYTES
from harness.orphans import Orphan
from harness.run_files import RunFiles, files_of, is_packed, is_run, left_in, remove
from validators.verdict import UNEXPLAINED
from worlds.core.models import Amount, Span, Strict, Whole


class Forfeits(Strict):
    """Turns that one seat of a game forfeited for one reason."""

    seat: Whole
    """Number of the seat, from 0."""

    cause: str
    """Key of `harness.causes.FORFEITS`."""

    count: Whole


class EpisodeEnding(Strict):
    """Ending of an episode: its outcome, the cause, and who is responsible."""

    status: Literal["graded", "ungraded"]
    cause: Responsible | None = None
    """Party responsible for the failure that ended the episode; None if nothing failed."""

    error: str | None = None
    may_pass: bool = False
    """True if the failure may be temporary, so that the episode is worth a retry."""

    success: bool = False
    failure_label: str | None = None
    failure_detail: dict[str, Any] = {}
    stopped_by: str | None = None
    """Budget that ended it: wall, turns, tokens, cost, context, or a world's own: steps, virtual_time, request_cap."""

    ended_by: CauseName | None = None
    """Row of `harness.causes.CAUSES` that ended the episode; None if the agent finished. Derived for records that lack it."""

    disturbed: dict[CauseName, Whole] = {}
    """Number of times that each cause disturbed the episode without ending it."""

    forfeits: tuple[Forfeits, ...] = ()
    """Forfeited turns of a game by seat and cause; empty in records of versions that did not count them."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        """Set the cause of an episode that was recorded before records named causes."""
        if self.ended_by is None and (self.cause or self.stopped_by):
            old = cause_of_old_record(self.cause, self.stopped_by, may_pass=self.may_pass)
            self.__dict__["ended_by"] = old  # the model is frozen, but this validator is part of its creation
        return self

    @property
    def stopped(self) -> str:
        """Message of the cause that ended the episode; "" if the agent finished.

        It is "" also for an agent that broke a rule and then ended by itself; its label says why it failed.
        """
        is_explained = self.status == "graded" and self.failure_label != UNEXPLAINED and "reason" not in self.failure_detail
        if self.ended_by is None or (is_explained and self.ended_by in {"agent_error", "no_action"}):
            return ""
        return CAUSES[self.ended_by].message

    @property
    def why_ungraded(self) -> str:
        """Responsible party and cause of an ungraded episode: `provider: the provider returned an error (500)`."""
        message, error = CAUSES[self.ended_by].message if self.ended_by else "unknown", self.error or ""
        told = error if error.startswith(message) else f"{message} ({error})" if error else message
        return f"{self.cause}: {told}"

    @property
    def outcome(self) -> str:
        """Outcome in one clause: the label, preceded by the cause if the episode was stopped, or why it is ungraded."""
        if self.status == "ungraded":
            return f"ungraded, {self.why_ungraded}"
        label = self.failure_label or "-"
        return f"stopped: {self.stopped} ({label})" if self.stopped and not self.success else label


TaskId = Annotated[str, Field(pattern=r"^\w[\w.+-]{0,127}$")]
Family = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$")]
Number = Annotated[int, Field(ge=0, lt=1 << 53)]
"""Numbers that form an episode's path."""


class Key(Strict):
    """Identity of an episode within its run."""

    task_id: TaskId
    family: Family
    seed: Number
    attempt: Number

    @property
    def name(self) -> str:
        """Name of the episode: `family/task/s<seed>-a<attempt>`, also its path under episodes/."""
        return f"{self.family}/{self.task_id}/s{self.seed}-a{self.attempt}"

    def place(self) -> tuple[str, str, int, int]:
        """Return the sort key of episodes, independent of the order in which they were played."""
        return self.family, self.task_id, self.seed, self.attempt


class Tokens(Strict):
    """Token counts of one episode, as billed; `estimated` if any were counted locally."""

    calls: Whole = 0
    prompt: Whole = 0
    cached: Whole = 0
    completion: Whole = 0
    reasoning: Whole = 0
    estimated: bool = False
    kept: Whole = 0
    """Number of calls answered from the cache: their tokens are counted, but were billed to an earlier run."""


class Timings(Strict):
    """Real seconds of each phase of an episode; `total` is the time that a user waits."""

    open: Span = 0.0
    agent: Span = 0.0
    finish: Span = 0.0
    judge: Span = 0.0
    close: Span = 0.0
    total: Span = 0.0


class VariantRef(Strict):
    """Prompt variant, by the name that the user typed and the SHA-256 of its text."""

    name: str
    digest: str


class SeatResult(Strict):
    """Seat of a game with its player and its usage."""

    seat: Whole
    """Number of the seat, from 0."""

    kind: Literal["policy", "model", "human", "replay"]
    name: str
    """Policy, LiteLLM model name, or the name a person chose: `anonymous`, or an id, if no name was given."""

    model: str | None = None
    """Model of the seat, if a model played it."""

    tokens: Tokens = Tokens()
    cost_usd: Amount | None = None
    """Cost in US dollars; None if no model was called, or one without a price."""

    latency_s: Span = 0.0
    """Total real seconds of its model's or person's answers, excluding the time spent waiting for a provider."""

    latencies_s: tuple[Span, ...] = ()
    """Time of each of these answers, in order; empty in records of versions that did not record it."""

    effective: dict[str, Any] = {}
    """Parameters actually sent to its model."""

    variant: VariantRef | None = None
    """Variant appended to the rules of this seat; None without one."""


HintMode = Literal["none", "correct", "wrong"]


class Hint(Strict):
    """Information about the first attempt that a retry received: none, its label, or a different label."""

    mode: HintMode
    told: str
    """Label named in the note; "" without a note."""

    first_label: str
    """Label of the first attempt."""

    retry_of: str
    """Run of the first attempt."""


class Result(EpisodeEnding):
    """Result of one episode: its identity, score and usage."""

    run: str
    task_id: TaskId
    family: Family
    category: str | None = None
    seed: Number
    attempt: Number
    agent: str
    model: str | None = None
    interface: str | None = None
    runtime: str
    reward: Amount | None = None
    """Reward; None for an ungraded episode, which is excluded from means and counted separately."""

    severity: Amount | None = None
    metrics: Mapping[str, Any] = {}
    """Measures of the family, as in the verdict."""

    recovered: bool = False
    steps: Whole = 0
    virtual_time_elapsed: Span = 0.0
    """Elapsed virtual seconds."""

    trace_hash: str | None = None
    options: dict[str, Any] = {}
    hint: Hint | None = None
    """Hint of a retry; None otherwise."""

    key_digest: str
    tool_calls: Whole = 0
    tokens: Tokens = Tokens()
    cost_usd: Amount | None = None
    kept_usd: Amount = 0.0
    """Original cost of the replies from the cache; not part of `cost_usd`."""

    price: Literal["none", "exact", "estimated", "no price"] = "none"
    """Source of `cost_usd`: how reliable it is; `none` if no model was called."""

    parameters: dict[str, Any] = Field(default_factory=lambda: {"requested": {}, "effective": {}})
    prompt_digest: str | None = None
    templates: str = ""
    """Digest of the prompt templates that replaced the family's own; "" if none did."""

    seats: tuple[SeatResult, ...] = ()
    """Seats of a game, one row each. The tokens and the cost above are the totals of all seats."""

    timings: Timings = Timings()
    images: dict[str, str] = {}
    syscalls: str = ""
    """Digest of the system call policy of the containers.

    It is `none` in process, `engine` for Docker's own policy, and "" in records of versions that did not record it.
    """

    path: str = ""

    @field_serializer("metrics")
    def _plain(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return the measures as a plain dict, so that a compact result is written like any other."""
        return dict(metrics)

    @property
    def key(self) -> Key:
        """Identity of this episode."""
        return Key(task_id=self.task_id, family=self.family, seed=self.seed, attempt=self.attempt)


class RunFolder:
    """Folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def files(self) -> RunFiles:
        """Files of the run, in a folder or packed; raises UsageError for a file that is not a packed run."""
        return files_of(self.path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock this folder for one process until the context or the process ends; raises UsageError if it is locked already."""
        if is_packed(self.path):
            raise UsageError(
                f"{self.path} is packed, so no episode can be added to it", hint=f"harness unpack {quoted(self.path)}"
            )
        with locked(self.path):
            yield

    @property
    def is_planned(self) -> bool:
        """True if a run was started here; raises UsageError for a path that no run can have."""
        with writing(self.path):
            return is_run(self.path)

    def episode(self, key: Key) -> Path:
        """Return the folder of one episode; raises UsageError if a link in its path leads out of episodes/."""
        final = self.path / "episodes" / key.name
        with writing(self.path):
            real = Path(os.path.realpath(final))
        if not real.is_relative_to(os.path.realpath(self.path) + "/episodes"):
            raise UsageError(f"{final} leads out of {self.path}/episodes", hint="remove the link, or choose another --out")
        return final

    def finished(self, key: Key) -> Result | None:
        """Return the result of a finished episode; None if it is missing or cannot be read."""
        try:
            return self._placed(Result.model_validate_json(self._read(f"episodes/{key.name}/result.json")))
        except (OSError, ValueError):
            return None

    def results(self, damaged: list[HarnessError] | None = None) -> Iterator[Result]:
        """Yield every finished episode, sorted by path.

        An invalid result raises UsageError naming the file, or is appended to `damaged` if that is given.
        """
        for name, data in self.files.results(RESULT_BYTES):
            try:
                if isinstance(data, OSError):
                    raise data
                yield self._placed(Result.model_validate_json(data))
            except (OSError, ValidationError) as error:
                path = self.path / name
                what = first_problem(error) if isinstance(error, ValidationError) else error.strerror
                hint = f"the run's command again, with --resume {quoted(self.path)}"
                refusal = UsageError(f"{path} is not a valid result of this version: {what}", hint=hint)
                if damaged is None:
                    raise refusal from None
                damaged.append(refusal)

    def write(self, key: Key, files: Mapping[str, bytes]) -> Path:
        """Write an episode's folder atomically. An earlier ungraded one moves to attempts/; a graded one raises UsageError."""
        final = self.episode(key)
        if (done := self.finished(key)) and done.status == "graded":
            raise UsageError(
                f"{final} is already graded, and graded episodes are never overwritten",
                hint=f"the same command with --resume {quoted(self.path)}",
            )
        partial = final.with_name(f".{final.name}.{os.getpid()}.partial")
        with writing(final):
            shutil.rmtree(partial, ignore_errors=True)
            try:
                make_folder(partial)
                for name, content in files.items():
                    write_file(partial / name, content)
                if final.exists():
                    self._keep(final)
                partial.rename(final)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return final

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """Freeze the plan."""
        self.replace("run.json", json.dumps(plan, indent=2, sort_keys=True, default=str).encode() + b"\n")

    def read_plan(self) -> dict[str, Any] | None:
        """Return the frozen plan, or None if there is none; raises UsageError if the file is not a plan."""
        try:
            plan = json.loads(self._read("run.json"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            what = error.strerror if isinstance(error, OSError) else error
            raise UsageError(
                f"{self.path}/run.json is not a valid plan: {what}", hint="harness run ... --out NEW_FOLDER"
            ) from None
        if not isinstance(plan, dict):
            why = f"{self.path}/run.json is not a valid plan, but a {type(plan).__name__}"
            raise UsageError(why, hint="harness run ... --out NEW_FOLDER")
        return plan

    def write_rewards(self, results: list[Result]) -> None:
        """Write the collected rewards: one line per finished episode, by family, task, seed and attempt."""
        fields = ("task_id", "family", "seed", "attempt", "agent", "reward", "failure_label", "status", "trace_hash")
        by_place = sorted(results, key=lambda one: one.key.place())
        lines = [json.dumps({name: getattr(one, name) for name in fields}) + "\n" for one in by_place]
        self.replace("rewards.jsonl", "".join(lines).encode())

    def sweep(self) -> Iterator[Path]:
        """Remove incomplete files of a killed run, if its process is gone, and return their names."""
        for left in self.leftovers():
            remove(Path(left.name))
            yield Path(left.name)

    def leftovers(self) -> list[Orphan]:
        """Return the incomplete files of a killed run, without removing them."""
        return left_in(self.path)

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        return self.files.size

    @property
    def is_played(self) -> bool:
        """True if a process is playing this run now, on this machine or on another that shares the disk."""
        return not is_packed(self.path) and is_locked(self.path)

    def _read(self, name: str) -> bytes:
        """Read a file of this run of limited size, without following links."""
        return self.files.read(name, RESULT_BYTES)

    def _placed(self, result: Result) -> Result:
        """Return a result with its path set to this folder: a run may have been moved, merged or packed since it was played."""
        here = f"{self.path}/episodes/{result.family}/{result.task_id}/s{result.seed}-a{result.attempt}"
        return result if result.path in {"", here} else result.model_copy(update={"path": here})

    def _keep(self, final: Path) -> None:
        attempts = final.parent / "attempts"
        if attempts.is_symlink():
            raise UsageError(f"{attempts} is a link, so earlier attempts cannot be kept there", hint=f"rm {quoted(attempts)}")
        make_folder(attempts)
        number = sum(1 for old in attempts.iterdir() if old.name.startswith(f"{final.name}."))
        final.rename(attempts / f"{final.name}.{number}")

    def replace(self, name: str, content: bytes) -> None:
        """Replace a file of the run atomically."""
        beside = self.path / f".{name}.{os.getpid()}"
        with writing(self.path / name):
            make_folder(self.path)
            try:
                write_file(beside, content)
                os.replace(beside, self.path / name)
            finally:
                beside.unlink(missing_ok=True)


def first_problem(error: ValidationError) -> str:
    """Return the field of a record that is invalid, and the reason."""
    first = error.errors()[0]
    return ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
