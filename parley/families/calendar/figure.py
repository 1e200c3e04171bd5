"""Figures of the calendar family by name, drawn from the tables of the same report (docs/reports.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.frames import grouped
from parley.families.calendar.round_tables import ROLES
from parley.families.calendar.seat_rows import MARK
from parley.reports.svg import Bar, Bars, Draw, Mark, Panel, Segment, bar_chart, joined, panel_chart
from parley.reports.table import Row, Table
from worlds.calendar.labels import LETTERS, Label

_VPS = {"reflection_vps": "reflection-calibrated VPS", "protocol_vps": "protocol-semantic VPS"}


def figure2(tables: Mapping[str, Table]) -> str | None:
    """Return a chart of privacy against cost; the two kinds of VPS are never in the same chart."""
    rows = _seats(tables)
    name = _namer(rows)
    panels = []
    for key, kind in _VPS.items():
        for setting in _settings(rows):
            known = [row for row in rows if row["setting"] == setting and _has(row, key, "adjusted")]
            marks = [
                Mark(name(row), _n(row, key), _n(row, "adjusted"), _told(name(row), row, key, "adjusted")) for row in known
            ]
            if marks:
                panels.append(Panel(f"{setting} costs", kind, "adjusted cost", tuple(marks)))
    return panel_chart("Cost against privacy loss", panels) if panels else None


def figure3(tables: Mapping[str, Table]) -> str | None:
    """Return a chart with a point per seat, and the fitted line of each row that has a line."""
    rows = _rows(tables, "communication")
    name, panels = _namer(rows), []
    for setting in _settings(rows):
        marks, lines = [], []
        for row in rows:
            if row["setting"] == setting:
                points = [tuple(map(float, point.split(","))) for point in str(row["points"]).split()]
                marks += [Mark(name(row), x, y, f"{name(row)}: {x:.4g} messages, {y:g}", hollow=True) for x, y in points]
                lines += _fitted(name(row), row, [x for x, _ in points])
        panels.append(Panel(f"{setting} costs", "messages a scheduled meeting", "excess", tuple(marks), tuple(lines)))
    return panel_chart("Messages against excess", panels) if panels else None


def figure4(tables: Mapping[str, Table]) -> str | None:
    """Return a chart of fairness with its interval; the paper's values have no interval."""
    rows = [row for row in _seats(tables, published=True) if _has(row, "fairness")]
    return _by_setting("Fairness cost", rows, "fairness", "distance of a seat's excess from its game's mean")


def figure5(tables: Mapping[str, Table]) -> str | None:
    """Return stacked bars of failed meetings by reason, followed by the numbers of failed and of all meetings."""
    groups = []
    for row in _rows(tables, "failures"):
        counted = {label: _tally(row.get(label)) for label in Label if label is not Label.SUCCESS}
        bars = [Bar(f"{LETTERS.get(label, '')} {label}".strip(), float(count)) for label, count in counted.items() if count]
        name = ", ".join(str(part) for part in (row["player"], row.get("seats_of")) if part)
        groups.append(Bars(name, tuple(bars), f"{sum(counted.values())} of {row['meetings']}"))
    if not any(group.bars for group in groups):
        return None
    return bar_chart("Meetings that were not scheduled, by reason", groups, "meetings", stacked=True)


def figure7(tables: Mapping[str, Table]) -> str | None:
    """Return a chart with one line per row over the meetings in the order in which they arrive."""
    table = tables.get("volume")
    rows = table.rows if table else ()
    name = _namer(rows)
    keys = [column.key.removeprefix("round_") for column in (table.columns if table else ())]
    numbers = [int(key) for key in keys if key.isdecimal()]
    panels = []
    for setting in _settings(rows):
        marks = [
            Mark(name(row), number, _n(row, f"round_{number}"), _told(name(row), row, f"round_{number}"))
            for row in rows
            if row["setting"] == setting
            for number in numbers
            if _has(row, f"round_{number}")
        ]
        panels.append(Panel(f"{setting} costs", "meeting", "messages of a seat", tuple(marks), joined(marks)))
    return panel_chart("Messages by meeting", panels) if panels else None


def figure8(tables: Mapping[str, Table]) -> str | None:
    """Return a chart of first speakers, other participants and outsiders."""
    rows = _rows(tables, "volume")
    name = _namer(rows)
    groups = [
        Bars(
            f"{name(row)}, {row['setting']}",
            tuple(Bar(title, _n(row, role), _ends(row, role)) for role, title in ROLES.items() if _has(row, role)),
        )
        for row in rows
    ]
    return bar_chart("Messages by role", groups, "messages of a seat in a round") if groups else None


FIGURES: Mapping[str, Draw] = {
    "figure-2": figure2,
    "figure-3": figure3,
    "figure-4": figure4,
    "figure-5": figure5,
    "figure-6": lambda tables: _first_speakers(tables, "excess", "excess", "of a seat's meeting"),
    "figure-6-vps": lambda tables: _first_speakers(tables, "VPS", "slots told", "in a round, before the floor"),
    "figure-7": figure7,
    "figure-8": figure8,
    "figure-9": lambda tables: _by_setting(
        "Earlier meetings moved", _rows(tables, "moves"), "moved", "different meetings a seat and game"
    ),
}
"""For each name, the function that draws it."""


def _by_setting(title: str, rows: Sequence[Row], key: str, unit: str) -> str | None:
    """Return a chart with one group of bars per row name, one bar per cost setting."""
    groups = [
        Bars(label, tuple(Bar(str(row["setting"]), _n(row, key), _ends(row, key)) for row in mine))
        for label, mine in grouped(rows, _namer(rows)).items()
    ]
    return bar_chart(title, groups, unit) if groups else None


def _first_speakers(tables: Mapping[str, Table], measure: str, what: str, of: str) -> str | None:
    """Return a chart of first speakers and of the others, over all cost settings if there are several."""
    rows = [row for row in _rows(tables, "first-speaker") if row["source"] != MARK and measure in str(row["measure"])]
    over_all = [row for row in rows if row["setting"] == "all"]
    name = _namer(over_all or rows)
    groups = []
    for row in over_all or rows:
        parts = (name(row), "" if measure == row["measure"] else row["measure"], "" if over_all else row["setting"])
        bars = tuple(Bar(side, _n(row, side), _ends(row, side)) for side in ("first", "subsequent"))
        groups.append(Bars(", ".join(str(part) for part in parts if part), bars))
    return bar_chart(f"First speakers and the others: {what}", groups, of) if groups else None


def _fitted(name: str, row: Row, xs: Sequence[float]) -> list[Segment]:
    if row.get("slope") is None:
        return []
    ends = [(x, _n(row, "intercept") + _n(row, "slope") * x) for x in (min(xs), max(xs))]
    return [Segment(name, ends[0], ends[1], dash="5 4")]


def _seats(tables: Mapping[str, Table], *, published: bool = False) -> list[Row]:
    rows = [row for name in ("seats", "seats-protocols") for row in _rows(tables, name)]
    return [row for row in rows if published or row["source"] != MARK]


def _rows(tables: Mapping[str, Table], name: str) -> Sequence[Row]:
    return tables[name].rows if name in tables else ()


def _settings(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["setting"]) for row in rows))


def _namer(rows: Sequence[Row]) -> Callable[[Row], str]:
    """Return a function that names rows by player, other players and set-up.

    Three or more other players are counted instead of named if that is unambiguous.
    """
    meant: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        meant[_named(row, brief=True)].add(_named(row, brief=False))
    return lambda row: _named(row, brief=len(meant[_named(row, brief=True)]) == 1)


def _named(row: Row, *, brief: bool) -> str:
    others = str(row.get("others") or "")
    if brief and others.count(", ") > 1:
        others = f"{others.count(', ') + 1} other players"
    told = (row["player"], others and f"with {others}", row.get("setup"), MARK if row.get("source") == MARK else "")
    return ", ".join(str(part) for part in told if part)


def _told(name: str, row: Row, *keys: str) -> str:
    return f"{name}, {row['setting']}: " + ", ".join(f"{_n(row, key):.4g}" for key in keys)


def _has(row: Row, *keys: str) -> bool:
    return all(row.get(key) is not None for key in keys)


def _n(row: Row, key: str) -> float:
    number: Any = row[key]
    return float(number)


def _ends(row: Row, key: str) -> tuple[float, float] | None:
    ends: Any = row.get(f"{key}_interval")
    return None if ends is None else (float(ends[0]), float(ends[1]))


def _tally(value: Any) -> int:
    return int(value[0]) if value else 0
