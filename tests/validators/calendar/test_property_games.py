"""Two thousand random games with hostile seats under every combination of options: the validator finds what the world did."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.worlds.calendar.hostile_games import COMBINATIONS, episode_of, folder_of, hostile, play
from tests.worlds.calendar.random_tasks import small
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import replay
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.world import CalendarWorld
from worlds.core.manifest import OptionValue

pytestmark = pytest.mark.property

PARTS, SCENARIOS, GAMES = 8, 50, 5
CHANNELS = ("dm", "dm", "dm+all", "dm+participants+all", "participants", "none")


def options(draw: random.Random, number: int) -> dict[str, OptionValue]:
    """The options of one game; every 64 games use each combination of those that change the rules."""
    return {
        **COMBINATIONS[number % len(COMBINATIONS)],
        "channels": draw.choice(CHANNELS),
        "turn_cap": draw.choice([1, 2, 3]),
        "message_cap": draw.choice([0, 0, 2]),
        "decision_retries": draw.choice([0, 1, 3]),
        "strict_replies": draw.random() < 0.3,
        "outcomes": draw.choice(["untold", "told"]),
    }


@pytest.mark.parametrize("part", range(PARTS))
def test_validator_agrees_with_the_world(part: int, tmp_path: Path) -> None:
    """No game, however it is played, makes the world fail, or rebuilds to other calendars, costs, messages or labels."""
    labels: Counter[str] = Counter()
    for number in range(part * SCENARIOS, (part + 1) * SCENARIOS):
        scenario = small(number)
        folder = folder_of(tmp_path / str(number), scenario)
        for game in range(GAMES):
            draw = random.Random(number * GAMES + game)
            seat = hostile(draw, len(scenario.agents), draw.choice([0.3, 0.6, 0.9]))
            stop = draw.choice([None, None, None, draw.randrange(30)])
            world = play(folder, seat, options(draw, number * GAMES + game), stop)
            assert isinstance(world, CalendarWorld)
            episode = episode_of(world.log.dump())
            rebuilt, state = replay(episode), world._game.state
            labels.update(str(one.label) for one in rebuilt.resolved)

            assert rebuilt.lies == ()
            assert rebuilt.calendars == tuple(state.calendars)
            assert [sum(m.sender == s for m in rebuilt.messages) for s in scenario.agents] == [*state.post.sent.values()]
            assert [_paid(rebuilt.committed, seat) for seat in scenario.agents] == state.spent
            json.dumps(compute_measures(rebuilt, Certificate()).model_dump(mode="json"), allow_nan=False)

    assert {"SUCCESS", "SLOT_MISMATCH", "SEVERAL", "OTHER", "BLOCKED_ITEM"} <= set(labels)


def _paid(committed, seat: int) -> int:
    return sum(one.batch.cost for one in committed if one.seat == seat and one.stands)
