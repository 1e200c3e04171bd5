"""Everything a run writes, drawn once, and written so that a kill at any instant leaves no half file.

runs/<run-id>/
    run.json                                        the plan, frozen before the first episode
    rewards.jsonl                                   the collected rewards, one line an episode
    episodes/<family>/<task>/s<seed>-a<attempt>/
        result.json                                 written last: its presence means the episode is finished
        reward.json verdict.json                    as the verifier wrote them
        events.jsonl                                the world's log
        trajectory.json                             what the agent did, ATIF-v1.8
        agent.log verifier.log

An episode folder is filled under a temporary name and renamed. A graded one is never written again; an ungraded one that is
tried again is kept under `attempts/` beside it. One process plays a run at a time: it holds a lock on the run's folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.errors import Cause, UsageError


class Record(BaseModel):
    """Wire data: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Key(Record):
    """Which episode of a run."""

    task_id: str
    family: str
    seed: int
    attempt: int

    @property
    def name(self) -> str:
        """`family/task/s<seed>-a<attempt>`, also the path under episodes/."""
        return f"{self.family}/{self.task_id}/s{self.seed}-a{self.attempt}"


class Tokens(Record):
    """Tokens of one episode, as billed; `estimated` when any were counted locally."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    estimated: bool = False


class Timings(Record):
    """Real seconds of each phase; `total` is what a user waits for."""

    open: float = 0.0
    agent: float = 0.0
    finish: float = 0.0
    judge: float = 0.0
    total: float = 0.0


HintMode = Literal["none", "correct", "wrong"]


class Hint(Record):
    """What a retry was told of the first attempt: nothing, its label, or another one."""

    mode: HintMode
    told: str
    """The label that the note named; "" where there was no note."""

    first_label: str
    """The label that the first attempt earned."""

    retry_of: str
    """The run of the first attempt."""


class Result(Record):
    """One episode: what was played, what it was worth, and what it cost."""

    run: str
    task_id: str
    family: str
    category: str | None = None
    seed: int
    attempt: int
    agent: str
    model: str | None = None
    interface: str | None = None
    runtime: str
    status: Literal["graded", "ungraded"]
    cause: Cause | None = None
    """Which boundary failed; None when nothing did."""

    error: str | None = None
    success: bool = False
    reward: float | None = None
    """None for an ungraded episode: it counts for nothing, and is counted apart."""

    failure_label: str | None = None
    severity: float | None = None
    failure_detail: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    """The family's own measures, as the verdict has them."""

    recovered: bool = False
    stopped_by: str | None = None
    steps: int = 0
    virtual_time_elapsed: float = 0.0
    """Virtual seconds."""

    trace_hash: str | None = None
    options: dict[str, Any] = {}
    hint: Hint | None = None
    """Set where this is a retry."""

    key_digest: str
    tool_calls: int = 0
    tokens: Tokens = Tokens()
    cost_usd: float | None = None
    price: Literal["none", "exact", "estimated", "no price"] = "none"
    """Whether `cost_usd` can be believed; `none` where no model was called."""

    parameters: dict[str, Any] = Field(default_factory=lambda: {"requested": {}, "effective": {}})
    prompt_digest: str | None = None
    timings: Timings = Timings()
    images: dict[str, str] = {}
    path: str = ""

    @property
    def key(self) -> Key:
        """Which episode this is."""
        return Key(task_id=self.task_id, family=self.family, seed=self.seed, attempt=self.attempt)


class RunFolder:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """This folder for one process alone, until the context or the process ends; raises UsageError where it is taken."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            door = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(door, self.path)
            yield
        finally:
            os.close(door)

    def episode(self, key: Key) -> Path:
        """The folder of one episode."""
        return self.path / "episodes" / key.name

    def finished(self, key: Key) -> Result | None:
        """The result of a finished episode; None when it has none, or none that can be read."""
        try:
            return Result.model_validate_json((self.episode(key) / "result.json").read_bytes())
        except (OSError, ValueError):
            return None

    def results(self) -> Iterator[Result]:
        """Every finished episode, by path."""
        for path in sorted(self.path.glob("episodes/*/*/s*-a*/result.json")):
            yield Result.model_validate_json(path.read_bytes())

    def write(self, key: Key, files: Mapping[str, bytes]) -> Path:
        """Write an episode's folder at once; an earlier ungraded one moves to attempts/, a graded one raises UsageError."""
        final = self.episode(key)
        if (done := self.finished(key)) and done.status == "graded":
            raise UsageError(
                f"{final} is graded already, and a graded episode is never written again",
                hint=f"the same command with --resume {self.path}",
            )
        partial = final.with_name(f".{final.name}.{os.getpid()}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, content in files.items():
            (partial / name).write_bytes(content)
        if final.exists():
            self._keep(final)
        partial.rename(final)
        return final

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """Freeze the plan."""
        self._replace("run.json", json.dumps(plan, indent=2, sort_keys=True, default=str).encode() + b"\n")

    def read_plan(self) -> dict[str, Any] | None:
        """The frozen plan, or None."""
        try:
            plan: dict[str, Any] = json.loads((self.path / "run.json").read_bytes())
        except (OSError, ValueError):
            return None
        return plan

    def write_rewards(self, results: list[Result]) -> None:
        """The collected rewards: one line for each finished episode."""
        fields = ("task_id", "family", "seed", "attempt", "agent", "reward", "failure_label", "status", "trace_hash")
        lines = [json.dumps({name: getattr(result, name) for name in fields}) + "\n" for result in results]
        self._replace("rewards.jsonl", "".join(lines).encode())

    def sweep(self) -> Iterator[Path]:
        """Remove what a killed run left half written (only where its process is gone), and name it."""
        for partial in self.path.glob("episodes/*/*/.*.partial"):
            if _abandoned(partial.name.rsplit(".", 2)[-2]):
                shutil.rmtree(partial, ignore_errors=True)
                yield partial
        for beside in (*self.path.glob(".run.json.*"), *self.path.glob(".rewards.jsonl.*")):
            if _abandoned(beside.name.rpartition(".")[2]):
                beside.unlink(missing_ok=True)
                yield beside

    def _keep(self, final: Path) -> None:
        attempts = final.parent / "attempts"
        attempts.mkdir(exist_ok=True)
        number = sum(1 for old in attempts.iterdir() if old.name.startswith(f"{final.name}."))
        final.rename(attempts / f"{final.name}.{number}")

    def _replace(self, name: str, content: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        beside = self.path / f".{name}.{os.getpid()}"
        beside.write_bytes(content)
        os.replace(beside, self.path / name)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system refuses about a path that a flag named is a wrong flag: raises UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint="the same command with another path") from None


def _lock(door: int, path: Path) -> None:
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"another process is playing this run: {path}", hint="harness run --out NEW_FOLDER") from None


def as_recorded(document: Any) -> Any:
    """A document as it comes back from the file it is written to."""
    return json.loads(json.dumps(document, default=str))


def _abandoned(owner: str) -> bool:
    return not owner.isdecimal() or not Path(f"/proc/{owner}").exists() or int(owner) == os.getpid()
