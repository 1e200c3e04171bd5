"""A foreign task's docker-compose.yaml, read within a declared subset: what is not understood is an error, never ignored.

Known of a service: build, image, environment, depends_on, healthcheck, init, stop_grace_period, command, entrypoint, user,
working_dir. Anything else is TaskInvalid with `path:line: key ...`. `stop_grace_period` is read and has no effect, because a
pod is killed, never stopped. `${NAME}`, `${NAME:-default}` and `$$` are filled in as Compose does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NoReturn

from harness.errors import TaskInvalid

Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]
CONDITIONS: tuple[Condition, ...] = ("service_started", "service_healthy", "service_completed_successfully")
SERVICE_KEYS = (
    "build", "command", "depends_on", "entrypoint", "environment", "healthcheck", "image", "init", "stop_grace_period", "user",
    "working_dir",
)  # fmt: skip
_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_DURATION = re.compile(r"([0-9.]+)(us|ms|s|m|h)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Build:
    """Where an image comes from: folder, Dockerfile in it, arguments."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Service:
    """One service: exactly one of `image` and `build` where the file names either."""

    name: str
    image: str | None = None
    build: Build | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    depends_on: Mapping[str, Condition] = field(default_factory=dict)
    healthcheck: Mapping[str, Any] | None = None
    """As Docker's API takes it."""

    init: bool = False
    command: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None
    user: str | None = None
    working_dir: str | None = None


def read_compose(path: Path, variables: Mapping[str, str]) -> dict[str, Service]:
    """The services of a compose file, each after those it depends on; raises TaskInvalid with path and line."""
    return _Reader(path, variables).services()


def fill(text: str, variables: Mapping[str, str]) -> str:
    """Compose's interpolation; a name without value or default is empty."""
    return _VARIABLE.sub(lambda m: "$" if m[1] else variables.get(m[2] or m[4]) or m[3] or "", text)


class _Reader:
    """Walks YAML nodes, which know their lines."""

    def __init__(self, path: Path, variables: Mapping[str, str]) -> None:
        self._path, self._variables, self._yaml = path, variables, import_module("yaml")

    def services(self) -> dict[str, Service]:
        try:
            root = self._yaml.compose(self._path.read_text(encoding="utf-8"), Loader=self._yaml.SafeLoader)
        except (OSError, UnicodeDecodeError, self._yaml.YAMLError) as error:
            mark = getattr(error, "problem_mark", None)
            raise TaskInvalid(f"{self._path}:{mark.line + 1 if mark else 1}: cannot be read as YAML") from None
        found: dict[str, Service] = {}
        for key, node in self._items(root):
            if key.value not in ("services", "version"):
                self._refuse(key, "is not supported here")
            for name, body in self._items(node) if key.value == "services" else ():
                found[name.value] = self._service(name, body)
        return self._ordered(found)

    def _service(self, name: Any, body: Any) -> Service:
        readers: dict[str, Callable[[Any], Any]] = {
            "build": self._build, "environment": self._environment, "depends_on": self._depends_on, "user": self._text,
            "healthcheck": self._healthcheck, "command": self._words, "entrypoint": self._words, "image": self._text,
        }  # fmt: skip
        fields: dict[str, Any] = {}
        for key, node in self._items(body):
            if key.value not in SERVICE_KEYS:
                self._refuse(key, f"of service {name.value} is not supported here; known: {', '.join(SERVICE_KEYS)}")
            fields[key.value] = readers.get(key.value, self._value)(node)
        fields.pop("stop_grace_period", None)
        return Service(name.value, **fields)

    def _build(self, node: Any) -> Build:
        if isinstance(node, self._yaml.ScalarNode):
            return Build(self._path.parent / str(self._value(node)))
        known: dict[str, Any] = {"context": ".", "dockerfile": "Dockerfile", "args": None}
        for key, child in self._items(node):
            if key.value not in known:
                self._refuse(key, "of build is not supported here")
            known[key.value] = self._environment(child) if key.value == "args" else self._value(child)
        return Build(self._path.parent / str(known["context"]), str(known["dockerfile"]), known["args"] or {})

    def _environment(self, node: Any) -> dict[str, str]:
        value = self._value(node)
        if isinstance(value, list):
            pairs = [str(item).partition("=") for item in value]
            return {name: text if given else self._variables.get(name, "") for name, given, text in pairs}
        return {str(name): "" if text is None else _scalar(text) for name, text in (value or {}).items()}

    def _depends_on(self, node: Any) -> dict[str, Condition]:
        if isinstance(node, self._yaml.SequenceNode):
            return {str(self._value(item)): "service_started" for item in node.value}
        return {name.value: self._condition(body) for name, body in self._items(node)}

    def _condition(self, body: Any) -> Condition:
        asked: Condition = "service_started"
        for key, node in self._items(body):
            if key.value != "condition" or node.value not in CONDITIONS:
                self._refuse(key, f"of depends_on must be condition, one of {', '.join(CONDITIONS)}")
            asked = node.value
        return asked

    def _healthcheck(self, node: Any) -> dict[str, Any]:
        spans = {"interval": "Interval", "timeout": "Timeout", "start_period": "StartPeriod"}
        made: dict[str, Any] = {}
        for key, child in self._items(node):
            value = self._value(child)
            if key.value in spans:
                made[spans[key.value]] = int(self._seconds(key, str(value)) * 1e9)
            elif key.value == "retries":
                made["Retries"] = int(value)
            elif key.value == "test":
                made["Test"] = [str(part) for part in value] if isinstance(value, list) else ["CMD-SHELL", str(value)]
            else:
                self._refuse(key, "of healthcheck is not supported here")
        return made

    def _words(self, node: Any) -> tuple[str, ...]:
        value = self._value(node)
        return tuple(str(part) for part in value) if isinstance(value, list) else tuple(shlex.split(str(value)))

    def _text(self, node: Any) -> str:
        return str(self._value(node))

    def _seconds(self, key: Any, text: str) -> float:
        if not re.fullmatch(f"(?:{_DURATION.pattern})+", text):
            self._refuse(key, f"must be a duration such as 1m30s, not {text}")
        return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))

    def _value(self, node: Any) -> Any:
        """A node as plain data, strings filled in."""
        loader = self._yaml.SafeLoader("")
        try:
            return self._filled(loader.construct_document(node))
        finally:
            loader.dispose()

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return fill(value, self._variables)
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        return {name: self._filled(item) for name, item in value.items()} if isinstance(value, dict) else value

    def _items(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if not isinstance(node, self._yaml.MappingNode):
            line = node.start_mark.line + 1 if node is not None else 1
            raise TaskInvalid(f"{self._path}:{line}: a mapping is expected here")
        yield from node.value

    def _ordered(self, found: dict[str, Service]) -> dict[str, Service]:
        """Services after those they depend on."""
        ordered: dict[str, Service] = {}

        def visit(name: str, above: tuple[str, ...]) -> None:
            if name in above or name not in found:
                raise TaskInvalid(f"{self._path}:1: depends_on of {above[-1]} names {name}, which is no service below it")
            for needed in found[name].depends_on:
                visit(needed, (*above, name))
            ordered.setdefault(name, found[name])

        for name in found:
            visit(name, ())
        return ordered

    def _refuse(self, key: Any, why: str) -> NoReturn:
        raise TaskInvalid(f"{self._path}:{key.start_mark.line + 1}: key {key.value} {why}")


def _scalar(value: Any) -> str:
    """A YAML scalar as Compose puts it into an environment."""
    return str(value).lower() if isinstance(value, bool) else str(value)
