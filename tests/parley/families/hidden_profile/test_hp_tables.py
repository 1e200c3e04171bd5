"""The tables of the hidden-profile family: sessions really played, and figures worked out by hand from a few votes."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import tomli

from harness.agent import AgentIdentity, AgentSpec, Budget
from harness.errors import UsageError
from harness.paths import ROOT
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.request import Planned
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from parley.families.hidden_profile.arms import arms, figures
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.figure import figure4
from parley.families.hidden_profile.guessers import guessed
from parley.families.hidden_profile.report import TABLES, WITHOUT, any_as_the_paper, report
from parley.reports.evidence import Breadth, Evidence, Group, Setup, gather, read_runs
from tests.parley.families.hidden_profile.tabled import of, rows, seen, session, table
from tests.shipped import SHIPPED
from tests.worlds.hidden_profile.film import SCENARIO, WEDDING, called_proved, changed

pytestmark = pytest.mark.property

PRESETS = ROOT / "harness" / "presets"
PLAYED: tuple[tuple[str, dict[str, str]], ...] = (
    ("pool", {"condition": "hidden", "track": "structured"}),
    ("pool", {"condition": "full", "track": "structured"}),
    ("conform", {"track": "structured"}),
    ("withhold", {}),
    ("withhold", {"condition": "full"}),
    ("withhold", {"condition": "shared_only"}),
    ("withhold", {"variant": "secretary"}),
    ("withhold", {"variant": "asymmetry"}),
)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    """Two tasks, of the second of which votes can be lucky, as if they were certified."""
    root = tmp_path_factory.mktemp("tasks")
    other = changed("s2", weights={WEDDING: -3}).model_copy(update={"id": "film_b"})
    written = [write_task(root, name, one, "easy") for name, one in (("film", SCENARIO), ("film-b", other))]
    return [admitted(read_task(called_proved(folder))) for folder in written]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tasks: list[Task]) -> list[list[Result]]:
    """Each of PLAYED, on two seeds, in process."""
    root = tmp_path_factory.mktemp("runs")
    found = []
    for place, (name, options) in enumerate(PLAYED):
        plan = Plan(f"r{place}", tasks, [0, 1], 1, AgentSpec(kind="seats", name=name), overrides={"rounds": "3", **options})
        folder = RunFolder(root / plan.run_id)
        found.append(run_plan(plan, InProcessRuntime(), folder, workers=1, images={}, progress=lambda event: None))
    return found


@pytest.fixture(scope="module")
def evidence(runs: list[list[Result]], tasks: list[Task]) -> Evidence:
    """What a report would gather from them."""
    folders = {Path(result.path).parents[3] for results in runs for result in results}
    return gather(read_runs(sorted(folders)), "hidden-profile", tasks)


def planned(options: dict[str, Any], agent: dict[str, Any]) -> Group:
    """One session under these options, played by this agent."""
    group = of(session("a", "000", "111").model_copy(update={"options": options}))
    group.plans = [
        Planned(tasks={"a": ""}, seeds=(0,), attempts=1, agent=AgentIdentity.model_validate(agent), budget=Budget(turns=1000))
    ]
    return group


def beside_the_paper(evidence: Evidence) -> Evidence:
    """These sessions, and one that was held as the paper held its own."""
    return replace(evidence, groups=(*evidence.groups, planned({"horizon": "untold", "stakes": "paper"}, {})))


@pytest.mark.property
def test_conditions_of_a_player_stand_in_one_row(evidence: Evidence, runs: list[list[Result]]) -> None:
    """Ypre, Ypost and Yfull of one row are the votes of the verdicts in hidden and full; a floor is of shared facts alone."""
    made = table(evidence, "accuracy")
    (row,) = rows(made, player="withhold", setup="rounds=3", rule="average")
    hidden, full, floor = (
        [json.loads((Path(one.path) / "verdict.json").read_text())["metrics"]["votes"] for one in runs[place]]
        for place in (3, 4, 5)
    )

    assert row["pre"] == pytest.approx(fmean(one["before"]["average"] for one in hidden))
    assert row["post"] == pytest.approx(fmean(one["after"]["average"] for one in hidden)) == pytest.approx(1 / 3)
    assert (row["full"], row["full_post"], row["floor"]) == (1, fmean(one["after"]["average"] for one in full), 0)
    assert {one["before"]["average"] for one in floor} == {0}
    assert (row["hidden"], row["known"], row["floor_sessions"], row["tasks"], row["valid"]) == (4, 4, 4, 2, "2 of 2")


def test_only_poolers_reason_together(evidence: Evidence) -> None:
    """Poolers go all the way and are strong, a group with one withholder is not, and one condition alone says nothing."""
    made = table(evidence, "accuracy")
    found = {row["player"]: row for row in made.rows if row["rule"] == "average" and "variant" not in str(row["setup"])}

    assert (found["pool"]["gap"], found["pool"]["recovered"], found["pool"]["strong"]) == (0, 1, True)
    assert found["withhold"]["gap"] == pytest.approx(-2 / 3)
    assert found["withhold"]["strong"] is False
    assert [found["conform"][name] for name in ("full", "gap", "recovered", "strong", "valid")] == [None] * 5


def test_losses_add_up(evidence: Evidence) -> None:
    """In every row 1 - Ypost is pooling loss less luck and listening loss; poolers lose nothing, conformists all by pooling."""
    made = table(evidence, "process")
    post = {
        (arm.title, arm.how, condition): figures(arm.tasks(condition), {}, "average").post
        for arm in arms(evidence)
        for condition in ("hidden", "full", "shared_only")
    }
    for row in made.rows:
        lost = row["pooling"] - row["lucky"] + row["listening"]  # type: ignore[operator]
        assert 1 - post[row["player"], row["setup"], row["condition"]] == pytest.approx(lost)  # type: ignore[index, operator]
    (pool,) = rows(made, player="pool", condition="hidden")
    (conform,) = rows(made, player="conform")

    assert [pool[name] for name in ("integration", "decisive", "pooling", "listening", "grounded")] == [1, 1, 0, 0, 1]
    assert [conform[name] for name in ("integration", "pooling", "conformity")] == [0, 1, None]


def test_consensus_is_counted_where_stances_are(evidence: Evidence) -> None:
    """Poolers agree on the key in round 2, conformists on the decoy in round 1; on the free track nobody can tell."""
    found = {(row["player"], row["condition"]): row for row in table(evidence, "process", place=1).rows}

    assert set(found) == {("pool", "hidden"), ("pool", "full"), ("conform", "hidden")}
    assert [found["pool", "hidden"][name] for name in ("rounds", "right", "premature", "median")] == ["2: 4", (4, 1), (0, 0), 2]
    assert [found["conform", "hidden"][name] for name in ("rounds", "right", "premature")] == ["1: 4", (0, 0), (4, 1)]
    assert found["conform", "hidden"]["consensus_messages"] == 3


def test_variants_stand_beside_the_plain_one(evidence: Evidence) -> None:
    """The paper's variants come first, differences are to the plain runs, and only players with variants are there."""
    made = table(replace(beside_the_paper(evidence), breadth=Breadth(every_published=True)), "variants", published=True)
    ours = rows(made, source="ours")

    assert [row["variant"] for row in ours] == ["none", "asymmetry", "secretary"]
    assert {row["player"] for row in ours} == {"withhold"}
    assert [row.get("difference") for row in ours] == [None, 0, 0]
    assert len(rows(made, source="published", player="GPT-4.1")) == 8


def test_structures_are_paired_by_task_and_seed() -> None:
    """Only deals that both played count, attempts as their mean; manifest deals have a difference of their own."""
    plain = of(session("a", "000", "000"), session("a", "000", "100"), session("a", "000", "110"), seeds=(0, 1, 2))
    how = ("track=structured", "structure=round_robin")
    held = [session("a", "000", vote) for vote in ("111", "111", "100", "000")]
    other = of(*held, session("b", "000", "111"), how=how, seeds=(1, 2, 2, 3, 9))
    manifest = [
        of(session("a", "111", vote, deal="manifest"), how=some, seeds=(5,)) for vote, some in (("111", how[:1]), ("100", how))
    ]
    made = table(seen(replace(plain, setup=replace(plain.setup, how=how[:1])), other, *manifest), "structures")

    (first, second) = made.rows
    assert [row["structure"] for row in made.rows] == ["none", "round_robin"]
    assert {row["setup"] for row in made.rows} == {"track=structured"}
    assert "difference" not in first
    assert second["difference"] == pytest.approx(((1 - 1 / 3) + (2 / 3 - 2 / 3)) / 2)
    assert second["manifest"] == pytest.approx(-2 / 3)
    assert second["difference_interval"] == pytest.approx((0, 2 / 3))
    assert second["manifest_interval"] is None
    with pytest.raises(UsageError, match="a run with a structure"):
        table(seen(plain), "structures")


def test_structures_have_a_ceiling(tmp_path: Path) -> None:
    """All hidden deals of a deck can be decided; whole hands decide them in the second round, a round robin later."""
    (deck,) = (task for task in SHIPPED if task.task_id == "oyster-gear")
    for place, options in enumerate(({"structure": "none"}, {"structure": "round_robin"})):
        plan = Plan(f"r{place}", [deck], [0, 2], 1, AgentSpec(kind="seats", name="one_fact"), overrides=options)
        run_plan(plan, InProcessRuntime(), RunFolder(tmp_path / plan.run_id), workers=1, images={}, progress=lambda event: None)
    made = table(gather(read_runs([tmp_path / "r0", tmp_path / "r1"]), "hidden-profile", [deck]), "structures")
    reached = [(row["structure"], row["ceiling"], row["round"]) for row in made.rows]
    assert reached == [("none", 1, 2), ("round_robin", 1, pytest.approx(4 + 1 / 6))]
    assert made.rows[1]["difference"] == 0


def test_published_rows_can_be_left_out(evidence: Evidence) -> None:
    """Without them no row and no note is the paper's; with them people and models are, marked."""
    for name in TABLES:
        for made in report(evidence, [name], published=False):
            assert "published" not in json.dumps(made.document()).replace("the published key", "")
    beside = beside_the_paper(evidence)
    every = replace(beside, breadth=Breadth(every_published=True))
    marked, short = (
        [row["player"] for row in table(one, "accuracy", published=True).rows if str(row["source"]).startswith("published")]
        for one in (every, beside)
    )

    assert marked[:4] == ["GPT-4.1", "people", "15 models", "Gemini-2.5-Pro"]
    assert short == ["people", "15 models"]
    assert any("24 groups" in note for note in table(beside, "accuracy", published=True).notes)


def test_published_rows_stand_beside_the_papers_protocol_alone(evidence: Evidence) -> None:
    """Beside sessions of any other protocol no table has a row of the paper's, and a note says how to get them."""
    for name in ("accuracy", "variants", "process"):
        made = table(evidence, name, published=True)
        assert not any(str(row.get("source")).startswith("published") for row in made.rows)
        assert made.notes[-1] == WITHOUT
    assert WITHOUT not in table(evidence, "accuracy", published=False).notes
    assert WITHOUT not in table(evidence, "guessers", published=True).notes


@pytest.mark.parametrize(
    ("other", "agent"),
    [
        ({"horizon": "told"}, {}),
        ({"rounds": 5}, {}),
        ({"first_vote": "kept"}, {}),
        ({"heard": "all"}, {}),
        ({"track": "structured"}, {}),
        ({"stakes": "told"}, {}),
        ({}, {"requested": {"temperature": 0.0}}),
        ({}, {"seats": [{"seat": 0, "kind": "model", "name": "other"}]}),
        ({}, {"variant": {"name": "mine", "digest": "0" * 64}}),
    ],
)
def test_what_is_not_the_papers_protocol(other: dict[str, Any], agent: dict[str, Any]) -> None:
    """One option, a temperature, a guest or a word more in the rules makes it another one; condition and variant do not."""
    as_published = {"condition": "full", "variant": "asymmetry", "horizon": "untold", "vote_view": "all", "stakes": "paper"}

    assert any_as_the_paper(seen(planned(as_published, {"requested": {"max_tokens": 900}})))
    assert not any_as_the_paper(seen(planned(as_published | other, agent)))


@pytest.mark.parametrize("preset", ["hidden-paper", "hidden-study1", "hidden-variants"])
def test_presets_of_the_paper_follow_its_protocol(preset: str) -> None:
    """So that its numbers stand beside theirs; those of its released code differ, and so do they."""

    def chosen(name: str) -> dict[str, Any]:
        lines = tomli.loads((PRESETS / f"{name}.toml").read_text(encoding="utf-8"))["set"]
        told = {name: value.split(",")[0] for name, _, value in (line.partition("=") for line in lines)}
        return {name: int(value) if value.isdigit() else value for name, value in told.items()}

    assert any_as_the_paper(seen(planned(chosen(preset), {})))
    assert not any_as_the_paper(seen(planned(chosen("hidden-published-code"), {})))


def test_unknown_and_empty_tables(evidence: Evidence) -> None:
    """A name that is no table lists them, and a table without anything to say names the run that it needs."""
    with pytest.raises(UsageError, match=", ".join(TABLES)):
        report(evidence, ["leaderboard"], published=True)
    with pytest.raises(UsageError, match="an instruction variant"):
        report(seen(of(session("a", "000", "111"))), ["variants"], published=True)
    assert report(seen(), [], published=True) == []


def test_sessions_of_the_released_code_have_its_rule() -> None:
    """Their accuracy is told by plurality, too; other sessions have two rows."""
    plain = table(seen(of(session("a", "000", "110"))), "accuracy")
    code = table(seen(of(session("a", "000", "100"), how=("revote=same",))), "accuracy")

    assert [row["rule"] for row in plain.rows] == ["average", "majority"]
    assert [(row["rule"], row["post"]) for row in code.rows] == [
        ("average", pytest.approx(1 / 3)),
        ("majority", 0),
        ("plurality", 1),
    ]


def test_accuracy_after_the_talk_with_everything_known_is_printed() -> None:
    """Figure 2 has it for GPT-4.1, so the table prints it."""
    made = table(seen(of(session("a", "000", "111", "full"), how=("condition=full",))), "accuracy")

    assert dict(zip(made.header, made.cells()[0], strict=True))["Yfull after"] == "100.0"


@pytest.mark.property
def test_controls_show_who_rejects_the_leader_by_habit(harness: Callable[..., Any], tmp_path: Path) -> None:
    """With the control of the paper's presets a group that always does has no informedness, whatever it scores without."""
    run, held = (
        str(tmp_path / "run"),
        ("--set", "rounds=1", "--set", "deal=hidden", "--control", "deal=manifest", "--seeds", "0-5"),
    )
    harness("run", "bakery-switch", "--agent", "reject", *held, "--runtime", "inprocess", "--out", run)
    shown = json.loads(harness("report", run, "--table", "accuracy", "--json").stdout)
    (row, _) = shown["tables"][0]["rows"]

    assert (row["hidden"], row["manifest_sessions"], row["manifest"]) == (6, 6, 0)
    assert row["informedness"] <= 0 <= row["post"]


def test_task_counts_once() -> None:
    """Means are over tasks, however many sessions each has."""
    made = table(seen(of(session("a", "000", "111"), session("a", "000", "111"), session("b", "001", "000"))), "accuracy")
    average, majority = made.rows

    assert [average[name] for name in ("pre", "post", "gain")] == pytest.approx([1 / 6, 0.5, 1 / 3])
    assert (majority["pre"], majority["post"]) == (0, 0.5)


def test_comparisons_are_of_tasks_played_in_both_conditions() -> None:
    """Task c was never played with full information: it counts in Ypost, and neither in the gap nor in the flag."""
    hidden = of(session("a", "0000", "1110"), session("c", "0000", "0000"))
    full = of(session("a", "1111", "1111", "full"), session("d", "0000", "0000", "full"), how=("condition=full",))
    row = table(seen(hidden, full), "accuracy").rows[0]

    assert (row["post"], row["full"], row["gap"]) == (0.375, 0.5, -0.25)
    assert (row["recovered"], row["strong"], row["tasks"], row["valid"]) == (0.75, True, 3, "1 of 1")


def test_valid_tasks_have_a_row_of_their_own() -> None:
    """Where only some tasks are hidden profiles for a player, they are summed up apart."""
    hidden = of(session("a", "00000", "11111"), session("b", "11000", "00000"))
    full = of(session("a", "11110", "11111", "full"), session("b", "11111", "11111", "full"), how=("condition=full",))
    made = table(seen(hidden, full), "accuracy")
    per_task = {row["task"]: row["holds"] for row in table(seen(hidden, full), "tasks").rows}

    assert [(row["rule"], row["scope"], row["tasks"], row["post"]) for row in made.rows] == [
        ("average", "all", 2, 0.5), ("majority", "all", 2, 0.5), ("average", "profiles", 1, 1.0),
    ]  # fmt: skip
    assert per_task == {"a": True, "b": False}


def test_turns_to_adopt_are_of_seats_that_could_know_and_did() -> None:
    """The mean over seats of the way from the turn that proves the key to the stance for it; other seats do not count."""
    seats = [
        {"decidable_turn": 3, "adopted_turn": 5},
        {"decidable_turn": 3, "adopted_turn": 9},
        {"decidable_turn": None, "adopted_turn": None},
    ]
    made = table(seen(of(session("a", "000", "111", seats=seats))), "process")

    assert made.rows[0]["lag"] == 4.0


def test_moves_pool_their_opportunities() -> None:
    """Three of four chances, in two sessions of different tasks; none at all is blank."""
    moved = [{"conformity": {"opportunities": n, "taken": k}, "informed": None, "brave": None} for n, k in ((3, 3), (1, 0))]
    made = table(seen(of(session("a", "0", "0", moves=moved[0]), session("b", "0", "0", moves=moved[1]))), "process")

    assert [(row["conformity"], row["informed"], row["brave"]) for row in made.rows] == [((3, 0.75), None, None)]


def test_measures_are_of_the_sessions_that_have_them() -> None:
    """A session that was not certified or said nothing is left out of a mean, and a task without any value too."""
    known = [session("a", "0", "0", integration=1.0), session("a", "0", "0", integration=None), session("b", "0", "0")]
    known.append(session("c", "0", "0", integration=0.0))
    made = table(seen(of(*known)), "process")

    assert made.rows[0]["integration"] == 0.5


def test_guessers_on_the_film(evidence: Evidence) -> None:
    """The key is the last option and looks worst in the first only; each guesser has its bound, and players stand below."""
    made = table(evidence, "guessers")
    found = {row["player"]: row for row in made.rows}
    blind = guessed([SCENARIO] * 9)["blind guess"]

    assert (found["always-last"]["accuracy"], found["contrarian"]["accuracy"]) == (1, 0.5)
    assert (blind.accuracy, blind.error) == pytest.approx((1 / 3, math.sqrt(2 / 9 / 9)))
    assert [guessed([SCENARIO] * 9)[name].within for name in ("always-last", "longest")] == [False, True]
    assert found["pool (rounds=3, track=structured)"]["accuracy"] == 1


def test_no_bound_is_above_all_there_is(evidence: Evidence) -> None:
    """Of one task, or two, a blind guess and two of its errors are more than everything: the bound is everything."""
    alone = guessed([SCENARIO])

    assert alone["blind guess"].accuracy + 2 * alone["blind guess"].error > 1
    assert {guess.bound for guess in alone.values()} == {1.0}
    assert {row["bound"] for row in rows(table(evidence, "guessers"), kind="text only")} <= {1.0}


def test_guessers_are_made_only_where_they_are_asked_for(evidence: Evidence) -> None:
    """They take half a second a task, and say more of tasks than of players; no other table waits for them."""
    without, everything = (report(evidence, wanted, published=False) for wanted in ([], ["all"]))

    assert [made.name for made in without] == [made.name for made in everything]
    assert "guessers" not in {made.name for made in everything}
    assert {made.name for made in report(evidence, ["guessers"], published=False)} == {"guessers"}


def test_guessers_need_the_tasks() -> None:
    """Without a registry there is nothing to read."""
    with pytest.raises(UsageError, match="registry"):
        report(seen(of(session("a", "000", "111"))), ["guessers"], published=False)


def test_rows_that_read_alike_show_their_fine_print() -> None:
    """Two prompts of one model are two rows, each with its prompt."""
    one, other = of(session("a", "000", "111")), of(session("a", "000", "000"))
    one.setup, other.setup = (Setup("llm", "m", (), (prompt,)) for prompt in ("prompt 1", "prompt 2"))
    made = table(seen(one, other), "accuracy")

    assert [row["setup"] for row in rows(made, rule="average")] == ["prompt 1", "prompt 2"]


def test_picture_draws_the_figures(evidence: Evidence) -> None:
    """Bars are as long as their values, inside the picture; strong groups are bold; people are dashed lines."""
    made = table(beside_the_paper(evidence), "accuracy", published=True)
    root = ET.fromstring(figure4(made.rows))
    bars = [float(part.get("width", 0)) for part in root if part.tag.endswith("rect") and part.get("height") == "9"]
    drawn = [row for row in made.rows if (row["rule"], row["scope"]) == ("average", "all") and row["player"] != "people"]
    values = [row[name] for row in drawn for name in ("pre", "post", "full") if row.get(name) is not None]
    bold = [part.text for part in root if part.get("font-weight") == "bold"]

    assert bars == [pytest.approx(480 * value, abs=0.06) for value in values]  # type: ignore[operator]
    assert bold == ["pool, rounds=3, track=structured"]
    assert len([part for part in root if part.get("stroke-dasharray")]) == 2
    assert max(float(part.get("y", 0)) for part in root) <= float(root.get("height", 0))
    assert figure4(made.rows) == figure4(made.rows)


@pytest.mark.property
def test_report_writes_the_plot(tmp_path: Path, harness: Callable[..., Any]) -> None:
    """The command draws Figure 4 of real runs into a file, and refuses where no table of theirs has a figure."""
    run, svg = str(tmp_path / "run"), tmp_path / "figure4.svg"
    harness("run", "bakery-switch", "--agent", "pool", "--set", "condition=hidden,full", "--runtime", "inprocess", "--out", run)

    assert harness("report", run, "--table", "accuracy", "--no-published", "--plot", str(svg)).returncode == 0
    assert "pool" in {part.text for part in ET.parse(svg).getroot()}
    refused = harness("report", run, "--table", "process", "--plot", str(svg))
    assert (refused.returncode, "these tables have none" in refused.stderr) == (2, True)
