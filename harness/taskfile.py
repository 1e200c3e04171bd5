"""Typed task.toml: Harbor's sections as Harbor reads them, ours under [metadata.parley]; unknown keys are refused.

1. Harbor ignores unknown keys, but here they are errors, because a mistyped name of a budget would silently change the
benchmark.
2. Every number has bounds and every name a pattern (harness.limits), because a folder may be untrusted.
3. Every problem is reported as `path:line: what`. The line is found by searching for the key in the text, section by section.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tomli
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from harness.limits import (
    FILE_BYTES,
    SETTINGS_BYTES,
    Command,
    ContainerPath,
    Cost,
    Cpus,
    Environment,
    FamilyName,
    ImageName,
    Limit,
    Line,
    MemoryMb,
    Pause,
    RecordPath,
    Seconds,
    ServiceName,
    StorageMb,
    Text,
    User,
    megabytes,
)
from harness.refusals import TaskInvalid, quoted
from harness.safe_read import NotPlain, read_file
from worlds.core.manifest import Described, Knob, Manifest, Option, OptionValue
from worlds.core.models import Strict

SCHEMA_VERSION = "1.4"
"""Harbor schema version of our own folders."""

DEEPEST_TOML = 32
"""Maximum nesting of tables and lists in a task.toml, far more than a task needs."""
SCHEMA_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
"""Schema versions of Harbor 0.25; later ones are not supported."""

NetworkMode = Literal["public", "no-network", "allowlist"]
_VIRTUAL_SECONDS_MAX = 1e9
_SHOWN = 60

Difficulty = Literal["easy", "medium", "hard", "very_hard", "extreme"]


class Artifact(Strict):
    """File or folder that is copied out of a container: its path, and its service (by default `main`)."""

    source: ContainerPath
    destination: RecordPath | None = None
    """Path where Harbor keeps the artifact on the host. In a verifier, the artifact is always at its `source` path."""

    service: ServiceName | None = None
    exclude: tuple[Line, ...] = Field(default=(), max_length=64)

    @model_validator(mode="after")
    def _not_everything(self) -> Artifact:
        if not self.source.strip("/"):
            raise ValueError("the source of an artifact must be below /")
        return self

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, data: Any) -> Any:
        return {"source": data} if isinstance(data, str) else data


class Author(Strict):
    """Author of a task."""

    name: Line
    email: Line | None = None


class TaskSection(Strict):
    """[task]: name and description."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
    version: str = Field(default="1.0.0", min_length=1, max_length=64)
    description: Text = ""
    authors: tuple[Author, ...] = Field(default=(), max_length=256)
    keywords: tuple[Line, ...] = Field(default=(), max_length=256)

    @model_validator(mode="after")
    def _no_climbing(self) -> TaskSection:
        if ".." in self.name:
            raise ValueError(f"name must not contain '..': {self.name!r}")
        return self


class PhaseNetwork(Strict):
    """Network access of a phase."""

    network_mode: NetworkMode | None = None
    allowed_hosts: tuple[Line, ...] | None = Field(default=None, max_length=256)

    @model_validator(mode="after")
    def _hosts_only_of_a_list(self) -> PhaseNetwork:
        if self.network_mode != "allowlist" and (
            self.allowed_hosts or (self.network_mode is None and self.allowed_hosts == ())
        ):
            raise ValueError("allowed_hosts needs network_mode = 'allowlist'")
        return self


class AgentSection(PhaseNetwork):
    """[agent]: limits of the agent's phase under Harbor."""

    timeout_sec: Seconds | None = None
    user: User | None = None


class Healthcheck(Strict):
    """Command that must succeed once before the agent starts."""

    command: Command
    interval_sec: Pause = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Pause = 0.0
    start_interval_sec: Pause = 5.0
    retries: int = Field(default=3, ge=1, le=10_000)


class EnvironmentSection(PhaseNetwork):
    """[environment], and [verifier.environment]: a container, its image and its limits."""

    docker_image: ImageName | None = None
    build_timeout_sec: Seconds = 600.0
    os: Literal["linux", "windows"] = "linux"
    cpus: Cpus | None = None
    memory_mb: MemoryMb | None = None
    storage_mb: StorageMb | None = None
    workdir: ContainerPath | None = None
    env: Environment = {}
    healthcheck: Healthcheck | None = None
    gpus: int | None = Field(default=None, ge=0, le=64)
    gpu_types: tuple[Line, ...] | None = Field(default=None, max_length=64)
    tpu: dict[str, Any] | None = None
    skills_dir: ContainerPath | None = None
    mcp_servers: tuple[dict[str, Any], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_older_schemas(cls, data: Any) -> Any:
        """Convert `memory` and `storage` strings, `allow_internet`, and `os` in any case, as Harbor does."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        for old, name in (("memory", "memory_mb"), ("storage", "storage_mb")):
            if old in data:
                size = megabytes(data.pop(old))
                if data.setdefault(name, size) != size:
                    raise ValueError(f"{old} says {size:g} MB and {name} says {data[name]}")
        internet = data.pop("allow_internet", None)
        if internet is not None and not {"network_mode", "allowed_hosts"} & data.keys():
            data["network_mode"] = "public" if internet else "no-network"
        return {**data, "os": data["os"].lower()} if isinstance(data.get("os"), str) else data


class CollectHook(Strict):
    """[[verifier.collect]]: a command in a service after the agent and before the artifacts are taken."""

    command: Command
    service: ServiceName = "main"
    timeout_sec: Seconds = 60.0
    user: User | None = None


class VerifierSection(PhaseNetwork):
    """[verifier]: where and for how long the hidden tests run."""

    timeout_sec: Seconds = 600.0
    environment_mode: Literal["shared", "separate"] | None = None
    user: User | None = None
    env: Environment = {}
    environment: EnvironmentSection | None = None
    collect: tuple[CollectHook, ...] = Field(default=(), max_length=64)

    @property
    def is_separate(self) -> bool:
        """True if the tests have their own container, set explicitly or implied by describing one."""
        return self.environment_mode == "separate" or self.environment is not None

    @model_validator(mode="after")
    def _one_mode(self) -> VerifierSection:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError("environment_mode = 'shared' contradicts [verifier.environment]")
        return self


class SolutionSection(Strict):
    """[solution]: environment of the oracle."""

    env: Environment = {}


class StatedOption(Option):
    """Option as declared by an author, with a description for people."""

    doc: str = Field(min_length=1)


class StatedKnob(Knob):
    """Knob as declared by an author."""

    doc: str = Field(min_length=1)


class Parley(Described):
    """[metadata.parley]: information about a task for our harness and our worlds."""

    family: FamilyName
    category: Literal["validity", "integrity", "both", "none"] | None = None
    quadrant: Literal["Q1", "Q2", "Q3", "Q4"] | None = None
    pattern: Line | None = None
    difficulty: Difficulty
    certificate: Literal["uncertified"] | None = None
    """Marks a task without a certificate in a family whose tasks have certificates."""

    seats: int = Field(default=1, ge=1, le=64)
    seeds: str = Field(default="0-9", max_length=200)
    interfaces: tuple[Literal["shell", "tool", "seats"], ...] = Field(default=("shell", "tool"), max_length=8)
    costs: Mapping[Line, Cost] = Field(max_length=256)
    options: Mapping[Line, StatedOption] = Field(default={}, max_length=256)
    defaults: Mapping[Line, OptionValue] = Field(default={}, max_length=256)
    knobs: Mapping[Line, StatedKnob] = Field(default={}, max_length=256)

    @model_validator(mode="after")
    def _bounds(self) -> Parley:
        if "request" not in self.costs:
            raise ValueError("costs must name request")
        if self.budgets.virtual_seconds > _VIRTUAL_SECONDS_MAX:
            raise ValueError(f"virtual_seconds must be at most {_VIRTUAL_SECONDS_MAX:g}, not {self.budgets.virtual_seconds:g}")
        return self


class ForeignSettings(Strict):
    """[metadata.parley-run]: settings of a foreign task for this harness for which Harbor has no key."""

    new_privileges: bool = False
    """True if programs may gain privileges (sudo, su, file capabilities), as they always may under Harbor."""


class Metadata(Strict):
    """[metadata]: free-form under Harbor, so only `parley` and `parley-run` are checked here."""

    parley: Parley | None = None
    foreign: ForeignSettings = Field(default=ForeignSettings(), alias="parley-run")
    other: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _keep_other(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        other = {name: value for name, value in data.items() if name not in ("parley", "parley-run")}
        return {"parley": data.get("parley"), "parley-run": data.get("parley-run", {}), "other": other}


class TaskFile(Strict):
    """Contents of one task.toml."""

    schema_version: str = SCHEMA_VERSION
    source: Text | None = None
    artifacts: tuple[Artifact, ...] = Field(default=(), max_length=64)
    task: TaskSection | None = None
    metadata: Metadata = Metadata()
    agent: AgentSection = AgentSection()
    verifier: VerifierSection = VerifierSection()
    environment: EnvironmentSection = EnvironmentSection()
    solution: SolutionSection = SolutionSection()

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, data: Any) -> Any:
        """Rename `version`, the key of the first schema."""
        if isinstance(data, dict) and "version" in data:
            return {"schema_version": data["version"], **{name: value for name, value in data.items() if name != "version"}}
        return data

    @field_validator("schema_version")
    @classmethod
    def _known(cls, version: str) -> str:
        if version not in SCHEMA_VERSIONS:
            raise ValueError(f"must be one of {', '.join(SCHEMA_VERSIONS)}, the schemas of Harbor 0.25")
        return version

    def manifest(self) -> Manifest | None:
        """Return the world's manifest of this task; None for a foreign task."""
        ours = self.metadata.parley
        if ours is None or self.task is None:
            return None
        task_id = self.task.name.rpartition("/")[2]
        return Manifest(task_id=task_id, **{name: getattr(ours, name) for name in Described.model_fields})


def read_text(path: Path, most: Limit = FILE_BYTES, errors: str = "strict") -> str:
    """Read a task's file as text; raises TaskInvalid with `path:line: what` if it is not plain, too long, or not UTF-8."""
    try:
        data = read_file(path.parent, path.name, most).data
        return data.decode(errors=errors)
    except NotPlain as error:
        raise TaskInvalid(f"{error.filename}:1: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TaskInvalid(f"{path}:{line}: {path.name} is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise TaskInvalid(f"{path}:1: cannot be read: {error}") from None


def read_taskfile(path: Path) -> TaskFile:
    """Read and check one task.toml; raises TaskInvalid with `path:line: what`."""
    text = read_text(path, SETTINGS_BYTES)
    if text.startswith("\ufeff"):
        raise TaskInvalid(
            f"{path}:1: begins with a byte order mark (EF BB BF), which TOML does not allow",
            hint=f"sed -i '1s/^\\xEF\\xBB\\xBF//' {quoted(path)}",
        )
    data = _parsed(path, text)
    if "steps" in data:
        raise TaskInvalid(f"{path}:{line_of(text, ('steps',))}: multi-step tasks are not supported")
    try:
        return TaskFile.model_validate(data)
    except ValidationError as error:
        # an unknown key is most often a misspelling of the key reported as missing
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        keys = tuple(str(part) for part in first["loc"] if part != "[key]")
        absent = [one["loc"] for one in error.errors() if one["type"] == "missing" != first["type"]]
        meant = "".join(f"; {keys[-1]} may be meant for {loc[-1]}" for loc in absent if loc[:-1] == first["loc"][:-1])
        inner, what = _placed(first)
        keys += inner
        raise TaskInvalid(f"{path}:{line_of(text, keys)}: {'.'.join(keys)}: {what}{meant}") from None


def _placed(error: ErrorDetails) -> tuple[tuple[str, ...], str]:
    """Split the key that a message about several keys begins with (`levels.2.knobs.x: ...`) from the rest of the message."""
    what, given = _what(error), error["input"]
    named = re.match(r"([\w-]+(?:\.[\w-]+)*): ", what)
    if named and isinstance(given, dict) and (inner := tuple(named[1].split(".")))[0] in given:
        return inner, what[named.end() :]
    return (), what


def _what(error: ErrorDetails) -> str:
    """Return a message about one invalid value: the rule, and the value if the rule's message does not contain it."""
    if error["type"] == "extra_forbidden":
        return "unknown key"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    return error["msg"] if error["type"] == "missing" else f"{error['msg']}, not {repr(error['input'])[:_SHOWN]}"


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """Parse the tables of a file; raises TaskInvalid if it is not TOML, or is TOML built to break parsers."""
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        raise TaskInvalid(f"{path}:{match[1] if match else 1}: not TOML: {error}") from None
    except (ValueError, RecursionError) as error:
        # for example a number of thousands of digits, or tables nested hundreds deep
        raise TaskInvalid(f"{path}:1: not TOML: {error}") from None
    level: list[Any] = [data]
    for _ in range(DEEPEST_TOML):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise TaskInvalid(f"{path}:1: its tables are nested more than {DEEPEST_TOML} deep")
    return data


def line_of(text: str, keys: tuple[str, ...]) -> int:
    """Return the line, from 1, on which a dotted key is most likely written, or the line of its section if it is not written.

    A number among the keys is the name of a table if there is one of that name. Otherwise it is the index in a list, which the
    file does not contain.
    """
    named, numberless = _sought(text, list(keys)), _sought(text, [key for key in keys if not key.isdigit()])
    return (numberless if numberless[1] and not named[1] else named)[0]


def _sought(text: str, wanted: list[str]) -> tuple[int, bool]:
    """Return the line of a key and True, or else the line of its section and False."""
    section, best, depth = [], 1, 0
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            section = [part.strip().strip("\"'") for part in header[1].split(".")]
            if wanted and section[: len(wanted)] == wanted:
                return number, True
            if wanted[: len(section)] == section and len(section) > depth:
                best, depth = number, len(section)
        elif key := re.match(r"\s*([\w\"'.-]+)\s*=", line):
            written = section + [part.strip("\"'") for part in key[1].split(".")]
            if wanted[: len(written)] == written:
                return number, True
    return best, False
