"""Request of a user as data: tasks, seeds, attempts, agents, options, budget, runtime. It is stored in run.json.

1. A `RunRequest` is frozen and serializable, so a run can be rebuilt from its run.json in another process or on another
machine. It does not contain what the user must provide each time: trust, variables of the host, API keys, the key of a private
edition.
2. `RunRecord` is run.json: the request, the identity that `--resume` compares, and where it was played. All readers of a run
call `read_record`.
3. A sweep is one request with several parts, each in a folder of its own; the record of each part contains the whole request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from harness.agent import AgentIdentity, AgentSpec, Budget
from harness.agents.llm.meter import RunLimits
from harness.errors import UsageError
from harness.plugins import family_part
from harness.records import Hint, HintMode, Key, Number, RunFolder, TaskId, first_problem
from harness.registry import Task
from harness.runs.shards import Shard
from harness.secrets import public_address
from worlds.core.models import Lenient, Strict

BREAKER = 5

Confirmed = Callable[[str], bool]
"""Callback that asks a person to confirm a sentence, and returns True for yes."""


class TaskRef(Strict):
    """Reference to a task, and its path."""

    digest: str
    family: str = ""
    """Family of the task; "" in runs of versions that did not record it."""

    path: str = ""
    """Folder of the task, for tasks outside the registry. Trust is decided by the folder that is found, not by this path."""


class Coached(Strict):
    """Failed episode that is retried, and the hint that its player receives."""

    key: Key
    hint: Hint


class Retry(Strict):
    """Failed episodes of one run, each with the hint that its agent receives."""

    of: str
    mode: HintMode
    episodes: tuple[Coached, ...]

    @cached_property
    def hints(self) -> Mapping[Key, Hint]:
        """Hint for each episode."""
        return {one.key: one.hint for one in self.episodes}

    def note(self, key: Key) -> str:
        """Return the note that is appended to the instruction of one episode."""
        told = self.hints[key].told
        return str(family_part(key.family, "coaching").note(told)) if told else ""


UNTIL_FILE = "until.json"
"""File beside the parts of such a run."""


class Until(Strict):
    """Request to play until it is clear which of two parts is better."""

    first: str
    second: str
    """Name of the second part; the field above is the name of the first."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Maximum share of comparisons of equal players that may decide for one of them."""

    order: tuple[TaskId, ...]


class Part(NamedTuple):
    """Agent with one combination of options, and the name of its folder: "" if it is the only part."""

    name: str
    agent: AgentSpec
    options: dict[str, str]


def player_of(part: str) -> str:
    """Return the display name of a part of a sweep."""
    return part.partition("=")[2] or part


class RunRequest(Strict):
    """Parameters of a run that may be recorded."""

    tasks: dict[TaskId, TaskRef]
    seeds: tuple[Number, ...]
    attempts: Annotated[int, Field(ge=1)] = 1
    agents: Annotated[tuple[AgentSpec, ...], Field(min_length=1)] = (AgentSpec(),)
    options: dict[str, tuple[str, ...]] = {}
    """World options as typed; several values make a sweep."""

    control: dict[str, str] = {}
    """Options that are changed in further combinations, which are controls."""

    budget: Budget = Budget()
    limits: RunLimits = RunLimits()
    """Limits of the run as a whole."""

    key_digest: str
    """Digest of the key of the random values; the key itself is not recorded."""

    retry: Retry | None = None
    until: Until | None = None
    """Settings for playing two parts until it is clear which is better, if requested."""

    templates: dict[str, str] = {}
    """Texts that replace the family's own, by file name, stored in full, so that a run needs no folder."""

    shard: Shard | None = None
    """Shard of the episodes that is played here; all other fields are those of the whole run."""

    runtime: str = "auto"
    workers: Annotated[int, Field(ge=1)] = 2
    breaker: Annotated[int, Field(ge=0)] = BREAKER
    """Number of consecutive provider failures that ends the run; 0 for no limit."""

    record_wire: bool = False
    """True to record every model call, not only those before a failure."""

    @property
    def episodes(self) -> int:
        """Number of episodes of each part, in all shards."""
        return len(self.retry.episodes) if self.retry else len(self.tasks) * len(self.seeds) * self.attempts

    @property
    def combinations(self) -> list[dict[str, str]]:
        """Combinations of option values, at least one, then those of the controls."""
        made = [dict(zip(self.options, values, strict=True)) for values in product(*self.options.values())]
        for control in [one | self.control for one in made]:
            made += [control] if control not in made else []
        return made

    @property
    def parts(self) -> list[Part]:
        """Agents with each combination, named after the differences; raises UsageError for a name that no folder can have."""
        combinations, made = self.combinations, []
        swept = [name for name in {**self.options, **self.control} if len({one.get(name) for one in combinations}) > 1]
        for agent, options in product(self.agents, combinations):
            told = [self._called(agent)] if len(self.agents) > 1 else []
            called = ",".join([*told, *(f"{name}={options[name]}" for name in swept if name in options)])
            if "/" in called:
                raise UsageError(f"{called!r} has a slash, so it cannot name the folder of a part of a sweep")
            made.append(Part(called, agent, options))
        return made

    def _called(self, agent: AgentSpec) -> str:
        """Return the folder name of an agent's part: a model's name if there are several models."""
        models = [one.model for one in self.agents if one.kind == "llm"]
        if agent.kind == "llm" and agent.model and len(models) > 1:
            return f"model={agent.model.replace('/', '-')}"
        return f"agent={agent.title}"

    def public(self) -> RunRequest:
        """Return the request without passwords in addresses, so that it can be recorded."""
        return self.at([spec.api_base and public_address(spec.api_base) for spec in self.agents])

    def at(self, addresses: Sequence[str | None], **fields: Any) -> RunRequest:
        """Return the request with these addresses of its agents, and with these changes to other fields of the agents."""
        each = zip(self.agents, addresses, strict=True)
        agents = tuple(spec.model_copy(update={"api_base": address, **fields}) for spec, address in each)
        return self.model_copy(update={"agents": agents})


class PlannedRetry(Lenient):
    """Run that is retried, and the kind of hint."""

    of: str
    hint: HintMode


class Planned(Lenient):
    """Identity of a run: the values that must be unchanged on a resume, and that reports read."""

    tasks: dict[str, str]
    """Digest of each task's folder."""

    seeds: tuple[int, ...]
    attempts: int
    agent: AgentIdentity
    budget: Budget
    options: dict[str, str] = {}
    key_digest: str = ""
    retry: PlannedRetry | None = None
    """Retry settings, if the run replays failed episodes of another one."""

    templates: str = ""
    """Digest of the texts that replace the family's own; "" without any."""


class Environment(Lenient):
    """Environment in which a run was started; it may be resumed elsewhere."""

    runtime: str
    images: dict[str, str] = {}
    versions: dict[str, str] = {}
    granted: tuple[str, ...] = ()
    """Names of the host variables that were granted to tasks."""


class Amendment(Lenient):
    """Value of a run that was increased after its start."""

    at: str
    """Time of the change in UTC, as ISO 8601."""

    flag: str
    before: Any = None
    after: Any = None


class PlayedSession(Lenient):
    """Session of a run: the first, or a resume."""

    begun: str
    """Start in UTC, as ISO 8601."""

    ended: str | None = None
    """End; None while it plays, or if it was killed."""

    command: str = ""
    """Command as typed, without secrets."""

    version: str = ""
    commit: str = ""
    """Commit of the checkout that played; "" if it was not a checkout."""


class MergedShard(Lenient):
    """Shard that was merged into a run."""

    shard: Shard
    run: str
    """Name of its run."""

    environment: Environment | None = None


class RunRecord(Lenient):
    """Content of run.json."""

    run: str = ""
    part: str = ""
    """Part of the request that this folder contains."""

    identity: Planned
    environment: Environment | None = None
    request: RunRequest | None = None
    """Request; None in runs of versions that did not record it, which are reported but cannot be rebuilt."""

    amendments: tuple[Amendment, ...] = ()
    stints: tuple[PlayedSession, ...] = ()
    """Sessions in which it was played, in order; empty in runs of versions that did not record them."""

    merged: tuple[MergedShard, ...] = ()
    """Shards that it was merged from, in order."""

    @property
    def planned(self) -> int:
        """Number of episodes to play here."""
        asked, planned = self.request, self.identity
        retried = asked.retry if asked else None
        episodes = len(retried.episodes) if retried else len(planned.tasks) * len(planned.seeds) * planned.attempts
        return asked.shard.size(episodes) if asked and asked.shard else episodes


class FirstRun(NamedTuple):
    """Earlier run, and the retry of its failed episodes (`parley.requests.coaching`)."""

    folder: Path
    record: RunRecord
    retry: Retry

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks with at least one failed episode; raises UsageError for a task that has changed since."""
        failed = [task for task in tasks if task.task_id in {key.task_id for key in self.retry.hints}]
        for task in failed:
            if self.record.identity.tasks.get(task.task_id) != task.digest:
                why = f"{task.task_id} has changed since {self.retry.of}, so a retry would not be of the same instance"
                raise UsageError(why)
        return failed


def read_record(folder: RunFolder) -> RunRecord | None:
    """Read run.json, None if there is none; raises UsageError if it is not a plan of this version."""
    plan = folder.read_plan()
    if plan is None:
        return None
    try:
        return RunRecord.model_validate(plan)
    except ValidationError as error:
        why = f"{folder.path}/run.json is not a valid plan of this version: {first_problem(error)}"
        raise UsageError(why, hint="harness run ... --out NEW_FOLDER") from None


def requested(record: RunRecord, folder: Path) -> RunRequest:
    """Return the request in a record.

    Raises UsageError if an older version did not record it, or if it lacks the record's part.
    """
    if record.request is None:
        why = f"{folder}/run.json was written by an older version, which did not record the whole request"
        raise UsageError(why, hint="harness run ... --out NEW_FOLDER, with the original options")
    if not any(part.name == record.part for part in record.request.parts):
        raise UsageError(f"{folder}/run.json names the part {record.part!r}, which its request does not have")
    return record.request
