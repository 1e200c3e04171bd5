"""World of every hidden-profile task; the scenario file in the task's folder defines the whole session.

The seed determines the deal, the orders in which facts and options are shown, and the virtual date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worlds.core.errors import WorldError
from worlds.core.seated import TextWorld
from worlds.core.turns import Game
from worlds.hidden_profile.rules.deck import Deck, Draws, deck_for_size, read_sizes, read_task, without_rules
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.settings import Settings
from worlds.hidden_profile.session import GroupSession, deal_session, draw_deal


class HiddenProfileWorld(TextWorld):
    """One session of a group that decides."""

    moves_time = "turns of the talk"

    def prepare(self) -> None:
        """Read the scenario and the options, and deal."""
        self.settings = Settings.from_options(self.options)
        if contradiction := self.settings.contradiction:
            raise WorldError(contradiction)
        self.drawn: dict[str, str] = {}
        try:
            self.scenario = self._drawn(read_task(self.setup.folder / "scenario.json"))
        except (OSError, ValueError) as error:
            raise WorldError(str(error)) from None
        dealt = deal_session(self.scenario, self.settings.condition, self.chance)
        self._session = GroupSession(self.scenario, self.settings, dealt, self.note, self.spend, self.texts)

    def facts(self) -> Mapping[str, Any]:
        """Return the variables of the instruction."""
        length = {name: getattr(self.settings, name) for name in ("rounds", "talk", "minutes")}
        return {"people": self.scenario.agents, "title": self.scenario.title, **length}

    def systems(self) -> Sequence[str]:
        """Return the system prompt of every seat, with its facts."""
        return [self._session.view.system(seat) for seat in self._session.seats]

    def public(self) -> Mapping[str, Any]:
        """Return the public data for programs: the shape of the session."""
        chat = {"talk": "chat", "minutes": self.settings.minutes} if self.settings.talk == "chat" else {}
        return {"people": self.scenario.agents, "rounds": self.settings.rounds, "track": self.settings.track, **chat}

    def game(self) -> Game:
        """Return the session, after logging a first note with everything that a validator needs."""
        scenario, dealt = self.scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True), self._session.dealt
        self.note(
            "session_start", None, scenario=scenario, people=list(dealt.people), hands=[list(hand) for hand in dealt.hands],
            options=list(dealt.options), **({"deal": self.drawn} if self.drawn else {}),
        )  # fmt: skip
        return self._session.play()

    def _drawn(self, read: Deck | Scenario) -> Scenario:
        """Return the scenario of this session: a deal of the deck, or the file's own."""
        if self.settings.rules == "untold":
            read = without_rules(read)
        if isinstance(read, Scenario):
            if self.settings.size not in {0, read.agents}:
                raise ValueError(f"{read.id} is for {read.agents} people, not for {self.settings.size}: it is no deck")
            return read
        one = draw_deal(Draws(read), self.settings.deal, self.chance, self.setup.seed)
        self.drawn = {"kind": one.kind, "versions": one.versions}
        if one.key is None or one.leader is None:
            raise ValueError(f"deal {one.versions} of {read.id} leaves no option, or none leads: see harness verify")
        sized = deck_for_size(read, self.settings.size, read_sizes(self.setup.folder))
        return sized.scenario(one.versions, one.key, one.leader)
