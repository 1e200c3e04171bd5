"""Pictures as plain SVG, the same bytes for the same rows: marks and words, and nothing that needs a plotting library.

1. Every mark that stands for a number has a title, `what: number`, which a browser shows under the pointer and a test can read.
2. Words may be anybody's: they are escaped, and control characters, which XML has not, are spelled out.
3. Words are measured by a wide estimate, so that what is laid out by it does not overlap in any common font.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from xml.sax.saxutils import escape, quoteattr

from harness.printable import printable
from harness.report.table import Table

INK, PALE, GRID = "#222222", "#777777", "#dddddd"
DARK = "#1a1a1a"
"""Words on a colour: where a page turns its ink light (`harness report --html`), these stay as they are."""

SIZE = 11

Draw = Callable[[Mapping[str, Table]], str | None]
"""Makes one picture from a report's tables by name; None where they do not have what it shows."""


def picture(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """A whole document of this size, on white, under a title."""
    shown = f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="sans-serif" font-size="{SIZE}"'
    named = f'role="img" aria-label={quoteattr(title)}'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" {shown} {named}>'
    body = "\n".join((rect(0, 0, width, height, "#ffffff"), text(14, 20, title, size=14, bold=True), *parts))
    return f"{head}\n{body}\n</svg>\n"


def wide(words: str, size: float = SIZE) -> float:
    """How much room some words need, generously."""
    return 0.6 * size * len(words)


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: float = SIZE, bold: bool = False, turn: float = 0,
    colour: str = INK,
) -> str:  # fmt: skip
    """Words on a baseline, turned around their anchor by some degrees."""
    how = (' font-weight="bold"' if bold else "") + (f' transform="rotate({_n(turn)} {_n(x)} {_n(y)})"' if turn else "")
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{_n(size)}" fill="{colour}"'
    return f"<text {place}{how}>{escape(printable(words))}</text>"


def rect(x: float, y: float, width: float, height: float, colour: str, told: str = "") -> str:
    """A filled rectangle."""
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    return f'<rect {place} fill="{colour}">{_told(told)}</rect>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GRID, *, width: float = 1, dash: str = "") -> str:
    """A straight line."""
    how = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{_n(width)}"{how}/>'


def dot(x: float, y: float, radius: float, colour: str, told: str = "", *, hollow: bool = False, ring: str = "") -> str:
    """A circle: filled, hollow, or with a ring of another colour around it."""
    inside, edge = ("#ffffff" if hollow else colour), ring or colour
    place = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
    return f'<circle {place} fill="{inside}" stroke="{edge}" stroke-width="1.6">{_told(told)}</circle>'


def wedge(x: float, y: float, radius: float, begin: float, end: float, colour: str, told: str = "") -> str:
    """A slice of a pie between two shares of the turn, from the top clockwise; a whole turn is a disc."""
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
