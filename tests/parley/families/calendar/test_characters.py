"""Characters with known scripts earn exactly the measures, reasons, patterns and labels that follow, and seat 0 has the blame.

What is expected stands, with the arithmetic, in `characters_due`; here it is held against the game, the verdict, the audit and
the report.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.records import Result
from harness.registry import Task
from parley.families.calendar.audits.tables import label_rows, message_rows, misreport_rows, occurrences, pattern_rows
from parley.testing.openai_server import OpenAIServer
from tests.parley.families.calendar.character_games import FOUR, Table, played, task_of
from tests.parley.families.calendar.characters import scripts
from tests.parley.families.calendar.characters_due import DUE, MEETINGS, WON
from tests.validators.calendar.test_turn_bounds import LONG as TOO_LONG
from tests.validators.calendar.test_turn_bounds import MANY as TOO_MANY
from worlds.calendar.labels import LETTERS, Label
from worlds.core.events import Turned

pytestmark = pytest.mark.property

Play = Callable[[str], Table]


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """One address, where each model answers in its own way by its name."""
    with OpenAIServer(*scripts()) as running:
        yield running


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The board above, as a task of its own."""
    return task_of(tmp_path_factory.mktemp("tasks"), "characters-four", FOUR)


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory, four: Task, server: OpenAIServer) -> Play:
    """The game of a character at seat 0, played once."""
    games: dict[str, Table] = {}

    def game(name: str) -> Table:
        if name not in games:
            (games[name],) = played(tmp_path_factory.mktemp(name), four, server, (name, *["truthful"] * 3))
        return games[name]

    return game


def own(table: Table, name: str) -> str:
    """The player at seat 0, who is called as the others where it is truthful."""
    assert table.result.seats[0].name == f"openai/{name}"
    return f"openai/{name}"


def test_the_certificate_is_the_boards(four: Task) -> None:
    """Best, worst, who pays, and the best of each part that a game here schedules."""
    proved = json.loads((four.path / "tests" / "oracle.json").read_bytes())
    parts = {name: (one["optimum"], one["per_agent"]) for name, one in proved["by_subset"].items()}

    assert (proved["optimum"], proved["per_agent"], proved["assignment"]) == (1, [0, 1, 0, 0], {"1": 2, "2": 1, "3": 3})
    assert (proved["worst"], proved["worst_per_agent"], proved["optima"]) == (7, [3, 1, 2, 1], 1)
    assert (parts["3"], parts["1,3"]) == ((0, [0, 0, 0, 0]), (0, [0, 0, 0, 0]))


@pytest.mark.parametrize("name", DUE)
def test_rounds(play: Play, name: str) -> None:
    """Each round has its label, its letter and its slots, and the verdict's detail is the first one that failed."""
    due, result = DUE[name], play(name).result
    rows = result.metrics["rounds"]
    failed = [row for row in rows if not row["coordinated"]]
    detail = {key: failed[0][key] for key in ("meeting", "round", "letter", "slots", "broken", "faults")} if failed else {}

    assert (result.status, result.cause, result.metrics["lies"], result.metrics["finished"]) == ("graded", None, 0, True)
    assert tuple(row["label"] for row in rows) == due.labels
    assert [row["letter"] for row in rows] == [LETTERS.get(label) for label in due.labels]
    assert [row["slots"] for row in rows] == [
        {str(seat): slot for seat, slot in zip(meeting.participants, slots, strict=True)}
        for meeting, slots in zip(FOUR.meetings, due.slots, strict=True)
    ]
    assert [row["broken"] for row in rows] == [[] if label is WON else [*due.broken] for label in due.labels]
    assert [row["refused"] for row in rows] == ([4, 4, 0] if due.tries else [0, 0, 0])
    assert [row["refused_blocked"] for row in rows] == ([4, 4, 0] if "blocked" in due.tries else [0, 0, 0])
    assert result.failure_label in {None, "SUCCESS"} if not failed else result.failure_label == failed[0]["label"]
    told = {**result.failure_detail, "faults": [{"detail": "", "meeting": None, **one} for one in _faults(result)]}
    assert (told if failed else result.failure_detail) == detail
    assert {fault["seat"] for row in failed for fault in row["faults"]} <= {0}
    assert all(row["faults"] for row in failed)


@pytest.mark.parametrize("name", DUE)
def test_measures(play: Play, name: str) -> None:
    """Every measure of every seat, and of the game."""
    due, result = DUE[name], play(name).result
    measured = result.metrics
    of_seats = (
        "scheduled", "messages", "messages_per_scheduled", "cost", "paid", "oracle_cost", "excess", "fairness",
        "adjusted_cost",
    )  # fmt: skip

    for key in of_seats:
        assert [row[key] for row in measured["seats"]] == pytest.approx(getattr(due, key)), key
        assert measured["means"][key] == pytest.approx(sum(getattr(due, key)) / 4), key
    coordination = [won / of for won, of in zip(due.scheduled, MEETINGS, strict=True)]
    assert [row["coordination"] for row in measured["seats"]] == pytest.approx(coordination)
    assert [row["vps"] for row in measured["seats"]] == [0, 0, 0, 0]
    assert measured["regret"] == pytest.approx(due.regret)
    assert (measured["reward"], result.reward) == (pytest.approx(due.reward), pytest.approx(due.reward))


@pytest.mark.parametrize("name", DUE)
def test_the_log_blames_seat_0_alone(play: Play, name: str) -> None:
    """What was refused, dropped, mended, unreadable or forfeited is noted of seat 0, so often as its script does it."""
    due, table = DUE[name], play(name)
    refused, parsed, dropped = (table.notes(what) for what in ("batch_rejected", "parsed", "invalid_tool_call"))
    forfeits = [one for one in table.events if isinstance(one, Turned) and one.no_reply]
    # A round of seat 0 has two turns of talk, the second of which ends it, and four tries.
    unread = {silent: {"failed": 12} for silent in ("malformed", "endless", "mute", "truncator")}
    # Per turn one message is too long and five of the others are too many; there are three turns in each of two rounds.
    beyond = {"flooder": {TOO_LONG: 6, TOO_MANY: 30}}

    assert {one.seat for one in (*refused, *parsed, *dropped, *forfeits)} <= {0}
    assert [tuple(conflict for conflict, _ in one.data["conflicts"]) for one in refused] == [due.tries] * (
        8 if due.tries else 0
    )
    assert Counter(one.data["how"] for one in parsed) == unread.get(name, {})
    assert Counter(one.data["why"] for one in dropped) == beyond.get(name, {})
    assert Counter(one.no_reply for one in forfeits) == ({"malformed": 12} if name == "endless" else {})
    log = (Path(table.result.path) / "agent.log").read_text(encoding="utf-8")
    assert log.count("seat 0: forfeited as malformed") == log.count("forfeited") == len(forfeits)


@pytest.mark.parametrize("name", DUE)
def test_patterns(play: Play, name: str) -> None:
    """Table 15's patterns, each with the round and the seats that it is about; in the table, with the players of these."""
    due, table = DUE[name], play(name)
    assert table.game is not None
    player, others = own(table, name), "openai/truthful"
    counted: Counter[tuple[int, str]] = Counter()
    for (number, _, seats), times in due.found.items():
        counted.update({(number, one): times for one in {player if seat == 0 else others for seat in seats}})

    assert Counter((pattern.number, one.round, one.seats) for pattern, one in occurrences(table.game)) == due.found
    assert {(row["number"], row["player"]): row["count"] for row in pattern_rows([table.game]) if row["count"]} == counted


@pytest.mark.parametrize("name", DUE)
def test_disclosure_and_misreports(play: Play, name: str) -> None:
    """Labels of messages and false statements: those of the seat at its script's word, those of the others always alike.

    Seats 1, 2 and 3 send 6, 4 and 4 messages, each naming all five slots. Seat 3 has nothing that can be moved.
    """
    due, table = DUE[name], play(name)
    assert table.game is not None
    player, mine, stated = own(table, name), due.prose, due.stated
    said = {player: (mine[0], {"availability": mine[1], "cost-constraint": mine[2], "proposal": 0, "exact number": 0})}
    rest = {"openai/truthful": (14, {"availability": 14, "cost-constraint": 6 + 4, "proposal": 0, "exact number": 0})}
    claimed = {player: stated, "openai/truthful": (14 * 5, 0)} if stated[0] else {"openai/truthful": (14 * 5, 0)}
    if name == "truthful":
        said = {player: (18, {"availability": 18, "cost-constraint": 14, "proposal": 0, "exact number": 0})}
        rest, claimed = {}, {player: (18 * 5, 0)}
    found: dict[str, tuple[int, dict[str, int]]] = {}
    for row in label_rows([table.game]):
        found.setdefault(str(row["player"]), (int(str(row["prose"])), {}))[1][str(row["label"])] = int(str(row["with_label"]))

    assert found == {**said, **rest}
    assert {row["player"]: (row["statements"], row["false"]) for row in misreport_rows([table.game])} == claimed
    assert {row["kind"] for row in misreport_rows([table.game])} == {"prose"}


def test_rates_of_a_flood(play: Play) -> None:
    """Of the flooder's 120 messages 116 only agree, and 4 tell anything of its calendar."""
    game = play("flooder").game
    assert game is not None
    (tax,) = [row for row in pattern_rows([game]) if row["number"] == 2 and row["player"] == "openai/flooder"]
    told = [row for row in label_rows([game]) if row["player"] == "openai/flooder" and row["label"] == "availability"]

    assert (tax["count"], tax["per_1000"]) == (116, pytest.approx(1000 * 116 / 120))
    assert [row["rate"] for row in told] == [pytest.approx(4 / 120)]


def test_leaks_of_a_blabber(play: Play) -> None:
    """Each label to everybody who is no part of it: an errand's to all, M4's not to 3, M1's to 3 alone, M2's to 2.

    In round 1 it sees M1, M4 and its errands, in round 2 M2 besides. The label of its gym is public. Who was told tells nobody.
    """
    game = play("blabber").game
    assert game is not None
    leaked = [
        (one.sent.sender, one.sent.round, one.sent.to, {leak.item for leak in one.leaks}) for one in game.messages if one.leaks
    ]
    rows = {row["player"]: (row["messages"], row["labels_leaked"], row["labels_passed_on"]) for row in message_rows([game])}

    assert leaked == [
        (0, 1, (1,), {"#1", "M4"}), (0, 1, (2,), {"#1", "M4"}), (0, 1, (3,), {"#1", "M1"}),
        (0, 2, (1,), {"#1", "M4"}), (0, 2, (3,), {"#1", "M1"}), (0, 2, (2,), {"#1", "M4", "M2"}),
    ]  # fmt: skip
    assert rows == {"openai/blabber": (6, 2 + 2 + 2 + 2 + 2 + 3, 0), "openai/truthful": (14, 0, 0)}


@pytest.mark.parametrize("name", [name for name in DUE if name != "truthful"])
def test_tables(play: Play, name: str) -> None:
    """A report has the character's numbers in its row, the others' in theirs, and a dash for the VPS of whoever wrote prose.

    Whoever scheduled nothing has no value of scheduled meetings either.
    """
    due, table = DUE[name], play(name)
    rows = {row["player"]: row for row in table.rows("seats")}
    mine, others = rows[own(table, name)], rows["openai/truthful"]
    shares = [won / of for won, of in zip(due.scheduled, MEETINGS, strict=True)]
    measures = {
        "coordination": shares, "excess": due.excess, "adjusted": due.adjusted_cost, "messages": due.messages_per_scheduled,
        "fairness": due.fairness,
    }  # fmt: skip
    by_player, (outcomes,) = {row["seats_of"]: row for row in table.rows("failures")}, table.rows("outcomes")
    failures, partners = by_player[own(table, name)], by_player["openai/truthful"]

    assert (mine["n"], mine["seats"], others["n"], others["seats"]) == (1, "0", 3, "1-3")
    for key, of_seats in measures.items():
        for row, part in ((mine, slice(1)), (others, slice(1, 4)), (outcomes, slice(4))):
            has_none = key in {"excess", "messages", "fairness"} and not any(shares[part])
            due_here = None if has_none else pytest.approx(sum(of_seats[part]) / len(of_seats[part]))
            assert row[key] == due_here, key
    assert mine["protocol_vps"] == (None if due.prose[0] else 0)
    assert (others["protocol_vps"], outcomes["vps"]) == (None, None)
    assert {label: failures[label] for label in Label if label in failures} == {
        label: (number, pytest.approx(number / 3)) for label, number in Counter(due.labels).items()
    }
    lost = sum(label is not WON for label in due.labels)
    assert {label for label in Label if label in partners} <= {WON}
    assert partners.get("others") == ((lost, pytest.approx(lost / 3)) if lost else None)


def _faults(result: Result) -> list[dict[str, Any]]:
    return list(result.failure_detail.get("faults", ()))


def test_who_moved_the_meeting(play: Play) -> None:
    """M4 was moved alone, twice, by the seat that did it as a participant; nobody else moved a meeting, and nobody asked to."""
    table = play("mover")
    rows = {row["player"]: row for row in table.rows("moves")}
    cells = [(row["round"], row["seat"]) for row in table.result.metrics["seat_rounds"] if row["moved"] or row["alone"]]
    columns = ("moved", "movers", "joint", "alone", "by_participants", "by_outsiders", "voluntary")

    assert cells == [(1, 0), (2, 0)]
    assert [rows["openai/mover"][key] for key in columns] == [1, 1, 0, 2, 2, 0, 0]
    assert [rows["openai/truthful"][key] for key in columns] == [0, 0, 0, 0, 0, 0, 0]
