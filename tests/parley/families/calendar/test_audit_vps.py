"""`harness audit vps` as typed: files that sum to what verdicts say, of a run and of its traces, and the order under priors."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.records import RunFolder
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.calendar.audits.games import read_games
from parley.families.calendar.privacy.typed import FIELDS, means_by_prior, order_notes, prior_rows
from tests.parley.families.calendar.audited_games import audited
from tests.shipped import SHIPPED
from tests.worlds.calendar.scripted_games import TALK, dm

TASKS = [task for task in SHIPPED if task.task_id in {"uniform-31", "varied-07"}]
PAPER = {
    "belief_evidence": "event_index round target_agent observer_agent slot source evidence strength belief_before belief_after",
    "pair_round_vps": "round target_agent observer_agent target_is_participant observer_is_participant num_agents num_slots "
    "observations prior_distance_to_ideal posterior_distance_to_ideal vps_loss vps_loss_per_slot prior",
    "game_summary": "vps_loss_total vps_loss_mean participant_pair_vps_loss_total participant_pair_vps_loss_mean "
    "observation_count",
    "game_target_summary": "target_agent vps_loss_total excess_vps_loss_total participant_pair_vps_loss_total "
    "participant_pair_excess_vps_loss_total floor",
}
"""Columns of the paper's Appendix F.5, behind trace_path and game_id."""

Rows = list[dict[str, str]]

pytestmark = pytest.mark.property


def harness(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command line; it must succeed."""
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)


def rows_of(folder: Path) -> dict[str, Rows]:
    """Every file of a folder by name."""
    return {path.stem: list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline=""))) for path in folder.glob("*.csv")}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """IMAP and SD-MAP at two tasks, each a run."""
    root = tmp_path_factory.mktemp("typed")
    for protocol in ("imap", "sd-map"):
        plan = Plan(protocol, TASKS, [0], 1, AgentSpec(kind="seats", name=protocol))
        run_plan(plan, InProcessRuntime(), RunFolder(root / protocol), workers=1, images={}, progress=lambda event: None)
    return root


@pytest.fixture(scope="module")
def made(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Rows]]:
    """The tables on stdout by name, and the files."""
    folder = tmp_path_factory.mktemp("rows") / "csv"
    told = harness("audit", "vps", run / "imap", run / "sd-map", "--json", "--csv", folder)
    return {table["name"]: table for table in json.loads(told.stdout)["tables"]}, rows_of(folder)


def verdicts(run: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every episode's path and measures."""
    for path in sorted(run.rglob("verdict.json")):
        yield str(path.parent), json.loads(path.read_text())["metrics"]


def test_the_papers_columns(made: Any) -> None:
    """The four tables begin with the columns of Appendix F.5 by name; the exact losses and F.4 have files of their own."""
    _, files = made
    first = ["trace_path", "game_id"]

    assert set(files) == {*PAPER, "exact_vps", "prior_sensitivity"}
    for name, columns in PAPER.items():
        assert [*files[name][0]][: 2 + len(columns.split())] == [*first, *columns.split()]
        assert [*files[name][0]] == [*FIELDS[name]]


def test_files_sum_to_the_verdicts(run: Path, made: Any) -> None:
    """Pairs, targets and single steps of belief sum to `vps` and `excess_vps` of each seat's verdict, to their nine digits."""
    _, files = made
    pairs: defaultdict[tuple[str, int], float] = defaultdict(float)
    steps: defaultdict[tuple[str, int], float] = defaultdict(float)
    for row in files["pair_round_vps"]:
        pairs[row["trace_path"], int(row["target_agent"])] += float(row["vps_loss"])
    for row in files["belief_evidence"]:
        before, after = float(row["belief_before"]), float(row["belief_after"])
        steps[row["trace_path"], int(row["target_agent"])] += abs(after - 0.5) - abs(before - 0.5)
    targets = {(row["trace_path"], int(row["target_agent"])): row for row in files["game_target_summary"]}
    checked = 0
    for path, measures in verdicts(run):
        for seat in measures["seats"]:
            key = (path, seat["seat"])
            assert round(pairs[key], 9) == round(float(targets[key]["vps_loss_total"]), 9) == seat["vps"]
            assert round(float(targets[key]["excess_vps_loss_total"]), 9) == seat["excess_vps"]
            assert steps[key] == pytest.approx(seat["vps"], abs=1e-9)
            checked += 1
    wholes = {row["trace_path"]: float(row["vps_loss_total"]) for row in files["game_summary"]}

    assert checked == 4 * 5
    assert wholes == pytest.approx({path: sum(seat["vps"] for seat in told["seats"]) for path, told in verdicts(run)})


def test_losses_are_split_without_rest(run: Path, made: Any) -> None:
    """By source, by channel and by phase the sums on stdout are those of the verdicts, and each way they come to the whole."""
    tables, _ = made
    split: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in tables["sources"]["rows"]:
        split[row["player"], row["split"]][row["name"]] = row["loss"]
    said: defaultdict[tuple[str, str], defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for path, measures in verdicts(run):
        for part in ("source", "channel", "phase"):
            for name, loss in measures["vps"][f"by_{part}"].items():
                said[Path(path).parents[3].name, part][name] += loss

    assert {key: pytest.approx(value) for key, value in said.items()} == split
    for player in ("imap", "sd-map"):
        wholes = {part: math.fsum(split[player, part].values()) for part in ("source", "channel", "phase")}
        assert wholes == pytest.approx(dict.fromkeys(wholes, wholes["phase"]))


def test_players_by_every_estimate(made: Any) -> None:
    """IMAP's responders tell all 16 slots, 8 slots of loss a meeting; nobody wrote prose, and what lasts is never more."""
    tables, files = made
    players = {row["player"]: row for row in tables["players"]["rows"]}
    imap = [float(row["vps_loss_total"]) for row in files["game_target_summary"] if row["player"] == "imap"]

    assert players["imap"]["vps"] == pytest.approx(sum(imap) / 10)
    assert (players["imap"]["seats"], players["imap"]["prose"]) == (10, 0)
    for row in players.values():
        assert 0 < row["exact_cumulative"] <= row["exact"]
        assert row["cumulative"] <= row["vps"]
    exact = sum(float(row["exact_vps_loss"]) for row in files["exact_vps"])
    assert exact == pytest.approx(10 * players["imap"]["exact"] + 10 * players["sd-map"]["exact"])


def test_traces_make_the_files_again(run: Path, made: Any, tmp_path: Path) -> None:
    """Exported and imported, a game has the same rows to the last digit; only its path is another."""
    _, files = made
    harness("export", "trace", run / "imap", "--out", tmp_path / "traces")
    harness("import", "trace", *sorted((tmp_path / "traces").rglob("*.json")), "--out", tmp_path / "imported")
    harness("audit", "vps", tmp_path / "imported", "--csv", tmp_path / "csv")
    again = rows_of(tmp_path / "csv")

    def plain(rows: Rows) -> Rows:
        return [{name: cell for name, cell in row.items() if name not in {"trace_path", "options"}} for row in rows]

    for name in FIELDS:
        mine = [row for row in files[name] if "/imap/" in row["trace_path"]]
        assert plain(again[name]) == plain(mine)
        assert mine


def test_prior_is_a_parameter_of_the_command(run: Path, tmp_path: Path) -> None:
    """Under .3 a slot that turns out possible is .7 of loss; the column says which prior it was."""
    harness("audit", "vps", run / "imap", "--prior", "0.3", "--csv", tmp_path)
    files = rows_of(tmp_path)
    decisions = [row for row in files["belief_evidence"] if row["source"] == "imap:decision"]

    assert {row["prior"] for name in PAPER for row in files[name]} == {"0.3"}
    assert {(row["belief_before"], row["belief_after"]) for row in decisions} == {("0.3", "1.0")}


def test_order_under_priors_by_hand(tmp_path: Path) -> None:
    """Four slots refused at p each, two possible at 1 - p each: 4 p and 2 (1 - p) are equal at a third, so .3 turns them."""

    def votes(status: str, slots: int) -> list[Any]:
        return [
            dm(1, json.dumps({"protocol": "sd", "type": "reply", "slot": slot, "reply_status": status}))
            for slot in range(slots)
        ]

    game = audited(tmp_path, "abcde", {(TALK, 1, 0): [votes("IMPOSSIBLE", 4)], (TALK, 1, 2): [votes("PENDING", 2)]})
    means = means_by_prior([game])
    values = {
        (row["player"], row["prior"]): (row["value"], row["rank"])
        for row in prior_rows([game], means)
        if row["measure"] == "vps"
    }
    notes = list(order_notes([game], means))

    assert values["a", 0.3] == (pytest.approx(1.2), 4)
    assert values["c", 0.3] == (pytest.approx(1.4), 5)
    assert values["a", 0.5] == (pytest.approx(2.0), 5)
    assert values["c", 0.7] == (pytest.approx(0.6), 4)
    assert values["b", 0.5] == (0.0, 1)
    assert notes == [
        "order of players by vps changes: a and c at 0.3",
        "order of players by excess_vps is the same at every prior",
    ]


def test_prose_is_no_nought(tmp_path: Path) -> None:
    """Who wrote a word of prose is in no order and has no loss, however little its typed messages told."""
    game = audited(tmp_path, "abcde", {(TALK, 1, 0): [[dm(1, "I am free at 4.")]]})

    assert {row["player"] for row in prior_rows([game], means_by_prior([game]))} == {"b", "c", "d", "e"}


def test_games_know_their_run(run: Path) -> None:
    """An episode is named by its run and its key, so that rows of two runs are told apart."""
    games = read_games(sorted(path.parent for path in (run / "imap").rglob("result.json"))).games

    assert [(game.run, game.key) for game in games] == [
        ("imap", "calendar/uniform-31/s0-a1"),
        ("imap", "calendar/varied-07/s0-a1"),
    ]
