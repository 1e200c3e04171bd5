"""A team at many games: seats, ranks of speakers and densities shared evenly, by arithmetic that the plan keeps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.agents.seats.lineup import line_up, may_hold
from harness.errors import UsageError
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.addresses import settled
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from harness.teams import SeatTeam
from parley.families.calendar.lineups import facts
from parley.families.hidden_profile.lineups import facts as people
from parley.reports.evidence import gather, read_runs
from parley.requests.teams import Facts, TeamFlags, balanced, make_team, step
from parley.requests.texts import check_templates
from tests.shipped import SHIPPED

FIVE = "imap,sd-map,dsm-private,dsm-welfare"
CANONICAL = [task for task in SHIPPED if task.family == "calendar" and task.task_id.startswith(("uniform-", "varied-"))]
CANONICAL = [task for task in CANONICAL if task.task_id.partition("-")[2].isdigit()]
BOTH = ["calendar", "hidden-profile"]


@pytest.fixture(scope="module")
def known() -> dict[str, Facts]:
    """What is known of the seats of the 90 tasks."""
    return {task.task_id: facts(task, {}) for task in CANONICAL}


def counts(lineups: Mapping[str, Sequence[int]], known: Mapping[str, Facts]) -> dict[str, list[int]]:
    """Of each fact, and of each seat, how often it is each member's."""
    counted: dict[str, Counter[int]] = {}
    for task, lineup in lineups.items():
        for seat, member in enumerate(lineup):
            for name, times in {**known[task][seat], f"seat {seat}": 1}.items():
                counted.setdefault(name, Counter())[member] += times
    return {name: [by_member[member] for member in range(len(lineups[task]))] for name, by_member in sorted(counted.items())}


def ends_in(counted: Mapping[str, list[int]], words: str) -> list[list[int]]:
    """The counts of a fact in all settings."""
    return [by_member for name, by_member in counted.items() if name.endswith(words)]


def spread(by_member: Iterable[int]) -> int:
    """How far the largest count is above the smallest."""
    numbers = [*by_member]
    return max(numbers) - min(numbers)


@pytest.mark.property
def test_the_canonical_tasks_are_shared_evenly(known: dict[str, Facts]) -> None:
    """Each of five holds each seat 18 times, speaks first 90 times, and has each density 30 times or one more or less."""
    counted = counts(balanced(known), known)
    whole = {words: [sum(column) for column in zip(*ends_in(counted, words), strict=True)] for words in FACTS}

    assert len(known) == 90
    assert [counted[f"seat {seat}"] for seat in range(5)] == [[18] * 5] * 5
    assert whole["speaks first"] == [90] * 5
    assert all(spread(by_member) <= 2 for by_member in whole.values()), whole
    assert all(sum(by_member) == 5 * share for by_member, share in zip(whole.values(), FACTS.values(), strict=True))


FACTS = {"speaks first": 90, "speaks second": 90, "speaks third": 90, " 9 of 16 slots full": 30, "12 of 16 slots full": 30,
         "13 of 16 slots full": 30}  # fmt: skip
"""What is shared, and the share of each of five."""


def test_each_cost_setting_is_shared_evenly(known: dict[str, Facts]) -> None:
    """Reports split by setting: in each, every seat 9 times, first 45 times, a density 15 times, within one."""
    counted = counts(balanced(known), known)

    for setting in ("Uniform costs", "Varied costs"):
        mine = {name: by_member for name, by_member in counted.items() if name.startswith(setting)}
        assert [mine[f"{setting}, seat {seat}"] for seat in range(5)] == [[9] * 5] * 5
        assert mine[f"{setting}, speaks first"] == [45] * 5
        assert all(abs(times - sum(by_member) / 5) <= 1 for by_member in mine.values() for times in by_member), mine


def test_an_entrant_keeps_its_seat(known: dict[str, Facts]) -> None:
    """The last member is at seat 0 in all 90, and the four others share the rest: 22 or 23 times a seat, densities evenly."""
    lineups = balanced(known, fixed=0)
    counted = counts(lineups, known)

    assert {lineup[0] for lineup in lineups.values()} == {4}
    assert {times for seat in range(1, 5) for times in counted[f"seat {seat}"][:4]} == {22, 23}
    assert all(spread(by_member[:4]) <= 2 for name, by_member in counted.items() if "full" in name)


def test_by_hand() -> None:
    """Two members, four tasks; at seat 0 one always speaks first in a and b, so shifts 0, 1, 0, 1 are even as they come.

    In a and c, though, the Latin square gives both to member 0. Its cost there is (2 - 1)^2 for each member; swapping b and c
    (shifts 0, 0, 1, 1) gives each member one of them, and seats stay even: each member has two of each.
    """
    first: Facts = [{"first": 1}, {}]
    plain: Facts = [{}, {}]

    assert balanced({"a": first, "b": first, "c": plain, "d": plain}) == {"a": (0, 1), "b": (1, 0), "c": (0, 1), "d": (1, 0)}
    swapped = balanced({"a": first, "b": plain, "c": first, "d": plain})
    assert swapped["a"] != swapped["c"]
    assert Counter(lineup[0] for lineup in swapped.values()) == {0: 2, 1: 2}


@pytest.mark.parametrize(("tasks", "moving", "moved"), [(90, 5, 1), (2, 5, 2), (7, 5, 2), (6, 4, 1), (5, 4, 1), (3, 1, 1)])
def test_attempts_go_on_where_the_tasks_end(tasks: int, moving: int, moved: int) -> None:
    """Two tasks of five seats use shifts 0 and 1, so the next attempt uses 2 and 3; a step that misses seats becomes 1."""
    assert step(tasks, moving) == moved


def test_every_member_at_each_seat_of_a_task() -> None:
    """In as many attempts as members, whatever the step; an entrant with a seat stays."""
    tasks = CANONICAL[:2]
    team = make_team(TeamFlags(FIVE, "dsm-private-exhaustive"), tasks, BOTH)
    seats = [[one.name for one in team.lineup(tasks[0].task_id, attempt)] for attempt in range(1, 6)]
    assert team.step == 2
    assert all(len({*column}) == 5 for column in zip(*seats, strict=True))

    fixed = make_team(TeamFlags(FIVE, "dsm-private-exhaustive", 3), tasks, BOTH)
    seats = [[one.name for one in fixed.lineup(tasks[0].task_id, attempt)] for attempt in range(1, 5)]
    assert [len({*column}) for column in zip(*seats, strict=True)] == [4, 4, 4, 1, 4]
    assert seats[0][3] == "dsm-private-exhaustive"


def test_nothing_but_tasks_and_numbers_matters() -> None:
    """Tasks in another order, and members of other names, leave the line-ups what they are."""
    tasks = CANONICAL[40:52]
    one = make_team(TeamFlags("a,b,c,d,e"), tasks, BOTH)
    other = make_team(TeamFlags("v,w,x,y,z"), tasks[::-1], BOTH)

    assert one.lineups == other.lineups
    assert one.planned.lineups == other.planned.lineups
    assert one.planned != other.planned


def test_any_family_whose_seats_fit() -> None:
    """Four at a hidden profile; of a deck's size as many as it deals to."""
    task = next(task for task in SHIPPED if task.task_id == "bakery-switch")
    team = make_team(TeamFlags("pool,silent,liar,openai/x"), [task], BOTH)

    assert [one.kind for one in team.members] == ["policy", "policy", "policy", "model"]
    assert sorted(team.lineups[task.task_id]) == [0, 1, 2, 3]
    assert [len(people(task, {"size": size})) for size in ("0", "3", "x")] == [4, 3, 4]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (TeamFlags("a,b,c"), "uniform-01 has 5 seats, but the team has 3 members"),
        (TeamFlags("a,b,c,d", "e", 5), "--entrant-seat 5 does not exist; the seats are 0 to 4"),
        (TeamFlags("a,b,,d,e"), "--team takes names joined by commas"),
        (TeamFlags("a,b,c,d,e", None, 1), "--entrant-seat requires --entrant"),
        (TeamFlags("a,b,c,human", "e"), "human cannot be a member of a team"),
        (TeamFlags("a,b,c,replay:runs/x", "e"), "replay runs/x cannot be a member of a team"),
    ],
)
def test_what_is_no_team(flags: TeamFlags, why: str) -> None:
    """Refused by name before anything starts."""
    with pytest.raises(UsageError, match=why):
        make_team(flags, CANONICAL[:1], BOTH)


def test_a_task_without_seats_has_no_team() -> None:
    """Whatever the number of members."""
    task = next(task for task in SHIPPED if task.family == "contract")
    with pytest.raises(UsageError, match=f"{task.task_id} has no seats for a team"):
        make_team(TeamFlags("a,b"), [task], ["contract"])


def spec_of(team: SeatTeam) -> AgentSpec:
    """The spec that plays a team."""
    return AgentSpec(kind="seats", name="team", team=team)


def test_who_may_hold_a_seat() -> None:
    """Everybody, but where an entrant's own seat is: there nobody else, and it nowhere else."""
    moving, fixed = (spec_of(make_team(TeamFlags("a,b,c,d", "e", seat), CANONICAL[:1], BOTH)) for seat in (None, 2))

    assert [one.name for one in may_hold(moving, 2, 5)] == ["a", "b", "c", "d", "e"]
    assert [[one.name for one in may_hold(fixed, seat, 5)] for seat in (2, 3)] == [["e"], ["a", "b", "c", "d"]]
    with pytest.raises(UsageError, match="the team was planned without varied-01"):
        line_up(moving, 5, 1, "varied-01")
    with pytest.raises(UsageError, match="uniform-01 has 4 seats, but the team has 5 members"):
        line_up(moving, 4, 1, "uniform-01")


def test_a_members_name_is_an_address_too() -> None:
    """A model that a file names in a team is asked about like any other."""
    spec = spec_of(make_team(TeamFlags("imap,imap,imap,imap", "openai/http://there/v1"), CANONICAL[:1], BOTH))
    with pytest.raises(UsageError, match="names an address as its model: openai/http://there/v1"):
        settled(spec, "f", "f plays", typed=None, confirmed=lambda _: False)


def test_a_teams_protocols_read_our_own_words() -> None:
    """With other texts only models play, in a team too."""
    texts = {"turn.md.j2": "Speak."}
    with pytest.raises(UsageError, match="imap parses the family's own texts"):
        check_templates(texts, CANONICAL[:1], spec_of(make_team(TeamFlags("a,b,c,d", "imap"), CANONICAL[:1], BOTH)))
    check_templates(texts, CANONICAL[:1], spec_of(make_team(TeamFlags("a,b,c,d", "e"), CANONICAL[:1], BOTH)))


def played(folder: Path, tasks: Sequence[Task], spec: AgentSpec, k: int = 1, workers: int = 1) -> list[Result]:
    """The tasks, so many attempts each."""
    plan = Plan("run", tasks, [0], k, spec)
    quiet = lambda event: None  # noqa: E731
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=workers, images={}, progress=quiet)


@pytest.mark.property
def test_seats_are_recorded_as_planned(tmp_path: Path) -> None:
    """Each result says who sat where, run.json holds all line-ups once, and its identity their digest."""
    tasks = CANONICAL[:2]
    team = make_team(TeamFlags(FIVE, "truthful-greedy"), tasks, BOTH)
    results = played(tmp_path / "run", tasks, spec_of(team), k=2)
    written = json.loads((tmp_path / "run" / "run.json").read_bytes())

    for result in results:
        assert tuple(seat.name for seat in result.seats) == tuple(
            one.name for one in team.lineup(result.task_id, result.attempt)
        )
    assert written["request"]["agents"][0]["team"]["lineups"] == {task: [*line] for task, line in team.lineups.items()}
    assert written["identity"]["agent"]["team"]["lineups"] == team.planned.lineups
    assert {result.agent for result in results} == {"team"}


@pytest.mark.property
def test_a_team_shares_no_row_with_its_members(tmp_path: Path) -> None:
    """The row names the team once, in whatever order it was typed; an entrant makes another row."""
    tasks = CANONICAL[:1]
    for name, flags in {
        "one": TeamFlags(f"{FIVE},truthful-greedy"), "two": TeamFlags(f"truthful-greedy,{FIVE}"),
        "three": TeamFlags(FIVE, "truthful-greedy"), "four": TeamFlags(FIVE, "truthful-greedy", 0),
    }.items():  # fmt: skip
        played(tmp_path / name, tasks, spec_of(make_team(flags, tasks, BOTH)))
    played(tmp_path / "alone", tasks, AgentSpec(kind="seats", name="imap"))
    groups = gather(read_runs([tmp_path]), "calendar", tasks).groups

    four = "dsm-private, dsm-welfare, imap, sd-map"
    assert {group.name: len(group.graded) for group in groups} == {
        "imap": 1,
        f"team ({four}, truthful-greedy)": 2,
        f"team ({four}, entrant truthful-greedy)": 1,
        f"team ({four}, entrant truthful-greedy at seat 0)": 1,
    }


def test_resuming_as_another_team_is_refused(tmp_path: Path) -> None:
    """Other members, or the entrant at a seat of its own, make another run."""
    tasks = CANONICAL[:1]
    orders = [",".join(order) for order in permutations(FIVE.split(","))][:2]
    played(tmp_path / "run", tasks, spec_of(make_team(TeamFlags(orders[0], "truthful-greedy"), tasks, BOTH)))
    for flags in (TeamFlags(orders[1], "truthful-greedy"), TeamFlags(orders[0], "truthful-greedy", 0)):
        with pytest.raises(UsageError, match="was planned with other agent"):
            played(tmp_path / "run", tasks, spec_of(make_team(flags, tasks, BOTH)))
