"""The curve of difficulty: three clients that differ in their calm alone, counted at each level; the docs have its table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.registry import read_task
from parley.commands.verify import BEGIN, END, curve_table, replaced
from parley.proof.policies import ONE_IN, PACES, SEEDS, THINKING_S, CurvePoint, at_pace, curve
from tests.shipped import RELEASED
from worlds.core import wire
from worlds.core.wire import WireRequest, WireResponse

DOC = "docs/contract.md"
TASKS = [task for task in RELEASED if task.family == "contract"]
LONG = "a1" * 10_000
"""Long enough that some characters of it come out wrong."""


def sent(pace: str, *requests: WireRequest, seed: int = 0) -> list[WireRequest]:
    """What reaches the world of these requests."""
    reached: list[WireRequest] = []

    def world(request: WireRequest) -> WireResponse:
        reached.append(request)
        return WireResponse(200)

    path = at_pace(pace, "some-task", seed)(world)
    for request in requests:
        path(request)
    return reached


def waiting(seconds: float) -> WireRequest:
    """A wait of so many seconds."""
    return wire.request("POST", "/clock/wait", body=json.dumps({"seconds": seconds}))


def waits(requests: list[WireRequest]) -> list[float]:
    """The seconds of each wait."""
    return [json.loads(request.body)["seconds"] for request in requests if request.path == b"/clock/wait"]


@pytest.mark.parametrize(("pace", "expected"), [("careful", [30, 0.5]), ("hasty", [1, 0.5]), ("careless", [30, 0.5])])
def test_only_the_hasty_cuts_a_wait(pace: str, expected: list[float]) -> None:
    """Who is in a hurry waits a second at most; a shorter wait stays as it is."""
    assert expected == waits(sent(pace, waiting(30), waiting(0.5)))


def test_the_careless_thinks_before_each_request() -> None:
    """For one to three seconds, drawn for each, and not before looking at the clock."""
    asked = sent("careless", *[wire.request("GET", "/a")] * 40, wire.request("GET", "/clock"))
    thought = waits(asked)

    assert (len(thought), {*THINKING_S}) == (40, {min(thought), max(thought)})
    assert [request.path for request in asked[:2]] == [b"/clock/wait", b"/a"]


def test_the_careless_mistypes_long_values() -> None:
    """About one character in so many, wherever it stands; the rest is as it was."""
    right = wire.request("POST", f"/a?token={LONG}", headers=(("X-Token", LONG),), body=LONG)
    asked = [request for request in sent("careless", *[right] * 10) if request.path == b"/a"]
    pairs = [zip(*places, strict=True) for one in asked for places in zip(bytes_of(one), bytes_of(right), strict=True)]
    wrong = [sum(first != second for first, second in pair) for pair in pairs]

    assert 0.7 < sum(wrong) * ONE_IN / (30 * len(LONG)) < 1.4
    assert all(sum(wrong[place::3]) for place in range(3))


def bytes_of(request: WireRequest) -> tuple[bytes, bytes, bytes]:
    """The three parts of a request that hold a long value."""
    return request.target, request.headers[0][1].encode(), request.body


@pytest.mark.parametrize("text", ["word " * 30_000, "aword" * 30_000, "a1b2 " * 30_000])
def test_words_and_short_values_come_out_right(text: str) -> None:
    """What has no digit, or fewer than sixteen characters, is nothing that anybody copies wrongly."""
    (_, asked) = sent("careless", wire.request("POST", "/a", body=text))

    assert asked.body == text.encode()


def test_the_client_is_the_same_at_each_level() -> None:
    """Its draws are from task and seed: equal again, and others on another seed."""
    requests = [wire.request("POST", "/a", body=LONG)] * 12

    assert sent("careless", *requests) == sent("careless", *requests)
    assert sent("careless", *requests) != sent("careless", *requests, seed=1)


def test_points_of_a_task(root: Path) -> None:
    """Where waits are the contract the hasty one never wins, and the careless one only while the window is wide."""
    told: list[str] = []
    points = curve([read_task(root / "tasks/contract/retry-backoff-compliance")], [0], told.append)
    wins = {(point.level, point.client): point.wins for point in points}

    assert {1: 1, 2: 1, 3: 1, 4: 1} == {level: wins[level, "careful"] for level in range(1, 5)}
    assert {1: 0, 2: 0, 3: 0, 4: 0} == {level: wins[level, "hasty"] for level in range(1, 5)}
    assert (wins[1, "careless"], wins[4, "careless"]) == (1, 0)
    assert told == [f"retry-backoff-compliance: {', '.join(str(point.wins) for point in points)}"]


def test_table_of_points() -> None:
    """A cell has the three rates of a level, a level that a task lacks has none; the last row is over those that have it."""
    wins = {("a", 1): (2, 1, 0), ("b", 1): (2, 2, 2), ("b", 2): (2, 0, 1)}
    points = [
        CurvePoint(task_id=task, level=level, client=client, wins=won, episodes=2)
        for (task, level), row in wins.items()
        for client, won in zip(PACES, row, strict=True)
    ]

    assert curve_table(points).cells() == [
        ["a", "100 / 50 / 0", "-"], ["b", "100 / 100 / 100", "100 / 0 / 50"], ["all", "100 / 75 / 50", "100 / 0 / 50"],
    ]  # fmt: skip


def test_a_page_gets_the_table_between_its_markers(tmp_path: Path) -> None:
    """All else of the page stays; one without markers is refused."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    assert replaced(page, "new") == f"before\n{BEGIN}\n\nnew\n{END}\nafter\n"
    page.write_text("before")
    with pytest.raises(UsageError, match=r"page\.md has no place for the curve: it needs a line "):
        replaced(page, "new")
    with pytest.raises(UsageError, match="No such file or directory"):
        replaced(tmp_path / "none.md", "new")


def rows(root: Path) -> dict[str, list[str]]:
    """The rows of the table in the docs, by task."""
    text = (root / DOC).read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in cells[1:]}


def test_the_docs_have_each_task_at_each_level(root: Path) -> None:
    """A task or a level that came or went: run make curve."""
    levels = {task.task_id: 1 + len(task.parley.levels) for task in TASKS if task.parley}
    told = {name: sum(cell != "-" for cell in row) for name, row in rows(root).items() if name != "all"}

    assert levels == told


@pytest.mark.property
def test_the_docs_have_the_curve_of_today(root: Path, played: list[CurvePoint]) -> None:
    """What the table says is what the clients win: run make curve."""
    table = curve_table(played)

    assert {row[0]: row[1:] for row in table.cells()} == rows(root)


@pytest.fixture(scope="module")
def played() -> list[CurvePoint]:
    """The whole curve."""
    return curve(TASKS, SEEDS, lambda line: None)


@pytest.mark.property
def test_the_careful_client_wins_everything(played: list[CurvePoint]) -> None:
    """A level is hard, and never unfair."""
    assert all(point.wins == point.episodes for point in played if point.client == "careful")
