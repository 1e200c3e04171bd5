"""`harness audit privacy` with a judge behind the real LiteLLM whose beliefs are known: what it is asked, what it writes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner, Result

from harness.agent import AgentSpec
from harness.errors import UsageError
from harness.records import RunFolder
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.commands.export import export_command
from parley.commands.kinds import audit_command
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.harness.agents.imap_model import imap
from tests.parley.families.calendar.model_runs import TASKS, model, played

pytestmark = pytest.mark.property

FILES = {
    "judge_cases.json", "judge_beliefs.csv", "judge_beliefs_calibrated.csv", "metric_comparison.csv",
    "judge_vs_reflection_precision.csv", "judge_more_precise_than_reflection.csv", "judge_reflection_cell_agreement.csv",
}  # fmt: skip
SURE, HALF = 3, -2

Conversation = Sequence[dict[str, Any]]


def judged(messages: Conversation) -> str:
    """A judge that thinks slot 0 of every calendar taken and slot 1 rather free.

    What agent 3 was sent it never understands, and what agent 4 was sent only when it is asked again.
    """
    told = messages[0]["content"]
    recipient = re.search(r"make agent (\d+) believe", told)[1]  # type: ignore[index]
    if recipient == "3" or (recipient == "4" and len(messages) == 1):
        return "Hard to say."
    targets = re.findall(r'"(\d+)"', told.rpartition("Its keys are")[2])
    return json.dumps({target: [SURE, HALF, *[0] * 14] for target in targets})


def command(group: Any, *words: str | Path) -> Result:
    """A command as typed, with nobody at a terminal."""
    return CliRunner().invoke(group, [str(word) for word in words])


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    """One of the files."""
    return list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text("utf-8"), newline="")))


def measures(run: Path) -> list[dict[str, Any]]:
    """What the verdicts of a run say."""
    return [json.loads(path.read_text())["metrics"] for path in sorted(run.rglob("verdict.json"))]


def calendars(run: Path) -> dict[tuple[str, int, int, int], bool]:
    """Whether slots 0 and 1 of each seat were taken after each round, by the traces: game, round, seat and slot."""
    made: dict[tuple[str, int, int, int], bool] = {}
    assert command(export_command, "trace", run, "--out", run / "traces").exit_code == 0
    for path in (run / "traces").rglob("*.json"):
        document, shown = json.loads(path.read_text()), {}
        for event in document["events"]:
            data = event["data"]
            if event["type"] == "agent_registered":
                shown[data["agent_id"]] = data["calendar_render"]
            if event["type"] == "batch_applied":
                shown[data["agent_id"]] = data["calendar_render_after"]
            if event["type"] == "resolution":
                for seat, text in shown.items():
                    lines = [line for line in text.splitlines() if line.startswith("Slot")]
                    key = (f"calendar/{document['task_id']}/s0-a1", data["round"], seat)
                    made |= {(*key, slot): "[FREE]" not in lines[slot] for slot in (0, 1)}
    return made


class Typed(NamedTuple):
    """IMAP's games of two tasks, audited twice: before that without consent, and with `--cost`."""

    run: Path
    out: Path
    refused: Result
    priced: Result
    first: Result
    second: Result
    calls: tuple[int, int, int]
    """Requests that the judge had got before the first audit, after it, and after the second."""

    @property
    def cases(self) -> list[dict[str, Any]]:
        """What the judge was shown."""
        cases: list[dict[str, Any]] = json.loads((self.out / "judge_cases.json").read_text())
        return cases

    @property
    def row(self) -> dict[str, Any]:
        """Table 16."""
        (row,) = json.loads(self.first.stdout)["tables"][0]["rows"]
        assert isinstance(row, dict)
        return row


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Typed:
    """That audit."""
    root = tmp_path_factory.mktemp("typed")
    run, out = root / "imap", root / "out"
    plan = Plan("imap", TASKS, [0], 1, AgentSpec(kind="seats", name="imap"))
    run_plan(plan, InProcessRuntime(), RunFolder(run), workers=1, images={}, progress=lambda event: None)
    with OpenAIServer(Script(play=judged)) as server:
        asked = ["privacy", run, "--judge-model", "openai/judge", "--api-base", server.url, "--cache", root / "kept"]
        refused, priced = command(audit_command, *asked), command(audit_command, *asked, "--cost")
        before = len(server.requests)
        first = command(audit_command, *asked, "--yes", "--json", "--out", out)
        after = len(server.requests)
        second = command(audit_command, *asked, "--json")
        return Typed(run, out, refused, priced, first, second, (before, after, len(server.requests)))


def test_nobody_pays_unasked(typed: Typed) -> None:
    """Without consent, or for its price alone, nothing is asked; what was answered once is free the second time."""
    assert isinstance(typed.refused.exception, UsageError)
    assert "model calls need confirmation" in str(typed.refused.exception)
    assert [one.exit_code for one in (typed.priced, typed.first, typed.second)] == [0, 0, 0]
    assert re.search(r"^30 model calls, about \d+ thousand tokens; 0 answers are cached$", typed.priced.stderr, re.MULTILINE)
    assert typed.priced.stdout == ""
    assert typed.calls[0] == 0
    assert typed.calls[1] == typed.calls[2]
    assert typed.second.stdout == typed.first.stdout


def test_one_call_a_case(typed: Typed) -> None:
    """2 games of 5 rounds of 3 participants are 30 cases; what cannot be read is asked for once more, then counted."""
    recipients = [case["recipient_agent"] for case in typed.cases]
    lost, twice = recipients.count(3), recipients.count(3) + recipients.count(4)

    assert {path.name for path in typed.out.iterdir()} == FILES
    assert len(recipients) == typed.row["cases"] == 30
    assert typed.calls[1] == 30 + twice
    assert (typed.row["malformed_cases"], typed.row["retried_cases"]) == (lost, twice)
    assert {case["state"] for case in typed.cases if case["recipient_agent"] == 3} == {"malformed"}
    assert {case["state"] for case in typed.cases if case["recipient_agent"] == 4} == {"read at the second try"}
    assert {one["observer_agent"] for one in rows_of(typed.out, "judge_beliefs")} == set(map(str, recipients)) - {"3"}


def test_known_beliefs_make_known_figures(typed: Typed) -> None:
    """Four targets of each case that was read, slot 0 by 3 and slot 1 by 2; protocol VPS beside it is the verdicts'."""
    read = sum(case["state"] != "malformed" for case in typed.cases)
    games = measures(typed.run)

    assert typed.row["beliefs"] == len(rows_of(typed.out, "judge_beliefs")) == read * 4 * 2
    assert typed.row["judge_raw_vps"] == pytest.approx(read * 4 * 5 / 3)
    assert typed.row["primary_metric"] == "protocol-semantic VPS"
    assert typed.row["primary_vps"] == pytest.approx(sum(game["sums"]["vps"] for game in games))
    assert typed.row["primary_excess_vps"] == pytest.approx(sum(game["sums"]["excess_vps"] for game in games))
    assert rows_of(typed.out, "judge_reflection_cell_agreement") == []


def test_truth_is_what_traces_show(typed: Typed) -> None:
    """A score is right where slot 0 is taken by the end of the round, and where slot 1 is free, by the calendars of a trace."""
    taken, right = calendars(typed.run), 0.0
    for case in typed.cases:
        for target in case["target_agents"] if case["state"] != "malformed" else ():
            place = (case["game_id"], case["round"], target)
            right += taken[*place, 0] * 1 + (not taken[*place, 1]) * 2 / 3

    assert typed.row["judge_calibrated_vps"] == pytest.approx(right)
    rows = rows_of(typed.out, "judge_beliefs_calibrated")
    assert sum(float(one["calibrated_vps"]) for one in rows) == pytest.approx(right)
    assert {(one["slot"], one["occupied"], one["truth_directed"]) for one in rows} <= {
        ("0", "1", "1"), ("0", "0", "0"), ("1", "1", "0"), ("1", "0", "1"),
    }  # fmt: skip


def reflecting(messages: Conversation) -> str:
    """A model that plays IMAP and, asked what it came to believe, always thinks slot 0 taken and slot 2 free."""
    if "no part of the game" in messages[-1]["content"]:
        return json.dumps([3, 0, -3, *[0] * 13])
    return imap(messages)


def test_games_with_reflections(tmp_path: Path) -> None:
    """Beside models that were asked what they believe, the primary measure is theirs, and cells are compared one by one."""
    run, out = tmp_path / "run", tmp_path / "out"
    with OpenAIServer(Script(match="scheduling assistant", play=reflecting), Script(play=judged)) as server:
        played(run, server.url, model("m"), TASKS[:1], reflection="asked")
        asked = ["privacy", run, "--judge-model", "openai/judge", "--api-base", server.url, "--cache", tmp_path / "kept"]
        done = command(audit_command, *asked, "--yes", "--json", "--out", out)
    assert done.exit_code == 0, done.exception
    tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    (row,), (game,) = tables["judge-reflection"], measures(run)
    stated = {one["statistic"]: one["value"] for one in tables["agreement"]}

    assert row["primary_metric"] == "reflection-calibrated VPS"
    assert row["primary_vps"] == pytest.approx(sum(seat["reflection_vps"] for seat in game["seats"]))
    assert row["primary_excess_vps"] == pytest.approx(sum(seat["excess_reflection_vps"] for seat in game["seats"]))
    # every seat answers of four others after five rounds, two slots each
    (precise,) = tables["precision"]
    assert precise["reflection_nonzero"] == 5 * 4 * 5 * 2

    # 20 pairs of 16 slots, less pairs whose every round was malformed; reflections mark slots 0 and 2, the judge 0 and 1
    cells = rows_of(out, "judge_reflection_cell_agreement")
    marked = {(one["observer_agent"], one["target_agent"]) for one in cells if float(one["judge_delta"])}
    pairs = {(one["observer_agent"], one["target_agent"]) for one in cells}
    assert stated["Union cells compared"] == str(len(cells)) == str(16 * len(pairs))
    assert stated["Reflection nonzero cells"] == str(2 * len(pairs))
    assert stated["Judge nonzero cells"] == str(2 * len(marked))
    assert stated["Both nonzero"] == str(len(marked))
    assert stated["Jaccard of nonzero cells"] == pytest.approx(len(marked) / (len(pairs) * 2 + len(marked)))
    assert stated["Same direction, both nonzero"] == 1
    assert 0 < stated["Pearson, union"] < 1


def test_nothing_to_judge(tmp_path: Path) -> None:
    """Games in which nobody said anything have no case, and a folder without games no game: said before anything is asked."""
    run, other = tmp_path / "silent", tmp_path / "other"
    plan = Plan("silent", TASKS[:1], [0], 1, AgentSpec(kind="seats", name="silent"))
    run_plan(plan, InProcessRuntime(), RunFolder(run), workers=1, images={}, progress=lambda event: None)
    asked = ["--judge-model", "openai/judge", "--api-base", "http://127.0.0.1:9"]
    silent = command(audit_command, "privacy", run, *asked)
    other.mkdir()
    foreign = command(audit_command, "privacy", other, *asked)

    assert "nothing was delivered" in str(silent.exception)
    assert isinstance(foreign.exception, UsageError)
