"""A game played again by the world's own rules from replies that somebody gave then: nobody is asked anew.

`rerun` feeds recorded replies to `CalendarGame`, turn by turn, through the table of turns that a world uses. It tells a
listener of every turn and every note in the order of a log, while the game stands as it stood then. Prompts are not written
again: what was delivered is the record's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pydantic_core import to_jsonable_python

from worlds.calendar.game import CalendarGame
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import Settings
from worlds.calendar.state import GameState
from worlds.core.events import Noted, Turned
from worlds.core.texts import Texts
from worlds.core.turns import Answer, OpenTurn, TurnTable


class Given(NamedTuple):
    """What was said to a turn, and the text that had asked for it."""

    answer: Answer
    prompt: str


Replies = Callable[[OpenTurn], Given | None]
"""The reply to a turn; None where the record has none, which is where a game was cut short."""


@dataclass(frozen=True)
class SeatAsked:
    """What a seat had before it when it was asked."""

    calendar: Cells
    mail: tuple[Noted, ...]
    """The messages that waited for it; none for a turn that only measures, and for a second try."""


class Listener(Protocol):
    """Who is told of a game."""

    def turned(self, turn: Turned, asked: SeatAsked) -> None:
        """A turn is over."""
        ...

    def noted(self, note: Noted, state: GameState) -> None:
        """Something happened; the state is the one after it."""
        ...


def rerun(scenario: Scenario, settings: Settings, replies: Replies, listener: Listener) -> None:
    """Play a game again to where its replies end."""
    _Rerun(scenario, settings, listener).play(replies)


class _Wordless(Texts):
    """Texts that nobody reads."""

    def __init__(self) -> None:
        super().__init__({})

    def render(self, name: str, **values: Any) -> str:
        return ""


@dataclass
class _Rerun:
    scenario: Scenario
    settings: Settings
    listener: Listener
    _prompts: dict[str, str] = field(default_factory=dict)
    _asked: dict[str, SeatAsked] = field(default_factory=dict)
    _mail: dict[int, list[Noted]] = field(default_factory=dict)

    def play(self, replies: Replies) -> None:
        self._game = CalendarGame(self.scenario, self.settings, self._note, lambda cost: None, _Wordless())
        table = TurnTable(self._game.play(), self._turned)
        while not table.over:
            given = [(turn, said) for turn in table.open if (said := self._reply(turn, replies)) is not None]
            if not given:
                table.abandon()
            for turn, said in given:
                self._prompts[turn.id] = said.prompt
                table.answer(turn.id, said.answer)

    def _reply(self, turn: OpenTurn, replies: Replies) -> Given | None:
        if turn.id not in self._asked:
            # what was asked first took all mail with it
            takes = turn.attempt == 1 and not turn.ephemeral
            mail = self._mail.pop(turn.seat, []) if takes else []
            self._asked[turn.id] = SeatAsked(self._game.state.calendars[turn.seat], tuple(mail))
        return replies(turn)

    def _turned(self, turn: Turned) -> None:
        self.listener.turned(turn.model_copy(update={"text": self._prompts[turn.turn]}), self._asked[turn.turn])

    def _note(self, what: str, seat: int | None = None, **data: Any) -> None:
        note = Noted(what=what, seat=seat, data=to_jsonable_python(data))
        if what == "message":
            for reader in note.data["to"]:
                self._mail.setdefault(reader, []).append(note)
        self.listener.noted(note, self._game.state)
