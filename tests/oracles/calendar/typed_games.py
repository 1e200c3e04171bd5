"""Games of the typed protocols through a whole world, as the validator's tests need them: the log, not the players."""

from __future__ import annotations

from pathlib import Path

from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat
from tests.worlds.calendar.hostile_games import folder_of, play
from worlds.calendar.rules.scenario import Scenario
from worlds.core.manifest import OptionValue
from worlds.core.turns import OpenTurn


def typed_log(folder: Path, scenario: Scenario, protocol: str, profile: str = "text", cap: int = 0) -> bytes:
    """The log of a game in which every seat plays one protocol."""
    make = PROTOCOLS[protocol]
    seats = [make(Seat(agent, len(scenario.agents), scenario.slots, profile)) for agent in scenario.agents]
    options: dict[str, OptionValue] = {"profile": profile, "turn_cap": cap}

    def reply(turn: OpenTurn) -> str:
        return seats[turn.seat].reply(turn)

    return play(folder_of(folder, scenario), reply, options).log.dump()


def turn(phase: str, text: str, attempt: int = 1, seat: int = 0) -> OpenTurn:
    """A turn as a player gets it."""
    return OpenTurn(id=f"1-{seat}-{attempt}", seat=seat, phase=phase, round=1, attempt=attempt, text=text, ephemeral=False)
