"""`harness audit messages` as typed: protocols whose messages are typed, and models that talk, from run folder to tables."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.records import RunFolder
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.calendar.audits.games import read_games
from parley.families.calendar.audits.tables import label_rows, message_rows, misreport_rows, tables
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.shipped import SHIPPED

TASKS = [task for task in SHIPPED if task.task_id in {"uniform-31", "varied-07"}]

pytestmark = pytest.mark.property


def typed_run(folder: Path, protocol: str, **options: Any) -> list[Path]:
    """The episodes of a protocol at every seat of the two tasks."""
    plan = Plan(folder.name, TASKS, [0], 1, AgentSpec(kind="seats", name=protocol), overrides=options)
    results = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=lambda event: None)
    return [Path(result.path) for result in results]


@pytest.mark.parametrize("protocol", ["imap", "sd-map"])
def test_protocols_state_the_truth(tmp_path: Path, protocol: str) -> None:
    """Every price of IMAP and every vote of SD-MAP is what the calendar says; none of it is prose, and none is labelled."""
    read = read_games(typed_run(tmp_path / protocol, protocol))
    (counted,), (stated, of_others) = message_rows(read.games), misreport_rows(read.games)

    assert (read.ungraded, read.unsound, counted["games"], counted["seats"]) == (0, 0, 2, 10)
    assert counted["messages"] == counted["typed"]
    assert (stated["kind"], stated["false"]) == ("typed", 0)
    assert (of_others["kind"], of_others["false"]) == ("typed, of others", 0)
    assert int(str(stated["statements"])) > 50
    assert {row["prose"] for row in label_rows(read.games)} == {0}
    assert [table.name for table in tables(read)] == ["sample", "messages", "patterns", "misreports"]


def talker(messages: Sequence[dict[str, Any]]) -> str:
    """A model that says in its first turn of a round where it is free, and nothing else; an even seat lies."""
    system, turn = messages[0]["content"], messages[-1]["content"]
    me = int(re.search(r"You are agent (\d+)", system)[1])  # type: ignore[index]
    actions: list[dict[str, Any]] = []
    if "Phase: CHEAP_TALK, turn 1 " in turn:
        others = [int(one) for one in re.search(r"participants=\[([\d, ]+)\]", turn)[1].split(", ") if int(one) != me]  # type: ignore[index]
        free = re.findall(r"^Slot +(\d+): \[FREE\]", turn, re.MULTILINE)
        held = re.findall(r"^Slot +(\d+): [^\[]", turn, re.MULTILINE)
        named = held if me % 2 == 0 else free
        actions = [{"type": "dm", "to": others[0], "content": f"I am free at slots {', '.join(named)}."}]
    return json.dumps({"thinking": "", "actions": actions})


def talked(folder: Path) -> None:
    """A run in which one model holds seats 0, 2 and 4 and another the others."""
    with OpenAIServer(Script(match="scheduling assistant", play=talker)) as server:
        others = tuple(SeatSpec(seat=seat, kind="model", name="openai/honest") for seat in (1, 3))
        spec = AgentSpec(kind="llm", model="openai/liar", api_base=server.url, seats=others)
        config = replace(LlmConfig.of(spec), api_key="k", patience_s=2.0, first_pause_s=0.01)
        agent = SeatAgent(spec, config=config, say=lambda line: None)
        plan = Plan(folder.name, TASKS, [0], 1, spec)
        cast, quiet = AgentPool(lambda *_: agent), lambda event: None
        run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=quiet, cast=cast)


def harness(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command line."""
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_models_that_talk(tmp_path: Path) -> None:
    """Every slot that the lying model names is misreported, none of the other's; rows and files say alike."""
    talked(tmp_path / "run")
    printed = harness("audit", "messages", tmp_path / "run")
    told = harness("audit", "messages", tmp_path / "run", "--json", "--csv", tmp_path / "rows")
    made = {table["name"]: table["rows"] for table in json.loads(told.stdout)["tables"]}
    with (tmp_path / "rows" / "messages.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    assert (printed.returncode, told.returncode) == (0, 0), printed.stderr + told.stderr
    assert "Own-slot disclosure" in printed.stdout
    assert {row["player"]: row["rate"] for row in made["misreports"]} == {"openai/honest": 0, "openai/liar": 1}
    assert {row["player"]: row["rate"] for row in made["labels"] if row["label"] == "availability"} == {
        "openai/honest": 1, "openai/liar": 1,
    }  # fmt: skip
    assert len(rows) == sum(row["messages"] for row in made["messages"]) == 2 * 5 * 3
    assert {(row["player"], row["statements"] != "", row["false_statements"] != "0") for row in rows} == {
        ("openai/honest", True, False), ("openai/liar", True, True),
    }  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == [
        "labels.csv", "messages.csv", "misreports.csv", "patterns.csv",
    ]  # fmt: skip


def test_several_runs_and_none(tmp_path: Path) -> None:
    """Two runs are read together; a run of another family has no game, which is said in a line."""
    typed_run(tmp_path / "a", "imap")
    typed_run(tmp_path / "b", "imap", profile="paper")
    both = harness("audit", "messages", tmp_path / "a", tmp_path / "b", "--json")
    made = {table["name"]: table["rows"] for table in json.loads(both.stdout)["tables"]}
    other = tmp_path / "other"
    played = harness("run", "presigned-url-download", "--agent", "nop", "--runtime", "inprocess", "--out", other)
    refused = harness("audit", "messages", other)

    assert [(row["options"], row["games"]) for row in made["messages"]] == [("-", 2), ("profile=paper", 2)]
    assert (played.returncode, refused.returncode) == (0, 2)
    assert "has no calendar game to audit" in refused.stderr
