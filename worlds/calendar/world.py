"""World of every calendar task; the scenario file in the task's folder defines the whole game.

The seed determines only the virtual date; calendars, costs, labels and speakers are fixed by the folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worlds.calendar.game import CalendarGame
from worlds.calendar.rules.scenario import read_scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.errors import WorldError
from worlds.core.seated import TextWorld
from worlds.core.turns import Game


class CalendarWorld(TextWorld):
    """One game of private calendars."""

    moves_time = "rounds of the game"

    def prepare(self) -> None:
        """Read the scenario and the options."""
        try:
            self.scenario = read_scenario(self.setup.folder / "scenario.json")
        except (OSError, ValueError) as error:
            raise WorldError(str(error)) from None
        self.settings = Settings.from_options(self.options)
        self._game = CalendarGame(self.scenario, self.settings, self.note, self.spend, self.texts)

    def facts(self) -> Mapping[str, Any]:
        """Return the variables of the instruction."""
        shape = self.scenario
        return {"agents": len(shape.agents), "meetings": len(shape.meetings), "slots": shape.slots}

    def systems(self) -> Sequence[str]:
        """Return the system prompt of every seat."""
        view = self._game.state.view
        return [view.system(seat) for seat in self.scenario.agents]

    def public(self) -> Mapping[str, Any]:
        """Return the public data for programs: shape and profile of the game, SD-MAP's weights, and the mode of reflection."""
        shape = {"agents": len(self.scenario.agents), "slots": self.scenario.slots}
        weighed = {"reflection": "expected"} if self.settings.reflection == "expected" else {}
        return {**shape, "profile": self.settings.profile, "sd_model": self.options["sd_model"], **weighed}

    def game(self) -> Game:
        """Return the game, after logging a first note with everything that a validator needs."""
        self.note("game_start", scenario=self.scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))
        return self._game.play()
