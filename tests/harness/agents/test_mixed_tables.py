"""Protocols, models and recordings at one table: played through the one loop, recorded a seat, reported in a row of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agent import AgentSpec, Budget, SeatSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.seats.agent import SeatAgent
from harness.agents.seats.holders import SeatReply
from harness.agents.seats.model import ModelSeat
from harness.errors import UsageError
from harness.paths import ROOT
from harness.pod import Runtime
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.reports.evidence import gather, read_runs
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Script, ScriptedReply
from tests.harness.agents.imap_model import Messages, imap
from worlds.core.turns import OpenTurn

Command = Callable[..., subprocess.CompletedProcess[str]]
ONE, TWO = (SeatSpec(seat=seat, kind="model", name=f"openai/{name}") for seat, name in ((1, "one"), (2, "two")))
SCRIPTED = SeatSpec(seat=4, kind="policy", name="dsm-private")
MIXED = (ONE, TWO, SCRIPTED)


@pytest.fixture(scope="module")
def task() -> Task:
    """A calendar of five."""
    return read_task(ROOT / "tasks" / "calendar" / "uniform-31")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server whose models play IMAP, whatever they are called."""
    with OpenAIServer(Script(match="scheduling assistant", play=imap)) as running:
        yield running


def table(
    server: OpenAIServer | None, seats: Sequence[SeatSpec] = (), name: str = "imap", *, rotate: bool = False
) -> SeatAgent:
    """A policy at every seat but those that others hold."""
    address = server.url if server else None
    spec = AgentSpec(kind="seats", name=name, api_base=address, seats=tuple(seats), rotate=rotate)
    config = replace(LlmConfig.of(spec), api_key="k", patience_s=1.0, first_pause_s=0.01)
    return SeatAgent(spec, config=config, say=lambda line: None)


def played(
    folder: Path, task: Task, agent: SeatAgent, k: int = 1, runtime: Runtime | None = None, budget: Budget | None = None
) -> list[Result]:
    """The task, so many attempts."""
    used = runtime or InProcessRuntime()
    plan, images = Plan(folder.name, [task], [0], k, agent.spec, budget or Budget()), used.prepare([task])
    cast, quiet = AgentPool(lambda *_: agent), lambda event: None
    return run_plan(plan, used, RunFolder(folder), workers=1, images=images, progress=quiet, cast=cast)


def here_and_there(folder: Path, task: Task, agent: SeatAgent, sandbox: Runtime) -> tuple[Result, Result]:
    """One table's game in process, and in a sandbox."""
    (here,), (there,) = (played(folder / name, task, agent, runtime=at) for name, at in (("here", None), ("there", sandbox)))
    return here, there


def test_mixed_table_in_a_sandbox(tmp_path: Path, task: Task, server: OpenAIServer, sandbox: Runtime) -> None:
    """A protocol, two models and another protocol leave in a sandbox the trace that they leave in process, and its seats."""
    here, there = here_and_there(tmp_path, task, table(server, MIXED), sandbox)

    assert (there.status, there.trace_hash, there.reward) == ("graded", here.trace_hash, here.reward)
    assert [(seat.kind, seat.name) for seat in there.seats] == [
        ("policy", "imap"), ("model", "openai/one"), ("model", "openai/two"), ("policy", "imap"), ("policy", "dsm-private"),
    ]  # fmt: skip
    assert [seat.tokens for seat in there.seats] == [seat.tokens for seat in here.seats]


def test_mixed_group_in_a_sandbox(tmp_path: Path, sandbox: Runtime) -> None:
    """A hidden profile with two models, one who pools and one who lies: the trace in a sandbox is that in process."""
    task, liar = read_task(ROOT / "tasks" / "hidden-profile" / "bakery-switch"), SeatSpec(seat=3, kind="policy", name="liar")
    with OpenAIServer(Script(match="people who have to decide", play=doubter)) as server:
        here, there = here_and_there(tmp_path, task, table(server, (ONE, TWO, liar), "pool"), sandbox)

    assert (there.status, there.trace_hash, there.reward) == ("graded", here.trace_hash, here.reward)
    assert [(seat.kind, seat.name) for seat in there.seats] == [
        ("policy", "pool"), ("model", "openai/one"), ("model", "openai/two"), ("policy", "liar"),
    ]  # fmt: skip
    assert [seat.tokens for seat in there.seats] == [seat.tokens for seat in here.seats]
    assert [seat.tokens.completion > 0 for seat in there.seats] == [False, True, True, False]


def doubter(messages: Messages) -> str:
    """Is not sure, and votes for the decoy."""
    voting = "Vote" in str(messages[-1]["content"])
    said = {"vote": "oven", "rationale": "so it seems"} if voting else {"text": "I doubt it.", "cites": [], "stance": "oven"}
    return json.dumps(said)


@pytest.mark.property
def test_models_and_a_recording_among_protocols_leave_the_protocols_trace(
    tmp_path: Path, task: Task, server: OpenAIServer
) -> None:
    """Who plays IMAP is one thing and how is another: policy, model and replay in one game come to the game of policies."""
    (alone,) = played(tmp_path / "alone", task, table(None))
    replay = SeatSpec(seat=4, kind="replay", name=alone.path)
    (mixed,) = played(tmp_path / "mixed", task, table(server, (ONE, TWO, replay)))

    assert (mixed.trace_hash, mixed.reward, mixed.success) == (alone.trace_hash, alone.reward, True)
    assert mixed.seats[4].name == alone.path
    assert {request.body["model"] for request in server.requests} == {"one", "two"}


@pytest.mark.property
def test_every_seat_is_recorded(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """The tokens of the seats add up to those of the episode, a policy has none, and each conversation is in the trajectory."""
    (result,) = played(tmp_path / "mixed", task, table(server, MIXED))
    on_disk = json.loads((Path(result.path) / "result.json").read_bytes())["seats"]
    trajectory = json.loads((Path(result.path) / "trajectory.json").read_bytes())
    asked = [seat for seat in result.seats if seat.kind == "model"]

    assert [seat["seat"] for seat in on_disk] == [0, 1, 2, 3, 4]
    assert [seat["model"] for seat in on_disk] == [None, "openai/one", "openai/two", None, None]
    assert [seat.tokens.calls for seat in result.seats if seat.kind == "policy"] == [0, 0, 0]
    assert sum(seat.tokens.calls for seat in asked) == result.tokens.calls == len(server.requests)
    assert sum(seat.tokens.prompt for seat in asked) == result.tokens.prompt
    assert all(seat.latency_s > 0 and seat.effective == {"temperature": 0.0} for seat in asked)
    assert [seat["agent"].get("model_name") for seat in trajectory["subagent_trajectories"]] == [
        None, "openai/one", "openai/two", None, None,
    ]  # fmt: skip
    assert all(len(seat["steps"]) > 3 for seat in trajectory["subagent_trajectories"])


@pytest.mark.property
def test_mixed_table_has_a_row_of_its_own(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """Two runs by the same protocol, one with guests: two rows, and the second says who sat where. Rotating is a third."""
    played(tmp_path / "runs" / "alone", task, table(None))
    played(tmp_path / "runs" / "guests", task, table(server, MIXED))
    played(tmp_path / "runs" / "turning", task, table(None, (SCRIPTED,), rotate=True))
    evidence = gather(read_runs([tmp_path / "runs"]), "calendar", [task])

    assert [(group.name, len(group.graded)) for group in evidence.groups] == [
        ("imap", 1),
        ("imap (seat 1=openai/one, seat 2=openai/two, seat 4=dsm-private)", 1),
        ("imap (seat 4=dsm-private, rotating)", 1),
    ]


def test_naming_who_sits_there_anyway_changes_no_row(tmp_path: Path, task: Task) -> None:
    """A seat given to the policy that holds the others is no guest's."""
    said = table(None, (SeatSpec(seat=0, kind="policy", name="imap"),), rotate=True)

    assert said.spec.identity().model_dump() == table(None).spec.identity().model_dump() == {"name": "imap"}


@pytest.mark.property
def test_line_up_moves_on_with_the_attempt(tmp_path: Path, task: Task) -> None:
    """Five attempts with one guest: it sits at each seat once, episodes keep their names, and the games differ."""
    results = played(tmp_path / "turning", task, table(None, (SCRIPTED,), rotate=True), k=5)
    again = played(tmp_path / "again", task, table(None, (SCRIPTED,), rotate=True), k=5)

    assert [Path(result.path).name for result in results] == [f"s0-a{attempt}" for attempt in range(1, 6)]
    assert [[seat.name for seat in result.seats].index("dsm-private") for result in results] == [4, 0, 1, 2, 3]
    assert len({result.trace_hash for result in results}) > 1
    assert [result.trace_hash for result in results] == [result.trace_hash for result in again]


@pytest.mark.parametrize(("budget", "cause"), [(Budget(turns=2), "turns"), (Budget(tokens=2000), "tokens")])
def test_budgets_of_its_models_stop_a_mixed_table(
    tmp_path: Path, task: Task, server: OpenAIServer, budget: Budget, cause: str
) -> None:
    """Policies use up nothing, and models stop the game for all."""
    (result,) = played(tmp_path / "mixed", task, table(server, (ONE,)), budget=budget)

    assert (result.status, result.stopped_by, result.failure_detail["reason"]) == ("graded", cause, cause)


@pytest.mark.property
def test_failing_provider_leaves_a_mixed_table_ungraded(tmp_path: Path, task: Task) -> None:
    """One seat's provider is nobody's failure; who sat there is recorded all the same."""
    down = Script(match="scheduling assistant", replies=(ScriptedReply(text="{}", faults=(Fault(status=500, times=10_000),)),))
    with OpenAIServer(down) as server:
        (result,) = played(tmp_path / "mixed", task, table(server, (ONE,)))

    assert (result.status, result.cause, len(result.seats)) == ("ungraded", "provider", 5)


def test_only_policies_compute_only(server: OpenAIServer, tmp_path: Path) -> None:
    """Processes and no threads are for tables without models, and without files of another run."""
    assert table(None, (SCRIPTED,)).only_computes
    assert not table(server, (ONE,)).only_computes
    assert not table(None, (SeatSpec(seat=0, kind="replay", name=str(tmp_path)),)).only_computes
    assert not SeatAgent(AgentSpec(kind="llm", model="openai/one", seats=(SCRIPTED,))).only_computes


def test_turn_that_only_measures_leaves_no_trace() -> None:
    """It is answered from the conversation, and the next turn is asked as if it had not been."""
    heard: list[list[str]] = []

    def listening(messages: Messages) -> str:
        heard.append([message["content"] for message in messages])
        return f"answer {len(heard)}"

    with OpenAIServer(Script(play=listening)) as server:
        seat = ModelSeat(0, ModelClient(ModelSettings("openai/x", server.url, "k")), "rules")
        for number, ephemeral in enumerate((False, True, False)):
            turn = OpenTurn(
                id=f"{number}", seat=0, phase="TALK", round=1, attempt=1, text=f"turn {number}", ephemeral=ephemeral
            )
            reply = seat.ask(turn)
            assert isinstance(reply, SeatReply)
            seat.keep(turn, reply)

    assert heard == [
        ["rules", "turn 0"],
        ["rules", "turn 0", "answer 1", "turn 1"],
        ["rules", "turn 0", "answer 1", "turn 2"],
    ]
    assert seat.result().tokens.calls == 3


def test_recording_of_another_task_is_refused(tmp_path: Path, task: Task) -> None:
    """Before anything starts, and so is a folder that holds none."""
    (alone,) = played(tmp_path / "alone", task, table(None))
    other = read_task(ROOT / "tasks" / "calendar" / "uniform-01")
    at = SeatSpec(seat=0, kind="replay", name=alone.path)

    with pytest.raises(UsageError, match="is an episode of uniform-31, so it cannot be replayed at uniform-01"):
        table(None, (at,)).needs_main(other, "inprocess")
    with pytest.raises(UsageError, match="is not a recorded episode: No such file"):
        table(None, (at.model_copy(update={"name": str(tmp_path / "nowhere")}),)).needs_main(task, "inprocess")


def test_recording_that_ends_forfeits(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """A turn that the recording does not have is forfeited as `budget`, and the log says which."""
    (short,) = played(tmp_path / "short", task, table(server, (ONE,)), budget=Budget(turns=2))
    (result,) = played(tmp_path / "run", task, table(None, (SeatSpec(seat=3, kind="replay", name=short.path),)))
    log = (Path(result.path) / "agent.log").read_text(encoding="utf-8")

    assert result.status == "graded"
    assert "seat 3: forfeited as budget, the recording has no such turn" in log


@pytest.mark.property
def test_from_the_command_line(harness: Command, tmp_path: Path, server: OpenAIServer) -> None:
    """`--seat` takes policies and models alike, beside a policy, and the record on stdout has the seats."""
    seats = ("--seat", "1=openai/one", "--seat", "4=dsm-private", "--rotate", "--k", "2")
    run = ("run", "uniform-31", "--agent", "imap", "--runtime", "inprocess", "--out", tmp_path / "run", "--json")
    done = harness(*run, *seats, "--api-base", server.url, env={"OPENAI_API_KEY": "k"})

    assert done.returncode == 0, done.stderr
    assert [[seat["name"] for seat in one["seats"]] for one in json.loads(done.stdout)["episodes"]] == [
        ["imap", "openai/one", "imap", "imap", "dsm-private"],
        ["dsm-private", "imap", "openai/one", "imap", "imap"],
    ]


@pytest.mark.property
def test_seats_of_nobody_are_refused(harness: Command, tmp_path: Path) -> None:
    """A task's own solution holds every seat, so there is none to give away; nothing is played."""
    done = harness("run", "uniform-31", "--seat", "1=imap", "--runtime", "inprocess", "--out", tmp_path / "run")

    assert (done.returncode, (tmp_path / "run").exists()) == (2, False)
    assert "oracle does not play seats, so --seat has no effect" in done.stderr


@pytest.mark.parametrize(
    ("spec", "played_at", "said"),
    [
        (AgentSpec(kind="seats", name="imap", seats=(SeatSpec(seat=5, kind="policy", name="imap"),)),
         "calendar/uniform-31", "uniform-31: --seat 5 does not exist"),
        (AgentSpec(kind="seats", name="pool"), "calendar/uniform-31", "has no seat player 'pool'; it has imap"),
        (AgentSpec(kind="llm", model="m", seats=(SeatSpec(seat=0, kind="policy", name="pool"),)),
         "calendar/uniform-31", "has no seat player 'pool'; it has imap"),
        (AgentSpec(kind="seats", name="imap"), "contract/presigned-url-download", "no seats for the seat player 'imap'"),
        (AgentSpec(kind="llm", model="m", seats=(ONE,)), "contract/presigned-url-download", "has no seats for a line-up"),
    ],
)  # fmt: skip
def test_tasks_that_a_line_up_cannot_play(spec: AgentSpec, played_at: str, said: str) -> None:
    """Each is refused by name before anything starts."""
    with pytest.raises(UsageError, match=said):
        SeatAgent(spec).needs_main(read_task(ROOT / "tasks" / played_at), "inprocess")
