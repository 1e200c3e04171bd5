"""The suite `prior`: every optimum of its tasks needs somebody outside the round, and the game can be played to the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli
from typer.testing import CliRunner

from harness.errors import UsageError
from harness.paths import ROOT
from harness.registry import Task, select
from oracles.calendar import cpsat
from oracles.calendar.certificate import certify
from oracles.calendar.problem import build_problem
from parley.commands.kinds import generate_command
from parley.families.calendar.authoring.derived import files
from parley.families.calendar.authoring.folders import task_toml
from parley.families.calendar.authoring.generator import Edition, Parameters, generate
from parley.families.calendar.authoring.suite import MARGIN, needless, openness, prior, refusal
from parley.families.calendar.player import Plan, planned
from parley.families.calendar.seat_rows import protocol_rows, setting_of
from parley.reports.evidence import Evidence
from tests.parley.families.calendar.made_games import game
from tests.shipped import SHIPPED
from tests.worlds.calendar.playing import Played
from tests.worlds.calendar.random_tasks import canonical
from worlds.calendar.rules.certificate import Certificate, read_certificate
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.turns import OpenTurn

TASKS = [task for task in SHIPPED if task.task_id.startswith("varied-prior-")]


def scenario_of(task: Task) -> Scenario:
    """The scenario in a task's folder."""
    return read_scenario(task.world_folder / "scenario.json")


def certificate_of(task: Task) -> Certificate:
    """The certificate in a task's folder."""
    return read_certificate(json.loads((task.path / "tests" / "oracle.json").read_bytes()))


def plan_of(task: Task) -> Plan:
    """The plan that a task's oracle plays."""
    plan: Plan = json.loads((task.path / "solution" / "plan.json").read_bytes())
    return plan


def difficulty(task: Task) -> str:
    """What the folder says."""
    assert task.parley is not None
    return task.parley.difficulty


def run(*arguments: str) -> BaseException | None:
    """Run `harness generate calendar` as typed; what it raised, if anything."""
    return CliRunner().invoke(generate_command, ["calendar", *arguments]).exception


def test_thirty_tasks_in_equal_parts() -> None:
    """varied-prior-01 to -30, ten easy, medium and hard each, in this order."""
    assert [task.task_id for task in TASKS] == [f"varied-prior-{number:02d}" for number in range(1, 31)]
    assert [difficulty(task) for task in TASKS] == ["easy"] * 10 + ["medium"] * 10 + ["hard"] * 10


def test_shape_is_that_of_the_varied_tasks() -> None:
    """5 agents, 16 slots, 5 meetings of 3, two to four prior ones; costs 1, 10, 100 shown and 1, 2, 3 scored; 20 blocked."""
    for scenario in map(scenario_of, TASKS):
        assert (len(scenario.agents), scenario.slots, len(scenario.meetings)) == (5, 16, 5)
        assert {len(one.participants) for one in (*scenario.meetings, *scenario.prior)} == {3}
        assert len({one.participants for one in scenario.meetings}) == 5
        assert 2 <= len(scenario.prior) <= 4
        assert scenario.scale == {1: 1, 10: 2, 100: 3}
        assert sum(errand.blocked for mine in scenario.errands for errand in mine) == 20


def test_densities_are_balanced_over_the_suite() -> None:
    """Every seat has 2, 4 and 6 blocked errands, as at densities 0.6, 0.8 and 1.0, ten times each."""
    scenarios = [scenario_of(task) for task in TASKS]
    for seat in range(5):
        assert Counter(sum(errand.blocked for errand in one.errands[seat]) for one in scenarios) == {2: 10, 4: 10, 6: 10}


def test_no_round_holds_a_prior_meeting() -> None:
    """Each prior meeting has a participant outside every new meeting, so no round can move it without an outsider."""
    for scenario in map(scenario_of, TASKS):
        for standing in scenario.prior:
            assert all(set(standing.participants) - set(one.participants) for one in scenario.meetings)


def test_outsiders_save_something_on_both_scales() -> None:
    """Nothing without outsiders comes within two scored units of the optimum, or reaches it at shown costs."""
    for task in TASKS:
        known = certificate_of(task)
        assert known.shown_agrees
        assert known.optimum is not None
        assert known.shown_optimum is not None
        assert known.without_outsiders is None or known.without_outsiders - known.optimum >= MARGIN == 2
        assert known.shown_without_outsiders is None or known.shown_without_outsiders > known.shown_optimum


@pytest.mark.property
def test_every_optimum_moves_a_prior_meeting() -> None:
    """Each optimal schedule of each task, listed by the solver, moves a prior meeting; there are as many as certified."""
    for task in TASKS:
        scenario, known = scenario_of(task), certificate_of(task)
        stays = tuple(standing.slot for standing in scenario.prior)
        optima = list(cpsat.enumerate_schedules(build_problem(scenario), cost=known.optimum))

        assert len(optima) == known.optima
        assert all(slots[len(scenario.meetings) :] != stays for slots in optima)


def test_the_plan_asks_outsiders() -> None:
    """The oracle's plan moves prior meetings only, outside a round's own meeting, and always some."""
    for task in TASKS:
        outside = [
            move[0]
            for one in plan_of(task)["rounds"]
            for seat, moves in one["moves"].items()
            for move in moves
            if int(seat) not in one["seats"] and move[0].startswith("M")
        ]
        assert set(outside) == {f"M{number}" for number in certificate_of(task).prior_moves or {}} != set()


def test_shipped_scenarios_follow_from_their_origin() -> None:
    """Each folder holds the scenario that its recorded parameters give, and the difficulty that is counted of it."""
    for task in TASKS[::6]:
        shipped = (task.world_folder / "scenario.json").read_bytes()
        origin = scenario_of(task).origin
        made = generate(Parameters.model_validate_json(json.dumps(origin["parameters"])), Edition(origin["suite"]))

        assert made.to_json().encode() == shipped
        assert (task.path / "task.toml").read_text() == task_toml(task.task_id, made, difficulty(task))
        assert openness(made).level == difficulty(task)


def test_shipped_certificates_follow_from_the_scenario() -> None:
    """Certificate and plan are what the scenario says, byte for byte, and the suite keeps the candidate."""
    for task in TASKS[::10]:
        scenario = scenario_of(task)
        derived = files(scenario)

        assert {path: (task.path / path).read_bytes() for path in derived} == derived
        assert needless(scenario) == refusal(certificate_of(task)) == ""


@pytest.mark.property
def test_the_command_writes_the_shipped_folders(tmp_path: Path) -> None:
    """`harness generate calendar --suite prior` writes the 30 folders again, every file of them."""
    assert run("--suite", "prior", "--out", str(tmp_path)) is None

    assert sorted(path.name for path in tmp_path.iterdir()) == [task.task_id for task in TASKS]
    for task in TASKS:
        made = [path for path in (tmp_path / task.task_id).rglob("*") if path.is_file()]
        assert {path.relative_to(tmp_path / task.task_id): path.read_bytes() for path in made} == {
            path.relative_to(tmp_path / task.task_id): (task.path / path.relative_to(tmp_path / task.task_id)).read_bytes()
            for path in made
        }


@pytest.mark.property
def test_another_seed_is_another_suite() -> None:
    """Another seed gives another first task, under another suite's name."""
    first = next(iter(prior(seed=1)))

    assert first.scenario.errands != scenario_of(TASKS[0]).errands
    assert first.scenario.origin["suite"] != scenario_of(TASKS[0]).origin["suite"]


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        (["--suite", "priors"], "--suite must be one of canonical, prior, not 'priors'"),
        (["--suite", "prior", "--agents", "4"], "a suite defines its own tasks"),
        (["--name", "varied-prior", "--blocked", "3"], "tasks of another shape need --name"),
        (["--name", "x", "--prior-in-the-way"], "prior meetings in the way are 1..5"),
    ],
)
def test_command_refuses_by_rule(typed: list[str], rule: str, tmp_path: Path) -> None:
    """Flags that make no sense together are refused, and nothing is written."""
    refused = run("--out", str(tmp_path / "out"), *typed)

    assert isinstance(refused, UsageError)
    assert rule in str(refused)
    assert not (tmp_path / "out").exists()


def test_candidates_are_refused_where_outsiders_save_too_little() -> None:
    """A task without prior meetings needs none, so its optimum is reached without them."""
    assert certify(canonical(0)).optimum is not None
    assert needless(canonical(0)) == "outsiders save too little"


def played(task: Task, *channels: str, ask: Mapping[str, Any] | None = None) -> Played:
    """The plan, played; `ask` in the place of each direct message."""
    plan = plan_of(task)

    def reply(turn: OpenTurn) -> str:
        actions = planned(plan, turn.model_dump())
        asked = [ask if ask is not None and action["type"] == "dm" else action for action in actions]
        return json.dumps({"thinking": "", "actions": asked})

    return Played(scenario_of(task), Settings(channels=frozenset(channels)), reply)


def test_outsiders_can_be_asked_on_the_chat_of_all() -> None:
    """Where a message to all stands in the place of direct ones, the same plan costs the shown optimum."""
    for task in TASKS[:3]:
        game = played(task, "all", ask={"type": "all_groupchat", "content": "please make room"})

        assert {one["label"] for one in game.resolutions} == {"SUCCESS"}
        assert sum(sum(one["charged"]) for one in game.resolutions) == sum(game.game.state.spent)
        assert game.game.state.spent == played(task, "dm").game.state.spent


def test_outsiders_who_are_not_asked_break_the_round() -> None:
    """Without a channel that reaches them they move nothing, and the prior meeting is torn apart."""
    for task in TASKS[:3]:
        assert played(task, "participants").resolutions[0]["label"] == "PRIOR_MEETING_MOVED"


@pytest.mark.parametrize("preset", ["calendar-canonical", "calendar-homogeneous"])
def test_presets_mean_the_canonical_tasks(preset: str) -> None:
    """Their names select the 90 and no task with prior meetings."""
    stated = tomli.loads((ROOT / "harness" / "presets" / f"{preset}.toml").read_text(encoding="utf-8"))
    names = [task.task_id for task in select(SHIPPED, stated["names"])]

    assert names == [f"{setting}-{number:02d}" for setting in ("uniform", "varied") for number in range(1, 46)]


def test_reports_do_not_pool_them_with_the_varied_ones() -> None:
    """Their cost setting is a name of its own, for which the paper has no rows."""
    evidence = Evidence("calendar", (), {task.task_id: task for task in SHIPPED})
    names = ("varied-01", "varied-prior-01", "uniform-01")

    assert [setting_of(evidence, game(name, (), ())) for name in names] == ["varied", "varied-prior", "uniform"]
    assert protocol_rows("varied-prior", "imap") == []
