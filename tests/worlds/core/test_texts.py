"""Texts that include others read as Jinja's own includes do, though they are put in their places beforehand."""

from __future__ import annotations

import pytest

from worlds.core.errors import WorldError
from worlds.core.texts import Texts


def test_an_included_text_stands_in_its_place() -> None:
    """It sees the values and the loop around it, and an include in it is followed too."""
    texts = Texts(
        {
            "list.md.j2": '{% for name in names %}\n{% include "line.md.j2" %}\n\n{% endfor %}\nend',
            "line.md.j2": '- {{ name }} of {% include "all.md.j2" %}\n',
            "all.md.j2": "{{ names | length }}\n",
        }
    )
    assert texts.render("list", names=["a", "b"]) == "- a of 2\n- b of 2\nend"


def test_what_an_included_text_sets_stays_in_it() -> None:
    """A name that it sets keeps its old value in the text around it."""
    texts = Texts({"outer.md.j2": '{% include "inner.md.j2" %} {{ x }}', "inner.md.j2": "{% set x = 2 %}{{ x }}"})
    assert texts.render("outer", x=1) == "2 1"


def test_a_text_may_include_itself_as_long_as_that_ends() -> None:
    """What cannot be put in its place is looked up when it is shown, and one that goes on for ever is refused."""
    count = '{{ x }}{% set x = x - 1 %}{% if x %}{% include "count.md.j2" %}{% endif %}'
    assert Texts({"count.md.j2": count}).render("count", x=3) == "321"
    with pytest.raises(WorldError, match=r"count\.md\.j2 cannot be rendered"):
        Texts({"count.md.j2": '{% include "count.md.j2" %}'}).render("count")


def test_blocks_and_macros_mean_what_they_mean_in_a_text_of_their_own() -> None:
    """A text with tags that belong to a whole text is included as one."""
    texts = Texts(
        {
            "outer.md.j2": '{% block b %}outer{% endblock %} {% include "inner.md.j2" %}',
            "inner.md.j2": "{% block b %}inner{% endblock %}{% macro m() %}!{% endmacro %}{{ m() }}",
        }
    )
    assert texts.render("outer") == "outer inner!"


def test_a_text_that_is_not_there_is_said_by_name() -> None:
    """Asked for or included, it cannot be rendered."""
    with pytest.raises(WorldError, match=r"none\.md\.j2"):
        Texts({}).render("none")
    with pytest.raises(WorldError, match=r"none\.md\.j2"):
        Texts({"outer.md.j2": '{% include "none.md.j2" %}'}).render("outer")
