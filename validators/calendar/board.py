"""State of a game while it is rebuilt from its log, and parsing of the scenario and options in the log.

The state holds calendars, accounts, undelivered mail and earlier meetings. Channels, recipients and limits of a turn are
deliberately implemented a second time here, because the world's own post office is what is being checked.
Replies are read by the same rule as in the world, so the notes that follow can be predicted. Only a reply that the world
repaired is taken from the notes, which are then checked against the rules alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from validators.calendar.history import Committed, Delivered, MovedMeeting, Reflected, Resolved, Touch
from validators.tape import Tape
from worlds.calendar.rules.batch import Batch, apply_batch
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.replies import NOT_READ, notice_line
from worlds.calendar.rules.resolution import common_slot, count_outcomes, slots_of
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings, turn_bounds
from worlds.core.events import Turned
from worlds.core.replies import quote_message

CHANNEL_OF = {"dm": "dm", "participant_groupchat": "participants", "all_groupchat": "all"}
TOOL_OF = {channel: tool for tool, channel in CHANNEL_OF.items()}

_LETTER = re.compile(r"^\[\d+\] From agent ", re.MULTILINE)
"""Beginning of a letter; its content is indented, so a message that quotes a letter does not match."""


@dataclass(frozen=True, slots=True)
class Now:
    """The round that is being played."""

    number: int
    meeting: Meeting


class Board:
    """State of the game at one point of the log, according to the rules."""

    def __init__(self, scenario: Scenario, settings: Settings, tape: Tape) -> None:
        self.scenario, self.settings, self.tape = scenario, settings, tape
        self.calendars: list[Cells] = list(scenario.calendars)
        self.spent = [0] * len(scenario.agents)
        self.sent = [0] * len(scenario.agents)
        self.inboxes: list[list[Delivered]] = [[] for _ in scenario.agents]
        self.untold: list[list[str]] = [[] for _ in scenario.agents]
        """Outcomes of earlier rounds to report to each seat when it begins its next one."""

        self.unread: dict[int, str] = {}
        """Seat -> reason why its last reply in talk was not read, which is reported at its next turn."""

        self.bounds = turn_bounds(len(scenario.agents), scenario.slots)
        self.in_turn: list[Delivered] = []
        """Messages of the current turn of talk."""

        self.registered: list[Meeting] = list(scenario.prior)
        """Meetings that were scheduled and must remain so."""

        self.stood: dict[int, int] = {meeting.id: meeting.slot for meeting in scenario.prior}
        """Meeting id -> slot in which it was last scheduled."""

        self.messages: list[Delivered] = []
        self.committed: list[Committed] = []
        self.resolved: list[Resolved] = []
        self.reflected: list[Reflected] = []
        self.refused: list[Touch] = []
        """Refused batches of the current round."""

    def drain(self, seat: int) -> list[Delivered]:
        """Remove and return the undelivered mail of a seat."""
        mail, self.inboxes[seat] = self.inboxes[seat], []
        return mail

    def deliver(self, message: Delivered) -> None:
        """Put a message into the inboxes of its recipients."""
        self.messages.append(message)
        self.in_turn.append(message)
        self.sent[message.sender] += 1
        for reader in message.to:
            self.inboxes[reader].append(message)

    def route_message(self, sender: int, action: Any, meeting: Meeting) -> tuple[str, tuple[int, ...], str] | None:
        """Return channel, recipients and content of an action of cheap talk; None if it must not be sent."""
        tool = action.get("type") if isinstance(action, Mapping) else None
        channel = CHANNEL_OF.get(tool) if isinstance(tool, str) else None
        if channel is None or channel not in self.settings.channels:
            return None
        content, cap = action.get("content"), self.settings.message_cap
        to = self._recipients(sender, channel, action.get("to"), meeting)
        if not isinstance(content, str) or not content.strip() or to is None or (cap is not None and self.sent[sender] >= cap):
            return None
        return None if self._is_beyond(to, content) else (channel, to, content)

    def apply(self, now: Now, seat: int, batch: Batch, meeting: Meeting | None, turn: int) -> None:
        """Commit a valid batch; its round's resolution decides later if it remains and if the round succeeds."""
        self.calendars[seat] = apply_batch(self.calendars[seat], batch, meeting.item() if meeting else None)
        self.spent[seat] += batch.cost
        self.committed.append(Committed(now.number, seat, batch, stands=True, success=False, turn=turn))

    def find_movers(self, meeting: int) -> MovedMeeting:
        """Return the current slots of a broken meeting and the seats that moved it; reverted moves do not count."""
        slots = slots_of(self.calendars, self.scenario.meeting(meeting))
        turns = {
            one.seat: one.turn
            for one in self.committed
            if one.stands
            for move in one.batch.moves
            if move.item.name == f"M{meeting}"
        }
        return MovedMeeting(meeting, self.stood[meeting], slots, turns)

    def record_slots(self) -> None:
        """Record the slot of each earlier meeting after a round."""
        for meeting in self.registered:
            slot = common_slot(slots_of(self.calendars, meeting))
            if slot is not None:
                self.stood[meeting.id] = slot

    def take_reports(self, seat: int) -> list[str]:
        """Remove and return the reports on earlier rounds that are due when a seat begins one."""
        told, self.untold[seat] = self.untold[seat], []
        return told

    def check_text(self, turn: Turned, mail: Sequence[Delivered], calendar: str, results: Sequence[str]) -> None:
        """Record lies in the text of a turn: a wrong calendar, and missing or invented mail or results."""
        text = turn.text
        if calendar not in text:
            self.tape.record_lie(turn, f"seat {turn.seat} was not shown its calendar as it is")
        # a substring test skips the ten times slower pattern for most texts
        if (told := len(_LETTER.findall(text)) if "] From agent " in text else 0) != len(mail):
            self.tape.record_lie(turn, f"seat {turn.seat} was given {told} messages, {len(mail)} had been sent to it")
        if lost := _missing(text, mail):
            self.tape.record_lie(turn, f"seat {turn.seat} was not given what was sent to it at seq {', '.join(map(str, lost))}")
        if count_outcomes(text) != len(results) or "\n".join(results) not in text:
            due = " ".join(results) or "nothing"
            self.tape.record_lie(turn, f"seat {turn.seat} was not told what became of earlier rounds, which is {due}")

    def check_notice(self, turn: Turned) -> None:
        """Check that a seat is told why its last reply in talk was not read, and only then."""
        due = notice_line(problem) if (problem := self.unread.pop(turn.seat, "")) else ""
        if not turn.text.startswith(due) or turn.text.startswith(NOT_READ) > bool(due):
            self.tape.record_lie(turn, f"seat {turn.seat} must be told of its last reply in talk: {due.strip() or 'nothing'}")

    def _is_beyond(self, to: Sequence[int], content: str) -> bool:
        """Return True if a message exceeds a limit of the turn in which it is sent."""
        characters = Counter({reader: len(content) for reader in to})
        for earlier in self.in_turn:
            characters.update(dict.fromkeys(earlier.to, len(earlier.content)))
        return len(self.in_turn) >= self.bounds.messages or max(characters.values(), default=0) > self.bounds.characters

    def _recipients(self, sender: int, channel: str, to: Any, meeting: Meeting) -> tuple[int, ...] | None:
        if channel == "all":
            return tuple(seat for seat in self.scenario.agents if seat != sender)
        if channel == "participants":
            inside = sender in meeting.participants
            return tuple(seat for seat in meeting.participants if seat != sender) if inside else None
        known = type(to) is int and to in self.scenario.agents and to != sender
        return (to,) if known else None


def _missing(text: str, mail: Sequence[Delivered]) -> list[int]:
    """Return the seq of each message that a text does not contain, in order."""
    missing = []
    for message in mail:
        _, there, rest = text.partition(quote_message(message.content))
        if there:
            text = rest
        else:
            missing.append(message.seq)
    return missing


class Said(NamedTuple):
    """A parsed reply."""

    actions: list[Any] | None
    """None if only the world's notes tell the actions."""

    how: str
    problem: str = ""
    """Reason why nothing was read."""
