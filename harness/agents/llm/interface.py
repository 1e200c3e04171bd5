"""What a model can do: an interface declares tools and makes, for one episode, the hands that carry them out.

1. A tool is one pydantic model: its docstring, fields and their descriptions are the schema that the model reads, and the
   check of what the model wrote. What does not pass is answered with the rule that was broken; nothing is guessed.
2. Hands are made per episode, so that what belongs to one episode (a transport with mutations, stored handles) lives there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, Protocol, TypeVar

from pydantic import ConfigDict, ValidationError

from harness.pod import Pod
from harness.registry import Task
from worlds.core.models import Strict


class Tool(Strict):
    """The arguments of one tool; subclasses are read by models, so their docstrings speak to them."""

    model_config = ConfigDict(allow_inf_nan=False)


ToolT = TypeVar("ToolT", bound=Tool)


class Mistake(Exception):
    """The model's own: an unknown tool, arguments that break the schema; the message is what the model is told."""


@dataclass(frozen=True)
class ActionResult:
    """What an action brought; `done` ends the episode once the model has been told."""

    text: str
    done: bool = False


class Hands(Protocol):
    """Carries out actions in one episode."""

    def act(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> ActionResult:
        """Carry out one action within `limit_s` real seconds; raises Mistake for one that cannot be carried out."""
        ...


class Interface(Protocol):
    """A set of tools, with the prompt that explains them."""

    name: str
    template: str
    tools: Sequence[dict[str, Any]]

    def needs_main(self, runtime: str) -> bool:
        """Whether `main` must exist; raises UsageError where the runtime has none."""
        ...

    def hands(self, task: Task, pod: Pod) -> Hands:
        """The hands for one episode."""
        ...


def definition(name: str, tool: type[Tool]) -> dict[str, Any]:
    """A tool in OpenAI's function schema."""
    schema = _untitled(tool.model_json_schema())
    schema.pop("description", None)
    return {"type": "function", "function": {"name": name, "description": cleandoc(tool.__doc__ or ""), "parameters": schema}}


def read_tool(name: str, tool: type[ToolT], arguments: Mapping[str, Any]) -> ToolT:
    """What the model wrote, checked; raises Mistake naming the argument and the rule."""
    try:
        return tool.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = "there is no such argument" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise Mistake(f"{name}: {where}: {what}") from None


def head_and_tail(data: bytes, cap: int, omitted: int = 0) -> tuple[bytes, int, bytes]:
    """A quarter of `cap` from the front, the rest from the back, and how many bytes are left out between them.

    `omitted` bytes are already missing from `data`, at the end of its first quarter.
    """
    if not omitted and len(data) <= cap:
        return data, 0, b""
    head = min(cap, len(data)) // 4
    tail = min(cap, len(data)) - head
    return data[:head], omitted + len(data) - head - tail, data[len(data) - tail :]


def _untitled(schema: Any) -> Any:
    """The schema without pydantic's titles, which tell a model nothing."""
    if isinstance(schema, dict):
        return {k: _untitled(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    return [_untitled(v) for v in schema] if isinstance(schema, list) else schema
