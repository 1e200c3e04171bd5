"""Parsing of replies at a calendar seat: a list of actions, or scores of belief; worlds and validators share it.

A belief about a calendar is an integer from -3 to 3 for each slot (paper, Appendix F.3).
1. It is a list with one number per slot, or an object in which exactly one value is such a list. Nothing is truncated, padded
or rounded: a reply of another length or with another value counts as no answer.
2. If expectations are allowed, a program that knows the token probabilities of a model answers with an object of two keys:
`said`, the reply itself, and `expected`, for each slot the mean of the possible numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.calendar.rules.batch import UNREADABLE
from worlds.core.replies import (
    LIST,
    OBJECT,
    AnswerShape,
    Mend,
    ReadAnswer,
    find_fields,
    load_json,
    parse_string,
    parse_whole_number,
    read_answer,
)

STRONGEST = 3
"""The largest change of belief: one slot of loss."""


def read_scores(value: Any, slots: int) -> tuple[int, ...] | None:
    """Return the scores in a JSON value, by slot; None if there are none, or if two lists could be them."""
    held = [*value.values()] if isinstance(value, dict) else [value]
    readable = [tuple(map(int, one)) for one in held if _are_in_range(one, slots) and all(score == int(score) for score in one)]
    return readable[0] if len(readable) == 1 else None


def find_weighed_reply(value: Any) -> str | None:
    """Return the reply inside a JSON value that includes expectations; None for any other value."""
    is_weighed = isinstance(value, dict) and value.keys() == {"said", "expected"} and isinstance(value["said"], str)
    return value["said"] if is_weighed else None


def read_expected(value: Any, slots: int) -> tuple[float, ...] | None:
    """Return the expectations inside such a value, by slot; None if they are missing or invalid."""
    expected: Any = value["expected"] if find_weighed_reply(value) is not None else None
    return tuple(map(float, expected)) if _are_in_range(expected, slots) else None


def _are_in_range(values: Any, slots: int) -> bool:
    if not isinstance(values, list) or len(values) != slots:
        return False
    return all(type(value) in (int, float) and abs(value) <= STRONGEST for value in values)


NOT_READ = "Nothing was read in your last reply"

_NUMBERS = ("slot", "from_slot", "to_slot", "to", "item_id", "meeting_id")
"""Fields of an action that hold an integer; a string with an integer is equivalent."""


MAX_ACTIONS = 1000
"""Maximum number of actions of one reply: each error is noted, so a log grows by a hundred bytes per byte of reply."""


def read_actions(reply: str, mend: Mend | None = None) -> ReadAnswer:
    """Return the actions of a reply; a reply that is a JSON list as a whole is a list of actions, whatever it contains."""
    reading = read_answer(reply, ACTIONS, mend)
    if reading.value is None and not reading.is_refused and isinstance(whole := load_json(reply), list):
        reading = ReadAnswer(_numbered(whole), "bare_list")
    if reading.value is None or len(reading.value) <= MAX_ACTIONS:
        return reading
    if reading.is_broken:
        return read_answer(reply, ACTIONS)
    return ReadAnswer(None, "failed", f"it holds {len(reading.value)} actions, and at most {MAX_ACTIONS} are read")


def split_actions(actions: Sequence[Any], tools: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Split actions into those of a phase, including non-actions, and the tools of other actions."""
    kept: list[Any] = []
    dropped: list[str] = []
    for action in actions:
        tool = action.get("type") if isinstance(action, dict) else None
        if isinstance(tool, str) and tool not in tools:
            dropped.append(tool[:40])
        else:
            kept.append(action)
    return kept, dropped


def refusal_text(problem: str) -> str:
    """Return the sentence that tells a seat that its decision was not read."""
    return f"{UNREADABLE}: {problem}"


def notice_line(problem: str) -> str:
    """Return the line that begins a seat's next turn after a reply in talk that was not read."""
    return f"{NOT_READ}: {problem}.\n\n"


def scores_shape(slots: int) -> AnswerShape:
    """Return the shape of an answer about beliefs: a list with one score per slot, or an object with such a list."""

    def reads(value: Any) -> Sequence[tuple[int, ...]]:
        held = (
            {key: _whole_numbers(inner) for key, inner in value.items()} if isinstance(value, dict) else _whole_numbers(value)
        )
        return [] if (scores := read_scores(held, slots)) is None else [scores]

    return AnswerShape(f"one JSON list of {slots} numbers from -3 to 3", reads, rf"\[\s*[\"']?[+-]?\d|{OBJECT}")


def _actions(value: Any) -> Sequence[list[Any]]:
    """Return the actions of an object, or of a list that holds only actions."""
    if isinstance(value, dict):
        lists = [given for one in find_fields(value, "actions") if isinstance(given := parse_string(one), list)]
        return [_numbered(given) for given in lists]
    return [_numbered(value)] if value and all(map(_is_action, value)) else []


def _is_action(value: Any) -> bool:
    """Return True for an object with a type; the type `function` belongs to an API call and does not count."""
    kinds = find_fields(value, "type")
    return any(isinstance(kind, str) and kind != "function" for kind in kinds)


def _numbered(actions: Sequence[Any]) -> list[Any]:
    """Return actions with keys in lower case, and with integers for strings that hold them."""
    return [_lowered(action) if isinstance(action, dict) else action for action in actions]


def _lowered(action: dict[str, Any]) -> dict[str, Any]:
    lowered = {key.lower(): inner for key, inner in action.items()}
    kept = lowered if len(lowered) == len(action) else action
    return {key: parse_whole_number(inner) if key in _NUMBERS else inner for key, inner in kept.items()}


def _whole_numbers(value: Any) -> Any:
    return [parse_whole_number(one) for one in value] if isinstance(value, list) else value


ACTIONS = AnswerShape(
    'one JSON object with a list of "actions"', _actions, f"{LIST}|{OBJECT}", "actions|type",
    single=lambda value: [_numbered([value])] if _is_action(value) else [],
)  # fmt: skip
