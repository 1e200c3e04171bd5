"""Characters at other seats, behind providers that fail, and all at one table: each is to blame for its own doings alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.registry import Task
from parley.families.calendar.audits.games import read_games
from parley.families.calendar.audits.tables import misreport_rows, occurrences
from parley.testing.openai_server import OpenAIServer
from tests.parley.families.calendar.character_games import FIVE, FOUR, Table, played, task_of
from tests.parley.families.calendar.characters import scripts
from tests.validators.calendar.test_turn_bounds import LONG as TOO_LONG
from tests.validators.calendar.test_turn_bounds import MANY as TOO_MANY
from worlds.core.events import Turned

pytestmark = pytest.mark.property


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """One address, where each model answers in its own way by its name."""
    with OpenAIServer(*scripts()) as running:
        yield running


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The board of four, as a task of its own."""
    return task_of(tmp_path_factory.mktemp("tasks"), "characters-four", FOUR)


@pytest.mark.parametrize("seat", range(4))
def test_the_seat_is_to_blame_wherever_it_is(tmp_path: Path, four: Task, server: OpenAIServer, seat: int) -> None:
    """Rounds fail for the one that never answers and for nobody else: exactly those that it takes part in."""
    names = ["truthful"] * 4
    names[seat] = "mute"
    (table,) = played(tmp_path, four, server, names)
    inside = [seat in meeting.participants for meeting in FOUR.meetings]
    empty = [[int(one) for one, slot in row["slots"].items() if slot is None] for row in table.result.metrics["rounds"]]
    assert table.game is not None

    assert [row["label"] for row in table.result.metrics["rounds"]] == ["NO_SCHEDULE" if lost else "SUCCESS" for lost in inside]
    assert empty == [[seat] if lost else [] for lost in inside]
    assert {one.seat for what in ("batch_rejected", "parsed") for one in table.notes(what)} == {seat}
    # its server says that no reply was cut off, so no pattern of truncation is found
    assert list(occurrences(table.game)) == []
    assert table.result.metrics["seats"][seat]["coordination"] == 0


def test_the_mover_is_blamed_for_as_long_as_the_meeting_is_apart(tmp_path: Path, four: Task, server: OpenAIServer) -> None:
    """Where failed rounds are kept, three of them are the mover's, one of which it takes no part in.

    - M1 in 1, and M4 of seat 0 goes to 2 for 1.
    - M2: nothing is free for all (0: 0; 1: 2, 4; 3: 1, 3, 4), and 3 is easy for 0 and 1, which pay 2 and 1 and move to 0 and 2.
      Seat 0 has no free slot left to move a meeting to.
    - M3 of 1, 2 and 3: nothing is free for all (1: 4; 2: 2, 3; 3: 1, 4), and 4 is easy for 2, which pays 2. M4 is still apart.
    Paid are 3, 1, 2, 0, with mean 1.5, for no meeting at all, whose best is nothing. Six above that is the whole span of 7 - 1.
    """
    (table,) = played(tmp_path, four, server, ("mover", *["truthful"] * 3), profile="paper")
    measured, seats = table.result.metrics, table.result.metrics["seats"]
    (moves,) = [row for row in table.rows("moves") if row["player"] == "openai/mover"]
    assert table.game is not None

    assert [(row["letter"], row["broken"], set(row["slots"].values())) for row in measured["rounds"]] == [
        ("D", [4], {1}), ("D", [4], {3}), ("D", [4], {4}),
    ]  # fmt: skip
    assert [(pattern.number, one.round, one.seats) for pattern, one in occurrences(table.game)] == [
        (8, 1, (0,)), (8, 2, (0,)), (8, 3, (0,)), (11, 1, (0,)),
    ]  # fmt: skip
    assert [row["excess"] for row in seats] == [row["paid"] for row in seats] == [3, 1, 2, 0]
    assert [row["fairness"] for row in seats] == [1.5, 0.5, 0.5, 1.5]
    adjusted = [(3 + 2 * 3) / 2, (1 + 3 * 0) / 3, (2 + 2 * 2) / 2, (0 + 2 * 1) / 2]
    assert [row["adjusted_cost"] for row in seats] == pytest.approx(adjusted)
    assert (measured["scheduled"], measured["standing"], measured["regret"], table.result.reward) == (0, 3, 6 / 6, 0)
    assert (moves["joint"], moves["alone"], moves["moved"]) == (0, 1, 1)


def test_a_provider_that_never_answers_leaves_no_verdict(tmp_path: Path, four: Task, server: OpenAIServer) -> None:
    """Time-outs are the provider's: they cost no seat a round, and the episode is ungraded and left out of audits."""
    (table,) = played(tmp_path, four, server, ("hanging", *["truthful"] * 3), timeout_s=1.0, patience_s=1.0)
    read = read_games([Path(table.result.path)])

    assert (table.result.status, table.result.cause, table.result.reward) == ("ungraded", "provider", None)
    assert "openai/hanging: no answer" in str(table.result.error)
    assert [one for one in table.events if isinstance(one, Turned) and one.no_reply] == []
    assert (read.games, read.ungraded, read.unsound) == ((), 1, 0)


def test_a_provider_that_answers_in_the_end_changes_nothing(tmp_path: Path, four: Task, server: OpenAIServer) -> None:
    """A call that times out is made again, and the game is the truthful one's, byte for byte."""
    (prompt,) = played(tmp_path / "prompt", four, server, ["truthful"] * 4)
    (late,) = played(tmp_path / "late", four, server, ("hesitant", *["truthful"] * 3), timeout_s=1.0)

    assert (late.result.status, late.result.trace_hash) == ("graded", prompt.result.trace_hash)


def record(table: Table) -> tuple[object, ...]:
    """What must not depend on how many games are played at once."""
    result = table.result
    seats = [(seat.seat, seat.name, seat.tokens) for seat in result.seats]
    return result.key, result.trace_hash, result.status, result.reward, result.failure_detail, result.metrics, seats


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServer) -> dict[int, list[Table]]:
    """Workers -> four games of liar, flooder, truncator, mute and truthful at seats 0 to 4."""
    folder = tmp_path_factory.mktemp("five")
    names = ("liar", "flooder", "truncator", "mute", "truthful")
    task = task_of(folder / "tasks", "characters-five", FIVE)
    return {workers: played(folder / str(workers), task, server, names, k=4, workers=workers) for workers in (1, 4)}


def test_five_at_one_table_at_1_and_4_workers(tables: dict[int, list[Table]]) -> None:
    """Nothing of a game depends on how many are played at once, and all four are the same."""
    assert [record(one) for one in tables[1]] == [record(one) for one in tables[4]]
    assert len({one.result.trace_hash for one in tables[1]}) == 1


def test_five_at_one_table(tables: dict[int, list[Table]]) -> None:
    """Each failed round is its own seat's.

    On `FIVE` slots 0, 1, 2 and 4 are free for the flooder and the truthful one, 1 to 4 for liar and truncator, all for the mute
    one. All meetings fit in for nothing: M3 in 0, the others in 1, 2 and 4.
    - M1 of 0, 1, 4: the liar says that only 0 is free, where the two others go; it knows that 1 is free for all. A.
    - M2 of 1, 2, 4: in 0, but for the truncator, whose decisions break off and are not read. C.
    - M3 of 1, 3, 4: in 0, but for the mute one, who schedules nothing. C.
    - M4 of 1, 4: in 0, for nothing; so 1 of 4 meetings is scheduled, at no regret.
    The flooder has three turns of 20 messages in all four rounds, 4 x 60. Of these are true 2, 2, 2 and 1, and agree 58, 58, 58
    and 59. The truthful one sends 2, 2, 2 and 1, the truncator none that can be read.
    The liar calls five slots what they are not, to two readers.
    """
    table = tables[1][0]
    measured, game = table.result.metrics, table.game
    assert game is not None

    assert [(row["letter"], row["label"]) for row in measured["rounds"]] == [
        ("A", "SLOT_MISMATCH"), ("C", "NO_SCHEDULE"), ("C", "NO_SCHEDULE"), (None, "SUCCESS"),
    ]  # fmt: skip
    assert [row["slots"] for row in measured["rounds"]] == [
        {"0": 1, "1": 0, "4": 0}, {"1": 0, "2": None, "4": 0}, {"1": 0, "3": None, "4": 0}, {"1": 0, "4": 0},
    ]  # fmt: skip
    assert table.result.failure_detail["meeting"] == 1
    assert (measured["lies"], measured["optimum_all"], measured["regret"], table.result.reward) == (0, 0, 0, 1 / 4)
    assert [row["coordination"] for row in measured["seats"]] == [0, 1 / 4, 0, 0, 1 / 4]
    assert [row["messages"] for row in measured["seats"]] == [2, 240, 0, 0, 7]
    assert Counter((pattern.number, one.round, one.seats) for pattern, one in occurrences(game)) == {
        **{(2, number, (1,)): 58 for number in (1, 2, 3)}, (2, 4, (1,)): 59,
        (9, 1, (0, 1, 4)): 1,
    }  # fmt: skip
    assert Counter((one.seat, one.data["why"]) for one in table.notes("invalid_tool_call")) == {
        (1, TOO_LONG): 4 * 3, (1, TOO_MANY): 4 * 3 * 5,
    }  # fmt: skip
    assert {row["player"]: (row["statements"], row["false"]) for row in misreport_rows([game])} == {
        "openai/liar": (10, 10), "openai/flooder": (7 * 5, 0), "openai/truthful": (7 * 5, 0),
    }  # fmt: skip
