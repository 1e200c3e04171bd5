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
from harness.paths import ROOT
from harness.registry import Task, read_task
from harness.trust import admitted
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.authoring.generation import FirstVote, Played, against, against_prose, execute, tally
from parley.families.hidden_profile.authoring.skeleton import STARTER
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Script, ScriptedReply
from tests.parley.families.hidden_profile.scripted_writers import vote
from tests.worlds.hidden_profile.film import ATTIC, BEACH, SCENARIO
from worlds.hidden_profile.rules.deck import KINDS, Deck

pytestmark = pytest.mark.property

NEPHEW = "My nephew opened the back"
EXECUTING = """
import sys
from pathlib import Path
from harness.agents.llm.model import ModelClient, ModelSettings
from parley.families.hidden_profile.authoring.generation import execute, against
from harness.registry import read_task
from harness.trust import admitted

judge = ModelClient(ModelSettings("openai/judge", sys.argv[2], "k"))
execute(admitted(read_task(Path(sys.argv[1]))), ["hidden"], judge, 2, workers=2)
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A scenario with one deal as a task."""
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
    found, usages = execute(task, ["hidden"], client(server), sessions=4)

    assert found == {"hidden": Played(full=1.0, alone=1 / 3, by_hand={1: 0.0, 2: 0.0, 3: 1.0}, invalid=0)}
    assert sum(usage.calls for usage in usages) == len(server.requests) == 2 * 4 * 3


def test_execution_is_the_same_at_any_number_of_workers(task: Task, server: OpenAIServer) -> None:
    """Sessions that run side by side come to the same."""
    judge = client(server)

    assert execute(task, ["hidden"], judge, 3, workers=1)[0] == execute(task, ["hidden"], judge, 3, workers=6)[0]


def test_execution_asks_as_any_session_does_and_stops_before_the_talk(task: Task, server: OpenAIServer) -> None:
    """The judge reads the rules of a whole session, and is asked for its first vote alone."""
    execute(task, ["hidden"], client(server), sessions=1)

    assert all("15 rounds" in request.messages[0]["content"] for request in server.requests)
    assert all("before anybody has spoken" in request.messages[1]["content"] for request in server.requests)
    assert {len(request.messages) for request in server.requests} == {2}


def test_votes_that_name_nothing_are_asked_again_and_counted(task: Task) -> None:
    """A judge that never names an option is asked twice for each vote, and is wrong."""
    with OpenAIServer(Script(play=lambda messages: "Hm.")) as server:
        found, _ = execute(task, ["hidden"], client(server), sessions=1)

        assert len(server.requests) == 2 * 3 * 2
    assert (found["hidden"].full, found["hidden"].alone, found["hidden"].invalid) == (0.0, 0.0, 6)


def test_failing_judge_ends_the_execution(task: Task) -> None:
    """A provider that does not answer is nobody's wrong vote."""
    down = Script(replies=(ScriptedReply(text="x", faults=(Fault(status=500, times=10_000),)),))

    with OpenAIServer(down) as server, pytest.raises(ProviderFailure):
        execute(task, ["hidden"], client(server), sessions=2, workers=3)


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


def some(right: int, of: int, hand: int = 1) -> list[FirstVote]:
    """First votes of one hand."""
    return [FirstVote(hand, right=place < right) for place in range(of)]


@pytest.mark.parametrize(
    ("right_full", "right_by_hand", "failed"),
    [
        (16, (2, 2, 0, 0), set()),
        (20, (3, 1, 0, 0), {"hand"}),
        (15, (0, 0, 0, 0), {"full-hidden"}),
        (20, (2, 2, 1, 0), {"alone"}),
        (20, (5, 0, 0, 0), {"alone", "hand"}),
        (0, (5, 5, 5, 5), {"full-hidden", "alone", "hand"}),
    ],
)
def test_bounds_on_hidden_deals(right_full: int, right_by_hand: tuple[int, ...], failed: set[str]) -> None:
    """80 % with everything and 20 % with hands are in, one hand that is right in half of its votes is out; not so of prose."""
    alone = [vote for hand, right in enumerate(right_by_hand, 1) for vote in some(right, 5, hand)]
    tried = {"hidden": tally(some(right_full, 20), alone)}

    assert set(against(tried)) == failed
    assert set(against_prose(tried)) == failed - {"hand"}


@pytest.mark.parametrize(("right_full", "failed"), [(16, set()), (15, {"full-manifest"})])
@pytest.mark.parametrize("right_alone", [0, 10, 20])
def test_bounds_on_manifest_deals(right_full: int, failed: set[str], right_alone: int) -> None:
    """With everything 80 % are wanted as on hidden ones; with hands, who follows the leader is right, and any share is in."""
    hidden = tally(some(20, 20), some(0, 20))

    assert set(against({"hidden": hidden, "manifest": tally(some(right_full, 20), some(right_alone, 20))})) == failed


def test_one_knowing_hand_is_out_though_the_average_is_low() -> None:
    """With six hands, one that always knows keeps the average within bounds."""
    found = Played(1.0, 1 / 6, {1: 0.0, 2: 0.0, 3: 1.0, 4: 0.0, 5: 0.0, 6: 0.0}, 0)

    assert against({"hidden": found}) == {"hand": "with hand 3 alone 100% are right"}


def test_a_deck_is_played_on_deals_of_both_kinds(tmp_path: Path) -> None:
    """A judge that always follows the leader is right on every manifest deal and on no hidden one, in each condition."""
    deck = Deck.model_validate_json(STARTER.read_bytes())
    played = admitted(read_task(write_task(tmp_path / "hidden-profile", "one-roll", deck, "easy")))

    with OpenAIServer(Script(play=lambda messages: vote("The beach roll"))) as server:
        found, usages = execute(played, KINDS, client(server), sessions=3)

    assert {kind: (one.full, one.alone) for kind, one in found.items()} == {"hidden": (0.0, 0.0), "manifest": (1.0, 1.0)}
    assert sum(usage.calls for usage in usages) == 2 * 2 * 3 * 3
