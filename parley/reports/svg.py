"""Charts as plain SVG, without a plotting library; the same rows give the same bytes.

Every mark that shows a number has a title, `what: number`, which browsers show as a tooltip and tests can read. Text is
untrusted: it is escaped, and control characters, which XML does not allow, are spelled out. Its width is estimated generously,
so that the layout does not overlap in any common font.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from harness.sanitize import printable
from parley.reports.table import Table

INK, PALE, GRID = "#222222", "#777777", "#dddddd"
DARK = "#1a1a1a"
"""Colour of text on coloured marks; it stays when a page uses light ink (`harness report --html`)."""

SIZE = 11

Draw = Callable[[Mapping[str, Table]], str | None]
"""Function that draws a picture from a report's tables by name; None if they lack the data."""


def picture(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """Return a complete SVG document of this size, on white, with a title."""
    shown = f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="sans-serif" font-size="{SIZE}"'
    named = f'role="img" aria-label={quoteattr(title)}'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" {shown} {named}>'
    body = "\n".join((rect(0, 0, width, height, "#ffffff"), text(14, 20, title, size=14, bold=True), *parts))
    return f"{head}\n{body}\n</svg>\n"


def shade(stops: Sequence[tuple[int, int, int]], rate: float) -> str:
    """Return the colour of a rate on a scale with stops at 0, 0.5 and 1."""
    place = min(int(2 * rate), 1)
    mixed = (round(a + (b - a) * (2 * rate - place)) for a, b in zip(stops[place], stops[place + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def wide(words: str, size: float = SIZE) -> float:
    """Return a generous estimate of the width of some text."""
    return 0.6 * size * len(words)


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: float = SIZE, bold: bool = False, turn: float = 0,
    colour: str = INK,
) -> str:  # fmt: skip
    """Return text on a baseline, rotated around its anchor by `turn` degrees."""
    how = (' font-weight="bold"' if bold else "") + (f' transform="rotate({_n(turn)} {_n(x)} {_n(y)})"' if turn else "")
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{_n(size)}" fill="{colour}"'
    return f"<text {place}{how}>{escape(printable(words))}</text>"


def rect(x: float, y: float, width: float, height: float, colour: str, told: str = "") -> str:
    """Return a filled rectangle."""
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    return f'<rect {place} fill="{colour}">{_told(told)}</rect>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GRID, *, width: float = 1, dash: str = "") -> str:
    """Return a straight line."""
    how = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{_n(width)}"{how}/>'


def dot(x: float, y: float, radius: float, colour: str, told: str = "", *, hollow: bool = False, ring: str = "") -> str:
    """Return a circle: filled, hollow, or with a ring of another colour."""
    inside, edge = ("#ffffff" if hollow else colour), ring or colour
    place = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
    return f'<circle {place} fill="{inside}" stroke="{edge}" stroke-width="1.6">{_told(told)}</circle>'


def wedge(x: float, y: float, radius: float, begin: float, end: float, colour: str, told: str = "") -> str:
    """Return a slice of a pie between two shares of the turn, clockwise from the top; a full turn is a disc."""
    if end - begin >= 1:
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{colour}">{_told(told)}</circle>'
    (x1, y1), (x2, y2) = (
        (x + radius * math.sin(math.tau * share), y - radius * math.cos(math.tau * share)) for share in (begin, end)
    )
    arc = f"A{_n(radius)} {_n(radius)} 0 {int(end - begin > 0.5)} 1 {_n(x2)} {_n(y2)}"
    return f'<path d="M{_n(x)} {_n(y)}L{_n(x1)} {_n(y1)}{arc}Z" fill="{colour}">{_told(told)}</path>'


def _told(words: str) -> str:
    return f"<title>{escape(printable(words))}</title>" if words else ""


def _n(number: float) -> str:
    return f"{round(number, 2):g}"


PALETTE = ("#2f6db3", "#c8503c", "#4f9d5d", "#8a5fb0", "#e0a63a", "#4fa3a8", "#8c6d4f", "#d0709f", "#5c5c5c", "#9aab3a")
_SCALE, _BAR, _TOP, _PANEL, _GAP = 360.0, 11.0, 62.0, 300.0, 76.0


@dataclass(frozen=True)
class Bar:
    """A bar; `ends` are drawn as a whisker."""

    series: str
    value: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bars:
    """Bars that share a label."""

    label: str
    bars: tuple[Bar, ...]
    end: str = ""
    """Text after the last bar."""


@dataclass(frozen=True)
class Mark:
    """A point of a series; `told` is its title."""

    series: str
    x: float
    y: float
    told: str
    hollow: bool = False


@dataclass(frozen=True)
class Segment:
    """A straight line of a series."""

    series: str
    begin: tuple[float, float]
    end: tuple[float, float]
    dash: str = ""


@dataclass(frozen=True)
class Panel:
    """A plot with its axes."""

    title: str
    x_title: str
    y_title: str
    marks: tuple[Mark, ...]
    segments: tuple[Segment, ...] = ()


def joined(marks: Sequence[Mark]) -> tuple[Segment, ...]:
    """Return lines that join the points of each series; points of a series must be adjacent."""
    pairs = ((one, other) for one, other in pairwise(marks) if one.series == other.series)
    return tuple(Segment(one.series, (one.x, one.y), (other.x, other.y)) for one, other in pairs)


def colours_of(series: Iterable[str]) -> dict[str, str]:
    """Return a colour for each series, in order; after ten, colours repeat."""
    return {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(dict.fromkeys(series))}


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers that enclose low..high in about five steps of 1, 2 or 5 times a power of ten."""
    span = high - low or abs(high) or 1.0
    power = 10 ** math.floor(math.log10(span / 5))
    step = next(power * times for times in (1, 2, 5, 10) if span / (power * times) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * number, 10) for number in range(first, max(last, first + 1) + 1)]


def bar_chart(title: str, groups: Sequence[Bars], unit: str, *, stacked: bool = False) -> str:
    """Return groups of horizontal bars below each other; stacked groups take one line each and show no whiskers."""
    colours = colours_of(bar.series for group in groups for bar in group.bars)
    reach = [_reach(group, stacked=stacked) for group in groups]
    scale = ticks(min([0.0, *(low for low, _ in reach)]), max(high for _, high in reach))
    left = 20 + max(wide(group.label) for group in groups)
    parts, y = [*_legend(colours, 20)], _TOP
    drawn: list[str] = []
    for group in groups:
        drawn += _stack(group, colours, scale, left, y) if stacked else _group(group, colours, scale, left, y)
        y += (_BAR + 2) * (1 if stacked else len(group.bars)) + 10
    for tick in scale:
        x = left + _SCALE * _share(tick, scale)
        parts += [line(x, _TOP - 6, x, y), text(x, y + 14, f"{tick:g}", anchor="middle", size=10)]
    parts += [*drawn, text(left + _SCALE / 2, y + 30, unit, anchor="middle", size=10)]
    behind = 20 + max((wide(group.end) for group in groups), default=0.0)
    return picture(max(left + _SCALE + max(40.0, behind), _legend_width(colours)), y + 42, parts, title)


def panel_chart(title: str, panels: Sequence[Panel]) -> str:
    """Return panels side by side, each with its own scales."""
    colours = colours_of(mark.series for panel in panels for mark in panel.marks)
    rows = len(colours)
    bottom = _TOP + _PANEL + 46
    parts = [part for place, panel in enumerate(panels) for part in _plane(panel, colours, 60 + (_PANEL + _GAP) * place)]
    for place, (name, colour) in enumerate(colours.items()):
        parts += [rect(20, bottom + 18 * place, 12, 12, colour), text(38, bottom + 10 + 18 * place, name)]
    width = max(60 + (_PANEL + _GAP) * len(panels), 60 + max((wide(name) for name in colours), default=0.0))
    return picture(width, bottom + 18 * rows + 12, parts, title)


def _reach(group: Bars, *, stacked: bool) -> tuple[float, float]:
    if stacked:
        return 0.0, math.fsum(bar.value for bar in group.bars)
    ends = [end for bar in group.bars for end in (bar.value, *(bar.ends or ()))]
    return min(ends, default=0.0), max(ends, default=0.0)


def _share(value: float, scale: Sequence[float]) -> float:
    return (value - scale[0]) / (scale[-1] - scale[0])


def _legend(colours: Mapping[str, str], x: float) -> Iterator[str]:
    for name, colour in colours.items():
        yield rect(x, 32, 12, 12, colour)
        yield text(x + 18, 42, name)
        x += 36 + wide(name)


def _legend_width(colours: Mapping[str, str]) -> float:
    return 20 + math.fsum(36 + wide(name) for name in colours)


def _group(group: Bars, colours: Mapping[str, str], scale: Sequence[float], left: float, y: float) -> Iterator[str]:
    zero = left + _SCALE * _share(0.0, scale)
    yield text(left - 8, y + (_BAR + 2) * len(group.bars) / 2 + 3, group.label, anchor="end")
    for place, bar in enumerate(group.bars):
        top, x = y + (_BAR + 2) * place, left + _SCALE * _share(bar.value, scale)
        told = f"{group.label}, {bar.series}: {bar.value:.4g}"
        yield rect(min(zero, x), top, max(1.0, abs(x - zero)), _BAR, colours[bar.series], told)
        if bar.ends:
            low, high = (left + _SCALE * _share(end, scale) for end in bar.ends)
            yield line(low, top + _BAR / 2, high, top + _BAR / 2, INK)


def _stack(group: Bars, colours: Mapping[str, str], scale: Sequence[float], left: float, y: float) -> Iterator[str]:
    yield text(left - 8, y + 10, group.label, anchor="end")
    x = left
    for bar in group.bars:
        width = _SCALE * bar.value / (scale[-1] - scale[0])
        yield rect(x, y, width, _BAR + 2, colours[bar.series], f"{group.label}, {bar.series}: {bar.value:.4g}")
        x += width
    yield text(x + 8, y + 10, group.end, size=10)


def _plane(panel: Panel, colours: Mapping[str, str], left: float) -> Iterator[str]:
    xs = ticks(min([0.0, *(mark.x for mark in panel.marks)]), max(mark.x for mark in panel.marks))
    lines_y = [y for segment in panel.segments for _, y in (segment.begin, segment.end)]
    heights = [*(mark.y for mark in panel.marks), *lines_y]
    ys = ticks(min(0.0, *heights), max(heights))

    def at(x: float, y: float) -> tuple[float, float]:
        return left + _PANEL * _share(x, xs), _TOP + _PANEL * (1 - _share(y, ys))

    yield text(left, _TOP - 8, panel.title, bold=True)
    for tick in xs:
        x, _ = at(tick, ys[0])
        yield line(x, _TOP, x, _TOP + _PANEL)
        yield text(x, _TOP + _PANEL + 14, f"{tick:g}", anchor="middle", size=10)
    for tick in ys:
        _, y = at(xs[0], tick)
        yield line(left, y, left + _PANEL, y)
        yield text(left - 6, y + 3, f"{tick:g}", anchor="end", size=10)
    yield text(left + _PANEL / 2, _TOP + _PANEL + 30, panel.x_title, anchor="middle", size=10)
    yield text(left - 40, _TOP + _PANEL / 2, panel.y_title, anchor="middle", size=10, turn=-90)
    for segment in panel.segments:
        yield line(*at(*segment.begin), *at(*segment.end), colours[segment.series], width=1.5, dash=segment.dash)
    for mark in panel.marks:
        yield dot(*at(mark.x, mark.y), 3.5, colours[mark.series], mark.told, hollow=mark.hollow)
