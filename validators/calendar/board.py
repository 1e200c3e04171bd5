"""The rebuilt state of a game: calendars, what seats have paid, the mail that waits, and what stood so far.

Which channel reaches whom, and what a turn may send, is worked out here a second time, on purpose: the world's own post office
is what is being checked.

What a log says before anything is judged: the scenario and options of its game. Replies are read by the rule that the world
reads by, so the notes that follow can be foretold. Only a reply that the world had to repair is taken as the notes tell it, and
these are held against the rules alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from validators.calendar.history import Committed, Delivered, MovedMeeting, Reflected, Resolved, Touch
from validators.episode import Episode
from validators.tape import Tape
from worlds.calendar.rules.batch import Batch, Move, apply
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.replies import NOT_READ, notice
from worlds.calendar.rules.resolution import common_slot, outcomes_in, slots_of
from worlds.calendar.rules.scenario import Meeting, Scenario, parse_scenario
from worlds.calendar.rules.settings import Settings, turn_bounds
from worlds.core.events import Noted, Turned, canonical
from worlds.core.replies import quoted

CHANNEL_OF = {"dm": "dm", "participant_groupchat": "participants", "all_groupchat": "all"}
TOOL_OF = {channel: tool for tool, channel in CHANNEL_OF.items()}

_LETTER = re.compile(r"^\[\d+\] From agent ", re.MULTILINE)
"""Where a letter begins; what it says is set in, so a message that quotes one begins none."""


@dataclass(frozen=True, slots=True)
class Now:
    """Which round is being played."""

    number: int
    meeting: Meeting


class Board:
    """Everything that the rules say is so, at one point of the log."""

    def __init__(self, scenario: Scenario, settings: Settings, tape: Tape) -> None:
        self.scenario, self.settings, self.tape = scenario, settings, tape
        self.calendars: list[Cells] = list(scenario.calendars)
        self.spent = [0] * len(scenario.agents)
        self.sent = [0] * len(scenario.agents)
        self.inboxes: list[list[Delivered]] = [[] for _ in scenario.agents]
        self.untold: list[list[str]] = [[] for _ in scenario.agents]
        """By seat, the outcomes of rounds that it is to be told when it begins its next one."""

        self.unread: dict[int, str] = {}
        """By seat, why its last reply in talk was not read; it is told at its next turn."""

        self.bounds = turn_bounds(len(scenario.agents), scenario.slots)
        self.in_turn: list[Delivered] = []
        """What was sent in the running turn of talk."""

        self.registered: list[Meeting] = list(scenario.prior)
        """Meetings that stood, and must go on standing."""

        self.stood: dict[int, int] = {meeting.id: meeting.slot for meeting in scenario.prior}
        """Of each of these, the slot in which it stood last."""

        self.messages: list[Delivered] = []
        self.committed: list[Committed] = []
        self.resolved: list[Resolved] = []
        self.reflected: list[Reflected] = []
        self.refused: list[Touch] = []
        """The refused batches of the running round."""

    def drain(self, seat: int) -> list[Delivered]:
        """Take what waits for a seat."""
        mail, self.inboxes[seat] = self.inboxes[seat], []
        return mail

    def deliver(self, message: Delivered) -> None:
        """Put a message into the inboxes that it goes to."""
        self.messages.append(message)
        self.in_turn.append(message)
        self.sent[message.sender] += 1
        for reader in message.to:
            self.inboxes[reader].append(message)

    def route(self, sender: int, action: Any, meeting: Meeting) -> tuple[str, tuple[int, ...], str] | None:
        """Channel, recipients and content of an action of cheap talk; None where it may not be sent."""
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
        """Commit a valid batch; whether it goes on standing, and its round succeeds, is known when that is resolved."""
        self.calendars[seat] = apply(self.calendars[seat], batch, meeting.item() if meeting else None)
        self.spent[seat] += batch.cost
        self.committed.append(Committed(now.number, seat, batch, stands=True, success=False, turn=turn))

    def moved(self, meeting: int) -> MovedMeeting:
        """Return where a meeting that does not stand is now, and who moved it; moves that were undone do not count."""
        slots = slots_of(self.calendars, self.scenario.meeting(meeting))
        turns = {
            one.seat: one.turn for one in self.committed if one.stands for move in one.batch.moves if _is_meeting(move, meeting)
        }
        return MovedMeeting(meeting, self.stood[meeting], slots, turns)

    def settle(self) -> None:
        """Note where each meeting that must go on standing stands after a round."""
        for meeting in self.registered:
            slot = common_slot(slots_of(self.calendars, meeting))
            if slot is not None:
                self.stood[meeting.id] = slot

    def begun(self, seat: int) -> list[str]:
        """Take what a seat is told of earlier rounds as it begins one."""
        told, self.untold[seat] = self.untold[seat], []
        return told

    def check_text(self, turn: Turned, mail: Sequence[Delivered], calendar: str, results: Sequence[str]) -> None:
        """Lies in what a seat was given to read: a calendar that is not its own as it is; mail, results missing or made up."""
        text = turn.text
        if calendar not in text:
            self.tape.lie(turn, f"seat {turn.seat} was not shown its calendar as it is")
        if (told := _letters(text)) != len(mail):
            self.tape.lie(turn, f"seat {turn.seat} was given {told} messages, {len(mail)} had been sent to it")
        if lost := _missing(text, mail):
            self.tape.lie(turn, f"seat {turn.seat} was not given what was sent to it at seq {', '.join(map(str, lost))}")
        if outcomes_in(text) != len(results) or "\n".join(results) not in text:
            due = " ".join(results) or "nothing"
            self.tape.lie(turn, f"seat {turn.seat} was not told what became of earlier rounds, which is {due}")

    def check_notice(self, turn: Turned) -> None:
        """Check that a seat is told why its last reply in talk was not read, and only then."""
        due = notice(problem) if (problem := self.unread.pop(turn.seat, "")) else ""
        if not turn.text.startswith(due) or turn.text.startswith(NOT_READ) > bool(due):
            self.tape.lie(turn, f"seat {turn.seat} must be told of its last reply in talk: {due.strip() or 'nothing'}")

    def _is_beyond(self, to: Sequence[int], content: str) -> bool:
        """Return whether a message breaks a bound of the turn in which it is sent."""
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


def _is_meeting(move: Move, meeting: int) -> bool:
    return move.item.kind == "meeting" and move.item.id == meeting


def _letters(text: str) -> int:
    """Return how many letters a text shows; most show none, and finding a few words costs a tenth of finding a pattern."""
    return len(_LETTER.findall(text)) if "] From agent " in text else 0


def _missing(text: str, mail: Sequence[Delivered]) -> list[int]:
    """The messages, by seq, that a text does not hold one after the other."""
    missing = []
    for message in mail:
        _, there, rest = text.partition(quoted(message.content))
        if there:
            text = rest
        else:
            missing.append(message.seq)
    return missing


_CHOICES = {
    "failed_rounds": ("undo", "keep"),
    "outsiders": ("on_mail", "stay"),
    "blocked_attempts": ("retry", "doom"),
    "exhausted": ("others_commit", "rollback"),
    "voluntary": ("staged", "immediate"),
    "justification": ("required", "free"),
    "outcomes": ("untold", "told"),
    "reflection": ("none", "asked", "expected"),
}


class Said(NamedTuple):
    """A reply as it was read."""

    actions: list[Any] | None
    """None where only the world's notes tell them."""

    how: str
    problem: str = ""
    """Why nothing was read."""


def read_scenario(episode: Episode) -> Scenario | str:
    """The scenario in the first note of the log, or why there is none."""
    first = next((event for event in episode.events if isinstance(event, Noted)), None)
    if first is None or first.what != "game_start" or first.seat is not None or set(first.data) != {"scenario"}:
        return "the first note must be game_start, with a scenario and nothing else"
    try:
        return parse_scenario(canonical(first.data["scenario"]))
    except ValidationError as error:
        return f"seq {first.seq}: no scenario: {error.errors()[0]['msg']}"


def read_settings(episode: Episode) -> Settings | str:
    """The settings that the first event's options mean, or why they mean none."""
    options = episode.opened.options
    try:
        settings = Settings.of(options)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return f"seq 0: the options are no settings: {type(error).__name__} {error}"
    wrong = [name for name, allowed in _CHOICES.items() if getattr(settings, name) not in allowed]
    wrong += [name for name in ("turn_cap", "decision_retries") if type(getattr(settings, name)) is not int]
    wrong += ["message_cap"] if settings.message_cap is not None and type(settings.message_cap) is not int else []
    wrong += ["strict_replies"] if type(settings.strict_replies) is not bool else []
    if wrong:
        return f"seq 0: the options are no settings: {', '.join(wrong)}"
    return settings


def split(actions: Sequence[Any], tools: Sequence[str]) -> tuple[list[Any], list[str]]:
    """The actions that a phase takes, what is no action included, and the names of the tools that it does not know."""
    foreign = [_tool(action) not in (None, *tools) for action in actions]
    kept = [action for action, out in zip(actions, foreign, strict=True) if not out]
    dropped = [str(_tool(action))[:40] for action, out in zip(actions, foreign, strict=True) if out]
    return kept, dropped


def _tool(action: Any) -> str | None:
    tool = action.get("type") if isinstance(action, dict) else None
    return tool if isinstance(tool, str) else None
