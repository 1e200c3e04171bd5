"""What a person's browser is sent: one page for every stage, all of it escaped, and nothing from anywhere else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markdown_it import MarkdownIt
from markupsafe import Markup

from harness.hosting.forms import Form
from harness.hosting.places import Shown

FOLDER = Path(__file__).parent / "pages"
STATIC = {"style.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # the link is a secret, and a form's Origin must be sent
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def page(title: str, shown: Shown, form: Form | None, *, wrong: str = "", typed: str = "") -> str:
    """A person's page; `wrong` is what was refused just now, `typed` what they had typed then."""
    return _template("page.html.j2").render(
        title=title, shown=shown, form=form, wrong=wrong, typed=typed, rules=_shown(shown.rules), clock=_clock(shown.left_s)
    )


def refused(why: str, back: str = "") -> str:
    """A page that says only what is wrong."""
    return _template("refused.html.j2").render(title="Not taken", why=why, back=back)


def static(name: str) -> bytes:
    """A file that pages ask for."""
    return (FOLDER / name).read_bytes()


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


@cache
def _markdown() -> MarkdownIt:
    # what a line break separates stays apart, and nothing leads away from the page
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable(["link", "autolink", "image"])


def _shown(rules: str) -> Markup:
    """Rules as HTML, escaped; every heading stands below the page's own."""
    tokens = _markdown().parse(rules)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3"
    return Markup(_markdown().renderer.render(tokens, _markdown().options, {}))  # noqa: S704 - escaped by the renderer


def _clock(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02d}"
