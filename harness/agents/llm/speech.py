"""How a model speaks its actions: as tool calls, or, where it knows none, as one fenced block of JSON in plain text.

`ToolSpeech` passes the provider's own tool calls on. `TextSpeech` shows the tools in the system prompt and reads
```json {"tool": ..., "arguments": {...}}```. It is tolerant of form (fence labels, a bare object, an unclosed fence that is
whole JSON) and refuses ambiguity: two actions in one reply, or a block that cannot be read, are told back, nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from harness.agents.llm.completion import Action, Completion, as_text, read_action
from harness.printable import encodable

_FENCE = re.compile(r"```[ \t]*(\w*)[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


class Speech(Protocol):
    """One way of asking for actions and reading them."""

    name: str
    has_called: bool
    """False until a tool call has arrived in the form that is expected."""

    def offered(self, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The tools that go into the request itself."""
        ...

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """What the model wants done; none is a plain answer."""
        ...

    def heard(self, said: Completion) -> Completion:
        """Return a reply as it goes into the conversation."""
        ...

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """The message that tells the model what an action brought."""
        ...


class ToolSpeech:
    """The provider's tool calls; one object serves all episodes of a client."""

    name = "tools"

    def __init__(self) -> None:
        self.has_called = False

    def offered(self, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """All of them."""
        return tools

    def heard(self, said: Completion) -> Completion:
        """Return the reply as it is."""
        return said

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """As the provider gave them."""
        self.has_called = self.has_called or bool(said.actions)
        return said.actions

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """A tool message for the call."""
        return {"role": "tool", "tool_call_id": action.call_id, "content": text}


class TextSpeech:
    """Fenced JSON in plain text."""

    name = "text"

    def __init__(self) -> None:
        self.has_called = True

    def offered(self, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """None: the system prompt shows them."""
        return ()

    def heard(self, said: Completion) -> Completion:
        """Return the reply as text: a tool call that a server read out of it becomes text again."""
        return as_text(said, named=True)

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
    blocks = [(label, body) for label, body in _FENCE.findall(text) if label.lower() in {"json", "tool", "tool_call", ""}]
    if not blocks and text.strip().startswith("{"):
        blocks = [("", text)]
    actions = [action for label, body in blocks if (action := _read(body, meant=label != ""))]
    if len(actions) > 1:
        return [Action("", "", {"_raw": text}, "one action a reply: this one held several blocks, and none was run")]
    return actions


def _read(block: str, *, meant: bool) -> Action | None:
    """The action in a block; None for one that is something else. Only a labelled block that cannot be read is a mistake."""
    try:
        value = json.loads(block)
    except (ValueError, RecursionError) as error:
        if not meant and '"tool"' not in block:
            return None
        return Action("", "", {"_raw": block}, f"the block is not JSON: {error}")
    if not isinstance(value, dict) or "tool" not in value:
        return None
    tool, arguments = value["tool"], value.get("arguments", {})
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        return Action("", encodable(str(tool)), {"_raw": block}, "tool must be a name and arguments an object")
    return read_action("", tool, arguments)
