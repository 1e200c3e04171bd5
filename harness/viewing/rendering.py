"""Templates as HTML: every value is spelled out where browsers would obey or hide it, then escaped, by the environment itself.

No template can forget either: `finalize` sees each expression, and escaping is on for all files. A page says by `root` how far
up the root of the site is, so that the same page works on a server and from a disk.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.printable import printable
from harness.viewing.glossary import label_anchor

HERE = Path(__file__).parent
PALETTE = 8
"""Colours that seats take in turn; the style sheet has one class for each."""

POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'"
"""What a page may load and where its form may go: this site alone, no style or script in the page itself."""

_NAME = re.compile(r"((?<=\bfield )[\w.\[\]-]+|(?<=\bheader )[A-Z][\w-]*|(?<=\bparameter )[\w.-]+|\b\w*[^\W_]_[^\W_]\w*)")
"""What stands in a rule in the letters of the interface."""

_BREAKS = re.compile(r"(?<=[:_=/])(?=\w)")
"""Where a long name may go on in the next line."""


def render(template: str, page: object, *, depth: int, is_bundle: bool) -> bytes:
    """One page as HTML; `depth` is the number of folders that it lies below the root of the site."""
    made = _environment().get_template(f"{template}.html.j2")
    return made.render(page=page, root="../" * depth, is_bundle=is_bundle, policy=POLICY).encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_number,
        percent=_percent,
        dollars=_dollars,
        seconds=_seconds,
        colour=lambda seat: f"seat-{seat % PALETTE}",
        pieces=_pieces,
        label_anchor=label_anchor,
        parts=_BREAKS.split,
    )
    return environment


def _pieces(rule: str) -> list[tuple[str, bool]]:
    """A rule in pieces, and whether each is a name of the interface: of a field, a header, a parameter, a test."""
    return [(piece, number % 2 == 1) for number, piece in enumerate(_NAME.split(rule)) if piece]


def _shown(value: Any) -> Any:
    """A value as it is put into a page, before it is escaped."""
    if isinstance(value, Markup):
        return value
    return printable(value) if isinstance(value, str) else "" if value is None else value


def _number(value: Any) -> str:
    """A cell of a table, as `harness show` prints it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:g}"
    return str(value)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _dollars(cost: float | None) -> str:
    return "-" if cost is None else f"${cost:,.2f}" if cost >= 0.1 else f"${cost:.4f}"


def _seconds(value: float) -> str:
    return f"{value:,.6g} s"
