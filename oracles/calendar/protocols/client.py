"""What all typed protocols share: a seat that reads its texts, talks in JSON messages, and decides by one batch.

A protocol adds two things: `talk`, which answers the mail of a turn with messages, and `decide`, which names the batch. Both
are pure policies over what this seat has seen.

In profile `paper` mail is read in cheap talk only, as the published clients do: what arrives with a decision waits for the next
talk, which may be another round's. In profile `text` it is read where it arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_core import to_json

from oracles.calendar.protocols.reading import Facts, Mail, read_calendar, read_mail, read_meeting, read_round
from worlds.calendar.rules.items import Cells, Item

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
        """What an outsider moves."""
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
