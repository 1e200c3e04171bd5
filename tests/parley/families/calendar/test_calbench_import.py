"""The importer: what a published line becomes, and what each kind of broken line is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.errors import UsageError
from harness.registry import read_task
from harness.taskfile import read_taskfile
from harness.trust import gate
from oracles.calendar.certificate import certify
from parley.commands.kinds import import_command
from parley.families.calendar.authoring.calbench import checked, folder_name, imported, read_tasks, summary
from parley.families.calendar.authoring.claims import claims
from parley.families.calendar.authoring.folders import write_task
from parley.proof.claims import prove
from parley.proof.plays import Scope
from parley.proof.sync import checked_name, drift, vouched


def errand(number: int, cost: int = 1, **more: Any) -> dict[str, Any]:
    """A cell with an errand."""
    return {"errand_id": number, "cost": cost, **more}


def row(**changes: Any) -> dict[str, Any]:
    """A small line: three agents, four slots, two meetings, one of them with a blocked errand in the way."""
    return {
        "task_id": "b001_easy_3a_2p_d0p6_c1_1",
        "seed": 7,
        "version": 1,
        "params": {"total_agents": 3, "num_slots": 4, "num_meetings": 2, "density": 0.5},
        "calendars": [
            [errand(1), None, errand(2), None],
            [errand(5, blocked=True), None, None, errand(6)],
            [None, errand(9), None, None],
        ],
        "meetings": [
            {"id": 1, "participants": [0, 1], "duration": 1, "cost": 1},
            {"id": 2, "participants": [1, 2], "duration": 1, "cost": 1},
        ],
        "blocked_slots_by_agent": {"0": [], "1": [0], "2": []},
        "witness_solution": {"assignments": {"1": 2, "2": 1}, "cost": 2},
        "difficulty": "hard",
        "optimal": {"assignments": {"1": 1, "2": 2}, "cost": 0},
        "greedy": {"assignments": {"1": 0, "2": 0}, "cost": 99},
        **changes,
    }


def changed(path: str, value: Any) -> dict[str, Any]:
    """The small line with one place of it, named by a dotted path, set to something else."""
    whole = row()
    *way, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place: Any = whole
    for part in way:
        place = place[part]
    place[last] = value
    return whole


def file_of(tmp_path: Path, *rows: object) -> Path:
    """A file with these lines; what is text stands as it is."""
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows))
    return path


def test_a_line_becomes_a_scenario() -> None:
    """Calendars, meetings, witness and difficulty are kept; ids, costs and blocked errands stand as they stood."""
    task = imported(json.dumps(row()))

    scenario = task.scenario
    assert [[(e.slot, e.id, e.cost, e.blocked) for e in mine] for mine in scenario.errands] == [
        [(0, 1, 1, False), (2, 2, 1, False)],
        [(0, 5, 1, True), (3, 6, 1, False)],
        [(1, 9, 1, False)],
    ]
    assert [(meeting.id, meeting.participants) for meeting in scenario.meetings] == [(1, (0, 1)), (2, (1, 2))]
    assert (scenario.witness, scenario.scale, task.difficulty) == ({1: 2, 2: 1}, {}, "hard")
    assert certify(scenario).document()["optimum"] == 0


def test_origin_keeps_where_it_comes_from() -> None:
    """The published id, the seed and the published parameters are recorded, and who ordered the speakers."""
    origin = imported(json.dumps(row())).scenario.origin

    assert origin["task_id"] == "b001_easy_3a_2p_d0p6_c1_1"
    assert (origin["source"], origin["seed"], origin["parameters"]["density"]) == ("calbench", 7, 0.5)
    assert origin["speakers"] == "drawn by us"


def test_missing_speakers_are_drawn_balanced_and_alike() -> None:
    """Lines without speaker orders get balanced ones that depend on the task and nothing else."""
    first, again = imported(json.dumps(row())).scenario, imported(json.dumps(row())).scenario

    assert [meeting.speakers for meeting in first.meetings] == [meeting.speakers for meeting in again.meetings]
    assert len({meeting.order[0] for meeting in first.meetings}) == 2


def test_given_speakers_are_kept() -> None:
    """Lines with speaker orders keep them."""
    whole = row()
    for meeting, order in zip(whole["meetings"], ([1, 0], [2, 1]), strict=True):
        meeting["speaker_order"] = order

    scenario = imported(json.dumps(whole)).scenario

    assert [meeting.speakers for meeting in scenario.meetings] == [(1, 0), (2, 1)]
    assert scenario.origin["speakers"] == "of the file"


def test_labels_are_drawn_and_differ_by_task() -> None:
    """Every item has a label of our bank, no two the same one, and another task has others."""
    one, other = imported(json.dumps(row())).scenario, imported(json.dumps(row(task_id="b002"))).scenario
    labels = [item.label for mine in one.errands for item in mine]

    assert all(labels)
    assert len(set(labels)) == len(labels)
    assert labels != [item.label for mine in other.errands for item in mine]


@pytest.mark.parametrize(
    ("costs", "listed", "scale"),
    [
        ((1, 100, 1000), None, {1: 1, 100: 2, 1000: 3}),
        ((1, 10, 100), None, {1: 1, 10: 2, 100: 3}),
        ((1, 100, 100), [1, 100, 1000], {1: 1, 100: 2, 1000: 3}),
        ((1, 2, 3), None, {}),
        ((1, 7, 400), None, {}),
        ((1, 1, 1), None, {}),
        ((5, 50, 50), [5, 50], {5: 1, 50: 2, 1: 1}),
    ],
)
def test_scale_follows_the_costs(costs: tuple[int, ...], listed: list[int] | None, scale: dict[int, int]) -> None:
    """Listed values, or three that mean low, medium and high, are scored 1, 2, 3; others count as they are shown."""
    whole = row()
    whole["calendars"][0][0]["cost"], whole["calendars"][0][2]["cost"], whole["calendars"][1][3]["cost"] = costs
    for cell in (whole["calendars"][1][0], whole["calendars"][2][1]):
        cell["cost"] = costs[0]
    if listed:
        whole["params"]["errand_cost_values"] = listed

    assert imported(json.dumps(whole)).scenario.scale == scale


def test_prior_meetings_stand() -> None:
    """A prior meeting in the list and in the cells stands on the calendars of its participants."""
    whole = row(prior_meetings=[{"id": 8, "participants": [0, 2], "slot": 3, "duration": 1, "cost": 2}])
    for agent in (0, 2):
        whole["calendars"][agent][3] = {"meeting_id": 8, "cost": 2}

    scenario = imported(json.dumps(whole)).scenario

    assert [(prior.id, prior.slot, prior.cost) for prior in scenario.prior] == [(8, 3, 2)]
    assert [cells[3].name if cells[3] else None for cells in scenario.calendars] == ["M8", "#6", "M8"]


BROKEN: list[tuple[str, Callable[[], object], str]] = [
    ("json", lambda: "{not json", "Invalid JSON"),
    ("list", lambda: "[]", "object"),
    ("no id", lambda: {k: v for k, v in row().items() if k != "task_id"}, "task_id: Field required"),
    ("version", lambda: row(version=2), "version 2 is not known"),
    ("ragged", lambda: changed("calendars.1", [None]), "calendar 1 has 1 slots, calendar 0 has 4"),
    (
        "both",
        lambda: changed("calendars.0.0", {"errand_id": 1, "meeting_id": 1, "cost": 1}),
        "calendar 0, slot 0: a cell holds",
    ),
    ("neither", lambda: changed("calendars.0.0", {"cost": 1}), "calendar 0, slot 0: a cell holds"),
    ("cost 0", lambda: changed("calendars.0.0", errand(1, 0)), "calendars.0.0.cost"),
    ("cost text", lambda: changed("calendars.0.0", errand(1) | {"cost": "1"}), "calendars.0.0.cost"),
    ("same id", lambda: changed("calendars.0.0", errand(2)), "two errands have one id"),
    ("same meeting", lambda: changed("meetings.0.id", 2), "two meetings have one id"),
    ("stranger", lambda: changed("meetings.0.participants", [0, 5]), "M1 has participant 5, and the agents are 0 to 2"),
    (
        "stranger who is no speaker",
        lambda: changed("meetings.0", {"id": 1, "participants": [0, 5], "speaker_order": [0, 1]}),
        "M1 has participant 5, and the agents are 0 to 2",
    ),
    ("twice", lambda: changed("meetings.0.participants", [0, 0]), "participants of M1 must be different"),
    ("speakers", lambda: changed("meetings.0.speaker_order", [0, 2]), "speakers of M1 must be its participants"),
    ("agents", lambda: changed("params.total_agents", 4), "params.total_agents is 4, the line has 3"),
    ("blocked", lambda: changed("blocked_slots_by_agent.1", [3]), "calendar 1 has blocked slots \\[0\\]"),
    ("values", lambda: changed("params.errand_cost_values", [2, 3]), "errands cost \\[1\\], which params"),
    ("loose meeting", lambda: changed("calendars.0.1", {"meeting_id": 8, "cost": 1}), "calendar 0, slot 1 and prior_meetings"),
    ("no meetings", lambda: row(meetings=[]), "meetings"),
    ("witness", lambda: changed("witness_solution.assignments", {"one": 1}), "witness_solution"),
]


@pytest.mark.parametrize(("make", "rule"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_broken_lines_are_named(make: Callable[[], object], rule: str, tmp_path: Path) -> None:
    """A broken line is an error with file, line and rule, whatever stands before it."""
    path = file_of(tmp_path, row(task_id="fine"), "", make())

    with pytest.raises(UsageError, match=rule) as refused:
        list(read_tasks(path))

    assert str(refused.value).startswith(f"{path}:3: ")


def test_same_task_twice_is_refused(tmp_path: Path) -> None:
    """Two lines that would write one folder are an error that names both."""
    with pytest.raises(UsageError, match=r":2: .* gives the same folder as line 1"):
        list(read_tasks(file_of(tmp_path, row(), row())))


def test_empty_and_missing_files_are_refused(tmp_path: Path) -> None:
    """A file without tasks, or no file, is an error."""
    with pytest.raises(UsageError, match="holds no task"):
        list(read_tasks(file_of(tmp_path)))
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_tasks(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("task_id", "name"),
    [
        ("b001_easy_3a_2p", "b001-easy-3a-2p"),
        ("B001 Easy", "b001-easy"),
        ("7", "t-7"),
        ("___", "t"),
        ("a" * 31, "a" * 31),
    ],
)
def test_short_ids_keep_their_name(task_id: str, name: str) -> None:
    """An id that fits is its own folder's name, in lower case with hyphens."""
    assert folder_name(task_id) == checked_name(name)


def test_long_ids_are_cut_and_stay_apart() -> None:
    """An id that is too long for Harbor is cut and ends in a digest, so that two with one beginning stay two."""
    names = [folder_name(f"b037_easy_5a_3p_d0p6_c1_1_blocked{number}") for number in range(50)]

    assert len(set(names)) == 50
    assert [checked_name(name) for name in names] == names


def run(*arguments: str) -> Exception | None:
    """Run the command as typed; what it raised, if anything."""
    raised = CliRunner().invoke(import_command, list(arguments)).exception
    assert raised is None or isinstance(raised, Exception)
    return raised


def test_command_writes_whole_folders(tmp_path: Path) -> None:
    """An imported task is a folder with its difficulty, certificate and plan, and does not drift."""
    path, out = file_of(tmp_path, row(), row(task_id="other")), tmp_path / "imported" / "calendar"

    assert run("calbench", str(path), "--out", str(out), "--id", "b001*") is None

    assert [folder.name for folder in out.iterdir()] == ["b001-easy-3a-2p-d0p6-c1-1"]
    folder = out / "b001-easy-3a-2p-d0p6-c1-1"
    ours = read_taskfile(folder / "task.toml").metadata.parley
    assert ours is not None
    assert (ours.difficulty, ours.seats) == ("hard", 3)
    assert drift(folder, vouched) == []


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        (["excel", "FILE"], "has no kind 'excel'; it has calbench, hiddenbench"),
        (["calbench", "FILE", "--id", "zzz*"], "none of the 1 tasks of .* is called zzz"),
    ],
)
def test_command_refuses_by_name(typed: list[str], rule: str, tmp_path: Path) -> None:
    """An unknown format and ids that nothing has are errors."""
    path = str(file_of(tmp_path, row()))

    with pytest.raises(UsageError, match=rule):
        raise run(*(path if part == "FILE" else part for part in typed)) or AssertionError("nothing was raised")


def stuck(**changes: Any) -> dict[str, Any]:
    """A line that no schedule solves: agent 1, whom both meetings need, can move nothing anywhere."""
    calendars = [[errand(1), None, None, None], [errand(number, blocked=True) for number in (5, 6, 7, 8)], [None] * 4]
    return row(
        task_id="stuck", calendars=calendars, blocked_slots_by_agent={"0": [], "1": [0, 1, 2, 3], "2": []}, feasible=False,
        **changes,
    )  # fmt: skip


def test_a_task_that_nobody_can_solve_is_refused_by_line(tmp_path: Path) -> None:
    """The error names file, line and task, and nothing is written; other lines of the file may be imported by id."""
    path, out = file_of(tmp_path, row(), stuck()), tmp_path / "imported" / "calendar"

    refused = run("calbench", str(path), "--out", str(out))

    assert isinstance(refused, UsageError)
    assert str(refused) == f"{path}:2: stuck has no schedule of all its meetings"
    assert not out.exists()
    assert run("calbench", str(path), "--out", str(out), "--id", "b001*") is None


def test_a_task_that_nobody_can_solve_is_imported_marked(tmp_path: Path) -> None:
    """Asked for, it becomes a folder that says so; its games have no regret, and verify says in a line what cannot hold."""
    path, out = file_of(tmp_path, stuck()), tmp_path / "imported" / "calendar"

    assert run("calbench", str(path), "--out", str(out), "--allow-infeasible") is None
    (task,) = gate([read_task(out / "stuck")], trust=True).tasks
    proved = prove(Scope(task, [0]))

    assert task.parley is not None
    assert (task.parley.certificate, task.parley.pattern) == (
        "uncertified",
        "Uniform costs, calbench, 3a2p, d0.5, 0-4 blocked, infeasible",
    )
    assert [check.name for check in proved.checks if not check.ok] == []
    (missing,) = [check.detail for check in proved.checks if check.name == "uncertified"]
    assert missing.startswith("no schedule of all meetings exists, so these checks are skipped: that the oracle succeeds")
    assert {client.player for client in proved.clients} == {"nop"}


def test_the_mark_must_be_true(tmp_path: Path) -> None:
    """A folder without a schedule that does not say so fails, and so does one that says so and has one."""
    scenarios = [imported(json.dumps(line)).scenario for line in (row(), stuck())]
    fine, hopeless = (
        read_task(write_task(tmp_path, name, scenario, "easy", feasible=feasible))
        for name, scenario, feasible in zip(("fine", "hopeless"), scenarios, (False, True), strict=True)
    )

    assert [check.detail for check in claims(fine)] == [
        'all meetings can be scheduled, so task.toml must not say certificate = "uncertified"'
    ]
    assert [check.detail for check in claims(hopeless)] == [
        'no schedule of all meetings exists; task.toml must say certificate = "uncertified"'
    ]


def test_an_import_says_what_lines_claim_in_vain() -> None:
    """The optimum is 0; agent 1 is blocked at 0, so both meetings have the slots 1, 2, 3, and F is 3 x 2 = 6.

    A schedule at slots 3 and 1 takes two cells with an item: slot 3 of agent 1, slot 1 of agent 2.
    """
    true, wrong = {"assignments": {"1": 1, "2": 2}, "cost": 0}, {"assignments": {"1": 3, "2": 1}, "cost": 2}
    lines = [
        row(task_id="a", optimal=true, solvable_assignment_count=6, optimal_evictions=0),
        row(task_id="b", optimal=wrong, solvable_assignment_count=7, optimal_evictions=3),
        row(task_id="c", optimal=None),
    ]
    rows = checked([imported(json.dumps(line)) for line in lines])

    assert [one.wrong for one in rows] == [[], ["optimum", "F", "evictions"], []]
    assert list(summary(rows)) == [
        "0 of 3 without a schedule that is optimal on both scales, the shown and the scored one",
        "3 of 3 without an order of speakers: drawn by us",
        "optimum: claimed by 2, wrong in 1, e.g. b",
        "F: claimed by 2, wrong in 1, e.g. b",
        "evictions: claimed by 2, wrong in 1, e.g. b",
    ]


def test_nothing_is_written_from_a_broken_file(tmp_path: Path) -> None:
    """One broken line stops the import before the first folder."""
    path, out = file_of(tmp_path, row(), "{"), tmp_path / "out"

    assert isinstance(run("calbench", str(path), "--out", str(out)), UsageError)
    assert not out.exists()
