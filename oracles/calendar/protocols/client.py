"""Base class of all typed protocols: a seat that parses its texts, talks in JSON messages, and decides by one batch.

A protocol adds `talk`, which answers the mail of a turn with messages, and `decide`, which returns the batch. Both are pure
policies over what this seat has seen.

In profile `paper` mail is read in cheap talk only, as in the published clients: mail that arrives with a decision waits for the
next talk, possibly in another round. In profile `text` it is read on arrival.

The parser reads only what every seat is shown: the round's meeting, the own calendar, the mail. Most texts hold little of this,
so substring tests skip the patterns, which are ten times slower.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from pydantic_core import from_json, to_json

from worlds.calendar.rules.items import Cells, Item, read_lines

_MEETING = re.compile(r"^Meeting M(\d+), participants=\[([\d, ]*)\], duration=(\d+)", re.MULTILINE)
_MAIL = re.compile(r"^\[\d+\] From agent (\d+) by \w+ \(meeting (\d+)\): (.*(?:\n    .*)*)$", re.MULTILINE)
_ROUND = re.compile(r"=== ROUND (\d+) OF \d+ ===\n")
_SWEEP = re.compile(r"^Phase: CHEAP_TALK.*, turn (\d+) of (\d+);", re.MULTILINE)


class Facts(NamedTuple):
    """The meeting that a text concerns."""

    meeting: int
    participants: tuple[int, ...]
    duration: int


class Mail(NamedTuple):
    """One message as it arrived; `payload` is the JSON object in its first line, else empty."""

    sender: int
    meeting: int
    payload: Mapping[str, Any]
    text: str = ""
    """The whole message, with later lines indented as shown."""


def read_meeting(text: str) -> Facts | None:
    """Return the meeting that a text announces, or None."""
    match = _MEETING.search(text) if "\nMeeting M" in text else None
    if match is None:
        return None
    return Facts(int(match[1]), tuple(int(number) for number in re.findall(r"\d+", match[2])), int(match[3]))


def read_mail(text: str) -> list[Mail]:
    """Return every message in a text, in order of arrival."""
    first = text.find("[1] From agent ")
    letters = _MAIL.findall(text, first) if first >= 0 else ()
    return [
        Mail(int(sender), int(meeting), _payload(content.partition("\n")[0]), content) for sender, meeting, content in letters
    ]


def read_calendar(text: str) -> Cells | None:
    """Return the calendar in a text, or None if it shows none."""
    first = text.find("\nSlot ")
    return _cells(text[first:].partition("\n\n")[0]) if first >= 0 else None


def read_round(text: str) -> int | None:
    """Return the number of the round that a text opens, or None."""
    match = _ROUND.match(text)
    return int(match[1]) if match else None


def read_sweep(text: str) -> tuple[int, int] | None:
    """Return the number of this turn of cheap talk, from 1, and the maximum; None in another phase."""
    match = _SWEEP.search(text)
    return (int(match[1]), int(match[2])) if match else None


@lru_cache(maxsize=1024)
def _cells(block: str) -> Cells | None:
    """Parse one calendar; cached, because it is shown many times before it changes."""
    return read_lines(block) or None


def _payload(content: str) -> Mapping[str, Any]:
    try:
        value = from_json(content)
    except (ValueError, TypeError):
        # a TypeError says that the text holds half a surrogate pair
        return {}
    return value if isinstance(value, dict) else {}


Payload = Mapping[str, Any]
Outgoing = tuple[int, Payload]
"""Recipient and message."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The seat, and the public information for every seat (GET /session)."""

    number: int
    agents: int
    slots: int
    profile: str = "text"
    sigma: Mapping[int, float] = field(default_factory=dict)
    """SD-MAP's weight of each agent; 1 by default."""


class AskedTurn(Protocol):
    """The parts of a turn that a seat reads."""

    @property
    def phase(self) -> str:
        """CHEAP_TALK, DECISION or VOLUNTARY."""
        ...

    @property
    def attempt(self) -> int:
        """Number of the attempt, from 1."""
        ...

    @property
    def text(self) -> str:
        """The world's text."""
        ...


class TypedClient:
    """One seat of a typed protocol; the world only sees the results of `reply`."""

    def __init__(self, seat: Seat) -> None:
        self.seat, self.me = seat, seat.number
        self.facts = Facts(0, (), 1)
        """The meeting of this round."""

        self.calendar: Cells = ()
        self.round = 0
        self._waiting: list[Mail] = []
        """Mail that came after the talk; used in profile `paper` only."""

    def reply(self, turn: AskedTurn) -> str:
        """Return the reply to one turn."""
        text, phase = turn.text, turn.phase
        self._look(text)
        mail = self._mail(text, phase)
        if phase == "CHEAP_TALK":
            actions: list[dict[str, Any]] = [_dm(to, payload) for to, payload in self.talk(mail)]
        elif phase == "VOLUNTARY":
            actions = self.volunteer(mail, turn.attempt)
        else:
            actions = self.decide(mail, turn.attempt)
        return _written({"thinking": "", "actions": actions})

    def begin(self) -> None:
        """Handle the start of a round in which this seat takes part, or received a message."""

    def talk(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Return the messages that answer the mail of one turn."""
        raise NotImplementedError

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """Return the batch; `attempt` counts from 1."""
        raise NotImplementedError

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """Return the moves of an outsider."""
        return []

    @property
    def follows_paper(self) -> bool:
        """True if this seat behaves like the published code, including its faults."""
        return self.seat.profile == "paper"

    @property
    def initiator(self) -> int:
        """The participant with the lowest id, regardless of the order of speakers; -1 before the first meeting."""
        return min(self.facts.participants, default=-1)

    @property
    def other_participants(self) -> list[int]:
        """The other participants, ascending."""
        return [agent for agent in self.facts.participants if agent != self.me]

    def free_slots(self) -> list[int]:
        """Return the free slots of the own calendar."""
        return [slot for slot, item in enumerate(self.calendar) if item is None]

    def _mail(self, text: str, phase: str) -> list[Mail]:
        mail = read_mail(text)
        if not self.follows_paper:
            return mail
        mail, self._waiting = [*self._waiting, *mail], []
        if phase == "CHEAP_TALK":
            return mail
        self._waiting = mail
        return []

    def _look(self, text: str) -> None:
        facts, calendar, number = read_meeting(text), read_calendar(text), read_round(text)
        if calendar is not None:
            self.calendar = calendar
        if facts is not None and (facts != self.facts or number is not None):
            self.facts = facts
            self.round = number or self.round
            self.begin()


def read_whole(value: Any) -> int | None:
    """Return a value of a message as a number of slots or costs; None unless it is a non-negative integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def schedule_action(meeting: int, slot: int) -> dict[str, Any]:
    """Return the action that schedules a meeting."""
    return {"type": "schedule", "meeting_id": meeting, "slot": slot}


def reschedule_action(item: Item, source: int, target: int, meeting: int) -> dict[str, Any]:
    """Return the action that moves an item to make room for a meeting."""
    return {
        "type": "reschedule", "item_id": item.id, "from_slot": source, "to_slot": target,
        "justification": f"room for M{meeting}",
    }  # fmt: skip


def _dm(to: int, payload: Payload) -> dict[str, Any]:
    return {"type": "dm", "to": to, "content": _written(payload)}


def _written(value: Mapping[str, Any]) -> str:
    return to_json(value).decode()
