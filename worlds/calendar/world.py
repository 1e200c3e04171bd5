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
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Game

CLOSING = (
    "Time here is virtual and moves by the rounds of the game alone. Turns cost nothing and are no requests; any other request "
    "costs a second, and there are {steps} of them."
)


class CalendarWorld(SeatedWorld):
    """One game of private calendars."""

    def prepare(self) -> None:
        """Read the scenario and the options."""
        try:
            self.scenario = read_scenario(self.setup.folder / "scenario.json")
        except (OSError, ValueError) as error:
            raise WorldError(str(error)) from None
        self.settings = Settings.of(self.options)
        self._game = CalendarGame(self.scenario, self.settings, self.note, self._spend, self.texts)

    def facts(self) -> Mapping[str, Any]:
        """Return the variables of the instruction."""
        shape = self.scenario
        return {"agents": len(shape.agents), "meetings": len(shape.meetings), "slots": shape.slots}

    def worded(self) -> str:
        """Render the instruction, which the whole family shares."""
        return self.texts.render("instruction", **self.facts())

    def closing_notes(self) -> tuple[str, ...]:
        """Return the closing note on time and requests."""
        return (CLOSING.format(steps=self.manifest.budgets.steps),)

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

    def _spend(self, cost: str) -> None:
        self.clock.charge(self.manifest.cost_ms(cost))
