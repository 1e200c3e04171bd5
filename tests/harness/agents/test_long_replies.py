"""A seat that writes more than a seat may write forfeits that turn, by name, and nobody else loses anything by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats import agent as seating
from harness.agents.seats.agent import SeatAgent
from harness.agents.seats.holders import NOT_TAKEN
from harness.agents.seats.lineup import SeatPlayer, seat_players
from harness.agents.turns import LONGEST_REPLY, TurnClient, is_too_long
from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Messages, Script, ScriptedCall, ScriptedReply
from worlds.core.events import Turned, read_log
from worlds.core.turns import OpenTurn

pytestmark = pytest.mark.property

LONG = "x" * 1_100_000

FAMILIES = {"calendar": {"turn_cap": "1"}, "hidden-profile": {"rounds": "2"}}
"""Games, and what makes them short."""

SHOUTER = 1
"""The seat that writes too much."""


@pytest.fixture(params=FAMILIES)
def task(request: pytest.FixtureRequest) -> Task:
    """The first game of each family."""
    return read_task(min((ROOT / "tasks" / request.param).iterdir()))


def played(folder: Path, task: Task, agent: Any) -> tuple[Result, list[Turned]]:
    """One episode, and its turns."""
    plan, cast = Plan("run", [task], [0], 1, overrides=FAMILIES[task.family]), AgentPool(lambda *_: agent)
    quiet = lambda event: None  # noqa: E731
    (result,) = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=quiet, cast=cast)
    turns = [event for event in read_log((Path(result.path) / "events.jsonl").read_bytes()) if isinstance(event, Turned)]
    return result, turns


def checked(result: Result, turns: Sequence[Turned]) -> None:
    """The game went on to its end and was judged; the one seat's turns are forfeits, nobody else's is."""
    mine = [turn for turn in turns if turn.seat == SHOUTER]
    long = {turn.no_reply for turn in mine}

    assert (result.status, result.cause, result.error) == ("graded", None, None)
    assert result.failure_detail.get("reason") not in {"fault", "log"}
    assert (mine[0].no_reply, mine[0].reply, long <= {None, "malformed"}) == ("malformed", "", True)
    assert {turn.no_reply for turn in turns if turn.seat != SHOUTER} == {None}
    assert len({turn.seat for turn in turns}) > 2
    assert turns[-1].round > 1 or turns[-1].phase != turns[0].phase


def shouting(make: Callable[..., SeatPlayer]) -> Callable[..., SeatPlayer]:
    """A family's player whose seat number one never stops talking."""

    class Shouter:
        def __init__(self, player: SeatPlayer) -> None:
            self.player = player

        def reply(self, turn: OpenTurn) -> str:
            return LONG if turn.seat == SHOUTER else self.player.reply(turn)

    return lambda *arguments: Shouter(make(*arguments))


def test_scripted_seat(tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """In process, with typed players; played again, the log is the same."""
    maker = next(iter(seat_players(task.family).values()))
    monkeypatch.setattr(seating, "seat_players", lambda family: {"shouter": shouting(maker)})
    first, turns = played(tmp_path / "first", task, SeatAgent(AgentSpec(kind="seats", name="shouter")))
    again, _ = played(tmp_path / "again", task, SeatAgent(AgentSpec(kind="seats", name="shouter")))

    checked(first, turns)
    assert first.trace_hash == again.trace_hash
    assert (Path(first.path) / "events.jsonl").stat().st_size < 4_000_000


def rules(task: Task) -> str:
    """What the model at the seat that writes too much is told first."""
    options = Plan("run", [task], [0], 1, overrides=FAMILIES[task.family]).options(task)
    with InProcessRuntime().open(EpisodeSpec("r", "e", task, 0, overrides=options)) as pod:
        return str(TurnClient(pod).session()["seats"][SHOUTER]["system"])


def model(task: Task, once: ScriptedReply) -> Script:
    """A model that has nothing to say, but once, at one seat, in its first turn."""
    system = rules(task)

    def play(messages: Messages) -> ScriptedReply | str:
        mine = messages[0]["content"] == system
        return once if mine and not any(message["role"] == "assistant" for message in messages) else "{}"

    return Script(play=play)


def agent_at(server: OpenAIServer) -> SeatAgent:
    """Models at all seats."""
    spec = AgentSpec(kind="llm", model="openai/x", api_base=server.url)
    config = replace(LlmConfig.of(spec), api_key="k", patience_s=1.0, first_pause_s=0.01)
    return SeatAgent(spec, config=config, say=lambda line: None)


def test_model_at_a_seat(tmp_path: Path, task: Task) -> None:
    """Through HTTP and LiteLLM; the log of the agent says which turn, and no later request repeats what was too long."""
    with OpenAIServer(model(task, ScriptedReply(text=LONG))) as server:
        result, turns = played(tmp_path / "run", task, agent_at(server))
        sent = [message["content"] for request in server.requests for message in request.messages]
    checked(result, turns)
    log = (Path(result.path) / "agent.log").read_text(encoding="utf-8")

    assert f"turn {next(t.turn for t in turns if t.seat == SHOUTER)}, seat {SHOUTER}: forfeited as malformed" in log
    assert NOT_TAKEN in sent
    assert not any(is_too_long(text) for text in sent)


def test_model_whose_call_breaks_its_reader(tmp_path: Path, task: Task) -> None:
    """A seat has no tools; a call that cannot be read, nested five thousand deep, is an empty reply."""
    deep = ScriptedReply(tool_calls=(ScriptedCall(name="x", arguments="[" * 5000 + "]" * 5000),))
    with OpenAIServer(model(task, deep)) as server:
        result, turns = played(tmp_path / "run", task, agent_at(server))

    assert (result.status, result.cause) == ("graded", None)
    assert {turn.no_reply for turn in turns} == {None}
    assert "" in {turn.reply for turn in turns if turn.seat == SHOUTER}


@pytest.mark.parametrize(
    ("reply", "too_long"),
    [
        ("x" * LONGEST_REPLY, False),
        ("x" * (LONGEST_REPLY + 1), True),
        ("\u00e9" * (LONGEST_REPLY // 2), False),
        ("\u00e9" * (LONGEST_REPLY // 2 + 1), True),
    ],
    ids=["just as long", "one byte more", "two bytes a letter", "one letter more"],
)
def test_limit_is_counted_in_bytes(reply: str, *, too_long: bool) -> None:
    """To the byte."""
    assert is_too_long(reply) is too_long
