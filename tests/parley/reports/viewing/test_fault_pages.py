"""The page of a lost game marks the turns of the seats that lost it, and no other seat's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.registry import Task
from parley.reports.reading import read_episode
from parley.reports.reading.addresses import episode_page
from parley.reports.viewing import Library, Site
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Messages, Script, ScriptedReply
from tests.parley.families.calendar.character_games import FOUR, played, task_of
from tests.parley.families.calendar.characters import scripts, truthful
from tests.parley.reports.recorded import HIDDEN, Recorded
from tests.parley.reports.viewing.html import Element, Page

pytestmark = pytest.mark.property


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """One address for all characters."""
    with OpenAIServer(*scripts(), Script(model="swamped", play=swamped)) as running:
        yield running


def swamped(messages: Messages) -> ScriptedReply:
    """The truthful one with a context that is too small for its decisions, which it forfeits."""
    full = Fault(status=400, message="This model's maximum context length is 8192 tokens", times=1000)
    is_talking = "Phase: CHEAP_TALK" in messages[-1]["content"]
    return ScriptedReply(text=truthful(messages), faults=() if is_talking else (full,))


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A small board with a meeting that stands already, of seats 0 and 3."""
    return task_of(tmp_path_factory.mktemp("tasks"), "characters-four", FOUR)


@pytest.mark.parametrize(
    ("name", "seat", "told"),
    [
        ("mover", 0, "moved meeting M4 to slot"),
        ("mover", 3, "moved meeting M4 to slot"),
        ("mute", 1, "sent a decision that could not be read"),
        ("malformed", 2, "sent a decision that could not be read"),
        ("swamped", 2, "sent no decision: the conversation is longer than the model's context"),
        ("bluffer", 1, "scheduled it onto an item that stayed"),
        ("squeezer", 2, "moved an item onto another that stayed"),
        ("pusher", 3, "sent only batches that moved a blocked errand"),
        ("muddler", 1, "sent only batches that were refused (no_schedule, blocked)"),
    ],
)
def test_a_calendar_page_marks_the_seat_at_fault(
    server: OpenAIServer, four: Task, tmp_path: Path, name: str, seat: int, told: str
) -> None:
    """The headline names the seat with its model, and each mark stands in its column: in its conversation and in the grid."""
    models = ["truthful"] * 4
    models[seat] = name
    (table,) = played(tmp_path / "run", four, server, models)
    page = page_of(tmp_path / "run", table.result.path)
    marks = [one for one in page.all("article") if is_marked(one)]

    assert f"seat {seat} (openai/{name}) {told}" in page.by_id("resolution").text
    assert marks
    assert all(one.attributes["id"] in turns_of(table.result.path, seat) for one in marks)
    assert all("the turn that failed the episode" in one.text for one in marks)
    assert len([one for one in page.all("p") if is_marked(one)]) == len(marks), "the grid marks as many"


@pytest.mark.parametrize(("run", "is_named"), [("deaf", True), ("undecided", True), ("silent", False)])
def test_a_hidden_profile_page_marks_votes_and_not_a_group(recorded: Recorded, run: str, is_named: bool) -> None:
    """Votes of who could have known, or named no option, are marked; where the group told too little no turn is."""
    episode = recorded.episode(run, HIDDEN)
    page = page_of(recorded.folder / run, str(episode))
    marks = {one.attributes["id"] for one in page.all("article") if is_marked(one)}
    last = {max(turns_of(str(episode), seat), key=lambda turn: int(turn[5:])) for seat in range(4)}

    assert marks == (last if is_named else set())
    assert ("no turn is marked" in page.by_id("main").text) is not is_named
    assert is_marked(page.by_id("resolution"))


@pytest.mark.parametrize("seat", [0, 2])
def test_one_wrong_vote_of_a_group_is_marked_alone(
    harness: Callable[..., CompletedProcess[str]], tmp_path: Path, seat: int
) -> None:
    """One person among others who tell all and vote right names no option: that vote is marked, and named."""

    def odd(messages: Messages) -> str:
        return "I would rather not say."

    with OpenAIServer(Script(model="odd", play=odd)) as server:
        done = harness(
            "run", HIDDEN, "--agent", "pool", "--seat", f"{seat}=openai/odd", "--api-base", server.url,
            "--runtime", "inprocess", "--out", str(tmp_path / "run"), "--yes", env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip
    (path,) = (tmp_path / "run").glob("**/episodes/*/*/s0-a1")
    page = page_of(path.parents[3], str(path))
    (mark,) = [one for one in page.all("article") if is_marked(one)]

    assert done.returncode in {0, 1}, done.stderr
    assert mark.attributes["id"] in turns_of(str(path), seat)
    assert f"Person {seat + 1} (openai/odd) gave a vote that names no option" in page.by_id("resolution").text


def page_of(run: Path, episode: str) -> Page:
    """The page of the only episode of a run."""
    site, key = Site(Library([run])), read_episode(Path(episode)).result.key
    answer = site.answer(episode_page(run.name, key))
    assert answer is not None
    return Page(answer.body.decode())


def is_marked(element: Element) -> bool:
    """Whether an element is a breach."""
    return "breach" in element.attributes.get("class", "").split()


def turns_of(episode: str, seat: int) -> set[str]:
    """The ids of a seat's turns on a page."""
    (one,) = [one for one in read_episode(Path(episode)).conversations if one.seat == seat]
    return {f"turn-{said.moment.seq}" for said in one.utterances if said.moment and said.speaker == "agent"}
