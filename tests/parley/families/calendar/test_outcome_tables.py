"""The tables of the calendar family say what the verdicts say, with the paper's rows beside those of the same name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from harness.agent import AgentSpec
from harness.errors import UsageError
from harness.records import Result, RunFolder
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.calendar.report import BY_NAME, TABLES, report
from parley.reports.evidence import Evidence, gather, read_runs
from parley.reports.table import Table
from tests.parley.families.calendar.made_games import evidence as evidence_of
from tests.shipped import SHIPPED

pytestmark = pytest.mark.property

TASKS = [task for task in SHIPPED if task.task_id in {"uniform-01", "uniform-31", "varied-07", "varied-44"}]


def played(folder: Path, agent: AgentSpec, profile: str) -> list[Result]:
    """The four tasks, played in process."""
    plan = Plan(folder.name, TASKS, [0], 1, agent, overrides={"profile": profile})
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=2, images={}, progress=lambda event: None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Result]]:
    """Two protocols and the oracle, the protocols in both profiles."""
    root = tmp_path_factory.mktemp("runs")
    agents = [
        (AgentSpec(kind="seats", name="imap"), "paper"),
        (AgentSpec(kind="seats", name="sd-map"), "paper"),
        (AgentSpec(kind="seats", name="sd-map"), "text"),
        (AgentSpec(), "text"),
    ]
    return {f"{agent.title}-{profile}": played(root / f"{agent.title}-{profile}", agent, profile) for agent, profile in agents}


@pytest.fixture(scope="module")
def evidence(runs: dict[str, list[Result]]) -> Evidence:
    """What a report would gather from them."""
    folders = {Path(result.path).parents[3] for results in runs.values() for result in results}
    return gather(read_runs(sorted(folders)), "calendar", TASKS)


def table(evidence: Evidence, name: str, *, published: bool = True) -> Table:
    """One table."""
    (made,) = report(evidence, [name], published=published)
    return made


@pytest.mark.property
def test_means_are_those_of_the_verdicts(runs: dict[str, list[Result]], evidence: Evidence) -> None:
    """Each number is the mean over tasks of what verdict.json holds."""
    rows = [row for row in table(evidence, "outcomes").rows if row["source"] == "ours"]
    for setting in ("uniform", "varied"):
        mine = [r for r in runs["sd-map-paper"] if r.task_id.startswith(setting)]
        verdicts = [json.loads((Path(r.path) / "verdict.json").read_text())["metrics"]["means"] for r in mine]
        (row,) = [r for r in rows if (r["setting"], r["method"], r["setup"]) == (setting, "sd-map", "profile=paper")]

        assert row["tasks"] == 2
        assert row["coordination"] == pytest.approx(fmean(v["coordination"] for v in verdicts))
        assert row["excess"] == pytest.approx(fmean(v["excess"] for v in verdicts))
        assert row["messages"] == pytest.approx(fmean(v["messages_per_scheduled"] for v in verdicts))
        assert row["vps"] == pytest.approx(fmean(v["excess_vps"] for v in verdicts))
        assert row["reward"] == pytest.approx(fmean(r.reward or 0.0 for r in mine))


@pytest.mark.property
def test_imap_is_as_published(evidence: Evidence) -> None:
    """Two messages for each scheduled meeting and 12.40 slots told, whatever the task."""
    rows = [row for row in table(evidence, "outcomes").rows if row["method"] == "imap"]

    assert [(row["setting"], row["source"]) for row in rows] == [
        ("uniform", "ours"), ("uniform", "published"), ("varied", "ours"), ("varied", "published"),
    ]  # fmt: skip
    assert {(row["messages"], row["vps"]) for row in rows} == {(2.0, 12.4)}


def test_profiles_are_never_averaged(evidence: Evidence) -> None:
    """One protocol under two profiles is two rows, and the published one stands under the first of them once."""
    made = table(evidence, "outcomes")
    rows = [(row.get("setup"), row["source"]) for row in made.rows if row["method"] == "sd-map"]

    assert rows == 2 * [("profile=paper", "ours"), (None, "published"), (None, "ours")]


def test_oracle_pays_the_optimum(evidence: Evidence) -> None:
    """Its excess, messages and privacy loss are nothing, and its reward is all."""
    rows = [row for row in table(evidence, "outcomes").rows if row["method"] == "oracle"]

    assert {(row["coordination"], row["excess"], row["messages"], row["vps"], row["reward"]) for row in rows} == {
        (1, 0, 0, 0, 1)
    }


def test_settings_stand_apart_without_a_registry(runs: dict[str, list[Result]]) -> None:
    """A report that does not know the tasks, imports among them, takes their settings from the verdicts."""
    folders = {Path(result.path).parents[3] for result in runs["oracle-text"]}
    rows = table(gather(read_runs(sorted(folders)), "calendar", []), "outcomes", published=False).rows

    assert [(row["setting"], row["tasks"]) for row in rows] == [("uniform", 2), ("varied", 2)]


def test_published_rows_can_be_left_out(evidence: Evidence) -> None:
    """Without them no row and no note is the paper's."""
    made = table(evidence, "outcomes", published=False)

    assert {row["source"] for row in made.rows} == {"ours"}
    assert not any("published" in note for note in made.notes)


def test_failures_count_every_meeting(runs: dict[str, list[Result]], evidence: Evidence) -> None:
    """Four tasks of five meetings each: successes and reasons add up."""
    rows = {row["player"]: row for row in table(evidence, "failures").rows}
    counted = {name: {label: n for label, n in row.items() if isinstance(n, tuple)} for name, row in rows.items()}

    assert {row["meetings"] for row in rows.values()} == {20}
    assert {sum(count for count, _ in labels.values()) for labels in counted.values()} == {20}
    assert counted["sd-map (profile=paper)"]["SUCCESS"][0] == sum(r.metrics["scheduled"] for r in runs["sd-map-paper"])


def test_an_empty_table_says_what_ended_the_episodes(runs: dict[str, list[Result]]) -> None:
    """Where nothing is graded, another run is no help before it is known why."""
    lost = [
        one.model_copy(update={"status": "ungraded", "cause": "provider", "ended_by": "provider_error"})
        for one in next(iter(runs.values()))
    ]
    ungraded = evidence_of(lost=lost)
    ungraded = replace(ungraded, groups=(replace(ungraded.groups[0], graded=[], ungraded=lost),))
    with pytest.raises(UsageError) as error:
        report(ungraded, ["failures"], published=True)

    assert f"all {len(lost)} episodes are ungraded: the provider returned an error ({len(lost)})" in str(error.value)
    assert error.value.hint == "harness report RUN --table causes"


def test_unknown_table_names_the_known_ones(evidence: Evidence) -> None:
    """A name that is no table is an error that lists them."""
    with pytest.raises(UsageError, match=", ".join((*TABLES, *BY_NAME))):
        report(evidence, ["leaderboard"], published=True)
