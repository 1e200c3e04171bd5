"""What a person's browser is sent: one page for every stage, all of it escaped, and nothing from anywhere else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

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
        title=title, shown=shown, form=form, wrong=wrong, typed=typed, rules=_blocks(shown.rules), clock=_clock(shown.left_s)
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


def _blocks(text: str) -> list[tuple[bool, str]]:
    """Rules as headings and the text between them: whether it is a heading, and its words."""
    blocks: list[tuple[bool, str]] = []
    for line in text.strip().splitlines():
        if line.startswith("#"):
            blocks.append((True, line.lstrip("# ")))
        elif blocks and not blocks[-1][0]:
            blocks[-1] = (False, f"{blocks[-1][1]}\n{line}")
        else:
            blocks.append((False, line))
    return [(is_heading, words.strip("\n")) for is_heading, words in blocks if words.strip()]


def _clock(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02d}"
