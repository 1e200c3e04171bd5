"""Assistants of different character, protocols and baselines at one table, through LiteLLM: any workers, any runtime."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.paths import ROOT
from harness.pod import Runtime
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.calendar.trace.exporting import exported
from parley.reports.reading import read_episode
from parley.requests.teams import TeamFlags, make_team
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.harness.agents.imap_model import Messages, imap

MODELS = ("careful", "talker", "vague", "stubborn", "truncated")
TABLES = {
    "models": (",".join(f"openai/{name}" for name in MODELS), None),
    "mixed": ("openai/careful,openai/talker,truthful-planner,dsm-welfare", "openai/vague"),
    "others": ("silent,truthful-greedy,imap,openai/stubborn", "openai/truncated"),
}
"""Teams: members and an entrant. Over two tasks and two attempts they sit in different orders."""

PEOPLE = re.compile(r"participants=\[([\d, ]*)\]")


def said(*actions: dict[str, Any]) -> str:
    """A reply as the rules ask for it."""
    return json.dumps({"thinking": "So.", "actions": list(actions)})


def free_slot(messages: Messages, which: int = 0) -> int | None:
    """One of the free slots of the calendar that was shown last: the lowest, or by its place."""
    shown = next((m["content"] for m in reversed(messages) if re.search(r"^Slot +\d+", str(m["content"]), re.MULTILINE)), "")
    slots = [int(slot) for slot in re.findall(r"^Slot +(\d+): \[FREE\]", shown, re.MULTILINE)]
    return slots[which] if slots else None


def scheduled(messages: Messages, which: int = 0) -> str:
    """A batch that takes a free slot, whatever was agreed."""
    slot = free_slot(messages, which)
    number = re.findall(r"Meeting M(\d+), participants", "\n".join(str(m["content"]) for m in messages))[-1]
    return said() if slot is None else said({"type": "schedule", "meeting_id": int(number), "slot": slot})


def talker(messages: Messages) -> str:
    """Writes to everybody in the meeting when a round begins, in sentences that a baseline understands."""
    asked = str(messages[-1]["content"])
    if "=== ROUND" not in asked:
        return said() if "CHEAP_TALK" in asked else scheduled(messages)
    me = int(re.search(r"You are agent (\d)", messages[0]["content"])[1])  # type: ignore[index]
    people = PEOPLE.findall("\n".join(str(m["content"]) for m in messages))[-1]
    others = [int(agent) for agent in people.split(", ") if int(agent) != me]
    sentence = f"I am free at {free_slot(messages)}. Let us take {free_slot(messages)}, shall we?"
    return said(*({"type": "dm", "to": agent, "content": sentence} for agent in others))


def vague(messages: Messages) -> str:
    """Prose around its JSON, a fence, and an action that there is not."""
    return (
        f"Well...\n```json\n{said({'type': 'hum'})}\n```"
        if "CHEAP_TALK" in str(messages[-1]["content"])
        else scheduled(messages)
    )


def stubborn(messages: Messages) -> str:
    """Takes its last free slot, and says the same again when it is refused."""
    return said() if "CHEAP_TALK" in str(messages[-1]["content"]) else scheduled(messages, -1)


def truncated(messages: Messages) -> str:
    """Breaks off in the middle of its JSON."""
    return scheduled(messages)[:-9]


PLAYS: dict[str, Callable[[Messages], str]] = {
    "careful": imap, "talker": talker, "vague": vague, "stubborn": stubborn, "truncated": truncated,
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """One address, where each model answers in its own way by its name."""
    with OpenAIServer(*(Script(model=name, play=play) for name, play in PLAYS.items())) as running:
        yield running


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """A calendar of each cost setting."""
    return [read_task(ROOT / "tasks" / "calendar" / name) for name in ("uniform-31", "varied-07")]


def played(
    folder: Path, tasks: Sequence[Task], server: OpenAIServer, table: str, workers: int, runtime: Runtime | None = None
) -> list[Result]:
    """Two attempts at each task; in process, unless another runtime is given."""
    used = runtime or InProcessRuntime()
    members, entrant = TABLES[table]
    team = make_team(TeamFlags(members, entrant), tasks, ["calendar"])
    spec = AgentSpec(kind="seats", name="team", api_base=server.url, team=team)
    agent = SeatAgent(spec, config=replace(LlmConfig.of(spec), api_key="k"), say=lambda line: None)
    plan = Plan("run", tasks, [0], 2, spec, overrides={"turn_cap": "3"})
    cast, quiet = AgentPool(lambda *_: agent), lambda event: None
    images = used.prepare(list(tasks))
    return run_plan(plan, used, RunFolder(folder), workers=workers, images=images, progress=quiet, cast=cast)


def record(result: Result) -> tuple[Any, ...]:
    """What must not depend on how many games are played at once."""
    seats = [(seat.seat, seat.kind, seat.name, seat.tokens) for seat in result.seats]
    trajectory = json.loads((Path(result.path) / "trajectory.json").read_bytes())
    talk = [[step["message"] for step in seat["steps"]] for seat in trajectory.get("subagent_trajectories", ())]
    return result.key, result.trace_hash, result.status, result.reward, result.metrics, seats, talk


@pytest.mark.property
@pytest.mark.parametrize("table", sorted(TABLES))
def test_records_are_equal_at_1_and_16_workers(tmp_path: Path, tasks: list[Task], server: OpenAIServer, table: str) -> None:
    """Every game is graded, every seat is recorded with who sat there, and nothing depends on who was fast."""
    alone = played(tmp_path / "alone", tasks, server, table, workers=1)
    together = played(tmp_path / "together", tasks, server, table, workers=16)

    assert [record(result) for result in alone] == [record(result) for result in together]
    assert {result.status for result in alone} == {"graded"}
    assert len({tuple(seat.name for seat in result.seats) for result in alone}) > 2
    named = {f"openai/{request.body['model']}" for request in server.requests}
    assert named == {seat.name for result in alone for seat in result.seats if seat.kind == "model"}


@pytest.mark.parametrize("table", ["mixed", *(pytest.param(name, marks=pytest.mark.proof) for name in ("models", "others"))])
def test_a_sandbox_changes_nothing(
    tmp_path: Path, tasks: list[Task], server: OpenAIServer, table: str, sandbox: Runtime
) -> None:
    """In containers or in bubblewrap line-ups leave the records that they leave in process."""
    here = played(tmp_path / "here", tasks, server, table, workers=4)
    there = played(tmp_path / "there", tasks, server, table, workers=2, runtime=sandbox)

    assert [record(result) for result in there] == [record(result) for result in here]
    assert {result.status for result in there} == {"graded"}


@pytest.mark.property
@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_trace_has_what_the_server_received(tmp_path: Path, tasks: list[Task], server: OpenAIServer, table: str) -> None:
    """For each seat of a model: its rules and every prompt of the trace, byte for byte, and not one prompt besides."""
    results = played(tmp_path / "run", tasks, server, table, workers=1)
    received = Counter(
        (str(request.body["model"]), tuple(str(m["content"]) for m in request.messages if m["role"] != "assistant"))
        for request in server.requests
    )
    traced: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for result in results:
        for seat in result.seats:
            if seat.kind == "model":
                shown = told(result, seat.seat)
                traced.update((seat.name.removeprefix("openai/"), tuple(shown[:end])) for end in range(2, len(shown) + 1))

    assert traced == received


def told(result: Result, seat: int) -> list[str]:
    """The rules of a seat and every prompt that it was sent, as the exported trace of its game has them."""
    trace = exported(read_episode(Path(result.path)))
    system = [e.data["system_prompt"] for e in trace.events if e.type == "agent_registered" and e.data["agent_id"] == seat]
    return [*system, *(e.data["prompt_sent"] for e in trace.events if "prompt_sent" in e.data and e.data["agent_id"] == seat)]
