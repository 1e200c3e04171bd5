"""Figures 3 and 4(a): success rates over the size of a model, and over the versions of models whose size nobody tells.

Both are drawn from the table `leaderboard`, published rows included where it has them. Ours have a black ring.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from harness.report.svg import GRID, INK, PALE, dot, line, picture, rect, text, wide
from harness.report.table import Row, Table

_COLOURS = ("#2f6db3", "#c8503c", "#3f8f5a", "#8a5fb0", "#c98a1b", "#4aa3a8", "#b0557f", "#6b6b6b")
_LEFT, _TOP, _WIDE, _HIGH = 60, 48, 560, 320
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_LEAST_VERSIONS = 3
_NUMBERED = 2
"""Up to so many lines, each on its own side of the dots, rates are written beside them; titles tell them anyway."""


def figure3(tables: Mapping[str, Table]) -> str | None:
    """Success rate by parameters; models of one family and kind are joined, and base (hollow) to instruct (filled)."""
    rows = [row for row in _rows(tables) if row.get("total_b") is not None]
    if not rows:
        return None
    sizes: list[float] = [_number(row, "total_b") for row in rows]
    low, high = math.log10(min(sizes) / 1.4), math.log10(max(sizes) * 1.4)

    def x(row: Row) -> float:
        return _LEFT + _WIDE * (math.log10(_number(row, "total_b")) - low) / (high - low)

    lineages = {
        name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(dict.fromkeys(str(r["lineage"]) for r in rows))
    }
    parts = [*_scale(_WIDE), *_ticks(low, high)]
    for name, colour in lineages.items():
        parts += _family([row for row in rows if row["lineage"] == name], x, colour)
    right = _LEFT + _WIDE + 24
    parts += _legend(lineages, right)
    parts.append(text(_LEFT + _WIDE / 2, _TOP + _HIGH + 40, "parameters, billions", anchor="middle"))
    below = _TOP + _HIGH + 56
    partial = list(_partial(rows, below + 8))
    return picture(right + 190, below + 16 * len(partial), [*parts, *partial], "Success rate and size")


def figure4a(tables: Mapping[str, Table]) -> str | None:
    """Success rate by version, for each family of three models or more without known sizes; published ones are dashed."""
    rows = [row for row in _rows(tables) if row.get("total_b") is None and row.get("lineage") is not None]
    families = {
        name: [row for row in rows if row["lineage"] == name] for name in dict.fromkeys(str(r["lineage"]) for r in rows)
    }
    panels = {name: mine for name, mine in families.items() if len({row["model"] for row in mine}) >= _LEAST_VERSIONS}
    if not panels:
        return None
    parts, left, below = list(_scale(0)), float(_LEFT), 0.0
    for name, mine in panels.items():
        models = sorted({str(row["model"]) for row in mine})
        room = 70.0 * len(models)
        parts += _panel(name, mine, models, left, room)
        below, left = max(below, *(wide(model) for model in models)), left + room + 30
    bottom = _TOP + _HIGH + 40 + 0.6 * below
    partial = list(_partial([row for mine in panels.values() for row in mine], bottom))
    return picture(max(left + 60, 480), bottom + 16 * len(partial), [*parts, *partial], "Success rate by version")


def _rows(tables: Mapping[str, Table]) -> list[Row]:
    rows = tables["leaderboard"].rows if "leaderboard" in tables else ()
    return [row for row in rows if row.get("rate") is not None]


def _partial(rows: Sequence[Row], y: float) -> Iterator[str]:
    """A line for each row that covers a part of the suite only, and so compares with no other."""
    for place, row in enumerate(row for row in rows if not row["complete"]):
        setup = f", {row['setup']}" if row.get("setup") else ""
        yield text(20, y + 16 * place, f"not complete: {row['model']}{setup}: {row['status']}", size=10, colour=PALE)


def _number(row: Row, key: str) -> float:
    value: Any = row[key]
    return float(value)


def _y(row: Row) -> float:
    return _TOP + _HIGH * (1 - _number(row, "rate"))


def _scale(width: float) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = _TOP + _HIGH * (1 - tenth / 10)
        yield line(_LEFT, y, _LEFT + width, y)
        yield text(_LEFT - 8, y + 4, f"{10 * tenth} %", anchor="end")


def _ticks(low: float, high: float) -> Iterator[str]:
    for tick in _TICKS:
        if low <= math.log10(tick) <= high:
            x = _LEFT + _WIDE * (math.log10(tick) - low) / (high - low)
            yield line(x, _TOP, x, _TOP + _HIGH)
            yield text(x, _TOP + _HIGH + 18, f"{tick}", anchor="middle")


def _family(rows: Sequence[Row], x: Any, colour: str) -> Iterator[str]:
    """The lines of one family, then its dots over them."""
    for source in dict.fromkeys(row["source"] for row in rows):
        mine = [row for row in rows if row["source"] == source]
        for kind in dict.fromkeys(row["type"] for row in mine):
            same = sorted((row for row in mine if row["type"] == kind), key=lambda row: _number(row, "total_b"))
            for one, other in pairwise(same):
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
        y = _TOP + _HIGH * (1 - tenth / 10)
        yield line(left, y, left + room, y, GRID)
    step = room / len(models)
    places = {model: left + step * (place + 0.5) for place, model in enumerate(models)}
    for model, x in places.items():
        yield text(x + 4, _TOP + _HIGH + 16, model, anchor="end", turn=-35)
    setups = dict.fromkeys((row["source"], row.get("setup")) for row in rows)
    for place, (source, setup) in enumerate(setups):
        mine = sorted((r for r in rows if (r["source"], r.get("setup")) == (source, setup)), key=lambda row: str(row["model"]))
        colour = PALE if source != "ours" else _COLOURS[place % len(_COLOURS)]
        for one, other in pairwise(mine):
            ends = (places[str(one["model"])], _y(one), places[str(other["model"])], _y(other))
            yield line(*ends, colour, width=1.6, dash="" if source == "ours" else "5 3")
        for row in mine:
            yield _dot(row, places[str(row["model"])], colour)
        if len(setups) <= _NUMBERED:
            yield from _numbers(mine, places, colour)


def _numbers(rows: Sequence[Row], places: Mapping[str, float], colour: str) -> Iterator[str]:
    """The rates of one line: ours to the left of its dots, the paper's to the right; below where the line goes up."""
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        ours, rises = row["source"] == "ours", after is not None and _number(after, "rate") > _number(row, "rate")
        x, y = places[str(row["model"])] + (-8 if ours else 8), _y(row) + (16 if rises and not ours else -8)
        yield text(x, y, f"{100 * _number(row, 'rate'):.1f}", anchor="end" if ours else "start", size=10, colour=colour)
