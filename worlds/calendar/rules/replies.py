"""What a reply at a calendar seat says: a list of actions, or scores of belief; worlds and validators share the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.calendar.rules.batch import UNREADABLE
from worlds.calendar.rules.beliefs import read_scores
from worlds.core.replies import (
    LIST,
    OBJECT,
    AnswerShape,
    Mend,
    ReadAnswer,
    fields,
    load,
    parsed_string,
    read_answer,
    whole_number,
)

NOT_READ = "Nothing was read in your last reply"

_NUMBERS = ("slot", "from_slot", "to_slot", "to", "item_id", "meeting_id")
"""Fields of an action that hold an integer; one in a string means the same."""


def read_actions(reply: str, mend: Mend | None = None) -> ReadAnswer:
    """Return the actions of a reply; a reply that is a JSON list as a whole is a list of actions, whatever is in it."""
    reading = read_answer(reply, ACTIONS, mend)
    if reading.value is None and not reading.is_refused and isinstance(whole := load(reply), list):
        return ReadAnswer(_numbered(whole), "bare_list")
    return reading


def refusal(problem: str) -> str:
    """Return the sentence that a seat is told of a decision that was not read."""
    return f"{UNREADABLE}: {problem}"


def notice(problem: str) -> str:
    """Return the line with which a seat's next turn begins after a reply in talk that was not read."""
    return f"{NOT_READ}: {problem}.\n\n"


def scores_shape(slots: int) -> AnswerShape:
    """Return the shape of an answer about beliefs: a list of as many scores as there are slots, or an object with one."""

    def reads(value: Any) -> Sequence[tuple[int, ...]]:
        held = (
            {key: _whole_numbers(inner) for key, inner in value.items()} if isinstance(value, dict) else _whole_numbers(value)
        )
        return [] if (scores := read_scores(held, slots)) is None else [scores]

    return AnswerShape(f"one JSON list of {slots} numbers from -3 to 3", reads, rf"\[\s*[\"']?[+-]?\d|{OBJECT}")


def _actions(value: Any) -> Sequence[list[Any]]:
    """Return the actions of an object, or of a list that holds actions only."""
    if isinstance(value, dict):
        lists = [given for one in fields(value, "actions") if isinstance(given := parsed_string(one), list)]
        return [_numbered(given) for given in lists]
    return [_numbered(value)] if value and all(map(_is_action, value)) else []


def _single_action(value: Any) -> Sequence[list[Any]]:
    return [_numbered([value])] if _is_action(value) else []


def _is_action(value: Any) -> bool:
    """Return True for an object with a type; `function` is that of a call in an API."""
    kinds = fields(value, "type")
    return any(isinstance(kind, str) and kind != "function" for kind in kinds)


def _numbered(actions: Sequence[Any]) -> list[Any]:
    """Return actions with keys in lower case, and with integers where strings hold them."""
    return [_lowered(action) if isinstance(action, dict) else action for action in actions]


def _lowered(action: dict[str, Any]) -> dict[str, Any]:
    lowered = {key.lower(): inner for key, inner in action.items()}
    kept = lowered if len(lowered) == len(action) else action
    return {key: whole_number(inner) if key in _NUMBERS else inner for key, inner in kept.items()}


def _whole_numbers(value: Any) -> Any:
    return [whole_number(one) for one in value] if isinstance(value, list) else value


ACTIONS = AnswerShape(
    'one JSON object with a list of "actions"', _actions, f"{LIST}|{OBJECT}", "actions|type", single=_single_action
)
