"""Games in which everybody is asked after each round, and answers what a test wrote down."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.worlds.calendar.hostile_games import Seat, episode_of, folder_of, play
from tests.worlds.calendar.scripted_games import SCENARIO, Script
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import find_lies, replay
from worlds.calendar.rules.certificate import read_certificate
from worlds.calendar.rules.measures import Measures
from worlds.core.turns import OpenTurn

Believing = Callable[[int, int, int], str]
"""What a seat answers: round, observer, target."""


def target_of(text: str) -> int:
    """The agent whose calendar a question is about."""
    asked = re.search(r"calendar of agent (\d+)", text)
    assert asked, text
    return int(asked[1])


def always(answer: str) -> Believing:
    """Everybody answers alike."""
    return lambda number, observer, target: answer


def seat_of(script: Script, believing: Believing) -> Seat:
    """A seat that plays its script, and answers questions about others."""
    left = {key: [*replies] for key, replies in script.items()}

    def reply(turn: OpenTurn) -> str:
        if turn.phase == "REFLECTION":
            return believing(turn.round, turn.seat, target_of(turn.text))
        replies = left.get((turn.phase, turn.round, turn.seat))
        said = replies.pop(0) if replies else []
        return said if isinstance(said, str) else json.dumps({"actions": said})

    return reply


def asked(folder: Path, script: Script, believing: Believing, turns: int | None = None, **options: str | bool) -> bytes:
    """The log of a game on the small scenario whose seats are asked."""
    settings = {"reflection": "asked", **options}
    return play(folder_of(folder, SCENARIO), seat_of(script, believing), settings, turns).log.dump()


def measured(log: bytes) -> Measures:
    """The measures of a log in which nothing is a lie."""
    episode = episode_of(log)
    assert find_lies(episode) == []
    return compute_measures(replay(episode), read_certificate(None))
