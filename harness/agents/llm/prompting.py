"""The system prompt of an interface: versioned templates, rendered with tools and budgets.

The digest in a record is that of everything a model reads apart from the task: the templates' sources and the tools. It is
the same for all tasks, so that two runs can be compared by it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.agent import Budget
from harness.agents.llm.interface import Interface
from harness.agents.llm.speech import Speech
from harness.registry import Task

FOLDER = Path(__file__).parent / "prompts"
_PARTIAL = "speech.j2"


def system_prompt(interface: Interface, speech: Speech, task: Task, budget: Budget) -> str:
    """What the model is told before the task; a foreign task has no budgets of ours."""
    # Prompts are plain text: escaping would change the schemas they show.
    environment = Environment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
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
    for name in (interface.template, _PARTIAL):
        total.update((FOLDER / name).read_bytes())
    total.update(json.dumps(list(interface.tools), sort_keys=True).encode())
    return total.hexdigest()
