"""Every answer in every wrapping is read as that answer, or refused with what was seen; two different ones are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worlds.hidden_profile.sessions import SCENARIO
from worlds.calendar.rules.replies import ACTIONS, scores_shape
from worlds.core.mending import mend
from worlds.core.replies import AnswerShape, ReadAnswer, read_answer
from worlds.hidden_profile.rules.ballot import Ballot, read_ballot, read_message

FEW, MANY = 100, 2000
"""Cases of each check; there are three."""

PLAIN = st.sampled_from(["So.", "a b", "Slot 3, then.", "x: y"])
"""Texts that repairing leaves as they are."""

WORDS = st.text(alphabet="ab {}[]\"'\\,:<>/`\n-3", max_size=30) | st.sampled_from(
    ["[FREE]", '{"vote": "nobody"}', "<think>", "</think>", "```json", 'He said "no".', "=[0, 2]", "\u201cso\u201d"]
)
SLOTS = 4
PROSE = st.sampled_from(
    [
        "", "Slot 3 is [FREE] for me, so:", "Free: [3, 5, 9].", "participants=[0, 2, 4] (all)", "I [think {this} is] fine.",
        "An open [bracket", "and an open {brace", 'He said "yes".', "It's 3 o'clock: 'yes", "a > b < c", "{}", "[]",
        "[[]]", "{x}",
        "- [ ] todo\n- [x] done", "From: me\nSubject: Re: [1]\n", "\\[ x^2 \\]", "\u201csure\u201d", "| a | b |\n|---|---|",
        "See [1](http://x/{y}).",
    ]
)  # fmt: skip
"""What models write around an answer, brackets of any kind included."""


class Kind(NamedTuple):
    """A kind of answer: its values, and how a reply is read for it."""

    values: st.SearchStrategy[Any]
    read: Callable[[str, Any], tuple[Any, str, bool]]
    """Reply and `mend` -> what it was read as, why it was not, and whether only repairing can tell."""

    meaning: Callable[[Any], Any]
    """Returns what a value must be read as."""


def told(reading: ReadAnswer) -> tuple[Any, str, bool]:
    """The outcome of a reading."""
    return reading.value, reading.problem, reading.is_broken


def voted(ballot: Ballot) -> tuple[Any, str, bool]:
    """The outcome of a vote."""
    return ballot.option, ballot.problem or ballot.given or "that named no option", ballot.is_broken


def shaped(shape: AnswerShape) -> Callable[[str, Any], tuple[Any, str, bool]]:
    """Reads by a shape."""
    return lambda reply, repair: told(read_answer(reply, shape, repair))


OPTIONS = [option.id for option in SCENARIO.options]


def kinds_of(words: st.SearchStrategy[str]) -> dict[str, Kind]:
    """Every kind of answer, with texts of these words in it."""
    action = st.one_of(
        st.builds(lambda slot: {"type": "schedule", "meeting_id": 3, "slot": slot}, st.integers(0, 99)),
        st.builds(lambda to, said: {"type": "dm", "to": to, "content": said}, st.integers(0, 4), words),
    )
    scores = st.lists(st.integers(-3, 3), min_size=SLOTS, max_size=SLOTS)
    batch = st.builds(lambda actions: {"thinking": "So.", "actions": actions}, st.lists(action, max_size=3))
    ballot = st.builds(lambda option, why: {"vote": option, "rationale": why}, st.sampled_from(OPTIONS), words)
    message = st.builds(lambda said, stance: {"text": said, "cites": [], "stance": stance}, words, st.sampled_from(OPTIONS))
    return {
        "actions": Kind(batch, shaped(ACTIONS), lambda value: value["actions"]),
        "list": Kind(st.lists(action, min_size=1, max_size=3), shaped(ACTIONS), lambda value: value),
        "scores": Kind(scores, shaped(scores_shape(SLOTS)), tuple),
        "ballot": Kind(ballot, lambda reply, repair: voted(read_ballot(SCENARIO, reply, repair)), lambda value: value["vote"]),
        "message": Kind(message, lambda reply, repair: told(read_message(reply, repair)), lambda value: value),
    }


KINDS = kinds_of(WORDS)
FENCES = st.sampled_from(["```json\n{}\n```", "```\n{}\n```", "~~~\n{}\n~~~", "`{}`", "{}", "**{}**", "<answer>{}</answer>"])
THINKING = st.sampled_from(
    [
        "{}", "<think>\n{}\n</think>\n", "<thinking>{}</thinking>", "<reasoning>{}</reasoning>\n\n", "[THINK]{}[/THINK]",
        "{}\n</think>\n", "<THINK>{}</THINK>",
        "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
    ]
)  # fmt: skip
WRITTEN: dict[str, Callable[[Any], str]] = {
    "compact": lambda value: json.dumps(value, separators=(",", ":")),
    "indented": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    "string": lambda value: json.dumps(json.dumps(value)),
    "wrapped": lambda value: json.dumps({"answer": value}),
    "listed": lambda value: json.dumps([value]),
    "twice": lambda value: f"{json.dumps(value)}\n\nOnce more: {json.dumps(value)}",
    "numbers": lambda value: json.dumps(stringly(value)),
}
BROKEN: dict[str, Callable[[Any], str]] = {
    "comma": lambda value: f"{json.dumps(value)[:-1]},{json.dumps(value)[-1]}",
    "python": repr,
    "cut off": lambda value: json.dumps(value)[:-1],
    "comment": lambda value: f"{json.dumps(value)[:1]} // so\n{json.dumps(value)[1:]}",
}


def stringly(value: Any) -> Any:
    """A value with its numbers in strings."""
    if isinstance(value, dict):
        return {key: stringly(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [stringly(inner) for inner in value]
    return str(value) if isinstance(value, int) else value


@st.composite
def wrapped(draw: st.DrawFn, kinds: dict[str, Callable[[Any], str]], *, different: bool = False) -> tuple[Kind, Any, str]:
    """A kind, an answer of it, and a reply that has the answer in some wrapping; `different`: and another answer."""
    kind = (kinds_of(PLAIN) if kinds is BROKEN else KINDS)[draw(st.sampled_from(sorted(KINDS)))]
    value = draw(kind.values)
    fenced = draw(FENCES).replace("{}", kinds[draw(st.sampled_from(sorted(kinds)))](value))
    if different:
        other = draw(kind.values.filter(lambda one: kind.meaning(one) != kind.meaning(value)))
        second = draw(FENCES).replace("{}", WRITTEN[draw(st.sampled_from(sorted(WRITTEN)))](other))
        fenced = draw(st.sampled_from([f"Draft:\n{second}\nFinal:\n{fenced}", f"{fenced} or {second}", f"{fenced}\n{second}"]))
    before, after, draft = draw(PROSE), draw(PROSE), draw(PROSE) + draw(st.just("") | kind.values.map(json.dumps))
    thought = draw(THINKING)
    return kind, kind.meaning(value), (thought.replace("{}", draft) if thought != "{}" else "") + f"{before}\n{fenced}\n{after}"


def check_read(case: tuple[Kind, Any, str]) -> None:
    """Assert that an answer which is JSON is read, the same with and without repair."""
    kind, meaning, reply = case
    value, problem, is_broken = kind.read(reply, mend)

    assert value == meaning, (reply, value, problem)
    assert is_broken or kind.read(reply, None) == (value, problem, is_broken)


def check_refused(case: tuple[Kind, Any, str]) -> None:
    """Assert that two different answers are refused by world and validator, with a reason."""
    kind, _, reply = case

    for repair in (mend, None):
        value, problem, _ = kind.read(reply, repair)
        assert value is None, (reply, value)
        assert problem


def check_broken(case: tuple[Kind, Any, str]) -> None:
    """Assert that a broken answer is repaired into that answer, or refused with a reason; never into another one."""
    kind, meaning, reply = case
    value, problem, _ = kind.read(reply, mend)

    assert value == meaning or (value is None and problem), (reply, value)


CASES = [
    pytest.param(check_read, wrapped(WRITTEN), id="read"),
    pytest.param(check_refused, wrapped(WRITTEN, different=True), id="refused"),
    pytest.param(check_broken, wrapped(BROKEN), id="broken"),
]


@pytest.mark.property
@pytest.mark.parametrize(("check", "cases"), CASES)
def test_every_wrapping(check: Callable[[Any], None], cases: st.SearchStrategy[Any]) -> None:
    """Answers of every kind in a few hundred wrappings."""
    settings(max_examples=FEW)(given(cases)(check))()


@pytest.mark.property
@pytest.mark.parametrize(("check", "cases"), CASES)
def test_every_wrapping_at_length(check: Callable[[Any], None], cases: st.SearchStrategy[Any]) -> None:
    """Answers of every kind in thousands of wrappings."""
    settings(max_examples=MANY)(given(cases)(check))()
