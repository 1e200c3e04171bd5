"""A person's page shows the rules of their seat as their author wrote them, and nothing in them acts on the page."""

from __future__ import annotations

import pytest

from parley.hosting.group import Shown
from parley.hosting.server import page

HOSTILE = '<script>alert(1)</script> [go](javascript:alert(1)) ![x](http://elsewhere/x.png) <a href="/">out</a>'


def shown(rules: str) -> str:
    """The page of somebody whose turn it is not, under these rules."""
    return page("Calendar", Shown("waiting", "v", 0, "Ada", rules, None, (), 0, 0, False, 2, 2), None)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("## Your turn", "<h3>Your turn</h3>"),
        ("1. first\n2. second", "<ol>\n<li>first</li>\n<li>second</li>\n</ol>"),
        ("Say `BID 3`.", "Say <code>BID 3</code>."),
        ("| slot | cost |\n|---|---|\n| 7 | 3 |", "<td>7</td>\n<td>3</td>"),
        ("one line\nthe next", "one line<br />\nthe next"),
        ("- a point\n  and its end", "<li>a point<br />\nand its end</li>"),
    ],
)
def test_rules_keep_their_form(rules: str, expected: str) -> None:
    """Headings, lists, code, tables and line breaks are shown as such, and not as the signs that stand for them."""
    assert expected in shown(rules)


def test_rules_do_nothing_to_the_page() -> None:
    """Markup, links and images in rules are text."""
    before = shown("nothing")
    after = shown(HOSTILE)

    assert [after.count(tag) for tag in ("<script", "<a ", "<img")] == [before.count(tag) for tag in ("<script", "<a ", "<img")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in after
