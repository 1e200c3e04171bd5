"""The world of every calendar task: a scenario file in its folder, and nothing else, makes the game.

The seed drives the virtual date alone: calendars, costs, labels and speakers are fixed by the folder.
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
        """What the instruction tells."""
        shape = self.scenario
        return {"agents": len(shape.agents), "meetings": len(shape.meetings), "slots": shape.slots}

    def worded(self) -> str:
        """One instruction serves the family."""
        return self.texts.render("instruction", **self.facts())

    def closing_notes(self) -> tuple[str, ...]:
        """What time and requests are here."""
        return (CLOSING.format(steps=self.manifest.budgets.steps),)

    def systems(self) -> Sequence[str]:
        """Each assistant's rules."""
        view = self._game.state.view
        return [view.system(seat) for seat in self.scenario.agents]

    def public(self) -> Mapping[str, Any]:
        """What a program may know: the shape of the game, its options, SD-MAP's weights, and that beliefs may be weighed."""
        shape = {"agents": len(self.scenario.agents), "slots": self.scenario.slots}
        weighed = {"reflection": "expected"} if self.settings.reflection == "expected" else {}
        return {**shape, "profile": self.settings.profile, "sd_model": self.options["sd_model"], **weighed}

    def game(self) -> Game:
        """The game, after a first note of everything that a judge has to know."""
        self.note("game_start", scenario=self.scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))
        return self._game.play()

    def _spend(self, cost: str) -> None:
        self.clock.charge(self.manifest.cost_ms(cost))
