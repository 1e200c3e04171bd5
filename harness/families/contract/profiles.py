"""Figures 4(b), 4(c), 6, 9 and 10: what a model's failures are made of, from the tables of tasks, labels and variance.

Validity is blue, integrity red, everything else grey, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from harness.families.contract.published import MARK
from harness.report.svg import GRID, PALE, dot, line, picture, rect, text, wedge, wide
from harness.report.table import Column, Row, Table

AXES = {"validity": "#2f6db3", "integrity": "#c8503c", "meta": "#8c8c8c"}
_SHADES = {
    "validity": ("#1d4f8c", "#2f6db3", "#5b91cc", "#8db4de", "#bdd5ed"),
    "integrity": ("#8f2f20", "#b5432f", "#d0604b", "#df8573", "#ebaa9c", "#f3cbc2", "#f9e3de"),
    "meta": ("#5c5c5c", "#8c8c8c", "#b8b8b8", "#d8d8d8"),
}
_GROUPS = {"validity": AXES["validity"], "integrity": AXES["integrity"], "both": "#8a5fb0"}
_SCALE, _BAR = 360, 10


def figure4b(tables: Mapping[str, Table]) -> str | None:
    """The mean pass rate of each category, a group of bars a model."""
    shown = [tables[name] for name in ("tasks", "tasks-published") if name in tables]
    groups = [(table, column) for table in shown for column in table.columns if column.form == "rate"]
    if not groups:
        return None
    left, top = 20 + max(wide(column.title) for _, column in groups), 62
    bottom = top + 42 * len(groups)
    parts = [*_shares(left, top, bottom), *_key(_GROUPS, left)]
    for place, (table, column) in enumerate(groups):
        parts += _means(table, column, left, top + 42 * place)
    return picture(left + _SCALE + 60, bottom + 34, parts, "Mean pass rate by category")


def figure4c(tables: Mapping[str, Table]) -> str | None:
    """How many more or fewer failures of each label the second of two columns has, for each column and the next."""
    table = tables.get("labels")
    # of the published failures two labels are printed: nothing can be said against the others
    models = [column for column in table.columns if column.form == "tally" and MARK not in column.title] if table else []
    if table is None or len(models) < 2:
        return None
    left, y = 30 + max(wide(str(row["label"])) for row in table.rows), 44.0
    parts: list[str] = []
    for one, other in pairwise(models):
        parts.append(text(20, y + 12, f"{other.title} against {one.title}", bold=True))
        most = max(abs(_more(row, one, other)) for row in table.rows) or 1
        parts += _differences(table.rows, one, other, left + 170, y + 24, 120 / most)
        y += 24 + 18 * len(table.rows) + 22
    widest = max(wide(f"{model.title} against {model.title}") for model in models)
    return picture(max(left + 340, widest + 60), y, parts, "Differences of failure labels")


def figure6(tables: Mapping[str, Table]) -> str | None:
    """A dot for each run's reward, a bar at their mean, for the tasks that vary most."""
    table = tables.get("variance-runs")
    if table is None:
        return None
    left, y = 30 + max(wide(str(row["model"])) for row in table.rows), 48.0
    parts: list[str] = []
    for task in dict.fromkeys(row["task"] for row in table.rows):
        mine = [row for row in table.rows if row["task"] == task]
        parts.append(text(20, y + 10, str(task), bold=True))
        parts += _shares(left, y + 20, y + 20 + 26 * len(mine))
        for place, row in enumerate(mine):
            parts += _strip(row, left, y + 33 + 26 * place)
        y += 26 * len(mine) + 56
    return picture(left + _SCALE + 60, y, parts, "Reward of each run")


def figure9(tables: Mapping[str, Table]) -> str | None:
    """A pie of failures by axis for each model, from the lowest success rate to the highest."""
    table = tables.get("severity")
    if table is None:
        return None
    rows = sorted(table.rows, key=lambda row: (_rate(row), str(row["model"])))
    step = max(150.0, *(wide(str(row["model"])) + 16 for row in rows))
    across = max(1, min(len(rows), int(1100 // step)))
    parts = list(_key(AXES, 20))
    for place, row in enumerate(rows):
        x, y = 20 + step * (place % across + 0.5), 120 + 170 * (place // across)
        parts += _pie(row, x, y)
    return picture(max(40 + step * across, 380), 60 + 170 * -(-len(rows) // across) + 10, parts, "Failures by axis")


def figure10(tables: Mapping[str, Table]) -> str | None:
    """One bar a model, its failures by primary label, n at its end."""
    table = tables.get("labels")
    if table is None:
        return None
    models = [column for column in table.columns if column.form == "tally"]
    colours = _label_colours(table.rows)
    left, y = 20 + max(wide(model.title) for model in models), 48.0
    parts: list[str] = []
    for model in models:
        parts += _stack(table.rows, model, colours, left, y)
        y += 26
    parts += _labels(colours, y + 16)
    rows = -(-len(colours) // 2)
    return picture(max(left + _SCALE + 70, 520), y + 30 + 18 * rows, parts, "Labels of failures")


def _shares(left: float, top: float, bottom: float) -> Iterator[str]:
    """The scale from 0 to 1."""
    for tenth in range(0, 11, 2):
        x = left + _SCALE * tenth / 10
        yield line(x, top, x, bottom)
        yield text(x, bottom + 16, f"{tenth / 10:.1f}", anchor="middle", size=10)


def _key(colours: Mapping[str, str], x: float) -> Iterator[str]:
    for name, colour in colours.items():
        yield rect(x, 34, 12, 12, colour)
        yield text(x + 18, 44, name)
        x += 40 + wide(name)


def _means(table: Table, column: Column, left: float, y: float) -> Iterator[str]:
    yield text(left - 8, y + 22, column.title, anchor="end")
    for place, (category, colour) in enumerate(_GROUPS.items()):
        for row in table.rows:
            rate: Any = row.get(column.key)
            if row["category"] == category and row["row"] == "mean" and rate is not None:
                told = f"{column.title}, {category}: {rate:.4f}"
                yield rect(left, y + 4 + place * (_BAR + 1), max(1, _SCALE * rate), _BAR, colour, told)


def _count(row: Row, model: Column) -> int:
    tally: Any = row.get(model.key)
    return int(tally[0]) if tally else 0


def _more(row: Row, one: Column, other: Column) -> int:
    return _count(row, other) - _count(row, one)


def _differences(rows: Sequence[Row], one: Column, other: Column, zero: float, y: float, unit: float) -> Iterator[str]:
    yield line(zero, y, zero, y + 18 * len(rows), PALE)
    for place, row in enumerate(rows):
        more, top = _more(row, one, other), y + 18 * place
        yield text(zero - 170, top + 12, str(row["label"]), anchor="end")
        if more:
            told = f"{row['label']}, {other.title} against {one.title}: {more:+d}"
            yield rect(zero + min(0, more) * unit, top + 2, abs(more) * unit, 13, AXES[str(row["axis"])], told)
        side = 5 if more >= 0 else -5
        yield text(zero + more * unit + side, top + 12, f"{more:+d}" if more else "0", anchor="start" if more >= 0 else "end")


def _strip(row: Row, left: float, y: float) -> Iterator[str]:
    mean: Any = row["mean"]
    yield text(left - 12, y + 4, str(row["model"]), anchor="end")
    yield line(left, y, left + _SCALE, y, GRID)
    rewards = [float(word) for word in str(row["rewards"]).split()]
    for place, reward in enumerate(rewards):
        aside = 4 * (place - (len(rewards) - 1) / 2) if len(rewards) < 5 else 16 * place / (len(rewards) - 1) - 8
        told = f"{row['task']}, {row['model']}, run {place + 1}: {reward:g}"
        yield dot(left + _SCALE * reward, y + aside, 2.5, AXES["validity"], told)
    x = left + _SCALE * mean
    yield rect(x - 1.5, y - 10, 3, 20, AXES["integrity"], f"{row['task']}, {row['model']}, mean: {mean:.4f}")


def _rate(row: Row) -> float:
    episodes, failed = (float(str(row[key])) for key in ("episodes", "failed"))
    return 1 - failed / episodes


def _pie(row: Row, x: float, y: float) -> Iterator[str]:
    begin = 0.0
    for axis, colour in AXES.items():
        tally: Any = row[axis]
        count, share = tally
        if count:
            yield wedge(x, y, 48, begin, begin + share, colour, f"{row['model']}, {axis}: {count}")
        begin += share
    if not row["failed"]:
        yield dot(x, y, 48, GRID, hollow=True)
        yield text(x, y + 4, "no failures", anchor="middle", colour=PALE)
    yield text(x, y + 66, str(row["model"]), anchor="middle", bold=True)
    yield text(x, y + 82, f"SR {100 * _rate(row):.1f} %, n = {row['failed']}", anchor="middle", size=10)


def _label_colours(rows: Sequence[Row]) -> dict[str, str]:
    """A shade of its axis for each label, in the order of the rows."""
    taken = dict.fromkeys(_SHADES, 0)
    colours: dict[str, str] = {}
    for row in rows:
        axis = str(row["axis"])
        colours[str(row["label"])] = _SHADES[axis][taken[axis] % len(_SHADES[axis])]
        taken[axis] += 1
    return colours


def _stack(rows: Sequence[Row], model: Column, colours: Mapping[str, str], left: float, y: float) -> Iterator[str]:
    yield text(left - 8, y + 13, model.title, anchor="end")
    x, told, failed = left, 0, 0
    for row in rows:
        tally: Any = row.get(model.key)
        if tally and tally[0]:
            count, share = tally
            yield rect(x, y, _SCALE * share, 18, colours[str(row["label"])], f"{model.title}, {row['label']}: {count}")
            x, told, failed = x + _SCALE * share, told + count, round(count / share)
    yield text(x + 8, y + 13, f"n = {failed}" + (f", {told} printed" if told < failed else ""), size=10)


def _labels(colours: Mapping[str, str], top: float) -> Iterator[str]:
    """What each shade stands for, in two columns."""
    rows = -(-len(colours) // 2)
    for place, (label, colour) in enumerate(colours.items()):
        x, y = 20 + 250 * (place // rows), top + 18 * (place % rows)
        yield rect(x, y, 12, 12, colour)
        yield text(x + 18, y + 10, label)
