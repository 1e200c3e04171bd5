"""Many random games with hostile seats, under every combination of options: each trace gives its game again."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from oracles.calendar.certificate import certify
from parley.families.calendar.trace import replayed
from tests.parley.families.calendar.tracing import trace_of
from tests.validators.calendar.test_property_games import options
from tests.worlds.calendar.hostile_games import episode_of, folder_of, hostile, play
from tests.worlds.calendar.random_tasks import small
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import replay

pytestmark = pytest.mark.property

PARTS, SCENARIOS, GAMES = 4, 16, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_every_trace_gives_its_game_again(part: int, tmp_path: Path) -> None:
    """Played again from the file alone, no event, no field and no measure differs, wherever the game was cut."""
    kinds: Counter[str] = Counter()
    for number in range(part * SCENARIOS, (part + 1) * SCENARIOS):
        scenario = small(number)
        folder, certificate = folder_of(tmp_path / str(number), scenario), certify(scenario)
        for game in range(GAMES):
            draw = random.Random(number * GAMES + game)
            seat = hostile(draw, len(scenario.agents), draw.choice([0.3, 0.6, 0.9]))
            stop = draw.choice([None, None, None, draw.randrange(30)])
            log = play(folder, seat, options(draw, number * GAMES + game), stop).log.dump()
            document, episode = trace_of(log), episode_of(log)
            kinds.update(event["type"] for event in document["events"])

            assert replayed(document).differences == ()
            assert document["metrics"] == compute_measures(replay(episode), certificate, episode.ended_by).model_dump(
                mode="json"
            )
            assert document["trace_hash"] == episode.trace_hash

    assert {
        "dm_sent", "participant_groupchat_sent", "all_groupchat_sent", "invalid_tool_call", "reply_parsed", "batch_rejected",
        "decision_failed", "batch_applied", "batch_rolled_back", "consistency_violation", "resolution", "game_end", "stop",
    } <= set(kinds)  # fmt: skip
