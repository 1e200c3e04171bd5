"""The reference cases as our own objects: published rows become scenarios, recorded games become records to compare with.

The data is no part of the project; `reference` (conftest) says where it is. A recorded game was played at unit prices of
1, 100 and 1000 as its row shows them, so the scenarios here have no second scale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oracles.calendar.protocols.client import Seat, TypedClient
from tests.worlds.calendar.playing import Played
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.calendar.rules.settings import PROFILES, Settings

VPS_DIGITS = 6
"""How far the recorded losses were rounded."""


@dataclass(frozen=True)
class Game:
    """What one game came to, recorded or played."""

    scheduled: list[int]
    slots: dict[int, dict[int, int | None]]
    """Meeting -> participant -> slot; None where it is not on the calendar."""

    cost: list[int]
    """By seat, on the scale that is shown."""

    messages: list[int]
    """By seat."""

    def differences(self, other: Game) -> list[str]:
        """One line for each field in which two games differ."""
        mine, theirs = vars(self), vars(other)
        return [f"{name}: {mine[name]} != {theirs[name]}" for name in mine if mine[name] != theirs[name]]


@dataclass(frozen=True)
class Case:
    """One published task, with the games that the reference implementation played on it."""

    name: str
    suite: str
    scenario: Scenario
    facts: Mapping[str, Any]
    """The row of games.json."""

    def recorded(self, protocol: str, cap: int) -> Game:
        """The recorded game of a protocol (IMAP, SD-MAP, DSM-welfare, DSM-private) at a turn cap."""
        row = self.facts["protocols"][f"{protocol}@{cap}"]
        slots = {int(m): {int(seat): slot for seat, slot in found.items()} for m, found in row["slots"].items()}
        return Game(row["scheduled"], slots, row["per_agent_cost"], row["messages_per_agent"])

    def vps(self, protocol: str, cap: int) -> list[float]:
        """The recorded privacy loss of each seat, before the floor of five slots."""
        return list(self.facts["protocols"][f"{protocol}@{cap}"]["vps_per_agent"])


def cases(folder: Path) -> Iterator[Case]:
    """Every reference case, in the order of the file."""
    games = json.loads((folder / "calbench" / "games.json").read_text())["tasks"]
    for line in (folder / "calbench" / "tasks.jsonl").read_text().splitlines():
        row = json.loads(line)
        yield Case(row["task_id"], row["suite"], scenario_of(row), games[row["task_id"]])


def scenario_of(row: Mapping[str, Any]) -> Scenario:
    """A published row without its oracle."""
    errands = tuple(
        tuple(
            Errand(slot=slot, id=cell["errand_id"], cost=cell["cost"], blocked=cell.get("blocked", False))
            for slot, cell in enumerate(cells)
            if cell
        )
        for cells in row["calendars"]
    )
    meetings = tuple(
        Meeting(
            id=one["id"],
            participants=one["participants"],
            speakers=one["speaker_order"],
            duration=one["duration"],
            cost=one["cost"],
        )
        for one in row["meetings"]
    )
    return Scenario(slots=row["params"]["num_slots"], errands=errands, meetings=meetings)


def published(cap: int) -> Settings:
    """The settings of the reference implementation at a turn cap."""
    return Settings(profile="paper", **{**PROFILES["paper"], "turn_cap": cap})


def play(
    scenario: Scenario,
    settings: Settings,
    protocol: Callable[[Seat], TypedClient],
    sigma: Mapping[int, float] | None = None,
) -> Played:
    """A game in which every seat plays one protocol; `sigma` are the weights of SD-MAP."""
    shape = len(scenario.agents), scenario.slots, settings.profile
    seats = [Seat(agent, *shape, sigma or {}) for agent in scenario.agents]
    return Played(scenario, settings, {seat.number: protocol(seat).reply for seat in seats})


def game_of(played: Played) -> Game:
    """What a played game came to, in the terms of the records; a failed round's slots count as they were left."""
    scheduled = [round_["meeting"] for round_ in played.resolutions if round_["label"] == "SUCCESS"]
    slots = {round_["meeting"]: {int(seat): at for seat, at in round_["slots"].items()} for round_ in played.resolutions}
    (end,) = played.of("game_end")
    return Game(scheduled, slots, end.data["spent"], end.data["sent"])


def losses(
    played: Played, evidence: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[int, tuple[float, float]]]
) -> list[float]:
    """Each seat's privacy loss before the floor (paper, Appendix F).

    `evidence(payload, asked)` gives slot -> (e, a) for a message; `asked` is the last message that its recipient had sent to
    its sender in this round. Beliefs begin at one half in each round.
    """
    total = [0.0] * len(played.game.state.spent)
    beliefs: dict[tuple[int, int, int], dict[int, float]] = {}
    last: dict[tuple[int, int, int], Mapping[str, Any]] = {}
    for note in played.of("message"):
        payload, sender, (reader,) = json.loads(note.data["content"]), note.seat, note.data["to"]
        assert sender is not None
        pair = (note.data["round"], sender, reader)
        belief = beliefs.setdefault(pair, {})
        for slot, (e, a) in evidence(payload, last.get((note.data["round"], reader, sender), {})).items():
            belief[slot] = (1 - a) * belief.get(slot, 0.5) + a * e
        last[pair] = payload
    for (_, sender, _), belief in beliefs.items():
        total[sender] += sum(abs(b - 0.5) for b in belief.values())
    return [round(one, VPS_DIGITS) for one in total]
