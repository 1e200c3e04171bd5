"""Figure 4 as a picture: for each player three bars, Ypre, Ypost and Yfull, with intervals, and gain and gap beside them.

The figure shows the rows of the table `accuracy` by the average rule over all tasks. As in the paper, a player with strong
collective reasoning is set in bold. A row published by another study is marked, and human results are drawn as lines. The
picture is plain SVG, and the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from parley.reports.svg import Draw
from parley.reports.table import Row

BARS = (("pre", "Ypre", "#b9c4cf"), ("post", "Ypost", "#2f6db3"), ("full", "Yfull", "#e0a63a"))
"""Column, name and colour."""

_LEFT, _SCALE, _BAR, _GROUP, _TOP, _RIGHT = 16, 480, 9, 52, 52, 140
_PEOPLE = "people"
_TITLE = "Accuracy before and after the talk, and with full information"


def figure4(rows: Sequence[Row]) -> str:
    """Return the picture from rows of the table `accuracy`."""
    drawn = [row for row in rows if row.get("rule") == "average" and row.get("scope") == "all" and row["player"] != _PEOPLE]
    people = [row for row in rows if row["player"] == _PEOPLE]
    width, height = _LEFT + _SCALE + _RIGHT, _TOP + _GROUP * len(drawn) + 30
    parts = [*_frame(height), *(part for row in people for part in _lines(row, height))]
    for place, row in enumerate(drawn):
        parts += _group(row, _TOP + place * _GROUP)
    body = "\n".join(parts)
    style = f'font-family="sans-serif" font-size="11" role="img" aria-label="{_TITLE}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {style}>\n{body}\n</svg>\n'


FIGURES: Mapping[str, Draw] = {
    "figure-4": lambda tables: figure4(tables["accuracy"].rows) if "accuracy" in tables else None,
}
"""For each name, the function that draws it from the tables of a report."""


def _frame(height: int) -> Iterator[str]:
    """Yield the scale, the legend, and the headings of the columns."""
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        yield f'<line x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{height - 24}" stroke="#dddddd"/>'
        yield _text(x, height - 10, f"{tenth / 10:.1f}", anchor="middle")
    for place, (_, name, colour) in enumerate(BARS):
        x = _LEFT + 70 * place
        yield f'<rect x="{x}" y="10" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 14, 19, name)
    yield _text(_LEFT + _SCALE + 60, _TOP - 12, "gain", anchor="end")
    yield _text(_LEFT + _SCALE + 120, _TOP - 12, "gap", anchor="end")


def _lines(people: Row, height: int) -> Iterator[str]:
    """Yield the human results after the talk, and with full information."""
    for column, name, colour in BARS:
        if isinstance(value := people.get(column), float):
            x = _x(value)
            yield f'<line x1="{x}" y1="{_TOP - 10}" x2="{x}" y2="{height - 24}" stroke="{colour}" stroke-dasharray="4 3"/>'
            yield _text(x, _TOP - 12, f"people, {name}", anchor="middle", size=9)


def _group(row: Row, top: int) -> Iterator[str]:
    """Yield one player."""
    mark = "" if row.get("source") == "ours" else f" ({row.get('source')})"
    setup = f", {row['setup']}" if row.get("setup") else ""
    yield _text(_LEFT, top + 9, f"{row['player']}{setup}{mark}", bold=row.get("strong") is True)
    for place, (column, _, colour) in enumerate(BARS):
        yield from _bar(row.get(column), row.get(f"{column}_interval"), top + 13 + place * (_BAR + 1), colour)
    for column, x in (("gain", _LEFT + _SCALE + 60), ("gap", _LEFT + _SCALE + 120)):
        if isinstance(value := row.get(column), float):
            yield _text(x, top + 31, f"{value:+.3f}", anchor="end")


def _bar(value: Any, ends: Any, top: int, colour: str) -> Iterator[str]:
    if not isinstance(value, float):
        return
    yield f'<rect x="{_LEFT}" y="{top}" width="{round(value * _SCALE, 1)}" height="{_BAR}" fill="{colour}"/>'
    if isinstance(ends, tuple):
        low, high = map(_x, ends)
        middle = top + _BAR / 2
        yield f'<line x1="{low}" y1="{middle}" x2="{high}" y2="{middle}" stroke="#333333"/>'


def _x(value: float) -> float:
    return round(_LEFT + value * _SCALE, 1)


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 11, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}"{weight}>{escape(words)}</text>'
