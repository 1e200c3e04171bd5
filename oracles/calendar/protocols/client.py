"""What all typed protocols share: a seat that reads its texts, talks in JSON messages, and decides by one batch.

A protocol adds two things: `talk`, which answers the mail of a turn with messages, and `decide`, which names the batch. Both
are pure policies over what this seat has seen.

In profile `paper` mail is read in cheap talk only, as the published clients do: what arrives with a decision waits for the next
talk, which may be another round's. In profile `text` it is read where it arrives.

Reads what every seat is shown: the round's meeting, the own calendar, the mail. A typed protocol has no other eyes. Most texts
hold little of this, so what cannot be there is not looked for: finding a few letters costs a tenth of a pattern.
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
    """Return which turn of cheap talk this is and how many there are at most, from 1; None in another phase."""
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


Payload = Mapping[str, Any]
Outgoing = tuple[int, Payload]
"""Recipient and message."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Who plays, and what every seat may know (GET /session)."""

    number: int
    agents: int
    slots: int
    profile: str = "text"
    sigma: Mapping[int, float] = field(default_factory=dict)
    """SD-MAP's weight of each agent; 1 where none is given."""


class AskedTurn(Protocol):
    """What a seat reads of the turn that it is asked."""

    @property
    def phase(self) -> str:
        """CHEAP_TALK, DECISION or VOLUNTARY."""
        ...

    @property
    def attempt(self) -> int:
        """From 1: how often the seat was asked this."""
        ...

    @property
    def text(self) -> str:
        """What the world says."""
        ...


class TypedClient:
    """One seat of a typed protocol; `reply` is all that the world ever sees of it."""

    def __init__(self, seat: Seat) -> None:
        self.seat, self.me = seat, seat.number
        self.facts = Facts(0, (), 1)
        """The meeting of this round."""

        self.calendar: Cells = ()
        self.round = 0
        self._waiting: list[Mail] = []
        """Mail that came after the talk; only profile `paper` keeps any."""

    def reply(self, turn: AskedTurn) -> str:
        """The reply to one turn."""
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
        """A round has begun in which this seat takes part, or was written to."""

    def talk(self, mail: Sequence[Mail]) -> list[Outgoing]:
        """Messages in answer to the mail of one turn."""
        raise NotImplementedError

    def decide(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """The batch; `attempt` counts from 1."""
        raise NotImplementedError

    def volunteer(self, mail: Sequence[Mail], attempt: int) -> list[dict[str, Any]]:
        """Return what an outsider moves."""
        return []

    @property
    def paper(self) -> bool:
        """Whether this seat does as the published code does, its faults included."""
        return self.seat.profile == "paper"

    @property
    def initiator(self) -> int:
        """The participant with the lowest id, whoever speaks first; -1 before any meeting was seen."""
        return min(self.facts.participants, default=-1)

    @property
    def others(self) -> list[int]:
        """The participants but this seat, ascending."""
        return [agent for agent in self.facts.participants if agent != self.me]

    def free(self) -> list[int]:
        """The free slots of the own calendar."""
        return [slot for slot, item in enumerate(self.calendar) if item is None]

    def _mail(self, text: str, phase: str) -> list[Mail]:
        mail = read_mail(text)
        if not self.paper:
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


def whole(value: Any) -> int | None:
    """A number from a message that may count slots or costs: not negative, no boolean, no fraction; None for all else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def schedule(meeting: int, slot: int) -> dict[str, Any]:
    """The action that writes a meeting."""
    return {"type": "schedule", "meeting_id": meeting, "slot": slot}


def reschedule(item: Item, source: int, target: int, meeting: int) -> dict[str, Any]:
    """The action that moves an item to make room for a meeting."""
    return {
        "type": "reschedule", "item_id": item.id, "from_slot": source, "to_slot": target,
        "justification": f"room for M{meeting}",
    }  # fmt: skip


def _dm(to: int, payload: Payload) -> dict[str, Any]:
    return {"type": "dm", "to": to, "content": _written(payload)}


def _written(value: Mapping[str, Any]) -> str:
    return to_json(value).decode()
