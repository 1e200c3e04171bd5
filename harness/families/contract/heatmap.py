"""Figures 7 and 8: the pass rates of the table `tasks` as a map of colours, a row a task and a column a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.families.contract.tasks import VALUES
from harness.report.svg import DARK, GRID, PALE, line, picture, rect, text, wide
from harness.report.table import Column, Row, Table

_WIDE, _HIGH, _GAP = 40, 17, 8
_TURN = -40
_STOPS = ((215, 80, 70), (250, 225, 140), (70, 160, 90))
"""Red at 0, yellow half way, green at 1."""


def figure7(tables: Mapping[str, Table]) -> str | None:
    """Ours, with the published column of the same model after it."""
    return heatmap(tables["tasks"], "Pass rate by task") if "tasks" in tables else None


def figure8(tables: Mapping[str, Table]) -> str | None:
    """The other published columns, on the same scale."""
    return heatmap(tables["tasks-published"], "Pass rate by task, published") if "tasks-published" in tables else None


def heatmap(table: Table, title: str) -> str:
    """Every row of the table, its means too, with a gap between categories."""
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


def colour(rate: float) -> str:
    """Where a rate stands on the scale from red to green."""
    low, high = (_STOPS[0], _STOPS[1]) if rate < 0.5 else (_STOPS[1], _STOPS[2])
    share = 2 * (rate if rate < 0.5 else rate - 0.5)
    mixed = (round(a + (b - a) * share) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
