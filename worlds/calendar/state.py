"""The state of a game: everybody's calendar and costs, the post office, and the texts that each seat is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.calendar.mail import PostOffice
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.letters import turn_bounds
from worlds.calendar.rules.replies import notice, read_actions
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import Settings
from worlds.calendar.view import View
from worlds.core.mending import mend
from worlds.core.replies import ReadAnswer
from worlds.core.texts import Texts


class GameState:
    """What the phases of a game share."""

    def __init__(self, scenario: Scenario, settings: Settings, texts: Texts) -> None:
        self.settings = settings
        self.post = PostOffice(scenario.agents, settings, turn_bounds(len(scenario.agents), scenario.slots))
        self.view = View(scenario, settings, texts)
        self.calendars: list[Cells] = list(scenario.calendars)
        self.spent = [0] * len(scenario.agents)
        """What each seat has paid, on the scale that is shown."""

        self._unread: dict[int, str] = {}
        self._untold: dict[int, list[str]] = {agent: [] for agent in scenario.agents}

    def tell(self, seats: Sequence[int], line: str) -> None:
        """Have a line told to these seats when each begins its next round."""
        for seat in seats:
            self._untold[seat].append(line)

    def told(self, seat: int) -> list[str]:
        """Take what a seat is to be told at the beginning of a round."""
        lines, self._untold[seat] = self._untold[seat], []
        return lines

    def actions(self, reply: str) -> ReadAnswer:
        """Return the actions of a reply as they were read."""
        return read_actions(reply, None if self.settings.strict_replies else mend)

    def note_unread(self, seat: int, problem: str) -> None:
        """Have a seat told at its next turn why its reply in talk was not read."""
        self._unread[seat] = problem

    def with_notice(self, seat: int, text: str) -> str:
        """Return the text of a turn, after the notice that the seat is due."""
        return notice(problem) + text if (problem := self._unread.pop(seat, "")) else text


def split(actions: Sequence[Any], tools: Sequence[str]) -> tuple[list[Any], list[str]]:
    """The actions that belong to a phase, and the tools of those that do not; what is no action at all stays in."""
    kept: list[Any] = []
    dropped: list[str] = []
    for action in actions:
        tool = action.get("type") if isinstance(action, dict) else None
        if isinstance(tool, str) and tool not in tools:
            dropped.append(tool[:40])
        else:
            kept.append(action)
    return kept, dropped
