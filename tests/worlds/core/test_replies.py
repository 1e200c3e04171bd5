"""The answer in a model's reply is read as far as it can be without guessing, and no reply raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.calendar.rules.replies import read_actions
from worlds.core import replies
from worlds.core.mending import mend
from worlds.core.replies import spoken_text, without_thinking

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.sampled_from(["Infinity", "\\ud800", 10**400, 1e308])
)  # fmt: skip
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
TAKEN = [{"type": "schedule", "meeting_id": 1, "slot": 3}]
VALID = json.dumps({"thinking": "So.", "actions": TAKEN})
OTHER = json.dumps({"actions": [{"type": "schedule", "meeting_id": 1, "slot": 4}]})


def finite(document: object) -> bool:
    """Return True if JSON has every number in a document."""
    try:
        json.dumps(document, allow_nan=False)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (VALID, "strict"),
        (f" \n{VALID}\n", "strict"),
        (json.dumps(TAKEN), "bare_list"),
        (f"Sure!\n```json\n{VALID}\n```\nDone.", "fenced"),
        (f"I will write: {VALID}", "extracted"),
        (f"Slot 3 is [FREE] for me, so:\n{VALID}", "extracted"),
        (f"Free: [3, 5, 9].\n{VALID}", "extracted"),
        (f"{VALID}\nas agreed by participants=[0, 2, 4].", "extracted"),
        (f"{VALID}\nOnce more:\n{VALID}", "extracted"),
        (f"<think>[1,2] or {OTHER}</think>{VALID}", "strict"),
        (f"<think>[1,2] or so.\n{VALID}", "extracted"),
        (f"or {OTHER}\n</think>\n\n{VALID}", "strict"),
        (f"<reasoning>{OTHER}</reasoning>\n{VALID}", "strict"),
        (f"[THINK]{OTHER}[/THINK]{VALID}", "strict"),
        (f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant<|channel|>final<|message|>{VALID}", "strict"),
        (f"analysisLet me see: {OTHER}.assistantfinal{VALID}", "strict"),
        (f'```json\n{{"slots": [1]}}\n```\n```json\n{VALID}\n```', "fenced"),
        (json.dumps({"actions": json.dumps(TAKEN)}), "strict"),
        (json.dumps(VALID), "extracted"),
        (f"My reply: {json.dumps(VALID)}", "extracted"),
        (f'{{"answer": {VALID}}}', "extracted"),
        (f"[{VALID}]", "extracted"),
        (VALID.replace("3", '"3"').replace("1", '" 1 "'), "strict"),
        (json.dumps(TAKEN[0]), "extracted"),
        (VALID[:-2] + ",]}", "repaired"),
        (VALID.replace('"', "'"), "repaired"),
        (VALID[:-2], "repaired"),
        (f"My reply: {VALID[:-1]},}} and no more", "repaired"),
        (VALID.replace('"', '\\"'), "repaired"),
        (f"// mine\n{VALID[:1]} // as agreed\n{VALID[1:]}", "repaired"),
    ],
)
def test_reply_is_read_and_says_how(text: str, how: str) -> None:
    """One and the same batch in each wrapping, and how it was read stands beside it."""
    reading = read_actions(text, mend)

    assert (reading.value, reading.how, reading.problem) == (TAKEN, how, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty"),
        ("no", "there is no JSON in it"),
        ("Slot 3 is [FREE].", "there is no JSON in it"),
        ("7", "there is no JSON in it"),
        (f"<think>{VALID}</think>", "it is all thinking"),
        (f"<think>{VALID} or perhaps", "it is all thinking"),
        ('{"slots": [3]}', 'the JSON in it has another shape: {"slots": [3]}'),
        (f"{OTHER}\nNo:\n{VALID}", "it holds two different answers, "),
        (f"Draft:\n```json\n{OTHER}\n```\nFinal:\n```json\n{VALID}\n```", "it holds two different answers, "),
        (f"[{OTHER}, {VALID}]", "it holds two different answers, "),
        (f'{{"actions": [], {VALID[1:]}', "it holds two different answers, [] and "),
        (f"{OTHER[:-1]},}}\n{VALID}", "one answer in it is JSON, and another is not: "),
        (f'{{"actions": [ {{"type": "dm", no, wait.\n{VALID}', "one answer in it is JSON, and another is not: "),
        ("{'actions': []} {'actions': [{'type': 'dm'}]}", "it holds two different answers, [] and "),
        ('["a",' * 70_000, "it holds too many brackets that are not JSON"),
    ],
)
def test_refusal_says_what_was_seen(text: str, problem: str) -> None:
    """What is not read, or could be read in two ways, is refused with the half of a sentence that the seat is told."""
    reading = read_actions(text, mend)

    assert (reading.value, reading.how) == (None, "failed")
    assert reading.problem.startswith(problem)
    assert "\n" not in reading.problem


def test_two_answers_are_quoted_from_where_they_differ() -> None:
    """Long answers that begin alike are told apart."""
    one, other = ({"actions": [{"type": "dm", "to": 1, "content": "x" * 200 + end}]} for end in ("here", "there"))
    problem = read_actions(json.dumps(one) + json.dumps(other)).problem

    assert 'xhere"' in problem
    assert 'xthere"' in problem


def test_half_a_surrogate_pair_does_not_void_a_reply() -> None:
    """It is read as U+FFFD, as a character or as an escape."""
    for half in ("\ud800", "\\ud800"):
        reading = read_actions(f'{{"actions": [{{"type": "dm", "content": "a{half}b"}}]}}')
        assert reading.value == [{"type": "dm", "content": "a\ufffdb"}]


def test_words_in_a_string_are_no_thinking_and_no_answer() -> None:
    """Tags and JSON within the answer's own strings are what it says."""
    actions = [{"type": "dm", "to": 1, "content": f"<think>as {OTHER}</think>"}]
    for text in (json.dumps({"actions": actions}), f"Here: {json.dumps({'actions': actions})}."):
        assert read_actions(text).value == actions


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("Hello <there>.", "Hello <there>."),
        ("<think>No.</think>Yes.", "Yes."),
        ("Yes, <thinking>hm</thinking>of course.", "Yes, of course."),
        ("hm, no.\n</think>\nYes.", "Yes."),
        ("<think>No, or", ""),
        ("Yes. <think>No, or", "Yes."),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>", "Yes."),
        ("Yes.</think>", "Yes."),
        ("PASS", ""),
        ("<think>x</think> PASS ", ""),
    ],
)
def test_others_hear_no_thinking(said: str, heard: str) -> None:
    """What stands outside of thinking is heard as it stands."""
    assert spoken_text(said) == heard
    assert without_thinking("as it stands \n") == "as it stands \n"


@pytest.mark.parametrize("levels", [63, 64, 65, 66])
def test_how_deep_is_too_deep(levels: int) -> None:
    """A log can hold 64 levels."""
    for inside in ("", "1"):
        text = '{"actions":' + "[" * (levels - 1) + inside + "]" * (levels - 1) + "}"
        assert (read_actions(text).how == "strict") == (levels + bool(inside) <= 64)


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.property)])
@pytest.mark.parametrize(
    "whole",
    [
        "```" + "\n" * 900_000,
        "```json" + " " * 900_000,
        "```\n" * 200_000,
        '{"a"' * 100_000,
        "{'" * 300_000,
        '["a" ' * 120_000,
        "[{" * 300_000,
        "[" * 1_000_000,
        "[" * 500_000 + "]" * 500_000,
        '{"actions":[' * 70_000,
        "[" * 300 + "1," * 400_000,
        "<think>" * 100_000,
        "<think></think>" * 50_000,
        "</think> a" * 50_000,
        '"{\\"' * 100_000,
        '{"actions": [' + "[NaN," * 100_000,
    ],
)
def test_work_on_hostile_replies_is_bounded(whole: str, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is read in vain is at most a few times the reply, whatever brackets, quotes and tags are in it."""
    text = whole[: len(whole) // share]
    in_vain = [0]
    read_at = replies._read_at

    def counted(*arguments: Any) -> tuple[int, int]:
        position, cost = read_at(*arguments)
        in_vain[0] += cost
        return position, cost

    monkeypatch.setattr(replies, "_read_at", counted)

    assert read_actions(text, mend).how == "failed"
    assert in_vain[0] <= 10 * len(text) + 65_536


def test_strict_repairs_nothing() -> None:
    """Without repair only JSON counts, and a broken answer says that only repairing can tell it."""
    reading = read_actions('{"actions": [],}')

    assert (reading.how, reading.is_broken) == ("failed", True)
    assert read_actions('```\n{"actions": []}\n```').how == "fenced"


@given(st.text() | st.text(alphabet="{}[]\",:'\\ntrue0.-e`<>/kih", max_size=200))
def test_nothing_raises(text: str) -> None:
    """Any text at all is read or refused with a reason, and without repair nothing is read that repairing would not read."""
    plain, reading = read_actions(text), read_actions(text, mend)

    assert (reading.value is None) == bool(reading.problem)
    assert plain == reading or plain.is_broken


@given(DOCUMENTS)
def test_what_json_can_say_is_read_as_it_is(document: object) -> None:
    """An object or list whose numbers are finite is read as the standard library reads it."""
    expected = json.loads(json.dumps(document)) if finite(document) else None

    assert replies.load_json(json.dumps(document)) == expected


@pytest.mark.parametrize("number", ["1e400", "-1E+999", "9" * 309 + ".5", "NaN", "-Infinity"])
def test_number_beyond_the_largest_is_no_reply(number: str) -> None:
    """Neither a log nor an answer could hold it; the word itself is a text like any other."""
    assert read_actions(f'{{"actions": [{number}]}}').value is None
    assert read_actions('{"actions": ["Infinity"]}').how == "strict"
