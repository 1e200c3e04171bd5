"""An episode that is driven from outside is the episode of `harness run`: one log, one verdict, for every family."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from harness.agents.solutions import SolutionAgent
from harness.agents.solutions import players as clients
from harness.errors import UnknownTask, UsageError
from harness.registry import Task, read_task
from harness.trust import admitted
from parley.proof.sync import new_task
from parley.training import Episode, judged, task_named, tasks_named
from tests.parley.training.driving import client, driven, played, policy_agent, run, seen
from tests.shipped import RELEASED
from worlds.core.events import Turned, read_log

CONTRACTS = [task for task in RELEASED if task.family == "contract"]
CALENDARS = [task for task in RELEASED if task.family == "calendar"]
PROFILES = [task for task in RELEASED if task.family == "hidden-profile"]
WHOLE = pytest.mark.property
"""Of the parts of a test: every task there is."""


@pytest.mark.parametrize("tasks", [CONTRACTS[::11], pytest.param(CONTRACTS, marks=WHOLE)], ids=["some", "all"])
def test_contracts_by_calls_are_those_of_a_run(tasks: Sequence[Task]) -> None:
    """A task's client and its first wrong client, call by call, leave the log and the verdict that they leave in a run."""
    cases = [(task, name) for task in tasks for name in list(clients(task))[:2]]
    verdicts = judged(client(task, name) for task, name in cases)
    expected = [run(task, 0, SolutionAgent(name)) for task, name in cases]

    assert [seen(one.result) for one in verdicts] == [seen(result) for result in expected]
    assert {one.label == "SUCCESS" for one in verdicts} == {True, False}
    assert [one.seat_rewards for one in verdicts] == [(one.reward,) for one in verdicts]


@pytest.mark.property
@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        (CALENDARS[::60], ("imap", "silent")),
        (PROFILES[::50], ("coin:0.5",)),
        pytest.param(CALENDARS[::15], ("imap", "truthful-planner"), marks=WHOLE),
        pytest.param(PROFILES[::15], ("coin:0.5", "liar"), marks=WHOLE),
        pytest.param(CALENDARS, ("imap", "dsm-private", "truthful-planner"), marks=pytest.mark.proof),
        pytest.param(PROFILES, ("pool", "coin:0.5", "shared", "liar"), marks=pytest.mark.proof),
    ],
    ids=["calendar", "hidden-profile", "calendar-more", "hidden-profile-more", "calendar-all", "hidden-profile-all"],
)
def test_games_are_those_of_a_run(tasks: Sequence[Task], names: Sequence[str]) -> None:
    """Policies at all seats leave the log and the verdict of a run, in whatever order open turns are answered."""
    order = random.Random(3)
    cases = [(task, seed, name) for task in tasks for name in names for seed in (0, 3)]
    verdicts = judged(played(task, seed, name, order) for task, seed, name in cases)
    expected = [run(task, seed, policy_agent(name)) for task, seed, name in cases]

    assert [seen(one.result) for one in verdicts] == [seen(result) for result in expected]
    assert len({one.reward for one in verdicts}) > 1


@pytest.mark.property
def test_options_reach_the_world() -> None:
    """Typed as text, as behind `--set`, they make the episode that they make in a run."""
    task = PROFILES[0]
    episode = played(task, 1, "pool", track="structured", rounds="3")

    assert seen(episode.verdict().result) == seen(run(task, 1, policy_agent("pool"), track="structured", rounds=3))
    with pytest.raises(UsageError, match="no option 'round'"):
        Episode(options={"round": 3}).reset(task)


@pytest.mark.property
def test_seats_of_a_hidden_profile_earn_their_own_votes() -> None:
    """Each seat earns 1 for the key and 0 for anything else, and the team's reward is their mean, to the last digit."""
    verdicts = judged(played(task, 0, "coin:0.7") for task in PROFILES[::16])

    assert {reward for one in verdicts for reward in one.seat_rewards} == {0.0, 1.0}
    assert any(0 < one.reward < 1 for one in verdicts)
    assert [fmean(one.seat_rewards) for one in verdicts] == [one.reward for one in verdicts]


@pytest.mark.property
def test_seats_of_a_calendar_earn_by_their_own_meetings_and_costs() -> None:
    """A seat loses by what it paid above its share of the best schedule, and by that alone, and by its missed meetings."""
    verdicts = judged(played(task, 0, name) for task in CALENDARS[::40] for name in ("imap", "sd-map", "silent"))

    for one in verdicts:
        rows = one.result.metrics["seats"]
        assert len(rows) == len(one.seat_rewards)
        for row, reward in zip(rows, one.seat_rewards, strict=True):
            assert 0 <= reward <= row["coordination"]
            assert (reward == row["coordination"]) == (row["excess"] == 0 or row["coordination"] == 0)
        if one.success and min(row["deviation"] for row in rows) >= 0 and min(one.seat_rewards) > 0:
            assert fmean(one.seat_rewards) == pytest.approx(one.reward)
    assert len({reward for one in verdicts for reward in one.seat_rewards}) > 5


def test_policies_may_hold_the_other_seats() -> None:
    """Only the seats without a policy are asked, and a table of policies alone is over at once."""
    task = CALENDARS[0]
    others = Episode(policies=dict.fromkeys(range(1, 5), "imap"), turns=10**6)
    alone = Episode(policies=dict.fromkeys(range(5), "imap"))
    seats = {turn.seat for turn in others.reset(task)}
    while not others.done:
        seats |= {turn.seat for turn in others.submit(others.turns[0].id, "I have no idea.")}

    assert seats == {0}
    assert alone.reset(task) == ()
    assert seen(alone.verdict().result) == seen(run(task, 0, policy_agent("imap")))
    assert others.verdict().reward < alone.verdict().reward
    with pytest.raises(UsageError, match="no seat player 'nobody'"):
        Episode(policies={0: "nobody"}).reset(task)
    with pytest.raises(UsageError, match="no seat 5"):
        Episode(policies={5: "imap"}).reset(task)


def test_a_conversation_is_what_a_model_reads() -> None:
    """Rules first, then turns and answers in order; a turn that only measures is gone from the turns after it."""
    episode = Episode()
    turns = episode.reset(PROFILES[0])
    votes = [turn for turn in turns if turn.seat == 0]
    while not episode.done and episode.turns[0].phase == "PRE_VOTE":
        episode.submit(episode.turns[0].id, "My vote is a secret.")
    talk = next(turn for turn in episode.turns if turn.seat == 0)

    assert [message["role"] for message in votes[0].messages] == ["system", "user"]
    assert votes[0].ephemeral
    assert not talk.ephemeral
    assert [message["role"] for message in talk.messages] == ["system", "user"]
    assert talk.text == talk.messages[-1]["content"]
    assert "My vote is a secret." not in str(talk.messages)


def test_mistakes_of_a_model_are_told_and_cost_nothing() -> None:
    """Unknown tools, arguments that are no JSON and an answer that was cut off are told back, as `harness run` tells them."""
    episode = Episode()
    episode.reset(CONTRACTS[0])
    (turn,) = episode.submit("1", "", [{"id": "a", "function": {"name": "fly", "arguments": "{}"}}])
    assert "there is no tool 'fly'" in turn.text
    (turn,) = episode.submit("2", None, [{"id": "b", "function": {"name": "wait", "arguments": "{"}}])
    assert "the arguments are not JSON" in turn.text
    assert turn.messages[-1]["tool_call_id"] == "b"
    (turn,) = episode.submit("3", "Let me thi", finish_reason="length")
    assert "cut off" in turn.text
    with pytest.raises(UsageError, match="turn '3' is not open; open turns: 4"):
        episode.submit("3", "again")
    assert not episode.done
    with pytest.raises(UsageError, match="not over"):
        episode.verdict()
    assert episode.submit("4", "I give up.") == ()
    extra = json.loads(episode.outcome().files["trajectory.json"])["extra"]
    assert extra == {
        "task_id": CONTRACTS[0].task_id, "family": "contract", "seed": 0, "attempt": 1, "reward": 0.0, "label": "OTHER",
        "success": False, "model": None,
    }  # fmt: skip
    assert (episode.verdict().result.steps, episode.verdict().label) == (0, "OTHER")


def test_calls_may_be_written_in_text() -> None:
    """With the text protocol the tools stand in the system prompt, and a fenced block is a call."""
    episode = Episode(protocol="text")
    (turn,) = episode.reset(CONTRACTS[0])
    (after,) = episode.submit("1", '```json\n{"tool": "http_request", "arguments": {"method": "GET", "url": "/clock"}}\n```')

    assert (turn.tools, "http_request" in turn.messages[0]["content"]) == ((), True)
    assert "status 200" in after.text


def test_turns_run_out_as_in_a_run() -> None:
    """A seat that used up its turns ends the episode with a logged stop, and so does the driver's own budget."""
    short, stopped = Episode(turns=2), Episode()
    driven(short, CONTRACTS[0], 0, lambda messages: "```nothing")  # a plain answer ends it first
    assert short.verdict().result.stopped_by is None
    short.reset(CALENDARS[0])
    while not short.done:
        short.submit(short.turns[0].id, "I do not know.")
    stopped.reset(CONTRACTS[0])
    stopped.stop("tokens")

    assert short.verdict().result.stopped_by == "turns"
    assert short.verdict().result.failure_detail["reason"] == "turns"
    assert (stopped.verdict().result.stopped_by, stopped.verdict().result.failure_detail) == ("tokens", {"reason": "tokens"})


def test_a_reply_that_is_too_long_forfeits_its_turn() -> None:
    """Longer than a seat may write, it counts as malformed; the game goes on, and the seat's conversation does not keep it."""
    episode = Episode()
    episode.reset(PROFILES[0])
    first = episode.turns[0]
    episode.submit(first.id, "no " * 200_000)
    while not episode.done:
        episode.submit(episode.turns[0].id, "no")

    turned = [event for event in read_log(episode.outcome().files["events.jsonl"]) if isinstance(event, Turned)]
    assert [event.seat for event in turned if event.no_reply == "malformed"] == [first.seat]
    assert all(len(event.text) < 100_000 for event in turned)


@pytest.mark.property
def test_a_world_that_fails_is_graded_as_in_a_run(tmp_path: Path) -> None:
    """A rule that raises ends the episode with reward 0 and the world's cause."""
    folder = new_task(tmp_path, "contract", "fresh")
    server = folder / "environment" / "api" / "server.py"
    server.write_text(server.read_text().replace('{"value": self.value}', '{"value": vars(self)["valeu"]}'))
    task = admitted(read_task(folder))
    expected = run(task, 0, SolutionAgent())
    with pytest.raises(UsageError, match="not a built-in task"):
        Episode().reset(read_task(folder))
    verdict = client(task, "solve").verdict()

    assert (expected.cause, expected.reward) == ("world", 0.0)
    assert (seen(verdict.result), verdict.seat_rewards) == (seen(expected), (0.0,))


def test_an_episode_is_used_again() -> None:
    """`reset` in the middle of an episode begins another, and nothing of the first is left."""
    episode, fresh = Episode(), Episode()
    episode.reset(CALENDARS[0], 5)
    episode.submit(episode.turns[0].id, "Let us meet.")
    again, once = episode.reset(CONTRACTS[0], 7), fresh.reset(CONTRACTS[0], 7)
    episode.submit("1", "nothing")
    fresh.submit("1", "nothing")

    assert again == once
    assert episode.verdict().trace_hash == fresh.verdict().trace_hash


def test_tasks_by_name() -> None:
    """An id, a glob and a family name tasks; what nobody knows is refused with the nearest names."""
    assert task_named("presigned-url-download").task_id == "presigned-url-download"
    assert {task.task_id for task in CONTRACTS} <= {task.task_id for task in tasks_named("contract")}
    with pytest.raises(UnknownTask, match="presigned-url-download"):
        Episode().reset("presigned-url-downlod")
    with pytest.raises(UsageError, match="no episode was opened"):
        Episode().task  # noqa: B018 - asking is what raises
