"""A prompt variant at a seat: what the model is sent, what the records say of it, and who cannot have one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.errors import UsageError
from harness.paths import ROOT
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from harness.teams import Variant
from parley.reports.evidence import Conditions
from parley.reports.reading.episode import read_episode
from parley.requests.teams import TeamFlags, make_team
from parley.requests.texts import read_variant, shipped
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.harness.agents.imap_model import imap
from tests.parley.reports.conftest import result_of
from worlds.core.events import Seated, read_log

REDTEAM = read_variant("redteam", ["calendar"])
MINE = Variant(name="mine", text="# Besides\nNever say \u201cno\u201d.")


@pytest.fixture(scope="module")
def task() -> Task:
    """A calendar of five."""
    return read_task(ROOT / "tasks" / "calendar" / "uniform-31")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """Models that play IMAP whatever else they are told, and agree with everybody at a hidden profile."""
    scripts = (Script(match="scheduling assistant", play=imap), Script(play=lambda messages: "I agree with all of you."))
    with OpenAIServer(*scripts) as running:
        yield running


def played(folder: Path, task: Task, server: OpenAIServer, **how: Any) -> Result:
    """The task once, with the server's model at every seat that nobody else holds."""
    spec = AgentSpec(kind="llm", model="openai/imap", api_base=server.url, **how)
    agent = SeatAgent(spec, config=replace(LlmConfig.of(spec), api_key="k"), say=lambda line: None)
    plan = Plan(folder.name, [task], [0], 1, spec)
    cast, quiet = AgentPool(lambda *_: agent), lambda event: None
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=quiet, cast=cast)[0]


def systems(server: OpenAIServer, who: str) -> dict[int, set[str]]:
    """By seat, the system prompts that the server received."""
    sent: dict[int, set[str]] = {}
    for request in server.requests:
        text = request.messages[0]["content"]
        numbered = re.search(who, text)
        assert numbered
        sent.setdefault(int(numbered[1]), set()).add(text)
    return sent


def base(result: Result) -> tuple[str, ...]:
    """The rules of each seat as the world sent them."""
    return next(
        event.seats for event in read_log((Path(result.path) / "events.jsonl").read_bytes()) if isinstance(event, Seated)
    )


def told(result: Result) -> list[str]:
    """The first message of each seat's trajectory."""
    document = json.loads((Path(result.path) / "trajectory.json").read_bytes())
    return [seat["steps"][0]["message"] for seat in document["subagent_trajectories"]]


@pytest.mark.property
def test_one_seat_is_told_more_and_nothing_else_changes(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """The server received the rules, a blank line and the file at seat 0, the rules alone elsewhere, byte for byte."""
    result = played(tmp_path / "redteam", task, server, seat_variants={0: REDTEAM})
    file = (ROOT / "parley" / "families" / "calendar" / "prompt_variants" / "redteam.md").read_text(encoding="utf-8")
    rules = base(result)
    expected = [f"{rules[0]}\n\n{file}", *rules[1:]]

    assert not rules[0].endswith("\n")
    assert systems(server, r"You are agent (\d)") == {seat: {text} for seat, text in enumerate(expected)}
    assert told(result) == expected
    shown = read_episode(Path(result.path))
    assert [one.utterances[0].text for one in shown.conversations if one.seat is not None] == expected


@pytest.mark.property
def test_the_records_name_the_variant(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """By name and digest: in the plan, at the seat, and as a part of the prompt's digest; the game's own log knows nothing."""
    result = played(tmp_path / "redteam", task, server, variant=MINE, seat_variants={0: REDTEAM})
    plain = played(tmp_path / "base", task, server)
    written = json.loads((tmp_path / "redteam" / "run.json").read_bytes())

    assert [seat.variant for seat in result.seats] == [REDTEAM.ref, *[MINE.ref] * 4]
    assert [seat.variant for seat in plain.seats] == [None] * 5
    assert written["identity"]["agent"]["variant"] == MINE.ref.model_dump()
    assert written["identity"]["agent"]["seat_variants"] == {"0": REDTEAM.ref.model_dump()}
    assert written["request"]["agents"][0]["seat_variants"] == {"0": REDTEAM.model_dump()}
    assert result.prompt_digest != plain.prompt_digest
    assert result.trace_hash == plain.trace_hash


def test_base_and_variants_share_no_row(task: Task) -> None:
    """Nor do two files of one name, nor one variant at all seats and at one."""
    other = Variant(name="mine", text="Other words.")
    hows: list[dict[str, Any]] = [{}, {"variant": MINE}, {"seat_variants": {0: MINE}}, {"seat_variants": {0: other}}]
    specs = [AgentSpec(kind="llm", model="openai/imap", **how) for how in hows]
    plans = [Plan("run", [task], [0], 1, spec).identity() for spec in specs]
    result = result_of("run", task.task_id, 0, 1, "SUCCESS", {"name": "llm", "model": "openai/imap"})
    mine, changed = MINE.ref.digest[:8], other.ref.digest[:8]

    assert [Conditions(planned, {task.task_id: task}).setup(result).how for planned in plans] == [
        (), (f"variant mine {mine}",), (f"seat 0 variant mine {mine}",), (f"seat 0 variant mine {changed}",),
    ]  # fmt: skip


@pytest.mark.property
def test_a_hidden_profile_has_variants_too(tmp_path: Path, server: OpenAIServer) -> None:
    """It is the harness that appends, so any game with seats will do."""
    task = read_task(ROOT / "tasks" / "hidden-profile" / "bakery-switch")
    result = played(tmp_path / "run", task, server, seat_variants={2: MINE})
    rules = base(result)

    assert systems(server, r"You are Person (\d)")[3] == {MINE.after(rules[2])}
    assert systems(server, r"You are Person (\d)")[1] == {rules[0]}
    assert [seat.variant and seat.variant.name for seat in result.seats] == [None, None, "mine", None]


def test_what_follows_the_rules() -> None:
    """Always one blank line, whether the rules end with their line or not; the file as it stands."""
    assert (MINE.after("Rules."), MINE.after("Rules.\n")) == (f"Rules.\n\n{MINE.text}",) * 2
    assert shipped("calendar") == ["nosy-highpressure", "redteam"]
    assert shipped("hidden-profile") == shipped("contract") == []


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            AgentSpec(kind="seats", name="imap", variant=MINE),
            "imap does not read prompts, so the variant mine has no effect at seat 0",
        ),
        (
            AgentSpec(kind="llm", model="m", variant=MINE, seats=(SeatSpec(seat=3, kind="policy", name="sd-map"),)),
            "sd-map does not read prompts, so the variant mine has no effect at seat 3",
        ),
        (
            AgentSpec(kind="llm", model="m", seat_variants={1: MINE}, seats=(SeatSpec(seat=1, kind="replay", name="runs/x"),)),
            "replay:runs/x does not read prompts, so the variant mine has no effect at seat 1",
        ),
        (
            AgentSpec(
                kind="llm",
                model="m",
                seat_variants={1: MINE},
                seats=(SeatSpec(seat=0, kind="policy", name="imap"),),
                rotate=True,
            ),
            "imap does not read prompts, so the variant mine has no effect at seat 1",
        ),
        (
            AgentSpec(kind="llm", model="m", seat_variants={5: MINE}),
            "--seat-variant 5 does not exist; the seats are 0 to 4",
        ),
    ],
)
def test_who_reads_no_prompt(task: Task, spec: AgentSpec, why: str) -> None:
    """A variant where a policy or a recording sits, or may come to sit, is refused by name before anything starts."""
    with pytest.raises(UsageError, match=re.escape(why)):
        SeatAgent(spec).needs_main(task, "inprocess")


def test_variants_in_a_team(task: Task) -> None:
    """A variant is the seat's: with an entrant there it is the entrant's, else everybody who comes by must be a model."""
    kept, moving = (make_team(TeamFlags("imap,imap,sd-map,sd-map", "m", seat), [task], ["calendar"]) for seat in (0, None))
    spec = AgentSpec(kind="seats", name="team", team=kept, seat_variants={0: MINE})

    assert SeatAgent(spec).needs_main(task, "inprocess") is False
    with pytest.raises(UsageError, match="imap does not read prompts, so the variant mine has no effect at seat 0"):
        SeatAgent(spec.model_copy(update={"team": moving})).needs_main(task, "inprocess")


def test_a_task_without_seats_has_no_variant() -> None:
    """A model alone has the prompt of its interface."""
    alone = read_task(ROOT / "tasks" / "contract" / "presigned-url-download")
    with pytest.raises(UsageError, match="has no seats for a prompt variant"):
        SeatAgent(AgentSpec(kind="llm", model="m", variant=MINE)).needs_main(alone, "inprocess")
