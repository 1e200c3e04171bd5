"""Parser of a foreign task's docker-compose.yaml for a declared subset: unknown keys are errors and never ignored.

Supported keys of a service: build, image, environment, depends_on, healthcheck, init, stop_grace_period, command, entrypoint,
user, working_dir. Any other is TaskInvalid with `path:line: key ...`. `stop_grace_period` has no effect, because a pod is
killed, never stopped. Variables are substituted as in `.variables`. A build context must be a folder at or below the compose
file's own, with its Dockerfile in it: Compose accepts any folder of this host, which an untrusted folder must not name.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from pydantic import TypeAdapter, ValidationError

from harness.errors import TaskInvalid
from harness.limits import ContainerPath, ImageName, ServiceName, User
from harness.taskfile import read_text
from parley.interop.foreign.variables import fill, needed

Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
SERVICE_KEYS = (
    "build", "command", "depends_on", "entrypoint", "environment", "healthcheck", "image", "init", "stop_grace_period", "user",
    "working_dir",
)  # fmt: skip
SERVICES_MAX, RETRIES_MAX, SECONDS_MAX = 32, 10_000, 86_400
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|m|h)")
_SHAPES: dict[str, TypeAdapter[Any]] = {
    "user": TypeAdapter(User),
    "working_dir": TypeAdapter(ContainerPath),
    "image": TypeAdapter(ImageName),
}
_NAME = TypeAdapter(ServiceName)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Build:
    """Image build: folder, Dockerfile in it, arguments."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Service:
    """Service with either `image` or `build`, if the file has one of them."""

    name: str
    image: str | None = None
    build: Build | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    depends_on: Mapping[str, Condition] = field(default_factory=dict)
    healthcheck: Mapping[str, Any] | None = None
    """Healthcheck in the format of Docker's API."""

    init: bool = False
    command: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None
    user: str | None = None
    working_dir: str | None = None


def read_compose(path: Path, variables: Mapping[str, str]) -> dict[str, Service]:
    """Return the services of a compose file in the order of their dependencies; raises TaskInvalid with path and line."""
    return _Reader(path, variables).services()


class _Reader:
    """Reader of YAML nodes, whose line numbers are used in error messages."""

    def __init__(self, path: Path, variables: Mapping[str, str]) -> None:
        self._path, self._variables, self._yaml = path, variables, import_module("yaml")

    def services(self) -> dict[str, Service]:
        services: dict[str, Service] = {}
        for key, node in self._items(self._root()):
            if key.value not in ("services", "version"):
                self._refuse(key, "is not supported here")
            for name, body in self._items(node) if key.value == "services" else ():
                self._shaped(name, _NAME, name.value)
                services[name.value] = self._service(name, body)
        if len(services) > SERVICES_MAX:
            raise TaskInvalid(f"{self._path}:1: {len(services)} services are more than {SERVICES_MAX}")
        return self._ordered(services)

    def _root(self) -> Any:
        """Return the file's nodes. Aliases are refused, because a few lines of them can expand beyond all memory."""
        text = read_text(self._path)
        try:
            for event in self._yaml.parse(text, Loader=self._yaml.SafeLoader):
                if isinstance(event, self._yaml.AliasEvent):
                    raise TaskInvalid(f"{self._place(event)}: alias *{event.anchor} is not supported here")
            return self._yaml.compose(text, Loader=self._yaml.SafeLoader)
        except (ValueError, RecursionError, self._yaml.YAMLError) as error:
            mark = getattr(error, "problem_mark", None)
            raise TaskInvalid(f"{self._path}:{mark.line + 1 if mark else 1}: cannot be read as YAML") from None

    def _service(self, name: Any, body: Any) -> Service:
        readers: dict[str, Callable[[Any], Any]] = {
            "build": self._build, "environment": self._environment, "depends_on": self._depends_on, "user": self._text,
            "healthcheck": self._healthcheck, "command": self._words, "entrypoint": self._words, "image": self._text,
            "init": self._flag, "working_dir": self._text,
        }  # fmt: skip
        fields: dict[str, Any] = {}
        for key, node in self._items(body):
            if key.value not in SERVICE_KEYS:
                self._refuse(key, f"of service {name.value} is not supported here; known: {', '.join(SERVICE_KEYS)}")
            fields[key.value] = readers.get(key.value, self._value)(node)
            if key.value in _SHAPES:
                self._shaped(key, _SHAPES[key.value], fields[key.value])
        fields.pop("stop_grace_period", None)
        return Service(name.value, **fields)

    def _build(self, node: Any) -> Build:
        known: dict[str, Any] = {"context": ".", "dockerfile": "Dockerfile", "args": {}}
        if isinstance(node, self._yaml.ScalarNode):
            known["context"] = self._text(node)
        else:
            for key, child in self._items(node):
                if key.value not in known:
                    self._refuse(key, "of build is not supported here")
                known[key.value] = self._environment(child) if key.value == "args" else self._text(child)
        context = self._below(node, "context", self._path.parent, known["context"])
        self._below(node, "dockerfile", context, known["dockerfile"])
        return Build(context, posixpath.normpath(known["dockerfile"]), known["args"])

    def _below(self, node: Any, name: str, folder: Path, text: str) -> Path:
        """Return a path at or below a folder after resolving links."""
        path = folder / text
        if "\0" in text or not path.resolve().is_relative_to(folder.resolve()):
            raise TaskInvalid(f"{self._place(node)}: {name} {text!r} of build leaves {folder.name}/, which is refused here")
        return path

    def _environment(self, node: Any) -> dict[str, str]:
        """Return variables from a list or a mapping. A variable without a value is taken from the host, as in Compose."""
        value = self._value(node)
        if isinstance(value, list):
            pairs = [(name, text if given else None) for name, given, text in (str(item).partition("=") for item in value)]
        else:
            # booleans as Compose writes them
            pairs = [(str(name), str(text).lower() if isinstance(text, bool) else text) for name, text in (value or {}).items()]
        place = self._place(node)
        return {name: needed(name, self._variables, place) if text is None else str(text) for name, text in pairs}

    def _depends_on(self, node: Any) -> dict[str, Condition]:
        if isinstance(node, self._yaml.SequenceNode):
            return {self._text(item): "service_started" for item in node.value}
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
                made[spans[key.value]] = self._nanoseconds(key, str(value))
            elif key.value == "retries":
                if not str(value).isdecimal() or not 1 <= int(value) <= RETRIES_MAX:
                    self._refuse(key, f"must be in 1..{RETRIES_MAX}, not {value!r}")
                made["Retries"] = int(value)
            elif key.value == "test":
                made["Test"] = [str(part) for part in value] if isinstance(value, list) else ["CMD-SHELL", str(value)]
            else:
                self._refuse(key, "of healthcheck is not supported here")
        return made

    def _words(self, node: Any) -> tuple[str, ...] | None:
        value = self._value(node)
        if value is None or isinstance(value, list):
            return None if value is None else tuple(map(str, value))
        try:
            return tuple(shlex.split(str(value)))
        except ValueError:
            raise TaskInvalid(f"{self._place(node)}: {str(value)[:60]!r} has a quote that does not close") from None

    def _flag(self, node: Any) -> bool:
        value = self._value(node)
        if not isinstance(value, bool):
            raise TaskInvalid(f"{self._place(node)}: must be true or false, not {str(value)[:60]!r}")
        return value

    def _text(self, node: Any) -> str:
        return str(self._value(node))

    def _nanoseconds(self, key: Any, text: str) -> int:
        if not re.fullmatch(f"(?:{_DURATION.pattern})+", text):
            self._refuse(key, f"must be a duration such as 1m30s, not {text}")
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
        if seconds > SECONDS_MAX:
            self._refuse(key, f"must be at most {SECONDS_MAX} s, not {text}")
        return int(seconds * 1e9)

    def _value(self, node: Any) -> Any:
        """Return a node as plain data, with variables substituted."""
        loader = self._yaml.SafeLoader("")
        try:
            return self._filled(loader.construct_document(node), self._place(node))
        except (self._yaml.YAMLError, ValueError, RecursionError):
            raise TaskInvalid(f"{self._place(node)}: is not plain data") from None
        finally:
            loader.dispose()

    def _filled(self, value: Any, place: str) -> Any:
        if isinstance(value, str):
            return fill(value, self._variables, place)
        if isinstance(value, list):
            return [self._filled(item, place) for item in value]
        return {name: self._filled(item, place) for name, item in value.items()} if isinstance(value, dict) else value

    def _place(self, node: Any) -> str:
        return f"{self._path}:{node.start_mark.line + 1 if node is not None else 1}"

    def _shaped(self, key: Any, shape: TypeAdapter[Any], value: Any) -> None:
        try:
            shape.validate_python(value)
        except ValidationError as error:
            raise TaskInvalid(f"{self._place(key)}: {key.value}: {error.errors()[0]['msg']}, not {str(value)[:60]!r}") from None

    def _items(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if not isinstance(node, self._yaml.MappingNode):
            raise TaskInvalid(f"{self._place(node)}: a mapping is expected here")
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, self._yaml.ScalarNode) or key.value in seen:
                raise TaskInvalid(f"{self._place(key)}: each key must be a word that occurs once")
            seen.add(key.value)
            yield key, value

    def _ordered(self, services: dict[str, Service]) -> dict[str, Service]:
        """Return the services in the order of their dependencies."""
        ordered: dict[str, Service] = {}

        def visit(name: str, above: tuple[str, ...]) -> None:
            if name in above or name not in services:
                raise TaskInvalid(f"{self._path}:1: depends_on of {above[-1]} names {name}, which is unknown or in a cycle")
            for below in services[name].depends_on:
                visit(below, (*above, name))
            ordered.setdefault(name, services[name])

        for name in services:
            visit(name, ())
        return ordered

    def _refuse(self, key: Any, why: str) -> NoReturn:
        raise TaskInvalid(f"{self._place(key)}: key {key.value} {why}")
