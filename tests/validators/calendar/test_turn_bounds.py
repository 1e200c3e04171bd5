"""What one turn may say: so many messages, so many characters to each reader; what is beyond is the sender's to lose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.calendar.scripted_games import SCENARIO, TALK, agreed, broken, dm, logged
from validators.calendar.replay import find_lies, replay
from worlds.calendar.rules.settings import CHARACTERS, MESSAGES, turn_bounds

MANY = f"a turn has at most {MESSAGES} messages"
LONG = f"a turn has at most {CHARACTERS} characters to each reader"


def all_(content: str) -> dict[str, Any]:
    """A message to everybody."""
    return {"type": "all_groupchat", "content": content}


@pytest.mark.parametrize(
    ("agents", "slots", "bounds"), [(5, 16, (20, 4000)), (6, 200, (20, 4000)), (10, 48, (36, 4000)), (4, 1000, (20, 20_000))]
)
def test_bounds_grow_with_the_game(agents: int, slots: int, bounds: tuple[int, int]) -> None:
    """20 and 4,000 for up to 6 agents and 200 slots; 4 x (10 - 1) = 36 messages, 20 x 1,000 = 20,000 characters."""
    assert turn_bounds(agents, slots) == bounds


@pytest.mark.parametrize("written", [list, lambda actions: broken(*actions)], ids=["plain", "mended"])
@pytest.mark.parametrize(
    ("actions", "lengths", "dropped"),
    [
        ([dm(0)] * 60, [5] * 20, [MANY] * 40),
        ([dm(0, "x" * 4000)], [4000], []),
        ([dm(0, "x" * 4001), dm(0)], [5], [LONG]),
        ([dm(0, "x" * 3000), dm(2, "x" * 3000), dm(0, "x" * 1001), dm(2, "x" * 1000)], [3000, 3000, 1000], [LONG]),
        ([dm(2, "x" * 3000), all_("x" * 1001), all_("x" * 1000), dm(0, "x" * 3000)], [3000, 1000, 3000], [LONG]),
        ([dm(9)] * 25 + [dm(0)], [5], ["to must be the id of another agent, not 9"] * 25),
    ],
    ids=["many", "long", "longer", "by reader", "groups", "unsent"],
)
def test_what_is_beyond_is_dropped_where_it_is_sent(
    actions: list[Any], lengths: list[int], dropped: list[str], written: Any, tmp_path: Path
) -> None:
    """Each message beyond is a note on its sender with the reason, reaches nobody, and the next turn begins anew."""
    script = {(TALK, 1, 1): [written(actions), [dm(0, "again")]], **agreed(1, 2), **agreed(2, 3)}
    log = logged(tmp_path, script, channels="dm+all")
    episode = episode_of(log)
    notes = [event for event in episode.events if getattr(event, "what", "") == "invalid_tool_call"]

    assert [(note.seat, note.data["why"]) for note in notes] == [(1, why) for why in dropped]
    assert [len(one.content) for one in replay(episode).messages] == [*lengths, len("again")]
    assert find_lies(episode) == []


def test_a_world_that_lets_more_pass_is_found_out(tmp_path: Path) -> None:
    """A 21st message that the log says was delivered is a lie."""

    def pass_on(rows: list[dict[str, Any]]) -> None:
        place, dropped = next((p, row) for p, row in enumerate(rows) if row.get("what") == "invalid_tool_call")
        sent = next(row for row in rows if row.get("what") == "message")
        rows[place] = {**dropped, "what": "message", "data": sent["data"]}

    log = logged(tmp_path, {(TALK, 1, 1): [[dm(0)] * 21], **agreed(1, 2), **agreed(2, 3)})

    assert find_lies(episode_of(log)) == []
    assert find_lies(retold(log, pass_on)) != []


def test_a_reader_is_sent_no_more_than_follows(tmp_path: Path) -> None:
    """However much three others send, one turn of a reader has at most 3 x 4,000 characters of theirs, and what frames them."""
    flood = {(TALK, 1, seat): [[dm(0, "x" * 200)] * 500] * 4 for seat in (1, 2, 3)}
    called = {(TALK, 1, 0): [[dm(2), dm(3)]] * 4}
    turns = [
        event for event in episode_of(logged(tmp_path, {**flood, **called, **agreed(1, 2), **agreed(2, 3)})).events
        if getattr(event, "phase", "") == TALK and getattr(event, "seat", None) == 0
    ]  # fmt: skip
    heard = [turn.text.count("x" * 200) for turn in turns]

    assert max(heard) == 3 * 20
    assert max(len(turn.text) for turn in turns) < 3 * (4000 + 20 * 60) + 1000
    assert len(SCENARIO.agents) == 4
