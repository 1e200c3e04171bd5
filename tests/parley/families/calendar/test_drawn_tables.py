"""Figures show the numbers of their tables: the titles of their marks are read back and held against the rows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from parley.families.calendar.figure import FIGURES
from parley.families.calendar.report import report
from parley.reports.svg import ticks
from parley.reports.table import Table
from tests.parley.families.calendar.made_games import UNIFORM, VARIED, evidence, game, model, part, policy, seat
from worlds.calendar.labels import Label

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    """A model alone, and another one beside a protocol, in both settings; a meeting failed, and one was moved."""
    games: dict[str, list[Any]] = {"alone": [], "mixed": []}
    for place, task in enumerate((*UNIFORM[:2], *VARIED[:2])):
        measured = {"excess": place, "fairness": place / 2, "adjusted_cost": 0.5 + place, "messages_per_scheduled": 1.0 + place}
        parts = [part(1, 0, "first", messages=3, cost=2, vps=1.5), part(2, 0, messages=1, moved=[1], moves=1), part(1, 1)]
        labels = {"SUCCESS": 2, "SLOT_MISMATCH": 1}
        for name, holders in (("alone", [model(0), model(1)]), ("mixed", [model(0, "gpt-5.4-mini"), policy(1)])):
            seats = [seat(0, excess_vps=2.0, **measured), seat(1, excess_vps=4.0, excess_reflection_vps=3.0, **measured)]
            games[name].append(game(task, seats, holders, parts, labels=labels))
    return {table.name: table for table in report(evidence(**games), [], published=True)}


def told(tables: dict[str, Table], name: str) -> dict[str, str]:
    """What the marks of a figure say of themselves, all different."""
    svg = FIGURES[name](tables)
    assert svg is not None
    titles = [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}title")]
    numbers = {what: number for what, _, number in (title.rpartition(": ") for title in titles)}
    assert titles
    return numbers


def label(row: Any) -> str:
    """A row's name in a figure."""
    others = f"with {row['others']}" if row.get("others") else ""
    mark = "published" if row.get("source") == "published" else ""
    return ", ".join(part for part in (row["player"], others, row.get("setup"), mark) if part)


def seats(tables: dict[str, Table]) -> list[Any]:
    """The rows of Table 1, models and protocols."""
    return [row for name in ("seats", "seats-protocols") for row in tables[name].rows]


def test_costs_over_what_was_told(tables: dict[str, Table]) -> None:
    """Figure 2: VPS and adjusted cost of every row of ours that has both, the two kinds of VPS in planes of their own."""
    ours = [row for row in seats(tables) if row["source"] == "ours"]
    expected = {
        f"{label(row)}, {row['setting']}": f"{row[key]:.4g}, {row['adjusted']:.4g}"
        for key in ("reflection_vps", "protocol_vps")
        for row in ours
        if row[key] is not None
    }
    svg = FIGURES["figure-2"](tables) or ""

    assert told(tables, "figure-2") == expected
    assert svg.count("reflection-calibrated VPS") == svg.count("protocol-semantic VPS") == 2


def test_messages_against_excess(tables: dict[str, Table]) -> None:
    """Figure 3: a hollow point a seat, and a dashed line for each row that has one."""
    svg = FIGURES["figure-3"](tables) or ""
    rows = tables["communication"].rows

    assert svg.count("<circle") == sum(len(str(row["points"]).split()) for row in rows)
    assert svg.count("stroke-dasharray") == sum(row.get("slope") is not None for row in rows) == len(rows)


def test_fairness(tables: dict[str, Table]) -> None:
    """Figure 4: every row, the paper's among them."""
    expected = {f"{label(row)}, {row['setting']}": f"{row['fairness']:.4g}" for row in seats(tables)}

    assert told(tables, "figure-4") == expected
    assert "GPT-5.4 Mini, published, uniform" in expected


def test_reasons_of_failure(tables: dict[str, Table]) -> None:
    """Figure 5: every reason's count, all of them behind the bar."""
    rows = [(", ".join(filter(None, (row["player"], row.get("seats_of")))), row) for row in _any(tables["failures"])]
    expected = {f"{name}, A SLOT_MISMATCH": f"{row[Label.SLOT_MISMATCH][0]}" for name, row in rows}

    assert told(tables, "figure-5") == expected == dict.fromkeys(expected, "4")
    assert (FIGURES["figure-5"](tables) or "").count("4 of 12") == len(expected)


@pytest.mark.parametrize(("name", "is_shown"), [("figure-6", "excess".__eq__), ("figure-6-vps", "excess".__ne__)])
def test_first_speakers(tables: dict[str, Table], name: str, is_shown: Callable[[object], bool]) -> None:
    """Figure 6: both bars of every row of ours over all settings; excess and slots told in figures of their own."""
    rows = [row for row in _any(tables["first-speaker"]) if row["source"] == "ours" and row["setting"] == "all"]
    shown = [(row, "" if name == "figure-6" else f", {row['measure']}") for row in rows if is_shown(row["measure"])]
    sides = ("first", "subsequent")
    expected = {f"{label(row)}{measure}, {side}": f"{row[side]:.4g}" for row, measure in shown for side in sides}

    assert told(tables, name) == expected


def test_messages_by_meeting_and_by_role(tables: dict[str, Table]) -> None:
    """Figures 7 and 8: every mean of the table of messages; meetings are joined within a row."""
    rows = _any(tables["volume"])
    roles = {"first": "First", "participant": "Participant", "outsider": "Outsider"}
    by_role = {
        f"{label(row)}, {row['setting']}, {title}": f"{row[role]:.4g}"
        for row in rows
        for role, title in roles.items()
        if row[role] is not None
    }
    svg = FIGURES["figure-7"](tables) or ""

    assert told(tables, "figure-8") == by_role
    assert svg.count("<circle") == sum(row[f"round_{number}"] is not None for row in rows for number in (1, 2))
    assert svg.count('stroke-width="1.5"') == sum(row["round_2"] is not None for row in rows)


def test_moves(tables: dict[str, Table]) -> None:
    """Figure 9: what a seat moved in a game, of every row."""
    expected = {f"{label(row)}, {row['setting']}": f"{row['moved']:.4g}" for row in _any(tables["moves"])}

    assert told(tables, "figure-9") == expected


def test_pictures_are_the_same_bytes_and_need_their_tables(tables: dict[str, Table]) -> None:
    """Drawn twice they are equal, and without tables there is none."""
    for draw in FIGURES.values():
        assert draw(tables) == draw(tables)
        assert draw({}) is None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 0.0, [0.0, 0.2]),
        (-0.3, 0.5, [-0.4, -0.2, 0.0, 0.2, 0.4, 0.6]),
        (0, 7, [0, 2, 4, 6, 8]),
    ],
)
def test_scales_are_round(low: float, high: float, expected: list[float]) -> None:
    """They enclose what they show in steps of 1, 2 or 5 times a power of ten."""
    assert ticks(low, high) == pytest.approx(expected)


def _any(table: Table) -> list[Any]:
    return [*table.rows]
