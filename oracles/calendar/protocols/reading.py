"""Reads what every seat is shown: the round's meeting, the own calendar, the mail. A typed protocol has no other eyes.

Most texts hold little of this, so what cannot be there is not looked for: finding a few letters costs a tenth of a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from worlds.calendar.rules.items import Cells, read_lines

_MEETING = re.compile(r"^Meeting M(\d+), participants=\[([\d, ]*)\], duration=(\d+)", re.MULTILINE)
_MAIL = re.compile(r"^\[\d+\] From agent (\d+) by \w+ \(meeting (\d+)\): (.*(?:\n    .*)*)$", re.MULTILINE)
_ROUND = re.compile(r"=== ROUND (\d+) OF \d+ ===\n")
_SWEEP = re.compile(r"^Phase: CHEAP_TALK.*, turn (\d+) of (\d+);", re.MULTILINE)


class Facts(NamedTuple):
    """The meeting that a text is about."""

    meeting: int
    participants: tuple[int, ...]
    duration: int


class Mail(NamedTuple):
    """One message as it arrived; `payload` is the JSON object of its first line, empty where that is none."""

    sender: int
    meeting: int
    payload: Mapping[str, Any]
    text: str = ""
    """All that it says, later lines set in as they are shown."""


def read_meeting(text: str) -> Facts | None:
    """The meeting that a text announces, or None."""
    match = _MEETING.search(text) if "\nMeeting M" in text else None
    if match is None:
        return None
    return Facts(int(match[1]), tuple(int(number) for number in re.findall(r"\d+", match[2])), int(match[3]))


def read_mail(text: str) -> list[Mail]:
    """Every message in a text, in the order in which they arrived."""
    first = text.find("[1] From agent ")
    letters = _MAIL.findall(text, first) if first >= 0 else ()
    return [
        Mail(int(sender), int(meeting), _payload(content.partition("\n")[0]), content) for sender, meeting, content in letters
    ]


def read_calendar(text: str) -> Cells | None:
    """The calendar in a text, or None where it shows none."""
    first = text.find("\nSlot ")
    return _cells(text[first:].partition("\n\n")[0]) if first >= 0 else None


def read_round(text: str) -> int | None:
    """The number of the round that a text opens, or None."""
    match = _ROUND.match(text)
    return int(match[1]) if match else None


def read_sweep(text: str) -> tuple[int, int] | None:
    """Which turn of cheap talk this is and how many there are at most, from 1; None in another phase."""
    match = _SWEEP.search(text)
    return (int(match[1]), int(match[2])) if match else None


@lru_cache(maxsize=1024)
def _cells(block: str) -> Cells | None:
    """One calendar; it is shown many times before it changes."""
    return read_lines(block) or None


def _payload(content: str) -> Mapping[str, Any]:
    try:
        value = from_json(content)
    except (ValueError, TypeError):
        # a TypeError says that the text holds half a surrogate pair
        return {}
    return value if isinstance(value, dict) else {}
