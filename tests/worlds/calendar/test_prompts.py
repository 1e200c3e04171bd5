"""What seats are told of the rules agrees with the options of their game, and tells nothing of other calendars."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import CHOICES
from worlds.calendar.game import RoundOpening, View
from worlds.calendar.options import CHANNELS
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.calendar.rules.settings import SILENCE, Settings
from worlds.core.texts import load_texts

SCENARIO = Scenario(
    slots=4,
    errands=((Errand(slot=0, id=1, cost=10),), (Errand(slot=1, id=2, cost=100),), ()),
    meetings=(Meeting(id=1, participants=(0, 1)), Meeting(id=2, participants=(1, 2))),
    scale={1: 1, 10: 2, 100: 3, 1000: 4},
)
COMBINATIONS = [
    {**dict(zip(CHOICES, values, strict=True)), "channels": channels}
    for values, channels in zip(itertools.product(*CHOICES.values()), itertools.cycle(CHANNELS), strict=False)
]


def view(scenario: Scenario = SCENARIO, **changed: Any) -> View:
    """The texts of a game under these options."""
    channels = frozenset(str(changed.pop("channels", "dm")).split("+")) - {SILENCE}
    return View(scenario, Settings(channels=channels, **changed), load_texts("calendar", {}))


def test_costs_are_those_of_the_scale_alone() -> None:
    """A cost that only the scale has is named, so nobody learns from the rules what stands on other calendars."""
    without = SCENARIO.model_copy(update={"scale": {}})

    assert "Costs here are 1, 10, 100, 1000." in view().system(2)
    assert "Costs here" not in view(without).system(2)


@pytest.mark.parametrize("seat", SCENARIO.agents)
def test_the_example_is_another_agent(seat: int) -> None:
    """No seat is shown a message to itself."""
    (to,) = re.findall(r'"to": (\d+)', view().system(seat))

    assert int(to) in set(SCENARIO.agents) - {seat}


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda options: "-".join(options.values()))
def test_the_rules_told_are_the_rules_played(options: dict[str, str]) -> None:
    """Each option has its sentence, and no sentence of another value stands beside it."""
    told, channels = view(**options).system(0), options["channels"]
    outside = "dm" in channels or "all" in channels
    expected = {
        '"type": "dm"': "dm" in channels,
        "participant_groupchat": "participants" in channels,
        "all_groupchat": "all" in channels,
        "| CHEAP_TALK |": channels != SILENCE,
        "at most 20, with 4000 characters to each reader": channels != SILENCE,
        "| VOLUNTARY |": outside,
        "in each sweep that brings it mail": outside and options["outsiders"] == "on_mail",
        "in every sweep from then on": outside and options["outsiders"] == "stay",
        "All that the round changed is undone": options["failed_rounds"] == "undo",
        "What it wrote and moved stays, and is paid.": options["failed_rounds"] == "keep",
        "even one that you correct, fails the round": options["blocked_attempts"] == "doom",
        "and nobody's is applied": options["exhausted"] == "rollback",
        "VOLUNTARY ones too, take effect together": outside and options["voluntary"] == "staged",
        "VOLUNTARY moves take effect before DECISION begins": outside and options["voluntary"] == "immediate",
        "Each reschedule needs a justification.": options["justification"] == "required",
        "its meeting never comes back": True,
        "Nobody is told what became of a round": True,
    }

    assert {sentence: sentence in told for sentence in expected} == expected


@pytest.mark.parametrize(("voluntary", "told"), [("staged", "is not done yet"), ("immediate", "is done.")])
def test_a_decision_says_whether_moves_of_others_are_done(voluntary: str, told: str) -> None:
    """Staged moves take effect with the decisions, immediate ones have."""
    opening, cells = RoundOpening(1, 0, ()), SCENARIO.calendars[0]
    text = view(voluntary=voluntary).decision(0, opening, SCENARIO.meetings[0], cells, [])

    assert f"What agents outside the meeting move, if any were called in, {told}" in text


def test_a_cap_of_messages_is_told() -> None:
    """Where there is one for the whole game."""
    assert "You may send 7 messages in the whole game." in view(message_cap=7).system(0)
    assert "in the whole game" not in view().system(0)


@pytest.mark.parametrize(
    ("changed", "setting"),
    [
        ({}, "varied"),
        ({"origin": {"source": "calbench", "parameters": {"density": 0.6}}}, "varied, calbench, 3a2p, d0.6"),
        ({"origin": {"source": "calbench", "parameters": {"density": "x"}}}, "varied, calbench, 3a2p"),
        ({"origin": {"source": "calbench", "parameters": [1]}}, "varied, calbench, 3a2p"),
        ({"errands": ((), (), ())}, "uniform"),
    ],
)
def test_settings_tell_imports_apart(changed: dict[str, Any], setting: str) -> None:
    """Ours are named by their costs, others by their shape too; whatever an origin holds, it raises nothing."""
    assert SCENARIO.model_copy(update=changed).setting == setting
