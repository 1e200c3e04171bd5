"""A model's reply is read as far as it can be without guessing, and nothing that it may be raises."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validators.replies import plainly

from worlds.core.replies import parse_reply

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.sampled_from(["Infinity", "\\ud800", 10**400, 1e308])
)  # fmt: skip
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
ACTIONS = {"actions": [{"type": "dm", "to": 1}]}


def finite(document: object) -> bool:
    """Whether JSON has every number in it."""
    try:
        json.dumps(document, allow_nan=False)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ('{"actions": [{"type": "dm", "to": 1}]}', "strict"),
        (' \n{"actions": [{"type": "dm", "to": 1}]}\n', "strict"),
        ('Sure!\n```json\n{"actions": [{"type": "dm", "to": 1}]}\n```\nDone.', "fenced"),
        ('{"actions": [{"type": "dm", "to": 1,}]}', "repaired"),
        ("{'actions': [{'type': 'dm', 'to': 1}]}", "repaired"),
        ('I will write: {"actions": [{"type": "dm", "to": 1}]}', "repaired"),
        ('{"actions": [{"type": "dm", "to": 1', "repaired"),
    ],
)
def test_reply_is_read_and_says_how(text: str, how: str) -> None:
    """Strict, fenced and broken JSON mean the same, and how it was read stands beside it."""
    parsed = parse_reply(text)

    assert (parsed.value, parsed.how) == (ACTIONS, how)


@pytest.mark.parametrize("text", ["", "no", "7", "null", '"a"', "true", "NaN", '{"a": "\\ud800"}', "{" * 70_000])
def test_what_is_no_object_fails(text: str) -> None:
    """Text, numbers, half a surrogate pair and endless brackets hold no reply."""
    assert parse_reply(text).how == "failed"


@pytest.mark.parametrize("levels", [63, 64, 65, 66])
def test_world_and_validator_agree_on_how_deep_is_too_deep(levels: int) -> None:
    """Around the deepest reply that a log can hold, with and without something inside, both read it or both do not."""
    for inside in ("", "1"):
        text = '{"actions":' + "[" * (levels - 1) + inside + "]" * (levels - 1) + "}"
        assert (parse_reply(text).how == "strict") == (plainly(text)[1] == "strict") == (levels + bool(inside) <= 64)


@pytest.mark.parametrize(
    "text",
    [
        "```" + "\n" * 900_000,
        "```json" + " " * 900_000,
        "```\n" * 200_000,
        '{"a"' * 15_000,
        "{'" * 30_000,
        '["a" ' * 12_000,
        "[{" * 30_000,
    ],
    ids=["newlines", "blanks", "fences", "keys", "quotes", "words", "openings"],
)
def test_hostile_replies_are_read_at_once(text: str) -> None:
    """Nothing of the size that a body may have keeps world or validator busy."""
    began = time.process_time()

    assert parse_reply(text).how == "failed"
    assert plainly(text) == (None, "")
    assert time.process_time() - began < 2


def test_strict_mends_nothing() -> None:
    """With the option, only JSON as it stands or in a fence counts."""
    assert parse_reply('{"actions": [],}', strict=True).how == "failed"
    assert parse_reply('```\n{"actions": []}\n```', strict=True).how == "fenced"


@given(st.text() | st.text(alphabet="{}[]\",:'\\ntrue0.-e`", max_size=200))
def test_nothing_raises(text: str) -> None:
    """Any text at all is read or failed."""
    assert parse_reply(text).how in {"strict", "fenced", "repaired", "failed"}


@given(DOCUMENTS)
def test_what_json_can_say_is_read_as_it_is(document: object) -> None:
    """An object or list whose numbers are finite is read strictly, and as the standard library reads it."""
    text = json.dumps(document)
    expected = json.loads(text) if isinstance(document, dict | list) and finite(document) else None

    assert parse_reply(text, strict=True).value == expected


@given(st.text(alphabet='{}[]",:\\ud8c0eE+-.019tfNaInfinity \n\ud800', max_size=60) | DOCUMENTS.map(json.dumps))
def test_world_and_validator_read_the_same(text: str) -> None:
    """What one reads without mending the other reads too, to the same value."""
    parsed = parse_reply(text, strict=True)

    assert plainly(text) == (parsed.value, parsed.how if parsed.value is not None else "")


@pytest.mark.parametrize("number", ["1e400", "-1E+999", "9" * 309 + ".5", "NaN", "-Infinity"])
def test_number_beyond_the_largest_is_no_reply(number: str) -> None:
    """Neither a log nor an answer could say it; the word itself is a text like any other."""
    assert parse_reply(f'{{"a": [{number}]}}', strict=True).how == "failed"
    assert plainly(f'{{"a": [{number}]}}') == (None, "")
    assert parse_reply('{"a": "Infinity"}').how == "strict"
