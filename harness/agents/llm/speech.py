"""How a model speaks its actions: as tool calls, or, where it knows none, as one fenced block of JSON in plain text.

1. In plain text the system prompt shows the tools, and {"tool": ..., "arguments": {...}} is read by the rule of
   `worlds.core.replies`, without repair. Two different calls in one reply, or one that is not JSON, are told back to the
   model, and nothing is run.
2. The system prompt is a versioned template, rendered with tools and budgets. The digest in a record is that of everything a
   model reads apart from the task, so that two runs can be compared by it: the templates' sources and the tools.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.agent import Budget
from harness.agents.llm.completion import Action, Completion, as_text, read_action
from harness.agents.llm.interface import Interface
from harness.errors import UsageError
from harness.printable import encodable
from harness.registry import Task
from worlds.core.replies import AnswerShape, parsed_string, read_answer

_FOLDER = Path(__file__).parent / "prompts"

Tools = Sequence[dict[str, Any]]


PROTOCOLS = ("tools", "text")


class Speech:
    """One way of asking for actions and reading them; one object serves all episodes of a client."""

    def __init__(self, name: str) -> None:
        """Raise UsageError for a protocol that there is not."""
        if name not in PROTOCOLS:
            raise UsageError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {name!r}")
        self.name, self._is_text = name, name == "text"
        self.has_called = self._is_text
        """False until a tool call has arrived in the form that is expected."""

    def offered(self, tools: Tools) -> Tools:
        """The tools that go into the request itself; for plain text, the system prompt shows them."""
        return () if self._is_text else tools

    def heard(self, said: Completion) -> Completion:
        """Return a reply as it goes into the conversation: in plain text, a call that a server read out of it is text again."""
        return as_text(said, named=True) if self._is_text else said

    def actions(self, said: Completion, turn: int) -> tuple[Action, ...]:
        """What the model wants done, or one action with the problem that the model is told; none is a plain answer."""
        if self._is_text:
            action = _spoken(said.text)
            return (replace(action, call_id=f"text_{turn}"),) if action else ()
        self.has_called = self.has_called or bool(said.actions)
        return said.actions

    def told(self, action: Action, text: str) -> dict[str, Any]:
        """The message that tells the model what an action brought."""
        if self._is_text:
            return {"role": "user", "content": f"Answer of {action.tool}:\n{text}" if action.tool else text}
        return {"role": "tool", "tool_call_id": action.call_id, "content": text}


def system_prompt(interface: Interface, speech: Speech, task: Task, budget: Budget) -> str:
    """What the model is told before the task; a foreign task has no budgets of ours."""
    # Prompts are plain text: escaping would change the schemas they show.
    environment = Environment(loader=FileSystemLoader(_FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    environment.filters["json"] = json.dumps
    # The tools are shown where they do not travel in the request itself.
    shown = () if speech.offered(interface.tools) else interface.tools
    budgets = task.parley.budgets if task.parley else None
    template = environment.get_template(interface.template)
    return template.render(
        budgets=budgets, turns=budget.turns, shown_tools=shown, tools=[tool["function"]["name"] for tool in interface.tools]
    ).strip()


def prompt_digest(interface: Interface, speech: Speech) -> str:
    """SHA-256 over the templates and the tools."""
    total = hashlib.sha256(speech.name.encode())
    for name in (interface.template, "speech.j2"):
        total.update((_FOLDER / name).read_bytes())
    total.update(json.dumps(list(interface.tools), sort_keys=True).encode())
    return total.hexdigest()


def _spoken(text: str) -> Action | None:
    reading = read_answer(text, _CALL)
    if reading.value is not None:
        tool, arguments = reading.value
        if isinstance(tool, str) and isinstance(arguments, dict):
            return read_action("", tool, arguments)
        return Action("", encodable(str(tool)), {"_raw": text}, "tool must be a name and arguments an object")
    if reading.is_refused or reading.is_broken:
        return Action("", "", {"_raw": text}, f"this reply is not one action in JSON: {reading.problem}")
    return None


def _call(value: Any) -> Sequence[tuple[Any, Any]]:
    """Return the tool and arguments of a call; arguments may be JSON in a string, as some models write them."""
    named = isinstance(value, dict) and "tool" in value
    return [(value["tool"], parsed_string(value.get("arguments", {})))] if named else []


_CALL = AnswerShape('one JSON object with "tool"', _call, key="tool")
