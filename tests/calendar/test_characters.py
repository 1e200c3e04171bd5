"""Characters with known scripts: what each does to a game, to its measures and to the audit follows from them to the digit.

All numbers here are worked out by hand, on the board `FOUR` (scored costs, x for blocked; M4 stands before the first round):

          slot  0   1   2   3   4      rounds: M1 of 0, 1, 2;  M2 of 0, 1, 3;  M3 of 1, 2, 3
        seat 0  M4  -   -   2   x
        seat 1  x   -   -   1   -      costs of a meeting by slot:     1    2    3    4
        seat 2  3   -   -   -   2                                M1    0    0   2+1   x
        seat 3  M4  -   x   -   -                                M2    0    x   2+1   x
                                                                 M3    0    x    1    2
Seat 1 is in all three, so none can be in slot 0, and no two in one slot.
- **Best of all**: M2 in 1, M1 in 2, M3 in 3: 1, paid by seat 1. (M2 in 3 alone would cost 3.)
- **Best of parts**: M3 alone, or M1 in 2 and M3 in 1: nothing.
- **Worst**: M4 moves to 1 for 1 + 1, M1 in 2 for 0, M2 in 3 for 2 + 1, M3 in 4 for 2: 7, and 3, 1, 2, 1 by seat.
  Without M4 it is 5 at most; with M4 in 3, 1 + 1 + 2, M1 and M2 are in 2 and 1, and M3 in 4: 6.
- **Spans** from best to worst by seat: 3 - 0, 1 - 1, 2 - 0, 1 - 0. They are what a missed meeting adds to the adjusted cost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.families.calendar.audits.counts import label_rows, message_rows, misreport_rows, occurrences, pattern_rows
from harness.families.calendar.audits.games import read_games
from harness.registry import Task
from harness.testing.openai_server import OpenAIServer
from tests.calendar.character_games import FIVE, FOUR, Table, played, task_of
from tests.calendar.characters import scripts
from tests.calendar.test_turn_bounds import LONG as TOO_LONG
from tests.calendar.test_turn_bounds import MANY as TOO_MANY
from worlds.calendar.labels import LETTERS, Label
from worlds.core.events import Turned

pytestmark = pytest.mark.property

Found = Mapping[tuple[int, int, tuple[int, ...]], int]
"""Number of a pattern, round, seats that it is about -> how often."""

MEETINGS = (2, 3, 2, 2)
"""Of each seat."""

WON = Label.SUCCESS


@dataclass(frozen=True)
class Due:
    """What follows from a character at seat 0 and three truthful seats; tuples are by seat, slots by participant."""

    labels: tuple[Label, Label, Label]
    slots: tuple[tuple[int | None, ...], ...]
    scheduled: tuple[int, ...]
    messages: tuple[int, ...]
    messages_per_scheduled: tuple[float, ...]
    cost: tuple[int, ...]
    """Everything that was ever committed."""

    paid: tuple[int, ...]
    oracle_cost: tuple[int, ...]
    excess: tuple[int, ...]
    fairness: tuple[float, ...]
    adjusted_cost: tuple[float, ...]
    regret: float
    reward: float
    broken: tuple[int, ...] = ()
    """Earlier meetings that each failed round finds apart."""

    tries: tuple[str, ...] = ()
    """What is wrong with each batch of seat 0: four of them in each of its rounds."""

    found: Found = field(default_factory=dict)
    prose: tuple[int, int, int] = (4, 4, 4)
    """Messages of seat 0 in prose, with the label of availability, and with that of costs."""

    stated: tuple[int, int] = (20, 0)
    """Slots that seat 0 called free or taken, and how many of them falsely."""


TRUTHFUL = Due(
    labels=(WON, WON, WON), slots=((1, 1, 1), (3, 3, 3), (4, 4, 4)), scheduled=(2, 3, 2, 2), messages=(4, 6, 4, 4),
    messages_per_scheduled=(2, 2, 2, 2), cost=(2, 1, 2, 0), paid=(2, 1, 2, 0), oracle_cost=(0, 1, 0, 0), excess=(2, 0, 2, 0),
    fairness=(1, 1, 1, 1), adjusted_cost=(2 / 2, 0, 2 / 2, 0), regret=(5 - 1) / (7 - 1), reward=3 / 3 * (1 - 4 / 6),
)  # fmt: skip
"""M1: slot 1 is free for all, and best kept for M2. M2: nothing is free for all (0: 2; 1: 2, 4; 3: 1, 3, 4), and 3 is easy for
0 and 1, which pay 2 and 1 and move to slot 2. M3: nothing is free for all (1: 4; 2: 2, 3; 3: 1, 4), and 4 is easy for 2, which
pays 2. Above the optimum's 0, 1, 0, 0 that is 2, 0, 2, 0, with mean 1. Each seat sends two messages in each of its rounds."""

SILENT = replace(
    TRUTHFUL, labels=(WON, Label.SLOT_MISMATCH, WON), slots=((1, 1, 1), (2, 4, 4), (3, 3, 3)), scheduled=(1, 2, 2, 1),
    messages=(0, 6, 4, 4), messages_per_scheduled=(0, 6 / 2, 4 / 2, 4 / 1), cost=(0, 1, 0, 0), paid=(0, 1, 0, 0),
    oracle_cost=(0, 0, 0, 0), excess=(0, 1, 0, 0), fairness=(1 / 4, 3 / 4, 1 / 4, 1 / 4),
    adjusted_cost=((0 + 3) / 2, (1 + 0) / 3, 0, (0 + 1) / 2), regret=(1 - 0) / 6, reward=2 / 3 * (1 - 1 / 6),
    found={(9, 2, (0, 1, 3)): 1}, prose=(0, 0, 0), stated=(0, 0),
)  # fmt: skip
"""M1: seats 1 and 2 are both free at 1, and so is seat 0 by luck. M2: seat 0 takes 2, its last free slot, the others 4. M3:
nothing is free for all (1: 2, 4; 2: 2, 3; 3: 1, 3, 4), and 3 is easy for 1, which pays 1. Without M2 the best is nothing."""

RUINED = replace(
    TRUTHFUL, slots=((None, 1, 1), (None, 1, 1), (1, 1, 1)), scheduled=(0, 1, 1, 1), messages_per_scheduled=(4, 6, 4, 4),
    cost=(0, 0, 0, 0), paid=(0, 0, 0, 0), oracle_cost=(0, 0, 0, 0), excess=(0, 0, 0, 0), fairness=(0, 0, 0, 0),
    adjusted_cost=(2 * 3 / 2, 0, 2 / 2, 1 / 2), regret=0.0, reward=1 / 3,
)  # fmt: skip
"""Seat 0 ruins both its rounds. They are undone, so each begins as the first did: slot 1 is free for all, in M3 too."""


def spoilt(label: Label, *tries: str) -> Due:
    """No batch of seat 0 is taken, and so it leaves a slot empty in both its rounds."""
    return replace(RUINED, labels=(label, label, WON), tries=tries, found={(12, 1, (0,)): 1, (12, 2, (0,)): 1})


def speechless(due: Due) -> Due:
    """Seat 0 sends no message besides."""
    return replace(due, messages=(0, 6, 4, 4), messages_per_scheduled=(0, 6, 4, 4), prose=(0, 0, 0), stated=(0, 0))


MISMATCH, MOVED = Label.SLOT_MISMATCH, Label.PRIOR_MEETING_MOVED
DUE: dict[str, Due] = {
    "truthful": TRUTHFUL,
    "silent": SILENT,
    # It says 0, 3, 4 of its free 1 and 2. M1: 3 is free for 2 and easy for 1, which moves there for 1 and is undone; the liar
    # knows that 1 is free for all. M2: 4 is free for 1 and 3, as it says it is for the liar, who takes 1 again.
    "liar": replace(
        RUINED, labels=(MISMATCH, MISMATCH, WON), slots=((1, 3, 3), (1, 4, 4), (1, 1, 1)), cost=(0, 1, 0, 0),
        found={(9, 1, (0, 1, 2)): 1, (9, 2, (0, 1, 3)): 1}, prose=(4, 4, 0), stated=(20, 20),
    ),
    # Three messages a round, each of which leaks; the game is that of the truthful.
    "blabber": replace(
        TRUTHFUL, messages=(6, 6, 4, 4), messages_per_scheduled=(6 / 2, 2, 2, 2),
        found={(10, 1, (0,)): 3, (10, 2, (0,)): 3}, prose=(6, 6, 6), stated=(30, 0),
    ),
    "malformed": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    "endless": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    "mute": speechless(spoilt(Label.NO_SCHEDULE, "no_schedule")),
    # Three turns a round, since its own mail keeps the talk going up to the cap: 3 x 20 go out. Of the first 20 two are the
    # truth, so 18 + 20 + 20 only agree.
    "flooder": replace(
        TRUTHFUL, messages=(120, 6, 4, 4), messages_per_scheduled=(120 / 2, 2, 2, 2),
        found={(2, 1, (0,)): 58, (2, 2, (0,)): 58}, prose=(120, 4, 4),
    ),
    # What it says is mended and heard; its schedule has lost its slot, which none of A to G names. An empty list that is cut
    # off cannot be read. Per round one message turn and four tries are mended, and one slot stays empty: 6.
    "truncator": replace(
        spoilt(Label.OTHER, "malformed"), found={(12, 1, (0,)): 6, (12, 2, (0,)): 6},
    ),
    # M4 goes from 0 to 2 for 1 in both rounds, which are undone; twice apart is a cascade, told of its first round.
    "mover": replace(
        RUINED, labels=(MOVED, MOVED, WON), slots=((1, 1, 1),) * 3, cost=(2, 0, 0, 0), broken=(4,),
        found={(8, 1, (0,)): 1, (8, 2, (0,)): 1, (11, 1, (0,)): 1},
    ),
    "pusher": spoilt(Label.BLOCKED_ITEM, "blocked"),
    "bluffer": spoilt(Label.SLOT_OCCUPIED, "schedule_occupied"),
    "squeezer": spoilt(Label.TARGET_OCCUPIED, "target_occupied"),
    "muddler": spoilt(Label.SEVERAL, "no_schedule", "blocked"),
}  # fmt: skip

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
    detail = {key: failed[0][key] for key in ("meeting", "round", "letter", "slots", "broken")} if failed else {}

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
    assert result.failure_detail == detail


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
    unread = {"malformed": {"failed": 12}, "endless": {"failed": 12}, "mute": {"failed": 12},
              "truncator": {"repaired": 10, "failed": 2}}  # fmt: skip
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
    """A report has the character's numbers in its row, the others' in theirs, and a dash for the VPS of whoever wrote prose."""
    due, table = DUE[name], play(name)
    rows = {row["player"]: row for row in table.rows("seats")}
    mine, others = rows[own(table, name)], rows["openai/truthful"]
    shares = [won / of for won, of in zip(due.scheduled, MEETINGS, strict=True)]
    measures = {
        "coordination": shares, "excess": due.excess, "adjusted": due.adjusted_cost, "messages": due.messages_per_scheduled,
        "fairness": due.fairness,
    }  # fmt: skip
    (failures,), (outcomes,) = table.rows("failures"), table.rows("outcomes")

    assert (mine["n"], mine["seats"], others["n"], others["seats"]) == (1, "0", 3, "1-3")
    for key, of_seats in measures.items():
        assert mine[key] == pytest.approx(of_seats[0]), key
        assert others[key] == pytest.approx(sum(of_seats[1:]) / 3), key
        assert outcomes[key] == pytest.approx(sum(of_seats) / 4), key
    assert mine["protocol_vps"] == (None if due.prose[0] else 0)
    assert (others["protocol_vps"], outcomes["vps"]) == (None, None)
    assert {label: failures[label] for label in Label if label in failures} == {
        label: (number, pytest.approx(number / 3)) for label, number in Counter(due.labels).items()
    }


def test_who_moved_the_meeting(play: Play) -> None:
    """M4 was moved alone, twice, by the seat that did it as a participant; nobody else moved a meeting, and nobody asked to."""
    table = play("mover")
    rows = {row["player"]: row for row in table.rows("moves")}
    cells = [(row["round"], row["seat"]) for row in table.result.metrics["seat_rounds"] if row["moved"] or row["alone"]]
    columns = ("moved", "movers", "joint", "alone", "by_participants", "by_outsiders", "voluntary")

    assert cells == [(1, 0), (2, 0)]
    assert [rows["openai/mover"][key] for key in columns] == [1, 1, 0, 2, 2, 0, 0]
    assert [rows["openai/truthful"][key] for key in columns] == [0, 0, 0, 0, 0, 0, 0]


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
    assert [(pattern.number, one.round, one.seats) for pattern, one in occurrences(table.game)] == [
        (12, number, (seat,)) for number, lost in enumerate(inside, start=1) if lost
    ]
    assert table.result.metrics["seats"][seat]["coordination"] == 0


def test_a_provider_that_never_answers_leaves_no_verdict(tmp_path: Path, four: Task, server: OpenAIServer) -> None:
    """Time-outs are the provider's: they cost no seat a round, and the episode is ungraded and left out of audits."""
    (table,) = played(
        tmp_path, four, server, ("hanging", *["truthful"] * 3), timeout_s=1.0, patience_s=1.0
    )  # fmt: skip
    read = read_games([Path(table.result.path)])

    assert (table.result.status, table.result.cause, table.result.reward) == ("ungraded", "provider", None)
    assert "openai/hanging: no answer" in str(table.result.error)
    assert [one for one in table.events if isinstance(one, Turned) and one.no_reply] == []
    assert (read.games, read.ungraded, read.unsound) == ((), 1, 0)


def test_a_provider_that_answers_in_the_end_changes_nothing(
    tmp_path: Path, four: Task, server: OpenAIServer, play: Play
) -> None:
    """A call that times out is made again, and the game is the truthful one's, byte for byte."""
    (table,) = played(tmp_path, four, server, ("hesitant", *["truthful"] * 3), timeout_s=1.0)

    assert (table.result.status, table.result.trace_hash) == ("graded", play("truthful").result.trace_hash)


def record(table: Table) -> tuple[object, ...]:
    """What must not depend on how many games are played at once."""
    result = table.result
    seats = [(seat.seat, seat.name, seat.tokens) for seat in result.seats]
    return result.key, result.trace_hash, result.status, result.reward, result.failure_detail, result.metrics, seats


def test_five_at_one_table(tmp_path: Path, server: OpenAIServer) -> None:
    """Liar, flooder, truncator, mute and truthful: each failed round is its own seat's, with 1 worker and with 4.

    On `FIVE` slots 0, 1, 2 and 4 are free for the flooder and the truthful one, 1 to 4 for liar and truncator, all for the mute
    one. All meetings fit in for nothing: M3 in 0, the others in 1, 2 and 4.
    - M1 of 0, 1, 4: the liar says that only 0 is free, where the two others go; it knows that 1 is free for all. A.
    - M2 of 1, 2, 4: in 1, but for the truncator, whose schedule lost its slot. None of A to G.
    - M3 of 1, 3, 4: in 0, but for the mute one, who schedules nothing. C.
    - M4 of 1, 4: in 0, for nothing; so 1 of 4 meetings is scheduled, at no regret.
    The flooder has three turns of 20 messages in all four rounds, 4 x 60. Of these are true 2, 2, 2 and 1, and agree 58, 58, 58
    and 59. The truthful one sends 2, 2, 2 and 1. The liar calls five slots what they are not, to two readers.
    """
    names = ("liar", "flooder", "truncator", "mute", "truthful")
    task = task_of(tmp_path / "tasks", "characters-five", FIVE)
    alone = played(tmp_path / "alone", task, server, names, k=4, workers=1)
    together = played(tmp_path / "together", task, server, names, k=4, workers=4)
    table = alone[0]
    measured, game = table.result.metrics, table.game
    assert game is not None

    assert [record(one) for one in alone] == [record(one) for one in together]
    assert len({one.result.trace_hash for one in alone}) == 1
    assert [(row["letter"], row["label"]) for row in measured["rounds"]] == [
        ("A", "SLOT_MISMATCH"), (None, "OTHER"), ("C", "NO_SCHEDULE"), (None, "SUCCESS"),
    ]  # fmt: skip
    assert [row["slots"] for row in measured["rounds"]] == [
        {"0": 1, "1": 0, "4": 0}, {"1": 1, "2": None, "4": 1}, {"1": 0, "3": None, "4": 0}, {"1": 0, "4": 0},
    ]  # fmt: skip
    assert table.result.failure_detail["meeting"] == 1
    assert (measured["lies"], measured["optimum_all"], measured["regret"], table.result.reward) == (0, 0, 0, 1 / 4)
    assert [row["coordination"] for row in measured["seats"]] == [0, 1 / 4, 0, 0, 1 / 4]
    assert [row["messages"] for row in measured["seats"]] == [2, 240, 2, 0, 7]
    assert Counter((pattern.number, one.round, one.seats) for pattern, one in occurrences(game)) == {
        **{(2, number, (1,)): 58 for number in (1, 2, 3)}, (2, 4, (1,)): 59,
        (9, 1, (0, 1, 4)): 1, (12, 2, (2,)): 1 + 4 + 1, (12, 3, (3,)): 1,
    }  # fmt: skip
    assert Counter((one.seat, one.data["why"]) for one in table.notes("invalid_tool_call")) == {
        (1, TOO_LONG): 4 * 3, (1, TOO_MANY): 4 * 3 * 5,
    }  # fmt: skip
    assert {row["player"]: (row["statements"], row["false"]) for row in misreport_rows([game])} == {
        "openai/liar": (10, 10), "openai/flooder": (7 * 5, 0), "openai/truncator": (10, 0), "openai/truthful": (7 * 5, 0),
    }  # fmt: skip
