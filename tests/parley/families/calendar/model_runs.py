"""Runs of calendars with models at seats, through LiteLLM and the local server: they play IMAP, and one adds prose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.agent import AgentSpec, Budget, SeatSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.reports.evidence import Evidence, gather, read_runs
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.harness.agents.imap_model import Messages, imap
from tests.shipped import SHIPPED

TASKS = [task for task in SHIPPED if task.task_id in {"uniform-31", "varied-07"}]
PROSE = "I am free at 7, 9 and 13, and rather busy before noon."


def chatty(messages: Messages) -> str:
    """Plays IMAP, and tells everybody it writes to a little more in plain words."""
    said = json.loads(imap(messages))
    told = [{**one, "content": PROSE} for one in said["actions"] if one["type"] == "dm"]
    return json.dumps({**said, "actions": [*said["actions"], *told]})


def server() -> OpenAIServer:
    """A server whose models play IMAP, whatever they are called; at seat 2 they write prose besides."""
    return OpenAIServer(Script(match="You are agent 2", play=chatty), Script(match="scheduling assistant", play=imap))


def played(
    folder: Path,
    address: str | None,
    spec: AgentSpec,
    tasks: Sequence[Task] = TASKS,
    k: int = 1,
    budget: Budget | None = None,
    **options: str,
) -> list[Result]:
    """These tasks, played in process."""
    whole = spec.model_copy(update={"api_base": address})
    config = replace(LlmConfig.of(whole), api_key="k", patience_s=60.0, first_pause_s=0.01)
    agent, runtime = SeatAgent(whole, config=config, say=lambda line: None), InProcessRuntime()
    plan = Plan(folder.name, list(tasks), [0], k, whole, budget or Budget(), overrides=options)
    return run_plan(
        plan, runtime, RunFolder(folder), workers=1, images={}, progress=lambda event: None, cast=AgentPool(lambda *_: agent)
    )


def model(name: str) -> AgentSpec:
    """A model at every seat."""
    return AgentSpec(kind="llm", model=f"openai/{name}")


def guests(*seats: SeatSpec, rotate: bool = False) -> AgentSpec:
    """IMAP at every seat but these."""
    return AgentSpec(kind="seats", name="imap", seats=seats, rotate=rotate)


def gathered(folder: Path) -> Evidence:
    """What a report takes from the runs in a folder."""
    return gather(read_runs([folder]), "calendar", TASKS)
