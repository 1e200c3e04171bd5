"""The state of a session while it is rebuilt: who said what so far, and what each seat is to read next.

What a delivered text must show its seat, and what it must not.

1. A system prompt lists exactly the seat's own facts, in the order dealt, and the options in the order dealt.
2. A turn shows exactly the messages that its seat is to read, under their speakers' names, and no line beside them begins with
   a name; a vote lists the options, and the last one repeats what was said.
3. The text of a fact that a seat does not hold stands in none of its texts, unless somebody said it to the seat, the brief
   says it, or the seat's own words do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from validators.hidden_profile.history import Opening, Spoken, Stance, Vote
from validators.tape import Tape
from worlds.core.events import Turned
from worlds.hidden_profile.rules.ballot import NOT_READ, indented, publish

Shown = tuple[int, str]
"""Seat, and the text of a message as the others are shown it."""


@dataclass
class SessionState:
    """One session on its way."""

    opening: Opening
    tape: Tape
    barrier: int = 0
    """Groups of turns that were open together, so far."""

    before: tuple[Vote, ...] | None = None
    after: tuple[Vote, ...] | None = None
    turns: list[Spoken] = field(default_factory=list)
    messages: list[Shown] = field(default_factory=list)
    public: dict[str, str] = field(default_factory=dict)
    """Handle that everybody knows -> fact, on the structured track."""

    stances: dict[int, str] = field(default_factory=dict)
    """By seat, what it said last on the structured track."""

    stood: list[Stance] = field(default_factory=list)
    own: dict[int, list[str]] = field(default_factory=dict)
    """By seat, the words of its votes: they may stand in its texts whatever they are."""

    notices: dict[int, str] = field(default_factory=dict)
    """By seat, the line that must say what of its last reply in talk was not read."""

    last_round: int = 0
    """How many messages there were before the round that was opened last."""

    reminders: dict[int, str] = field(default_factory=dict)
    early_stop: int | None = None

    def read_by(self, seat: int) -> list[Shown]:
        """The latest message of each other seat, oldest first; everything where all is to be heard."""
        if self.opening.settings.heard == "all":
            return list(self.messages)
        latest: dict[int, Shown] = {}
        for speaker, text in self.messages:
            latest.pop(speaker, None)
            latest[speaker] = (speaker, text)
        return [shown for speaker, shown in latest.items() if speaker != seat]

    def repeated(self) -> list[Shown]:
        """What the last vote repeats of the talk."""
        return self.messages if self.opening.settings.vote_view == "all" else self.messages[self.last_round :]

    def handles(self, seat: int) -> dict[str, str]:
        """The handles that a seat may cite by: its own facts' in the order shown, and those that everybody knows."""
        own = {f"F{place}": fact for place, fact in enumerate(self.opening.hands[seat], start=1)}
        return own | self.public

    def publish(self, cites: Sequence[str]) -> str:
        """What follows a message that cites."""
        return publish(self.opening.scenario, self.public, cites)

    def named(self, turn: Turned) -> None:
        """Check the name of a turn: barrier, seat, attempt."""
        if turn.turn != (name := f"{self.barrier}-{turn.seat}-{turn.attempt}"):
            self.tape.lie(turn, f"the turn is named {turn.turn[:40]!r}, it is {name}")

    def heard_own(self, seat: int, *words: str) -> None:
        """Note a seat's own words."""
        self.own.setdefault(seat, []).extend(words)


_NAMED = re.compile(r"^Person \d+: ", re.MULTILINE)
_SHORTEST = 12
"""Characters of a fact's text below which it may stand in any text by chance."""


def look_at_system(opening: Opening, seat: int, text: str) -> list[str]:
    """What is wrong with a seat's system prompt."""
    structured = opening.settings.track == "structured"
    own = [opening.scenario.by_id[fact].text for fact in opening.hands[seat]]
    facts = [(f"F{place}. " if structured else "- ") + fact for place, fact in enumerate(own, start=1)]
    wrong = [] if f"\n{_block(facts)}\n" in text else ["its facts are not listed as they were dealt"]
    wrong += [] if _options(opening) in text else ["the options are not listed as they were dealt"]
    return wrong + _foreign(opening, seat, text, ())


def look_at_vote(state: SessionState, turn: Turned, said: Sequence[Shown]) -> None:
    """Check the text of a vote; `said` is what it repeats of the talk."""
    options = _options(state.opening)
    _complain(state, turn, [] if options in turn.text else ["the options are not listed as they were dealt"])
    if turn.attempt == 1:
        _complain(state, turn, _beside(turn.text.replace(options, ""), said))
        _complain(state, turn, _noticed(state, turn) if turn.phase == "POST_VOTE" else [])
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def look_at_turn(state: SessionState, turn: Turned) -> None:
    """Check the text of a turn of talk."""
    reminder = state.reminders.get(turn.seat, "") if turn.round == 1 else ""
    _complain(state, turn, [] if reminder in turn.text else ["it does not remind its seat of its first vote"])
    left = "".join(turn.text.rpartition(reminder)[::2]) if reminder else turn.text
    _complain(state, turn, _beside(left, state.read_by(turn.seat)) + _noticed(state, turn))
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def look_at_invitation(state: SessionState, turn: Turned, said: Sequence[Shown]) -> None:
    """Check the text of a turn in a chat; `said` is what it must show."""
    _complain(state, turn, _beside(turn.text, said) + _noticed(state, turn))
    _complain(state, turn, _foreign(state.opening, turn.seat, turn.text, _told(state, turn.seat)))


def _complain(state: SessionState, turn: Turned, wrong: Iterable[str]) -> None:
    for what in wrong:
        state.tape.lie(turn, f"the text of turn {turn.turn[:40]}: {what}")


def _beside(text: str, said: Sequence[Shown]) -> list[str]:
    """What is wrong with the messages in a text; `said` must stand there in one piece, and nobody else be named as speaking."""
    block = _block(f"Person {seat + 1}: {indented(words)}" for seat, words in said)
    if block not in text:
        return ["it does not show what its seat was to read"]
    left = text.replace(block, "", 1)
    return ["somebody is named who did not say this"] if _NAMED.search(left) else []


def _noticed(state: SessionState, turn: Turned) -> list[str]:
    """Return what is wrong with the line on a seat's last reply, which must begin the text exactly where one is due."""
    due = state.notices.get(turn.seat, "")
    sound = turn.text.startswith(due) if due else not turn.text.startswith(NOT_READ)
    return [] if sound else [f"of the last reply it must say {due.strip() or 'nothing'}"]


def _foreign(opening: Opening, seat: int, text: str, told: Sequence[str]) -> list[str]:
    """Facts that the seat does not hold and nobody told it, whose text stands there."""
    shown, facts = _squeezed(text), opening.scenario.by_id
    leaked = []
    for fact in facts.keys() - set(opening.hands[seat]):
        words = _squeezed(facts[fact].text)
        if len(words) < _SHORTEST or words not in shown:
            continue
        labels = [option.label for option in opening.scenario.options]
        open_to_all = [opening.scenario.brief, *labels, *(facts[own].text for own in opening.hands[seat])]
        if not any(words in _squeezed(one) for one in (*open_to_all, *told)):
            leaked.append(fact)
    return [f"it shows {fact}, which the seat does not hold and nobody told it" for fact in sorted(leaked)]


def _told(state: SessionState, seat: int) -> list[str]:
    return [words for _, words in state.messages] + state.own.get(seat, [])


def _options(opening: Opening) -> str:
    return _block(f"- [{option}] {opening.scenario.label(option)}" for option in opening.options)


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@lru_cache(maxsize=4096)
def _squeezed(text: str) -> str:
    """A text with single blanks; facts and rules are looked for in every prompt again."""
    return " ".join(text.split())
