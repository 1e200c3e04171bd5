"""The state of a game: everybody's calendar and costs, the post office, and the texts that each seat is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.calendar.mail import PostOffice
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.letters import turn_bounds
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import Settings
from worlds.calendar.view import View
from worlds.core.replies import parse_reply
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

        self._untold: dict[int, list[str]] = {agent: [] for agent in scenario.agents}

    def tell(self, seats: Sequence[int], line: str) -> None:
        """Have a line told to these seats when each begins its next round."""
        for seat in seats:
            self._untold[seat].append(line)

    def told(self, seat: int) -> list[str]:
        """Take what a seat is to be told at the beginning of a round."""
        lines, self._untold[seat] = self._untold[seat], []
        return lines

    def actions(self, reply: str) -> tuple[list[Any], str]:
        """The actions of a reply, and how it was read; no list of actions is no action."""
        parsed = parse_reply(reply, strict=self.settings.strict_replies)
        if isinstance(parsed.value, dict):
            actions = parsed.value.get("actions")
            return (actions, parsed.how) if isinstance(actions, list) else ([], "failed")
        if isinstance(parsed.value, list):
            return parsed.value, "bare_list" if parsed.how == "strict" else parsed.how
        return [], "failed"


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
