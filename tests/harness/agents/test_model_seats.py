"""Models at the seats of a game, through the real LiteLLM: each hears its own seat, and who is fast never shows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget, SeatSpec, Usage
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.llm.provider import library
from harness.agents.seats.agent import SeatAgent
from harness.errors import UsageError
from harness.paths import ROOT
from harness.records import Forfeits, Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.reports.evidence import Breadth, read_runs
from parley.reports.reading import episode_lines, read_episode
from parley.reports.whole import make_report
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Script, ScriptedReply
from tests.harness.agents.imap_model import imap
from worlds.core.events import Turned, read_log

Messages = Sequence[dict[str, Any]]
OTHER = SeatSpec(seat=2, kind="model", name="openai/other")


@pytest.fixture(scope="module")
def task() -> Task:
    """One calendar task."""
    return read_task(ROOT / "tasks" / "calendar" / "uniform-31")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server whose model plays IMAP at every seat."""
    with OpenAIServer(Script(match="scheduling assistant", play=imap)) as running:
        yield running


def played(
    folder: Path,
    task: Task,
    server: OpenAIServer,
    budget: Budget | None = None,
    workers: int = 1,
    k: int = 1,
    say: Callable[[str], None] = lambda line: None,
    seats: tuple[SeatSpec, ...] = (),
    **how: Any,
) -> list[Result]:
    """The task, played by the server's model at every seat."""
    how = {"patience_s": 2.0, "first_pause_s": 0.01, **how}
    spec = AgentSpec(kind="llm", model="openai/imap", api_base=server.url, seats=seats)
    agent = SeatAgent(spec, config=replace(LlmConfig.of(spec), api_key="k", **how), say=say)
    plan = Plan(folder.name, [task], [0], k, spec, budget or Budget())
    cast, quiet = AgentPool(lambda *_: agent), lambda event: None
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=workers, images={}, progress=quiet, cast=cast)


def protocol_trace(folder: Path, task: Task) -> str | None:
    """The trace of the same protocol without any model."""
    plan = Plan(folder.name, [task], [0], 1, AgentSpec(kind="seats", name="imap"))
    (result,) = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=lambda event: None)
    return result.trace_hash


@pytest.mark.property
def test_model_that_plays_a_protocol_leaves_its_trace(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """Through HTTP, LiteLLM and threads the game is the same, byte for byte, and so is its verdict."""
    (result,) = played(tmp_path / "model", task, server)

    assert result.trace_hash == protocol_trace(tmp_path / "protocol", task)
    assert (result.success, result.interface, result.tokens.calls) == (True, "seats", len(server.requests))


@pytest.mark.property
def test_many_games_at_once_are_the_same(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """Sixteen attempts by eight workers, with answers that come in any order: one trace."""
    results = played(tmp_path / "many", task, server, workers=8, k=16)

    assert {result.trace_hash for result in results} == {protocol_trace(tmp_path / "protocol", task)}


@pytest.mark.property
def test_each_model_hears_its_own_seat(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """A conversation is the seat's rules, then its turns with the replies to them, exactly as the log has them."""
    (result,) = played(tmp_path / "model", task, server)
    turns = [event for event in read_log((Path(result.path) / "events.jsonl").read_bytes()) if isinstance(event, Turned)]
    longest: dict[int, list[dict[str, Any]]] = {}
    for request in server.requests:
        seat = int(re.search(r"You are agent (\d+)", request.messages[0]["content"])[1])  # type: ignore[index]
        longest[seat] = max(longest.get(seat, []), request.messages, key=len)
    for seat, messages in longest.items():
        mine = [turn for turn in turns if turn.seat == seat]

        assert [m["content"] for m in messages if m["role"] == "user"] == [turn.text for turn in mine]
        assert [m["content"] for m in messages if m["role"] == "assistant"] == [turn.reply for turn in mine[:-1]]


@pytest.mark.property
def test_trajectory_has_every_seat(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """One trajectory a seat inside the game's, with the tokens of each call."""
    (result,) = played(tmp_path / "model", task, server)
    document = json.loads((Path(result.path) / "trajectory.json").read_text(encoding="utf-8"))
    seats = document["subagent_trajectories"]

    assert [seat["agent"]["name"] for seat in seats] == [f"seat {number}" for number in range(5)]
    assert sum(step["source"] == "agent" for seat in seats for step in seat["steps"]) == result.tokens.calls
    assert seats[0]["steps"][0]["source"] == "system"
    assert {one["agent"]["extra"]["interface"] for one in (document, *seats)} == {"seats"} == {result.interface}


@pytest.mark.property
def test_seats_may_have_models_of_their_own(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """A seat with another model is asked by that name, and the plan says so."""
    (result,) = played(tmp_path / "model", task, server, seats=(OTHER,))
    asked = {(r.body["model"], re.search(r"You are agent (\d+)", r.messages[0]["content"])[1]) for r in server.requests}  # type: ignore[index]
    identity = json.loads((tmp_path / "model" / "run.json").read_text(encoding="utf-8"))["identity"]["agent"]

    assert asked == {("imap", "0"), ("imap", "1"), ("other", "2"), ("imap", "3"), ("imap", "4")}
    assert identity["seats"] == [OTHER.model_dump()]
    assert result.success
    seats = json.loads((Path(result.path) / "trajectory.json").read_text(encoding="utf-8"))["subagent_trajectories"]
    assert [seat["agent"]["model_name"] for seat in seats] == [f"openai/{'other' if n == 2 else 'imap'}" for n in range(5)]


def test_seat_that_nobody_has_is_refused(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """A model for a sixth seat of five, or for a seat of no game at all, is an error before anything is asked."""
    with pytest.raises(UsageError, match="uniform-31: --seat 5 does not exist; the seats are 0 to 4"):
        played(tmp_path / "sixth", task, server, seats=(OTHER.model_copy(update={"seat": 5}),))
    alone = read_task(ROOT / "tasks" / "contract" / "presigned-url-download")
    with pytest.raises(UsageError, match="has no seats"):
        played(tmp_path / "alone", alone, server, seats=(OTHER,))
    assert not server.requests


@pytest.mark.property
def test_unpriced_models_say_that_the_cost_is_unbounded(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """A budget of cost that cannot hold is said in a game too, once."""
    said: list[str] = []
    played(tmp_path / "model", task, server, Budget(cost_usd=1.0), say=said.append)

    assert said == ["openai/imap has no known price, so the budget of cost cannot be enforced"]


@pytest.mark.parametrize(
    ("budget", "cause"), [(Budget(turns=2), "turns"), (Budget(tokens=2000), "tokens"), (Budget(wall_s=0.0), "wall")]
)
def test_budget_ends_the_game_and_is_graded(
    tmp_path: Path, task: Task, server: OpenAIServer, budget: Budget, cause: str
) -> None:
    """A game that is stopped is judged as far as it got."""
    (result,) = played(tmp_path / "model", task, server, budget)

    assert (result.status, result.stopped_by, result.reward) == ("graded", cause, 0.0)
    assert result.failure_detail["reason"] == cause


def test_real_time_bounds_one_agent_and_no_game() -> None:
    """Where nobody said how long, one agent has 600 seconds and a game any number; what was said holds for both."""

    def used_up(budget: Budget, seconds: float, *, game: bool) -> str | None:
        return budget.used_up(Usage(), turns=0, seconds=seconds, game=game, models="any", say_once=print)

    assert [used_up(Budget(), 600, game=game) for game in (False, True)] == ["wall", None]
    assert used_up(Budget(), 599, game=False) is None
    assert used_up(Budget(), 1e9, game=True) is None
    assert [used_up(Budget(wall_s=7200), 7200, game=game) for game in (False, True)] == ["wall", "wall"]
    assert used_up(Budget(wall_s=7200), 7199, game=False) is None


@pytest.mark.property
def test_seats_that_wait_together_wait_once(tmp_path: Path) -> None:
    """Four seats that are all told to wait a second take one second off the wall time, and its budget holds."""
    session = read_task(ROOT / "tasks" / "hidden-profile" / "evacuation-noon")
    library()  # its import takes seconds of wall time, which are not what is measured

    def limited(messages: Messages) -> ScriptedReply:
        time.sleep(0.02)
        asked = messages[-1]["content"]
        options = re.findall(r"^- \[(\w+)\] ", asked, re.MULTILINE)
        faults = (Fault(status=429, retry_after="1"),) if "before anybody has spoken" in asked else ()
        return ScriptedReply(text=json.dumps({"vote": options[0], "rationale": "So."}) if options else "Hm.", faults=faults)

    with OpenAIServer(Script(match="You are Person", play=limited)) as server:
        (result,) = played(tmp_path / "model", session, server, Budget(wall_s=0.6), patience_s=60.0)
    trajectory = json.loads((Path(result.path) / "trajectory.json").read_text(encoding="utf-8"))

    assert 1 <= trajectory["final_metrics"]["extra"]["provider_wait_s"] <= result.timings.agent
    assert (result.status, result.stopped_by, result.tokens.calls >= 4) == ("graded", "wall", True)


@pytest.mark.property
def test_failing_provider_leaves_the_game_ungraded(tmp_path: Path, task: Task) -> None:
    """Whatever one seat's provider does is not the agents' failure."""
    down = Script(match="scheduling assistant", replies=(ScriptedReply(text="{}", faults=(Fault(status=500, times=10_000),)),))
    with OpenAIServer(down) as server:
        (result,) = played(tmp_path / "model", task, server)

    assert (result.status, result.cause, result.reward) == ("ungraded", "provider", None)


def small(limit: int, seat: str = "2") -> Script:
    """IMAP at every seat, on a server that refuses conversations of more than `limit` characters at one seat, or at all."""
    full = Fault(status=400, message="This model's maximum context length is 8192 tokens", times=10_000)

    def play(messages: Messages) -> ScriptedReply | str:
        is_long = sum(len(one["content"]) for one in messages) > limit
        return (
            ScriptedReply(faults=(full,)) if is_long and f"You are agent {seat}" in messages[0]["content"] else imap(messages)
        )

    return Script(match="scheduling assistant", play=play)


@pytest.mark.property
def test_a_full_context_forfeits_the_seats_turns_by_name(tmp_path: Path, task: Task) -> None:
    """A seat whose conversation is full forfeits as `context`, is not asked in vain, and is named wherever the game is told."""
    with OpenAIServer(small(6_500)) as server:
        (result,) = played(tmp_path / "model", task, server)
    turns = [event for event in read_log((Path(result.path) / "events.jsonl").read_bytes()) if isinstance(event, Turned)]
    forfeits = [turn for turn in turns if turn.no_reply == "context"]
    mine = [request for request in server.requests if "You are agent 2" in request.messages[0]["content"]]
    told = f"seat 2 forfeited {len(forfeits)} turns: the conversation is longer than the model's context"
    episode = read_episode(Path(result.path))

    assert result.status == "graded"
    assert len(forfeits) > 2
    assert result.forfeits == (Forfeits(seat=2, cause="context", count=len(forfeits)),)
    assert len(mine) < len([turn for turn in turns if turn.seat == 2])
    assert "the model was not called" in episode.agent_log
    assert episode.breach is not None
    assert told in episode.breach.rule
    assert told in "\n".join(episode_lines(episode, 300))
    report = make_report(read_runs([tmp_path / "model"]), [task], ["causes"], published=False, breadth=Breadth())
    (row,) = (one for one in report.tables[0].rows if one["what"] == "forfeited")
    assert (row["seat"], row["cause"], row["count"]) == ("2", "context", len(forfeits))


def test_a_first_turn_that_does_not_fit_is_a_fault_of_the_set_up(tmp_path: Path, task: Task) -> None:
    """Where the rules alone are longer than the context, the episode says nothing about the model, and is not graded."""
    with OpenAIServer(small(100, seat="")) as server:
        (result,) = played(tmp_path / "model", task, server)

    assert (result.status, result.cause, result.ended_by) == ("ungraded", "setup", "context_too_small")
    assert not result.may_pass


def test_no_seat_is_graded_by_a_first_turn_that_does_not_fit(tmp_path: Path, task: Task) -> None:
    """What is true of the seat that is asked first is true of one that is asked after other models have spoken."""
    with OpenAIServer(small(100, seat="2")) as server:
        (result,) = played(tmp_path / "model", task, server)
    asked = [request.messages[0]["content"] for request in server.requests]

    assert (result.status, result.cause, result.ended_by) == ("ungraded", "setup", "context_too_small")
    assert any("You are agent 2" not in rules for rules in asked)


def test_a_model_seat_that_cannot_take_its_first_turn_is_a_fault_of_the_set_up(tmp_path: Path, task: Task) -> None:
    """A model that is asked after scripted seats have spoken has not begun a conversation that could be too long."""
    seats = tuple(SeatSpec(seat=seat, kind="policy", name="truthful-planner") for seat in (0, 1, 3, 4))
    with OpenAIServer(small(100)) as server:
        (result,) = played(tmp_path / "model", task, server, seats=seats)

    assert (result.status, result.ended_by) == ("ungraded", "context_too_small")
