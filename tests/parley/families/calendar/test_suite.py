"""The suite of 90 and custom ones: quotas, balance, difficulty that means something, and the same bytes everywhere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import mean

import pytest
from typer.testing import CliRunner

from harness.errors import TaskInvalid, UsageError
from harness.paths import ROOT
from harness.taskfile import read_taskfile
from oracles.calendar.certificate import certify
from parley.commands.kinds import generate_command
from parley.families.calendar.authoring.derived import CERTIFICATE, PLAN, derived, files
from parley.families.calendar.authoring.folders import task_toml, write_task
from parley.families.calendar.authoring.generator import parameters
from parley.families.calendar.authoring.suite import (
    EASY_FROM,
    HARD_BELOW,
    LEVELS,
    CandidateTally,
    Made,
    Openness,
    canonical,
    check_pool,
    custom,
    pressure,
    refusal,
)
from parley.proof.sync import drift, vouched
from worlds.calendar.options import OPTIONS
from worlds.calendar.rules.certificate import read_certificate
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import PROFILES, Settings

pytestmark = pytest.mark.property

SCRIPT = """
import hashlib
from parley.families.calendar.authoring.suite import canonical
from parley.families.calendar.authoring.derived import files
seen = hashlib.sha256()
for made, _ in zip(canonical(), range({count})):
    for text in (made.scenario.to_json().encode(), *files(made.scenario, made.certificate).values()):
        seen.update(text)
print(seen.hexdigest())
"""


@cache
def suite() -> list[Made]:
    """The 90 tasks, made once."""
    return list(canonical())


def of(setting: str, level: str) -> list[Made]:
    """The tasks of a cost setting and a difficulty."""
    return [made for made in suite() if made.name.startswith(setting) and made.difficulty == level]


def digest(count: int) -> str:
    """One number for the first tasks of the suite."""
    seen = hashlib.sha256()
    for made in suite()[:count]:
        for text in (made.scenario.to_json().encode(), *files(made.scenario, made.certificate).values()):
            seen.update(text)
    return seen.hexdigest()


def test_suite_has_ninety_tasks_in_equal_parts() -> None:
    """45 uniform and 45 varied tasks, named in order, 15 of each difficulty."""
    names = [f"{setting}-{number:02d}" for setting in ("uniform", "varied") for number in range(1, 46)]

    assert [made.name for made in suite()] == names
    assert all(len(of(setting, level)) == 15 for setting in ("uniform", "varied") for level in LEVELS)


def test_suite_has_the_canonical_shape() -> None:
    """5 agents, 16 slots, 5 meetings of 3, everybody in three and first speaker once, no set of participants twice."""
    for made in suite():
        scenario = made.scenario
        takes = Counter(agent for meeting in scenario.meetings for agent in meeting.participants)
        assert (len(scenario.agents), scenario.slots, len(scenario.meetings)) == (5, 16, 5)
        assert set(takes.values()) == {3}
        assert sorted(meeting.order[0] for meeting in scenario.meetings) == [0, 1, 2, 3, 4]
        assert len({meeting.participants for meeting in scenario.meetings}) == 5
        assert scenario.prior == ()


def test_densities_are_balanced_in_every_bucket() -> None:
    """In each fifteen every seat has 9, 12, 13 errands with 2, 4, 6 blocked five times each; every task has 20 blocked."""
    for setting in ("uniform", "varied"):
        for level in LEVELS:
            bucket = [made.scenario.errands for made in of(setting, level)]
            for seat in range(5):
                pairs = Counter((len(mine[seat]), sum(errand.blocked for errand in mine[seat])) for mine in bucket)
                assert pairs == {(9, 2): 5, (12, 4): 5, (13, 6): 5}
            assert {sum(errand.blocked for mine in task for errand in mine) for task in bucket} == {20}


def test_buckets_are_the_published_thresholds() -> None:
    """Every task is in the bucket that its certificate's F and total say, and no bucket is degenerate."""
    for setting in ("uniform", "varied"):
        shares = {level: [made.certificate.document()["difficulty"] for made in of(setting, level)] for level in LEVELS}
        assert min(shares["easy"]) >= float(EASY_FROM) ** 5 > max(shares["medium"])
        assert min(shares["medium"]) >= float(HARD_BELOW) ** 5 > max(shares["hard"])
        assert all(len(set(found)) >= 12 for found in shares.values())


def test_every_task_is_worth_playing() -> None:
    """The optimum exists, differs from the worst, is optimal on both scales, and is no greater than the witness."""
    for made in suite():
        known = made.certificate.document()
        assert refusal(made.certificate) == ""
        assert known["optimum"] <= known["witness"]["cost"] <= known["worst"]
        assert known["shown_agrees"]


def test_costs_press_more_when_varied() -> None:
    """What is lost by taking each meeting's cheapest slot in turn is more in the varied setting, on its longer scale."""
    lost = {
        setting: mean(
            made.certificate.document()["myopic"]["cost"] - made.certificate.document()["optimum"]
            for level in LEVELS
            for made in of(setting, level)
            if made.certificate.document()["myopic"]
        )
        for setting in ("uniform", "varied")
    }

    assert 0 < lost["uniform"] < lost["varied"]


def test_varied_costs_are_balanced() -> None:
    """In varied tasks each agent has each of 1, 10, 100 equally often or once more, scored 1, 2, 3; uniform ones have 1."""
    for made in suite():
        for mine in made.scenario.errands:
            counts = Counter(errand.cost for errand in mine)
            assert set(counts) == ({1, 10, 100} if made.name.startswith("varied") else {1})
            assert max(counts.values()) - min(counts.values()) <= 1 or made.name.startswith("uniform")
        assert made.scenario.scale == ({1: 1, 10: 2, 100: 3} if made.name.startswith("varied") else {})


def test_no_two_tasks_are_alike() -> None:
    """All calendars of the suite are different, and so are the labels that they show."""
    assert len({str(made.scenario.errands) for made in suite()}) == 90
    assert len({made.scenario.meetings for made in suite()}) == 90


@pytest.mark.parametrize(("hash_seed", "count"), [("1", 3), ("1", 20), ("77", 20)])
def test_same_bytes_in_another_process(hash_seed: str, count: int) -> None:
    """Scenario, certificate and plan are the same bytes in a new process under any hash seed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(count=count)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.strip() == digest(count)


def test_another_seed_is_another_suite() -> None:
    """Another seed gives other calendars under another suite's name."""
    other = next(canonical(seed=1))

    assert other.scenario.errands != suite()[0].scenario.errands
    assert other.scenario.origin["suite"] != suite()[0].scenario.origin["suite"]


def test_custom_tasks_keep_one_difficulty() -> None:
    """`only` keeps candidates of one difficulty, by the thresholds of the suite, and counts the others."""
    tally = CandidateTally()

    found = list(custom("few", parameters(blocked=6), 4, only="hard", tally=tally))

    assert [made.name for made in found] == ["few-01", "few-02", "few-03", "few-04"]
    assert {made.difficulty for made in found} == {"hard"}
    assert all(made.certificate.document()["difficulty"] < float(HARD_BELOW) ** 5 for made in found)
    assert tally.drawn == 4 + sum(tally.refused.values())


def test_a_large_task_is_made_and_certified() -> None:
    """10 agents, 48 slots and 12 meetings generate, with a certificate for all 4,096 subsets."""
    shape = parameters(num_agents=10, num_slots=48, num_meetings=12, density=0.7, blocked=8, pref_level=3, balanced=True)

    (made,) = custom("large", shape, 1)

    assert made.certificate.document()["optimum"] is not None
    assert len(made.certificate.document()["by_subset"]) == 4096
    assert made.certificate.document()["optimum"] <= made.certificate.document()["witness"]["cost"]


def test_tasks_without_blocked_errands_cannot_be_bucketed() -> None:
    """Where nothing is blocked every schedule is possible: an error that says so, unless a label is given by hand."""
    with pytest.raises(UsageError, match="no errand is blocked") as refused:
        next(custom("plain", parameters(), 2))

    assert "--label" in refused.value.hint
    assert next(custom("plain", parameters(), 2, label="medium")).difficulty == "medium"


def test_a_pool_of_one_share_is_degenerate() -> None:
    """Candidates that all have the same share of possible schedules are refused too."""
    with pytest.raises(UsageError, match="all 3 candidates have the same F / total"):
        check_pool([Openness(10, 100, 2)] * 3)


@pytest.mark.parametrize(
    ("feasible", "level"), [(0, "hard"), (1295, "hard"), (1296, "medium"), (1848, "medium"), (1849, "easy"), (10_000, "easy")]
)
def test_thresholds_are_exact(feasible: int, level: str) -> None:
    """A share on a threshold belongs to the easier side, without any rounding."""
    assert Openness(feasible, 10_000, 2).level == level


def test_impossible_wishes_end() -> None:
    """A difficulty that no candidate has is an error that counts what was seen."""
    shape = parameters(num_agents=2, participants=2, num_meetings=1, num_slots=8, blocked=1, density=0.3)

    with pytest.raises(UsageError, match="none of 2000 candidates was accepted; refused: 2000 of another difficulty"):
        next(custom("never", shape, 1, only="hard"))


@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        ({"optimum": None, "worst": None, "shown_agrees": None}, "without a schedule"),
        ({"optimum": 3, "worst": 3, "shown_agrees": True}, "same cost for every schedule"),
        ({"optimum": 3, "worst": 9, "shown_agrees": False}, "best on one scale only"),
        ({"optimum": 3, "worst": 9, "shown_agrees": True}, ""),
    ],
)
def test_refusals(certificate: dict[str, object], why: str) -> None:
    """A candidate is refused for the first reason there is."""
    assert refusal(read_certificate(certificate)) == why


def run(*arguments: str) -> Exception | None:
    """Run the command as typed; what it raised, if anything."""
    raised = CliRunner().invoke(generate_command, ["calendar", *arguments]).exception
    assert raised is None or isinstance(raised, Exception)
    return raised


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_command_writes_folders_that_do_not_drift(tmp_path: Path) -> None:
    """A custom task is a whole folder; the same command again changes nothing, and neither would sync."""
    typed = ("--out", str(tmp_path / "calendar"), "--name", "small", "--count", "2", "--blocked", "6", "--density", "0.8")
    assert run(*typed) is None
    before = contents(tmp_path)

    assert run(*typed) is None
    assert contents(tmp_path) == before
    assert drift(tmp_path / "calendar" / "small-01", vouched) == []
    assert {path.name for path in (tmp_path / "calendar").iterdir()} == {"small-01", "small-02"}


def test_command_leaves_other_tasks_alone(tmp_path: Path) -> None:
    """A folder that holds something else is an error, and --replace rewrites only the same suite's."""
    typed = ("--out", str(tmp_path), "--name", "small", "--blocked", "6")
    assert run(*typed) is None
    before = contents(tmp_path)

    assert "holds another task" in str(run(*typed, "--seed", "9"))
    assert contents(tmp_path) == before
    assert run(*typed, "--seed", "9", "--replace") is None
    assert contents(tmp_path) != before
    (tmp_path / "other-01").mkdir()
    assert "holds no generated task" in str(run("--out", str(tmp_path), "--name", "other", "--blocked", "6", "--replace"))


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        (["--agents", "4"], "tasks of another shape need --name"),
        (["--name", "uniform", "--blocked", "3"], "tasks of another shape need --name"),
        (["--name", "x", "--density", "many"], "--density must be a number"),
        (["--name", "x", "--blocked", "1.5"], "--blocked must be a whole number"),
        (["--name", "x", "--participant-lists", "0-1"], "--participant-lists must look like"),
        (["--name", "x", "--blocked", "6", "--difficulty", "harder"], "--difficulty must be one of easy, medium, hard"),
        (["--name", "X", "--blocked", "6"], "a task's name consists of lower-case"),
        (["--name", "x", "--agents", "3", "--density", "0.5,0.5"], "density lists 2 values for 3 agents"),
    ],
)
def test_command_refuses_by_rule(typed: list[str], rule: str, tmp_path: Path) -> None:
    """Flags that make no sense are refused by rule, and nothing is written."""
    refused = run("--out", str(tmp_path / "out"), *typed)

    assert isinstance(refused, UsageError)
    assert rule in str(refused)
    assert not (tmp_path / "out").exists()


def test_taskfile_is_what_the_world_reads(tmp_path: Path) -> None:
    """task.toml parses, has a seat for each agent, and every option that is not quiet, in both profiles."""
    (tmp_path / "task.toml").write_text(task_toml("uniform-01", suite()[0].scenario, "easy"))

    file = read_taskfile(tmp_path / "task.toml")
    manifest = file.manifest()

    assert manifest is not None
    assert file.metadata.parley is not None
    assert (file.metadata.parley.seats, file.metadata.parley.difficulty) == (5, "easy")
    assert {name for name, option in OPTIONS.items() if not option.quiet} <= set(manifest.resolve({}))
    for profile in PROFILES:
        assert Settings.from_options(manifest.resolve({"profile": profile})).profile == profile


def test_derived_files_follow_from_the_scenario(tmp_path: Path) -> None:
    """Certificate and plan come from scenario.json alone, and are read back as what was certified."""
    folder = write_task(tmp_path, "uniform-01", suite()[0].scenario, "easy")

    found = derived(folder)

    assert set(found) == {CERTIFICATE, PLAN}
    assert found == files(suite()[0].scenario, suite()[0].certificate)
    assert all((folder / path).read_bytes() == content for path, content in found.items())


def test_infeasible_scenarios_have_an_empty_plan() -> None:
    """A task without a schedule, which only an import can be, has a certificate that says so and nothing to play."""
    blocked = [{"slot": slot, "id": slot + 1, "cost": 1, "blocked": True} for slot in range(2)]
    scenario = Scenario.model_validate({"slots": 2, "errands": [blocked], "meetings": [{"id": 1, "participants": [0]}]})

    found = files(scenario)

    assert found[PLAN] == b'{\n "rounds": []\n}\n'
    assert b'"optimum": null' in found[CERTIFICATE]
    assert certify(scenario).document()["feasible"] == 0


def test_the_shipped_tasks_are_the_suite() -> None:
    """Each of the 90 folders holds exactly the scenario, certificate, plan and description that the generator makes."""
    shipped = ROOT / "tasks" / "calendar"
    for made in suite():
        expected = {
            "environment/api/scenario.json": made.scenario.to_json().encode(),
            "task.toml": task_toml(made.name, made.scenario, made.difficulty).encode(),
            **files(made.scenario, made.certificate),
        }
        assert {path: (shipped / made.name / path).read_bytes() for path in expected} == expected


def test_pressure_is_told_beside_difficulty() -> None:
    """What costs add is the optimum by seat and what is lost without looking ahead, None where that gets stuck."""
    scenario = suite()[0].scenario

    known = read_certificate({"optimum": 6, "myopic": {"cost": 8, "slots": {}}})
    assert pressure(scenario, known) == {"per_seat": 0.4, "lookahead": 2}
    assert pressure(scenario, read_certificate({"optimum": 0})) == {"per_seat": 0.0, "lookahead": None}


def test_an_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    """Where a file stands in the way the error names the folder."""
    (tmp_path / "file").write_text("")

    assert "cannot be written" in str(run("--out", str(tmp_path / "file"), "--name", "small", "--blocked", "6"))


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    """A folder that cannot be synced is not left behind half made."""
    with pytest.raises(TaskInvalid):
        write_task(tmp_path, "uniform-01", suite()[0].scenario, "impossible")

    assert list(tmp_path.iterdir()) == []
