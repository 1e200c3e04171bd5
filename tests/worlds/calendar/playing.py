"""A table to play a scenario at without any HTTP: the game's own script, with a callable at every seat."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from worlds.calendar.game import CalendarGame
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Noted
from worlds.core.texts import load_texts
from worlds.core.turns import Answer, OpenTurn, TurnTable

Reply = Callable[[OpenTurn], str]


class Played:
    """One finished game without any HTTP: its notes, turns, and the game itself."""

    def __init__(self, scenario: Scenario, settings: Settings, reply: Mapping[int, Reply] | Reply) -> None:
        self.notes: list[Noted] = []
        self.turns: list[Any] = []
        self.game = CalendarGame(scenario, settings, self._note, lambda cost: None, load_texts("calendar", {}))
        table = TurnTable(self.game.play(), self.turns.append)
        while not table.over:
            turn = table.open[0]
            seat = reply if callable(reply) else reply[turn.seat]
            table.answer(turn.id, Answer(seat(turn)))

    def _note(self, what: str, seat: int | None = None, **data: Any) -> None:
        self.notes.append(Noted(what=what, seat=seat, data=json.loads(json.dumps(data))))

    def of(self, what: str) -> list[Noted]:
        """The notes of one kind, in order."""
        return [note for note in self.notes if note.what == what]

    @property
    def resolutions(self) -> list[dict[str, Any]]:
        """What became of each round."""
        return [note.data for note in self.of("resolution")]
