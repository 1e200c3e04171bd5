"""How a model speaks its actions: as tool calls, or, where it knows none, as one fenced block of JSON in plain text.

`ToolSpeech` passes the provider's own tool calls on. `TextSpeech` shows the tools in the system prompt and reads
{"tool": ..., "arguments": {...}} by the rule of `worlds.core.replies`, without repair. Two different calls in one reply, or one
that is not JSON, are told back to the model, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from harness.agents.llm.completion import Action, Completion, read_action
from harness.printable import encodable
from worlds.core.replies import AnswerShape, parsed_string, read_answer


class Speech(Protocol):
    """One way of asking for actions and reading them."""

    name: str

    def offered(self, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The tools that go into the request itself."""
        ...

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """What the model wants done; none is a plain answer."""
        ...

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """The message that tells the model what an action brought."""
        ...


class ToolSpeech:
    """The provider's tool calls."""

    name = "tools"

    def offered(self, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """All of them."""
        return tools

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """As the provider gave them."""
        return said.actions

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """A tool message for the call."""
        return {"role": "tool", "tool_call_id": action.call_id, "content": text}


class TextSpeech:
    """Fenced JSON in plain text."""

    name = "text"

    def offered(self, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """None: the system prompt shows them."""
        return ()

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """The one block's action, or one with the problem that the model is told."""
        return tuple(_numbered(action, turn) for action in _spoken(said.text))

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """A user message; the model sees no other kind."""
        return {"role": "user", "content": f"Answer of {action.tool}:\n{text}" if action.tool else text}


SPEECHES: dict[str, type[ToolSpeech | TextSpeech]] = {"tools": ToolSpeech, "text": TextSpeech}


def _numbered(action: Action, turn: int) -> Action:
    return Action(f"text_{turn}", action.tool, action.arguments, action.problem)


def _spoken(text: str) -> list[Action]:
    reading = read_answer(text, _CALL)
    if reading.value is not None:
        tool, arguments = reading.value
        if isinstance(tool, str) and isinstance(arguments, dict):
            return [read_action("", tool, arguments)]
        return [Action("", encodable(str(tool)), {"_raw": text}, "tool must be a name and arguments an object")]
    if reading.is_refused or reading.is_broken:
        return [Action("", "", {"_raw": text}, f"this reply is not one action in JSON: {reading.problem}")]
    return []


def _call(value: Any) -> Sequence[tuple[Any, Any]]:
    """Return the tool and arguments of a call; arguments may be JSON in a string, as some models write them."""
    named = isinstance(value, dict) and "tool" in value
    return [(value["tool"], parsed_string(value.get("arguments", {})))] if named else []


_CALL = AnswerShape('one JSON object with "tool"', _call, key="tool")
