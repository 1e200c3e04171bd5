"""Messages between seats: which channel reaches whom, and an inbox for each seat that keeps what was not read yet.

Mail waits until its reader's next turn, of whatever phase. What a seat may not send, or sends beyond the bounds of a turn
(`rules.letters`), is dropped and said why; nothing of it is delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from worlds.calendar.rules.scenario import Meeting
from worlds.calendar.rules.settings import Settings, TurnBounds

TOOLS = {"dm": "dm", "participant_groupchat": "participants", "all_groupchat": "all"}
"""Tool -> the channel that it uses."""


class Message(NamedTuple):
    """One delivered message."""

    sender: int
    to: tuple[int, ...]
    """Everybody who receives it."""

    channel: str
    meeting: int
    """The round's meeting, whatever the sender wrote."""

    content: str


class PostOffice:
    """The inboxes of a game, how much each seat has sent, and how much of that in the turn that it has now."""

    def __init__(self, seats: Sequence[int], settings: Settings, bounds: TurnBounds) -> None:
        self._seats, self._settings, self._bounds = tuple(seats), settings, bounds
        self._inboxes: dict[int, list[Message]] = {seat: [] for seat in seats}
        self.sent = dict.fromkeys(seats, 0)
        self._now = 0
        self._told: Counter[int] = Counter()
        """Of the turn: characters by reader."""

    def begin_turn(self) -> None:
        """A seat has its turn: nothing was sent in it so far."""
        self._now, self._told = 0, Counter()

    def send(self, sender: int, action: Mapping[str, Any], meeting: Meeting) -> Message | str:
        """Deliver one action of cheap talk; returns the message, or why it was dropped."""
        channel, content = TOOLS[action["type"]], action.get("content")
        if channel not in self._settings.channels:
            return f"the channel {channel} is closed"
        if not isinstance(content, str) or not content.strip():
            return "content must be a text that is not empty"
        to = self._recipients(sender, channel, action, meeting)
        if isinstance(to, str):
            return to
        if self._settings.message_cap is not None and self.sent[sender] >= self._settings.message_cap:
            return f"the cap of {self._settings.message_cap} messages is reached"
        if why := self._beyond(to, content):
            return why
        message = Message(sender, to, channel, meeting.id, content)
        self.sent[sender] += 1
        self._now += 1
        for reader in to:
            self._inboxes[reader].append(message)
            self._told[reader] += len(content)
        return message

    def drain(self, seat: int) -> list[Message]:
        """Take everything out of an inbox."""
        mail, self._inboxes[seat] = self._inboxes[seat], []
        return mail

    def _beyond(self, to: Sequence[int], content: str) -> str:
        """Which bound of a turn a message would break, if any."""
        if self._now >= self._bounds.messages:
            return f"a turn has at most {self._bounds.messages} messages"
        if any(self._told[reader] + len(content) > self._bounds.characters for reader in to):
            return f"a turn has at most {self._bounds.characters} characters to each reader"
        return ""

    def _recipients(self, sender: int, channel: str, action: Mapping[str, Any], meeting: Meeting) -> tuple[int, ...] | str:
        if channel == "all":
            return tuple(seat for seat in self._seats if seat != sender)
        if channel == "participants":
            if sender not in meeting.participants:
                return "only participants of the meeting may use its chat"
            return tuple(seat for seat in meeting.participants if seat != sender)
        to = action.get("to")
        if not isinstance(to, int) or isinstance(to, bool) or to not in self._seats or to == sender:
            return f"to must be the id of another agent, not {to!r}"[:120]
        return (to,)
