"""task.toml as typed data: Harbor's sections as Harbor reads them, ours under [metadata.parley], unknown keys refused.

1. Harbor ignores unknown keys; we do not: a typo in a budget would otherwise be a silent change of the benchmark.
2. Every problem is `path:line: what`. The line is found by looking the key up in the text, section by section.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import tomli
from pydantic import Field, ValidationError, model_validator

from harness.contents import NotPlain, read_file
from harness.errors import TaskInvalid
from worlds.core.manifest import Budgets, Knob, Manifest, Option, Strict

SCHEMA_VERSION = "1.4"
"""The Harbor schema our folders are written in."""

LONGEST_TOML, DEEPEST_TOML = 256 << 10, 32
"""Bytes of a task.toml, and levels of its tables and lists: far more than a task needs."""

Difficulty = Literal["easy", "medium", "hard", "very_hard", "extreme"]


class Artifact(Strict):
    """A file that leaves a container: absolute source, and the service it is in."""

    source: str
    destination: str | None = None
    service: str | None = None
    exclude: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, data: Any) -> Any:
        return {"source": data} if isinstance(data, str) else data


class Author(Strict):
    """Who wrote a task."""

    name: str
    email: str | None = None


class TaskSection(Strict):
    """[task]: name and description."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*$")
    version: str = "1.0.0"
    description: str = ""
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()


class AgentSection(Strict):
    """[agent]: limits of the agent's phase under Harbor."""

    timeout_sec: float | None = Field(default=None, gt=0)
    user: str | int | None = None
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] = ()


class VerifierSection(Strict):
    """[verifier]: where and for how long the hidden tests run."""

    timeout_sec: float = Field(default=600.0, gt=0)
    environment_mode: Literal["shared", "separate"] = "shared"
    user: str | int | None = None
    env: dict[str, str] = {}
    environment: dict[str, Any] | None = None
    collect: tuple[dict[str, Any], ...] = ()
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] = ()


class EnvironmentSection(Strict):
    """[environment]: the container of `main`."""

    docker_image: str | None = None
    build_timeout_sec: float = Field(default=600.0, gt=0)
    os: str | None = None
    cpus: float | None = Field(default=None, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)
    storage_mb: int | None = Field(default=None, gt=0)
    workdir: str | None = None
    env: dict[str, str] = {}
    healthcheck: dict[str, Any] | None = None
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allow_internet: bool | None = None
    memory: str | None = None
    storage: str | None = None
    gpus: int | None = None
    gpu_types: tuple[str, ...] = ()
    tpu: dict[str, Any] | None = None
    skills_dir: str | None = None
    mcp_servers: tuple[dict[str, Any], ...] = ()


class SolutionSection(Strict):
    """[solution]: environment of the oracle under Harbor."""

    env: dict[str, str] = {}


class Parley(Strict):
    """[metadata.parley]: what our harness and our worlds need to know of a task."""

    family: str
    category: Literal["validity", "integrity", "both", "none"] | None = None
    quadrant: Literal["Q1", "Q2", "Q3", "Q4"] | None = None
    pattern: str | None = None
    difficulty: Difficulty
    seats: int = Field(default=1, ge=1)
    seeds: str = "0-9"
    interfaces: tuple[Literal["shell", "tool", "seats"], ...] = ("shell", "tool")
    budgets: Budgets
    costs: dict[str, float] = {"request": 1.0}
    options: dict[str, Option] = {}
    knobs: dict[str, Knob] = {}

    @model_validator(mode="after")
    def _request_cost(self) -> Parley:
        if "request" not in self.costs or min(self.costs.values()) < 0:
            raise ValueError("costs must name request, and none may be negative")
        return self


class Metadata(Strict):
    """[metadata]: free for anybody under Harbor, so only `parley` is ours to check."""

    parley: Parley | None = None
    other: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _keep_other(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {"parley": data.get("parley"), "other": {k: v for k, v in data.items() if k != "parley"}}
        return data


class TaskFile(Strict):
    """One task.toml."""

    schema_version: str
    source: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    task: TaskSection | None = None
    metadata: Metadata = Metadata()
    agent: AgentSection = AgentSection()
    verifier: VerifierSection = VerifierSection()
    environment: EnvironmentSection = EnvironmentSection()
    solution: SolutionSection = SolutionSection()

    def manifest(self) -> Manifest | None:
        """The world's copy of this description; None for a foreign task."""
        ours = self.metadata.parley
        if ours is None or self.task is None:
            return None
        task_id = self.task.name.rpartition("/")[2]
        shared = {name: getattr(ours, name) for name in ("family", "category", "budgets", "costs", "options", "knobs")}
        return Manifest(task_id=task_id, **shared)


def read_taskfile(path: Path) -> TaskFile:
    """Read and check one task.toml; raises TaskInvalid with `path:line: what`."""
    try:
        text = read_file(path.parent, path.name, LONGEST_TOML).data.decode("utf-8")
    except NotPlain as error:
        raise TaskInvalid(f"{error.filename}:1: {error.strerror}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TaskInvalid(f"{path}:1: cannot be read: {error}") from None
    data = _parsed(path, text)
    if "steps" in data:
        raise TaskInvalid(f"{path}:{line_of(text, ('steps',))}: multi-step tasks are not supported")
    try:
        return TaskFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        keys = tuple(str(part) for part in first["loc"])
        what = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise TaskInvalid(f"{path}:{line_of(text, keys)}: {'.'.join(keys)}: {what}") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """A file's tables; raises TaskInvalid for what is not TOML, and for TOML that was made to break its readers."""
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise TaskInvalid(f"{path}:{found[1] if found else 1}: not TOML: {error}") from None
    except (ValueError, RecursionError) as error:
        # a number of thousands of digits, tables nested hundreds deep
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
    """The line a dotted key is most likely written on, from 1; its section's line where the key is not written."""
    wanted, section, best, depth = [k for k in keys if not k.isdigit()], [], 1, 0
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            section = [part.strip().strip("\"'") for part in header[1].split(".")]
            if wanted and section[: len(wanted)] == wanted:
                return number
            if wanted[: len(section)] == section and len(section) > depth:
                best, depth = number, len(section)
        elif key := re.match(r"\s*([\w\"'.-]+)\s*=", line):
            written = section + [part.strip("\"'") for part in key[1].split(".")]
            if wanted[: len(written)] == written:
                return number
    return best
