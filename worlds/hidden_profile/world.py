"""The world of every hidden-profile task: a scenario file in its folder, and nothing else, makes the session.

The seed drives the deal, the orders in which facts and options are shown, and the virtual date: another seed, another session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worlds.core.errors import WorldError
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Game
from worlds.hidden_profile.deal import deal
from worlds.hidden_profile.rules.scenario import read_scenario
from worlds.hidden_profile.session import Session, outline
from worlds.hidden_profile.settings import Settings
from worlds.hidden_profile.view import TEXTS

CLOSING = (
    "Time here is virtual and moves by the turns of the talk alone. Turns cost nothing and are no requests; any other request "
    "costs a second, and there are {steps} of them."
)


class HiddenProfileWorld(SeatedWorld):
    """One session of a group that decides."""

    def prepare(self) -> None:
        """Read the scenario and the options, and deal."""
        try:
            self.scenario = read_scenario(self.setup.folder / "scenario.json")
        except (OSError, ValueError) as error:
            raise WorldError(str(error)) from None
        self.settings = Settings.of(self.options)
        dealt = deal(self.scenario, self.settings.condition, self.chance)
        self._session = Session(self.scenario, self.settings, dealt, self.note, self._spend)

    def facts(self) -> Mapping[str, Any]:
        """What the instruction tells."""
        return {"people": self.scenario.agents, "title": self.scenario.title, "rounds": self.settings.rounds}

    def template_folder(self) -> Path:
        """One instruction serves the family."""
        return TEXTS

    def closing_notes(self) -> tuple[str, ...]:
        """What time and requests are here."""
        return (CLOSING.format(steps=self.manifest.budgets.steps),)

    def systems(self) -> Sequence[str]:
        """Each person's rules and facts."""
        return [self._session.view.system(seat) for seat in self._session.seats]

    def public(self) -> Mapping[str, Any]:
        """What a program may know: the shape of the session."""
        return {"people": self.scenario.agents, "rounds": self.settings.rounds, "track": self.settings.track}

    def game(self) -> Game:
        """The session, after a first note of everything that a judge has to know."""
        self.note("session_start", **outline(self._session))
        return self._session.play()

    def _spend(self, cost: str) -> None:
        self.clock.charge(self.manifest.cost_ms(cost))
