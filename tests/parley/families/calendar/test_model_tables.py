"""Tables of real runs with models at seats, in process: alone, among protocols, and handed round; one of them writes prose."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from harness.agent import SeatSpec
from parley.families.calendar.report import report
from parley.reports.evidence import Evidence
from parley.reports.table import Table
from tests.parley.families.calendar.model_runs import gathered, guests, model, played, server

ONE, MINI = (SeatSpec(seat=seat, kind="model", name=f"openai/{name}") for seat, name in ((1, "one"), (2, "gpt-5.4-mini")))

pytestmark = pytest.mark.property


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Two tasks, each played by a model alone, by two models among protocols, and twice by a guest that moves on by a seat."""
    root = tmp_path_factory.mktemp("runs")
    with server() as running:
        played(root / "alone", running.url, model("one"))
        played(root / "mixed", running.url, guests(ONE, MINI))
        played(root / "turning", running.url, guests(ONE, rotate=True), k=2)
        played(root / "protocol", None, guests())
    evidence = gathered(root)
    assert [result.error for group in evidence.groups for result in group.ungraded] == []
    return evidence


@pytest.fixture(scope="module")
def tables(found: Evidence) -> dict[str, Table]:
    """Every table of these runs."""
    return {table.name: table for table in report(found, [], published=False)}


def rows(table: Table, **wanted: Any) -> list[Any]:
    """The rows of which some columns have these values."""
    return [row for row in table.rows if all(row.get(key) == value for key, value in wanted.items())]


def test_rows_are_of_holders_and_teams(tables: dict[str, Table]) -> None:
    """The model alone holds all five seats, the guests one each, the guest that moves on two, and each has a row of its own."""
    shown = [(row["player"], row["seats"], row["others"], row["n"]) for row in rows(tables["seats"], setting="uniform")]

    assert shown == [
        ("openai/one", "0-4", None, 5),
        ("openai/one", "1", "GPT-5.4 Mini, imap x3", 1),
        ("GPT-5.4 Mini", "2", "imap x3, openai/one", 1),
        ("openai/one", "1-2", "imap x4", 2),
    ]


def test_numbers_are_those_of_the_verdicts(found: Evidence, tables: dict[str, Table]) -> None:
    """What a row says is the mean over its seats in verdict.json."""
    (row,) = rows(tables["seats"], setting="varied", others="imap x4")
    turning = next(group for group in found.groups if "rotating" in group.name)
    seats: list[Any] = []
    for result in turning.graded:
        measured = json.loads((Path(result.path) / "verdict.json").read_bytes())["metrics"]["seats"]
        seats += [measured[one.seat] for one in result.seats if one.model and result.task_id.startswith("varied")]

    assert len(seats) == row["n"] == 2
    assert row["excess"] == fmean(seat["excess"] for seat in seats)
    assert row["fairness"] == pytest.approx(fmean(seat["fairness"] for seat in seats))
    assert row["messages"] == pytest.approx(fmean(seat["messages_per_scheduled"] for seat in seats))


def test_who_writes_prose_has_no_protocol_vps(tables: dict[str, Table]) -> None:
    """The model at seat 2 says in plain words when it is free: a dash, beside the slots that typed messages told."""
    vps = {(row["player"], row["seats"]): row["protocol_vps"] for row in rows(tables["seats"], setting="uniform")}

    assert vps["GPT-5.4 Mini", "2"] is vps["openai/one", "0-4"] is vps["openai/one", "1-2"] is None
    assert vps["openai/one", "1"] is not None
    assert [row["protocol_vps"] for row in rows(tables["seats-protocols"], setting="uniform", others=None)] == [12.4]
    told = {
        row["setup"] or "": row["vps"] for row in rows(tables["outcomes"], setting="uniform", source="ours", block="protocol")
    }
    assert told == {"": 12.4}
    assert {row["vps"] for row in rows(tables["outcomes"], setting="uniform", block="model")} == {None}


def test_games_of_protocols_stand_below_those_with_models(tables: dict[str, Table]) -> None:
    """Two blocks, each with its cost settings: nothing of one stands between rows of the other, in either table of games."""
    outcomes = [(row["block"], row["setting"]) for row in tables["outcomes"].rows if row["source"] == "ours"]

    assert list(dict.fromkeys(block for block, _ in outcomes)) == ["model", "protocol"]
    assert outcomes == sorted(outcomes)
    assert [row["player"] for row in tables["failures"].rows].index("imap") == len(tables["failures"].rows) - 1


def test_prose_stands_in_the_messages_of_its_role(found: Evidence, tables: dict[str, Table]) -> None:
    """Messages by meeting add up to those that seats sent, typed and not."""
    for row in tables["volume"].rows:
        total = sum(row[f"round_{number}"] for number in range(1, 6)) * row["n"]
        group = next(group for group in found.groups if group.name == row["group"])
        sent = [
            seat["messages"]
            for result in group.graded
            if result.task_id.startswith(str(row["setting"]))
            for seat, holder in zip(result.metrics["seats"], result.seats, strict=True)
            if (holder.model or holder.name) == {"GPT-5.4 Mini": MINI.name}.get(str(row["player"]), row["player"])
        ]
        assert sum(sent) == pytest.approx(total)


def test_tokens_and_seconds_are_the_seats(found: Evidence, tables: dict[str, Table]) -> None:
    """Tokens add up to those of the episodes; every answer has its seconds; only the model with a price has dollars."""
    spent = {(row["player"], row["seats"]): row for row in tables["spending"].rows}
    alone = next(group for group in found.groups if group.name == "openai/one")
    holders = [seat for result in alone.graded for seat in result.seats]

    assert spent["openai/one", "0-4"]["prompt"] == sum(result.tokens.prompt for result in alone.graded)
    assert all(len(seat.latencies_s) == seat.tokens.calls for seat in holders)
    assert all(seat.latency_s == pytest.approx(sum(seat.latencies_s), abs=1e-3) for seat in holders)
    assert (spent["openai/one", "0-4"]["total"], spent["GPT-5.4 Mini", "2"]["median"] > 0) == ("no price", True)
    assert spent["GPT-5.4 Mini", "2"]["total"] > 0
