"""Two options that take something away or give something: rounds without talk, and outcomes that are told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.protocols import PROTOCOLS
from tests.oracles.calendar.reference_cases import play
from tests.shipped import SHIPPED
from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.calendar.scripted_games import DECISION, SCENARIO, TALK, Script, agreed, dm, logged, put
from validators.calendar.replay import find_lies, replay
from worlds.calendar.rules.scenario import read_scenario
from worlds.calendar.rules.settings import PROFILES, Settings

APART: Script = {(DECISION, 1, 0): [[put(1, 2)]], (DECISION, 1, 1): [[put(1, 3)]], **agreed(2, 3)}
"""The first meeting fails, the second is scheduled."""

THIRD = read_scenario(next(t for t in SHIPPED if t.task_id == "uniform-31").world_folder / "scenario.json")


def texts(log: bytes, seat: int) -> list[tuple[str, int, str]]:
    """Phase, round and text of every turn of a seat."""
    return [(e.phase, e.round, e.text) for e in episode_of(log).events if getattr(e, "type", "") == "turn" and e.seat == seat]


def told(log: bytes, seat: int) -> list[tuple[int, str]]:
    """Every line on an outcome that a seat was shown, with the round in which it was."""
    return [(n, line) for _, n, text in texts(log, seat) for line in text.splitlines() if re.match(r"Round \d+, meeting", line)]


@pytest.mark.parametrize("channels", ["dm", "none"])
def test_outcomes_are_told_to_participants_as_their_next_round_begins(channels: str, tmp_path: Path) -> None:
    """Once, in one line, with the slot of what was scheduled; and to nobody who takes no part."""
    failed = logged(tmp_path / "failed", APART, outcomes="told", channels=channels)
    went = logged(tmp_path / "went", {**agreed(1, 2), **agreed(2, 3)}, outcomes="told", channels=channels)

    assert [told(failed, seat) for seat in SCENARIO.agents] == [[(2, "Round 1, meeting M1: not scheduled.")]] * 2 + [[], []]
    assert told(went, 1) == [(2, "Round 1, meeting M1: scheduled at slot 2.")]
    assert [find_lies(episode_of(log)) for log in (failed, went)] == [[], []]


def test_outcomes_are_untold_by_default(tmp_path: Path) -> None:
    """No text says what became of a round."""
    log = logged(tmp_path, APART)

    assert [told(log, seat) for seat in SCENARIO.agents] == [[]] * 4


def test_an_outcome_waits_for_its_reader() -> None:
    """Who takes no part in the next round is told when its own next one begins, of all rounds since, in their order."""
    played = play(THIRD, Settings(outcomes="told"), PROTOCOLS["imap"])
    meetings = THIRD.meetings
    for seat in THIRD.agents:
        mine = [number for number, meeting in enumerate(meetings, start=1) if seat in meeting.participants]
        lines = [
            (turn.round, int(line.split()[1][:-1]))
            for turn in played.turns
            for line in turn.text.splitlines()
            if turn.seat == seat and re.match(r"Round \d+, meeting", line)
        ]

        assert lines == list(zip(mine[1:], mine, strict=False))


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("Round 1, meeting M1: not scheduled.", "Round 1, meeting M1: scheduled at slot 2."),
        ("Round 1, meeting M1: not scheduled.\n", ""),
        ("Your calendar:", "Round 1, meeting M2: not scheduled.\nYour calendar:"),
    ],
)
def test_another_outcome_is_a_lie(line: str, other: str, tmp_path: Path) -> None:
    """A line that is wrong, missing or made up is found."""

    def retell(rows: list[dict[str, Any]]) -> None:
        turn = next(row for row in rows if row["type"] == "turn" and row["round"] == 2)
        turn["text"] = turn["text"].replace(line, other)

    (lie,) = find_lies(retold(logged(tmp_path, APART, outcomes="told"), retell))

    assert "was not told what became of earlier rounds, which is Round 1, meeting M1: not scheduled." in lie


def test_a_silent_round_begins_with_its_decision(tmp_path: Path) -> None:
    """Nobody is asked to talk; the decision opens the round, with calendar and costs, and names no messages."""
    log = logged(tmp_path, {(TALK, 1, 1): [[dm(0)]], **agreed(1, 2), **agreed(2, 3)}, channels="none")
    rebuilt, mine = replay(episode_of(log)), texts(log, 1)

    assert [(phase, number) for phase, number, _ in mine] == [(DECISION, 1), (DECISION, 2)]
    assert all(text.startswith(f"=== ROUND {number} OF 2 ===\nPhase: DECISION.\nMeeting M") for _, number, text in mine)
    assert all("Cost your person has paid so far: 0" in text for *_, text in mine)
    assert (rebuilt.scheduled_meetings, rebuilt.messages, rebuilt.lies) == ((1, 2), (), ())


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocols_send_nothing_where_there_is_no_talk(protocol: str, profile: str) -> None:
    """None raises or waits; with the rules of the text they send empty batches, and in `paper` guess as ever."""
    settings = Settings(profile=profile, **PROFILES[profile])
    played = play(THIRD, Settings(**{**{f: getattr(settings, f) for f in settings.__slots__}, "channels": frozenset()}),
                  PROTOCOLS[protocol])  # fmt: skip
    batches = [json.loads(note.data["content"]) for note in played.of("message")]

    assert batches == []
    assert {turn.phase for turn in played.turns} == {DECISION}
    if profile == "text":
        assert {row["label"] for row in played.resolutions} == {"NO_SCHEDULE"}
