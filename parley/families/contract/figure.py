"""Figures of the contract family by name, drawn from the tables of the same report (docs/reports.md).

Validity is blue, integrity red, everything else grey, as in the paper. In charts of success rates, our own dots have a black
ring.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from harness.frames import grouped
from parley.families.contract.published import MARK
from parley.families.contract.tasks import VALUES
from parley.reports.svg import DARK, GRID, INK, PALE, Draw, dot, line, picture, rect, shade, text, wedge, wide
from parley.reports.table import Column, Row, Table

_COLOURS = ("#2f6db3", "#c8503c", "#3f8f5a", "#8a5fb0", "#c98a1b", "#4aa3a8", "#b0557f", "#6b6b6b")
_LEFT, _TOP, _PLANE_WIDE, _PLANE_HIGH = 60, 48, 560, 320
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_LEAST_VERSIONS = 3
_NUMBERED = 2
"""Maximum number of lines whose rates are printed beside their dots, on one side per line; tooltips always have rates."""


def figure3(tables: Mapping[str, Table]) -> str | None:
    """Return a chart of success rate by parameters.

    Lines join models of one family and kind, and base models (hollow) to instruct ones (filled).
    """
    rows = [row for row in _rows(tables) if row.get("total_b") is not None]
    if not rows:
        return None
    sizes: list[float] = [_number(row, "total_b") for row in rows]
    low, high = math.log10(min(sizes) / 1.4), math.log10(max(sizes) * 1.4)

    def x(row: Row) -> float:
        return _LEFT + _PLANE_WIDE * (math.log10(_number(row, "total_b")) - low) / (high - low)

    families = grouped(rows, lambda row: str(row["lineage"]))
    lineages = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(families)}
    parts = [*_scale(_PLANE_WIDE), *_ticks(low, high)]
    for name, mine in families.items():
        parts += _family(mine, x, lineages[name])
    right = _LEFT + _PLANE_WIDE + 24
    parts += _legend(lineages, right)
    parts.append(text(_LEFT + _PLANE_WIDE / 2, _TOP + _PLANE_HIGH + 40, "parameters, billions", anchor="middle"))
    below = _TOP + _PLANE_HIGH + 56
    partial = list(_partial(rows, below + 8))
    return picture(right + 190, below + 16 * len(partial), [*parts, *partial], "Success rate and size")


def figure4a(tables: Mapping[str, Table]) -> str | None:
    """Return a chart of success rate by version, for families of three models or more without known sizes.

    Lines of published rows are dashed.
    """
    rows = [row for row in _rows(tables) if row.get("total_b") is None and row.get("lineage") is not None]
    families = grouped(rows, lambda row: str(row["lineage"])).items()
    panels = {name: mine for name, mine in families if len({row["model"] for row in mine}) >= _LEAST_VERSIONS}
    if not panels:
        return None
    parts, left, below = list(_scale(0)), float(_LEFT), 0.0
    for name, mine in panels.items():
        models = sorted({str(row["model"]) for row in mine})
        room = 70.0 * len(models)
        parts += _panel(name, mine, models, left, room)
        below, left = max(below, *(wide(model) for model in models)), left + room + 30
    bottom = _TOP + _PLANE_HIGH + 40 + 0.6 * below
    partial = list(_partial([row for mine in panels.values() for row in mine], bottom))
    return picture(max(left + 60, 480), bottom + 16 * len(partial), [*parts, *partial], "Success rate by version")


def _rows(tables: Mapping[str, Table]) -> list[Row]:
    rows = tables["leaderboard"].rows if "leaderboard" in tables else ()
    return [row for row in rows if row.get("rate") is not None]


def _partial(rows: Sequence[Row], y: float) -> Iterator[str]:
    """Yield a line for each row that covers only a part of the suite and is not comparable."""
    for place, row in enumerate(row for row in rows if not row["complete"]):
        setup = f", {row['setup']}" if row.get("setup") else ""
        yield text(20, y + 16 * place, f"not complete: {row['model']}{setup}: {row['status']}", size=10, colour=PALE)


def _number(row: Row, key: str) -> float:
    value: Any = row[key]
    return float(value)


def _y(row: Row) -> float:
    return _TOP + _PLANE_HIGH * (1 - _number(row, "rate"))


def _scale(width: float) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = _TOP + _PLANE_HIGH * (1 - tenth / 10)
        yield line(_LEFT, y, _LEFT + width, y)
        yield text(_LEFT - 8, y + 4, f"{10 * tenth} %", anchor="end")


def _ticks(low: float, high: float) -> Iterator[str]:
    for tick in _TICKS:
        if low <= math.log10(tick) <= high:
            x = _LEFT + _PLANE_WIDE * (math.log10(tick) - low) / (high - low)
            yield line(x, _TOP, x, _TOP + _PLANE_HIGH)
            yield text(x, _TOP + _PLANE_HIGH + 18, f"{tick}", anchor="middle")


def _family(rows: Sequence[Row], x: Any, colour: str) -> Iterator[str]:
    """Yield the lines of one family, then its dots over them."""
    for mine in grouped(rows, lambda row: row["source"]).values():
        for same in grouped(mine, lambda row: row["type"]).values():
            for one, other in pairwise(sorted(same, key=lambda row: _number(row, "total_b"))):
                yield line(x(one), _y(one), x(other), _y(other), colour, width=1.6)
        for base in (row for row in mine if row["type"] == "base"):
            for tuned in (row for row in mine if row["type"] != "base" and row["total_b"] == base["total_b"]):
                yield line(x(base), _y(base), x(tuned), _y(tuned), colour, dash="3 3")
    for row in rows:
        yield _dot(row, x(row), colour)


def _dot(row: Row, x: float, colour: str) -> str:
    setup = f", {row['setup']}" if row.get("setup") else ""
    told = f"{row['model']}, {row['type']}{setup} ({row['source']}): {_number(row, 'rate'):.4f}"
    ring = INK if row["source"] == "ours" else ""
    return dot(x, _y(row), 5, colour, told, hollow=row["type"] == "base", ring=ring)


def _legend(lineages: Mapping[str, str], x: float) -> Iterator[str]:
    for place, (name, colour) in enumerate(lineages.items()):
        y = _TOP + 18 * place
        yield rect(x, y, 12, 12, colour)
        yield text(x + 18, y + 10, name)
    y = _TOP + 18 * len(lineages) + 20
    for hollow, ring, words in ((False, "", "instruct, thinking"), (True, "", "base"), (False, INK, "ours: a black ring")):
        yield dot(x + 6, y - 4, 5, PALE, hollow=hollow, ring=ring)
        yield text(x + 18, y, words)
        y += 18


def _panel(name: str, rows: Sequence[Row], models: Sequence[str], left: float, room: float) -> Iterator[str]:
    yield text(left + room / 2, _TOP - 8, name, anchor="middle", bold=True)
    for tenth in range(0, 11, 2):
        y = _TOP + _PLANE_HIGH * (1 - tenth / 10)
        yield line(left, y, left + room, y, GRID)
    step = room / len(models)
    places = {model: left + step * (place + 0.5) for place, model in enumerate(models)}
    for model, x in places.items():
        yield text(x + 4, _TOP + _PLANE_HIGH + 16, model, anchor="end", turn=-35)
    setups = grouped(rows, lambda row: (row["source"], row.get("setup")))
    for place, ((source, _), same) in enumerate(setups.items()):
        mine = sorted(same, key=lambda row: str(row["model"]))
        colour = PALE if source != "ours" else _COLOURS[place % len(_COLOURS)]
        for one, other in pairwise(mine):
            ends = (places[str(one["model"])], _y(one), places[str(other["model"])], _y(other))
            yield line(*ends, colour, width=1.6, dash="" if source == "ours" else "5 3")
        for row in mine:
            yield _dot(row, places[str(row["model"])], colour)
        if len(setups) <= _NUMBERED:
            yield from _numbers(mine, places, colour)


def _numbers(rows: Sequence[Row], places: Mapping[str, float], colour: str) -> Iterator[str]:
    """Yield the rates of one line: ours to the left of its dots, the paper's to the right, and below if the line rises."""
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        ours, rises = row["source"] == "ours", after is not None and _number(after, "rate") > _number(row, "rate")
        x, y = places[str(row["model"])] + (-8 if ours else 8), _y(row) + (16 if rises and not ours else -8)
        yield text(x, y, f"{100 * _number(row, 'rate'):.1f}", anchor="end" if ours else "start", size=10, colour=colour)


AXES = {"validity": "#2f6db3", "integrity": "#c8503c", "meta": "#8c8c8c"}
_SHADES = {
    "validity": ("#1d4f8c", "#2f6db3", "#5b91cc", "#8db4de", "#bdd5ed"),
    "integrity": ("#8f2f20", "#b5432f", "#d0604b", "#df8573", "#ebaa9c", "#f3cbc2", "#f9e3de"),
    "meta": ("#5c5c5c", "#8c8c8c", "#b8b8b8", "#d8d8d8"),
}
_GROUPS = {"validity": AXES["validity"], "integrity": AXES["integrity"], "both": "#8a5fb0"}
_SCALE, _BAR = 360, 10


def figure4b(tables: Mapping[str, Table]) -> str | None:
    """Return a chart of the mean pass rate of each category, a group of bars per model."""
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
    """Return a chart of the difference in failures of each label between adjacent columns."""
    table = tables.get("labels")
    # only two labels of the published failures are printed, so the others cannot be compared
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
    """Return a chart with a dot for each attempt's reward and a bar at their mean, for the tasks that vary most."""
    table = tables.get("variance-runs")
    if table is None:
        return None
    left, y = 30 + max(wide(str(row["model"])) for row in table.rows), 48.0
    parts: list[str] = []
    for task, mine in grouped(table.rows, lambda row: row["task"]).items():
        parts.append(text(20, y + 10, str(task), bold=True))
        parts += _shares(left, y + 20, y + 20 + 26 * len(mine))
        for place, row in enumerate(mine):
            parts += _strip(row, left, y + 33 + 26 * place)
        y += 26 * len(mine) + 56
    return picture(left + _SCALE + 60, y, parts, "Reward of each run")


def figure9(tables: Mapping[str, Table]) -> str | None:
    """Return a pie of failures by axis for each model, from the lowest success rate to the highest."""
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
    """Return one bar per model with its failures by primary label, and n at its end."""
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
    """Yield the scale from 0 to 1."""
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
    """Return a shade of its axis for each label, in the order of the rows."""
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
    """Yield the legend of the shades, in two columns."""
    rows = -(-len(colours) // 2)
    for place, (label, colour) in enumerate(colours.items()):
        x, y = 20 + 250 * (place // rows), top + 18 * (place % rows)
        yield rect(x, y, 12, 12, colour)
        yield text(x + 18, y + 10, label)


_WIDE, _HIGH, _GAP = 40, 17, 8
_TURN = -40
_STOPS = ((215, 80, 70), (250, 225, 140), (70, 160, 90))
"""Red at 0, yellow at 0.5, green at 1."""

colour = partial(shade, _STOPS)
"""Function that returns the colour of a rate on the scale from red to green."""


def _heatmap(name: str, title: str, tables: Mapping[str, Table]) -> str | None:
    """Return a map of every row of a table, including means, with a gap between categories."""
    if (table := tables.get(name)) is None:
        return None
    models = [column for column in table.columns if column.form == "rate"]
    left = 16 + max(wide(f"{row['category']}  ") for row in table.rows) + max(wide(str(row["task"])) for row in table.rows)
    tilt = 0.68 * max(wide(model.title) for model in models)
    top, right = 44 + tilt, 30 + 1.2 * tilt
    parts, y = list(_heads(models, left, top)), top
    rows = [row for row in table.rows if row["row"] in VALUES]
    for place, row in enumerate(rows):
        fresh = place > 0 and row["category"] != rows[place - 1]["category"]
        y += _GAP if fresh else 0
        name = str(row["category"]) if place == 0 or fresh else ""
        parts += _row(row, name, models, left, y)
        y += _HIGH
    return picture(left + _WIDE * len(models) + right, y + 16, parts, title)


def _heads(models: Sequence[Column], left: float, top: float) -> Iterator[str]:
    for place, model in enumerate(models):
        yield text(left + _WIDE * (place + 0.5), top - 6, model.title, turn=_TURN)


def _row(row: Row, name: str, models: Sequence[Column], left: float, y: float) -> Iterator[str]:
    mean = row["row"] == "mean"
    if name:
        yield text(16, y + 12, name, bold=True)
    yield text(left - 8, y + 12, str(row["task"]), anchor="end", bold=mean)
    if mean:
        yield line(left, y, left + _WIDE * len(models), y, PALE)
    for place, model in enumerate(models):
        x, rate = left + _WIDE * place, row.get(model.key)
        if isinstance(rate, float | int):
            told = f"{row['category']} {row['task']}, {model.title}: {rate:.4f}"
            yield rect(x + 1, y + 1, _WIDE - 2, _HIGH - 2, colour(rate), told)
            yield text(x + _WIDE / 2, y + 12, f"{rate:.2f}", anchor="middle", size=10, bold=mean, colour=DARK)
        else:
            yield rect(x + 1, y + 1, _WIDE - 2, _HIGH - 2, GRID)


FIGURES: Mapping[str, Draw] = {
    "figure-3": figure3,
    "figure-4a": figure4a,
    "figure-4b": figure4b,
    "figure-4c": figure4c,
    "figure-6": figure6,
    "figure-7": partial(_heatmap, "tasks", "Pass rate by task"),
    "figure-8": partial(_heatmap, "tasks-published", "Pass rate by task, published"),
    "figure-9": figure9,
    "figure-10": figure10,
}
"""For each name, the function that draws it."""
