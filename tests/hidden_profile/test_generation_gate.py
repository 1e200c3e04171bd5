"""Execution and selection: real sessions up to the first vote, accuracies by hand, and the bounds."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.errors import ProviderFailure
from harness.families.hidden_profile.authoring.folders import write_task
from harness.families.hidden_profile.authoring.gate import Execution, FirstVote, against, execute, tally
from harness.registry import Task, read_task
from harness.testing.openai_server import OpenAIServer
from harness.testing.scripts import Fault, Script, ScriptedReply
from harness.trust import admitted
from tests.hidden_profile.film import ATTIC, BEACH, SCENARIO
from tests.hidden_profile.scripted_writers import vote

ROOT = Path(__file__).parents[2]
NEPHEW = "My nephew opened the back"
EXECUTING = """
import sys
from pathlib import Path
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.families.hidden_profile.authoring.gate import execute, against
from harness.registry import read_task
from harness.trust import admitted

execute(admitted(read_task(Path(sys.argv[1]))), "x", ModelClient(ModelSettings("openai/judge", sys.argv[2], "k")), 2, workers=2)
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A certified scenario as a task."""
    return admitted(read_task(write_task(tmp_path / "hidden-profile", "one-roll", SCENARIO, "easy")))


def by_what_it_holds(messages: Sequence[dict[str, Any]]) -> str:
    """A judge that knows the key from one hand: the one with the nephew in it."""
    return vote(ATTIC if NEPHEW in messages[0]["content"] else BEACH)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server that plays this judge."""
    with OpenAIServer(Script(play=by_what_it_holds)) as running:
        yield running


def client(server: OpenAIServer) -> ModelClient:
    """A client of the server that does not wait long."""
    return ModelClient(
        ModelSettings("openai/judge", server.url, "k", patience_s=0.5, first_pause_s=0.01), say=lambda line: None
    )


def test_execution_counts_first_votes_by_hand(task: Task, server: OpenAIServer) -> None:
    """One hand that knows shows as itself, wherever it is dealt, and everybody knows with everything."""
    found, usages = execute(task, ATTIC, client(server), sessions=4)

    assert found == Execution(full=1.0, hidden=1 / 3, by_hand={1: 0.0, 2: 0.0, 3: 1.0}, invalid=0)
    assert sum(usage.calls for usage in usages) == len(server.requests) == 2 * 4 * 3


def test_execution_is_the_same_at_any_number_of_workers(task: Task, server: OpenAIServer) -> None:
    """Sessions that run side by side come to the same."""
    judge = client(server)

    assert execute(task, ATTIC, judge, 3, workers=1)[0] == execute(task, ATTIC, judge, 3, workers=6)[0]


def test_execution_asks_as_any_session_does_and_stops_before_the_talk(task: Task, server: OpenAIServer) -> None:
    """The judge reads the rules of a whole session, and is asked for its first vote alone."""
    execute(task, ATTIC, client(server), sessions=1)

    assert all("15 rounds" in request.messages[0]["content"] for request in server.requests)
    assert all("before anybody has spoken" in request.messages[1]["content"] for request in server.requests)
    assert {len(request.messages) for request in server.requests} == {2}


def test_votes_that_name_nothing_are_asked_again_and_counted(task: Task) -> None:
    """A judge that never names an option is asked twice for each vote, and is wrong."""
    with OpenAIServer(Script(play=lambda messages: "Hm.")) as server:
        found, _ = execute(task, ATTIC, client(server), sessions=1)

        assert len(server.requests) == 2 * 3 * 2
    assert (found.full, found.hidden, found.invalid) == (0.0, 0.0, 6)


def test_failing_judge_ends_the_execution(task: Task) -> None:
    """A provider that does not answer is nobody's wrong vote."""
    down = Script(replies=(ScriptedReply(text="x", faults=(Fault(status=500, times=10_000),)),))

    with OpenAIServer(down) as server, pytest.raises(ProviderFailure):
        execute(task, ATTIC, client(server), sessions=2, workers=3)


@pytest.mark.property
def test_interrupt_ends_an_execution_whose_judge_hangs(task: Task) -> None:
    """Ctrl-C while every session waits for the judge is heard at once, and no thread holds the process."""
    hangs = Script(replies=(ScriptedReply(text="x", faults=(Fault(kind="stall", stall_s=120),)),))
    with OpenAIServer(hangs) as server:
        command = ["env", "--default-signal=INT", sys.executable, "-c", EXECUTING, str(task.path), server.url]
        started = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        while not server.requests:
            assert started.poll() is None, "the execution ended before it could be interrupted"
            time.sleep(0.01)
        started.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = started.communicate(timeout=60)

    assert said.rstrip().endswith("KeyboardInterrupt")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("right_full", "right_by_hand", "failed"),
    [
        (16, (2, 2, 0, 0), set()),
        (20, (3, 1, 0, 0), {"hand"}),
        (15, (0, 0, 0, 0), {"full"}),
        (20, (2, 2, 1, 0), {"hidden"}),
        (20, (5, 0, 0, 0), {"hidden", "hand"}),
        (0, (5, 5, 5, 5), {"full", "hidden", "hand"}),
    ],
)
def test_bounds(right_full: int, right_by_hand: tuple[int, ...], failed: set[str]) -> None:
    """80 % with everything and 20 % with hands are in, one hand that is right in half of its votes is out."""
    full = [FirstVote(1, "o1" if place < right_full else "o2") for place in range(20)]
    hidden = [
        FirstVote(hand, "o1" if place < right else None) for hand, right in enumerate(right_by_hand, 1) for place in range(5)
    ]

    assert set(against(tally(full, hidden, "o1"))) == failed


def test_one_knowing_hand_is_out_though_the_average_is_low() -> None:
    """With six hands, one that always knows keeps the average within bounds."""
    found = Execution(1.0, 1 / 6, {1: 0.0, 2: 0.0, 3: 1.0, 4: 0.0, 5: 0.0, 6: 0.0}, 0)

    assert against(found) == {"hand": "hand 3 alone is right in 100%"}
