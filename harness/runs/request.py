"""What a user asks for, as data: tasks, seeds, attempts, agents, options, budget, runtime; run.json holds it.

1. A `RunRequest` is frozen and holds no live thing, so a run can be rebuilt from its run.json in another process or on another
   machine. What must be typed each time is not in it: trust, variables of the host, API keys, the key of a private edition.
2. `RunRecord` is run.json: the request, the identity that `--resume` compares, and where it was played. All who read a run
   read it through `read_record`.
3. A sweep is one request with several parts, each in a folder of its own; the record of each part holds the whole request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from harness.agent import PATIENCE_S, TIMEOUT_S, AgentIdentity, AgentSpec, Budget
from harness.agents.llm.meter import RunLimits
from harness.errors import UsageError
from harness.records import Hint, HintMode, Key, Number, RunFolder, TaskId, first_problem
from harness.runs.shards import Shard
from harness.secrets import host_of, public_address
from worlds.core.models import Lenient, Strict

BREAKER = 5

ON_RESUME: Mapping[str, Literal["fixed", "grows undecided", "grows", "free"]] = {
    "tasks": "fixed", "agents": "fixed", "options": "fixed", "key_digest": "fixed", "retry": "fixed", "until": "fixed",
    "templates": "fixed", "seeds": "grows undecided", "attempts": "grows undecided", "budget": "grows undecided",
    "limits": "grows", "shard": "fixed", "runtime": "free", "workers": "free", "breaker": "free",
    "record_wire": "free",
}  # fmt: skip
"""What may become of each field of a request when its run is gone on with.

`fixed`: it makes another run. `grows`: it may only be raised (`harness.runs.growth`). `grows undecided`: likewise, but in a
run with `--until` it is fixed, since tasks that were scored would count under other conditions than the rest. `free`: it shapes
no episode.
"""


class TaskRef(Strict):
    """Which task, and where it was found."""

    digest: str
    family: str = ""
    """"" in runs of versions that did not write it."""

    path: str = ""
    """Its folder, for tasks outside the registry; whose code runs where is decided by the folder found, not by this."""


class Coached(Strict):
    """A failed episode that is played again, and what its player is told."""

    key: Key
    hint: Hint


class Retry(Strict):
    """The failed episodes of one run, each with what its player is told."""

    of: str
    mode: HintMode
    episodes: tuple[Coached, ...]

    @cached_property
    def hints(self) -> Mapping[Key, Hint]:
        """What is told, by episode."""
        return {one.key: one.hint for one in self.episodes}


UNTIL_FILE = "until.json"
"""What lies beside the parts of such a run."""


class Until(Strict):
    """Play until it is clear which of two parts is better."""

    first: str
    second: str
    """Names of parts."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """The share of such runs that may decide although neither is better."""

    order: tuple[TaskId, ...]


class Part(NamedTuple):
    """One agent under one combination of options, and the name of its folder: "" where it is the only part."""

    name: str
    agent: AgentSpec
    options: dict[str, str]


def player_of(part: str) -> str:
    """A part of a sweep as people call it."""
    return part.partition("=")[2] or part


class RunRequest(Strict):
    """Everything that shapes a run and may be written down."""

    tasks: dict[TaskId, TaskRef]
    seeds: tuple[Number, ...]
    attempts: Annotated[int, Field(ge=1)] = 1
    agents: Annotated[tuple[AgentSpec, ...], Field(min_length=1)] = (AgentSpec(),)
    options: dict[str, tuple[str, ...]] = {}
    """World options as they were typed; several values make a sweep."""

    budget: Budget = Budget()
    limits: RunLimits = RunLimits()
    """Of the run as a whole."""

    key_digest: str
    """Of the edition's key, which itself stands nowhere."""

    retry: Retry | None = None
    until: Until | None = None
    """Set where two parts are played until it is clear which is better."""

    templates: dict[str, str] = {}
    """Texts that stand in the place of the family's own, by the names of their files: whole, so that a run needs no folder."""

    shard: Shard | None = None
    """The share of these episodes that is played here, where others play the rest; everything else is that of the whole run."""

    runtime: str = "auto"
    workers: Annotated[int, Field(ge=1)] = 2
    breaker: Annotated[int, Field(ge=0)] = BREAKER
    """So many episodes in a row that fail by their provider end the run; 0: none do."""

    record_wire: bool = False
    """Whether every model call is recorded, not only those before a failure."""

    @property
    def combinations(self) -> list[dict[str, str]]:
        """Every combination of option values, at least one."""
        return [dict(zip(self.options, values, strict=True)) for values in product(*self.options.values())]

    @property
    def parts(self) -> list[Part]:
        """Each agent with each combination, named after what differs; raises UsageError for a name that no folder can have."""
        swept = [name for name, values in self.options.items() if len(set(values)) > 1]
        made = []
        for agent, options in product(self.agents, self.combinations):
            told = [self._called(agent)] if len(self.agents) > 1 else []
            called = ",".join([*told, *(f"{name}={options[name]}" for name in swept)])
            if "/" in called:
                raise UsageError(f"a part of a sweep has a folder named after it, and {called!r} has a slash")
            made.append(Part(called, agent, options))
        return made

    def _called(self, agent: AgentSpec) -> str:
        """One agent of several, as the folder of its part is named: a model by its name where there are more of them."""
        models = [one.model for one in self.agents if one.kind == "llm"]
        if agent.kind == "llm" and agent.model and len(models) > 1:
            return f"model={agent.model.replace('/', '-')}"
        return f"agent={agent.title}"

    @property
    def aliases(self) -> dict[str, frozenset[str]]:
        """Each part's name, and what a person may call it: by its model, with or without the provider, or by its agent."""
        known = {}
        for part in self.parts:
            model = part.agent.model or ""
            agent = model or part.agent.title
            known[part.name] = frozenset({part.name, part.name.partition("=")[2], agent, agent.rpartition("/")[2]} - {""})
        return known

    def public(self) -> RunRequest:
        """The request as it may be written down: without passwords in addresses."""
        return self.model_copy(update={"agents": tuple(map(public_spec, self.agents))})

    def differing(self, other: RunRequest) -> list[str]:
        """What of two requests makes them two runs, by the names that a plan uses; what may grow or differ is no part of it."""
        mine, theirs = self._compared(), other._compared()
        fixed = {name for name in mine if ON_RESUME[name] == "fixed" or (self.until and ON_RESUME[name] == "grows undecided")}
        return sorted("agent" if name == "agents" else name for name in fixed if mine[name] != theirs[name])

    def _compared(self) -> dict[str, Any]:
        """What two requests are compared by: a server is its host, whatever its port; how models are waited for is nothing."""
        agents = tuple(
            spec.model_copy(update={"api_base": host_of(spec.api_base) if spec.api_base else None, **_UNSHAPING})
            for spec in self.agents
        )
        return {**self.model_copy(update={"agents": agents}).model_dump(), "tasks": self._digests()}

    def _digests(self) -> dict[str, str]:
        return {task: ref.digest for task, ref in self.tasks.items()}


def public_spec(spec: AgentSpec) -> AgentSpec:
    """The spec without user, password and query in its address."""
    return spec.model_copy(update={"api_base": public_address(spec.api_base)}) if spec.api_base else spec


_UNSHAPING = {"prices": {}, "timeout_s": TIMEOUT_S, "patience_s": PATIENCE_S}
"""Fields of an agent that shape no episode, each with one value for all."""


class PlannedRetry(Lenient):
    """Which run is played again, and what kind of hint is given."""

    of: str
    hint: HintMode


class Planned(Lenient):
    """The identity of a run: what must be equal for it to be gone on with, and what a report reads of a plan."""

    tasks: dict[str, str]
    """Task and digest of its folder."""

    seeds: tuple[int, ...]
    attempts: int
    agent: AgentIdentity
    budget: Budget
    options: dict[str, str] = {}
    key_digest: str = ""
    retry: PlannedRetry | None = None
    """Set where the run plays failed episodes of another one again."""

    templates: str = ""
    """The digest of the texts that stand in the place of the family's own, "" where none does."""


class Environment(Lenient):
    """Where a run was begun; it may go on elsewhere."""

    runtime: str
    images: dict[str, str] = {}
    versions: dict[str, str] = {}
    granted: tuple[str, ...] = ()
    """Names of the variables of the host that tasks were given."""


class Amendment(Lenient):
    """Something of a run that has grown since it was begun."""

    at: str
    """When, in UTC, as ISO 8601."""

    flag: str
    before: Any = None
    after: Any = None


class Stint(Lenient):
    """One stretch of playing a run: its first, or one that went on with it."""

    begun: str
    """In UTC, as ISO 8601."""

    ended: str | None = None
    """None while it plays, and for ever where it was killed."""

    command: str = ""
    """What was typed, without secrets."""

    version: str = ""
    commit: str = ""
    """Of the checkout that played, "" where it was none."""


class MergedShard(Lenient):
    """A shard that was merged into a run."""

    shard: Shard
    run: str
    """What its run was called."""

    environment: Environment | None = None


class RunRecord(Lenient):
    """What run.json holds."""

    run: str = ""
    part: str = ""
    """Which part of its request this folder holds."""

    identity: Planned
    environment: Environment | None = None
    request: RunRequest | None = None
    """None in runs of versions that did not write it; such a run is reported, and cannot be rebuilt."""

    amendments: tuple[Amendment, ...] = ()
    stints: tuple[Stint, ...] = ()
    """Each stretch in which it was played, in order; empty in runs of versions that did not write it."""

    merged: tuple[MergedShard, ...] = ()
    """The shards that it was merged from, in order."""

    @property
    def planned(self) -> int:
        """How many episodes are to be played here."""
        asked, planned = self.request, self.identity
        retried = asked.retry if asked else None
        episodes = len(retried.episodes) if retried else len(planned.tasks) * len(planned.seeds) * planned.attempts
        return asked.shard.size(episodes) if asked and asked.shard else episodes


def read_record(folder: RunFolder) -> RunRecord | None:
    """What run.json says, None where there is none; raises UsageError for a file that is no plan of this version."""
    plan = folder.read_plan()
    if plan is None:
        return None
    try:
        return RunRecord.model_validate(plan)
    except ValidationError as error:
        why = f"{folder.path}/run.json is no plan of this version: {first_problem(error)}"
        raise UsageError(why, hint="harness run ... --out NEW_FOLDER") from None


def requested(record: RunRecord, folder: Path) -> RunRequest:
    """The request in a record; raises UsageError for a run of a version that wrote none, and for one of no part of it."""
    if record.request is None:
        raise UsageError(
            f"{folder}/run.json is of an older version, which did not write down the whole request",
            hint="harness run ... --out NEW_FOLDER, with the options it was begun with",
        )
    if not any(part.name == record.part for part in record.request.parts):
        raise UsageError(f"{folder}/run.json says that it is {record.part!r}, which its request has no part for")
    return record.request
