"""IMAP: everybody tells all costs, the cheapest slot wins, and without an agreement nobody spends anything."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence

import pytest

from oracles.calendar.protocols.client import Seat
from oracles.calendar.protocols.imap import Imap
from tests.oracles.calendar.reference_cases import play, published
from tests.oracles.calendar.typed_games import turn
from tests.worlds.calendar.playing import Played
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.calendar.rules.settings import Settings

TEXT = Settings()
Costs = Sequence[int | None]
"""A calendar as IMAP sees it: 0 free, a number for an errand of that cost, None for a blocked one."""


def test_the_cheapest_common_slot_is_taken() -> None:
    """The sum over all participants decides, and each pays for the errand that it moves."""
    played = play(_task([[0, 3, 2, None], [5, 0, 1, 0], [1, 0, 0, 0]]), TEXT, Imap)
    assert played.resolutions[0]["slots"] == {"0": 1, "1": 1, "2": 1}
    assert played.game.state.spent == [3, 0, 0]


def test_the_lowest_of_equal_slots_is_taken() -> None:
    """Slots 1 and 2 cost the same in sum, so the lower one wins."""
    played = play(_task([[9, 2, 1, 0], [9, 0, 1, None]]), TEXT, Imap)
    assert played.resolutions[0]["slots"] == {"0": 1, "1": 1}


@pytest.mark.parametrize("speakers", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("profile", ["text", "paper"])
def test_three_sweeps_and_six_messages_are_enough(speakers: tuple[int, ...], profile: str) -> None:
    """Whoever speaks first, three participants agree within three sweeps, by six messages."""
    task = _task([[0, 1], [1, 0], [0, 0]], speakers=speakers)
    settings = Settings(turn_cap=3) if profile == "text" else published(3)
    played = play(task, settings, Imap)
    assert played.resolutions[0]["label"] == "SUCCESS"
    assert _types(played) == {"cost_request": 2, "costs": 2, "decision": 2}


def test_all_costs_are_told_as_they_are() -> None:
    """A responder tells 0 for free, the cost of an errand that can move, and null for what cannot."""
    played = play(_task([[0, 0, 0, 0], [0, 7, None, 3]]), TEXT, Imap)
    (told,) = [message for message in _messages(played) if message["type"] == "costs"]
    assert told["costs"] == {"0": 0, "1": 7, "2": None, "3": 3}


def test_an_errand_without_another_slot_cannot_move() -> None:
    """On a full calendar every errand is impossible, since it has nowhere to go."""
    played = play(_task([[0, 0], [4, None]]), TEXT, Imap)
    (told,) = [message for message in _messages(played) if message["type"] == "costs"]
    assert told["costs"] == {"0": None, "1": None}


def test_a_meeting_that_stands_is_never_moved() -> None:
    """The second meeting of the same people goes elsewhere, though its price would be lower at the first one's slot."""
    task = _task([[0, 5], [0, 5]], meetings=2, room=2)
    played = play(task, TEXT, Imap)
    assert played.resolutions[1]["standing"] == {"1": 0, "2": 2}


def test_no_common_slot_costs_nothing() -> None:
    """Without a slot that is possible for all, nobody decides, and an empty batch fails the round."""
    played = play(_task([[0, None, 0], [None, 0, None]]), TEXT, Imap)
    assert played.resolutions[0]["label"] == "NO_SCHEDULE"
    assert played.resolutions[0]["slots"] == {"0": None, "1": None}
    assert "decision" not in _types(played)


def test_the_published_client_guesses_without_a_common_slot() -> None:
    """In profile `paper` the first retry takes each seat's own second possible slot, agreed or not."""
    played = play(_task([[0, None, 0], [None, 1, 0, 1]]), published(15), Imap)
    assert played.resolutions[0]["slots"] == {"0": 2, "1": 2}
    played = play(_task([[0, None, 0, None], [None, 0, None, 0]]), published(15), Imap)
    assert played.resolutions[0]["slots"] == {"0": 2, "1": 3}


def test_a_decision_that_comes_with_the_last_sweep_is_kept_in_profile_text() -> None:
    """Mail that nobody may answer any more still says what was agreed."""
    task = _task([[0, 1], [1, 0], [0, 0]], speakers=(1, 2, 0))
    assert play(task, Settings(turn_cap=2), Imap).resolutions[0]["label"] == "SUCCESS"


def test_a_longer_meeting_costs_what_its_whole_span_costs() -> None:
    """Two slots in a row are summed, and their errands go to free slots outside the span."""
    task = _task([[1, 2, 0, 9, 0], [0, 0, 0, 0, 0]], duration=2)
    played = play(task, TEXT, Imap)
    assert played.resolutions[0]["slots"] == {"0": 1, "1": 1}
    assert played.game.state.spent == [2, 0]
    (told,) = [
        message for message in _messages(play(_task([[0] * 5, [1, 2, 0, 9, 0]], duration=2), TEXT, Imap)) if "costs" in message
    ]
    assert told["costs"] == {"0": 3, "1": 2, "2": 9, "3": 9, "4": None}


def test_a_participant_alone_decides_alone() -> None:
    """A meeting of one takes the cheapest slot without a message."""
    played = play(_task([[3, 0]]), TEXT, Imap)
    assert played.resolutions[0]["slots"] == {"0": 1}
    assert not _types(played)


def test_a_stranger_decides_nothing() -> None:
    """Only the initiator's decision counts, and only about this round's meeting."""
    seat = Imap(Seat(1, 3, 2))
    start = "=== ROUND 1 OF 1 ===\nMeeting M1, participants=[0, 1, 2], duration=1\nSlot 0: [FREE]\nSlot 1: [FREE]\n"
    mail = [(2, 1, 0), (0, 7, 0), (0, 1, 1)]
    lines = [
        f"[{n}] From agent {sender} by dm (meeting 1): "
        + json.dumps({"protocol": "imap", "type": "decision", "meeting_id": meeting, "slot": slot})
        for n, (sender, meeting, slot) in enumerate(mail, start=1)
    ]
    seat.reply(turn("CHEAP_TALK", start + "\n".join(lines[:2])))
    assert json.loads(seat.reply(turn("DECISION", start)))["actions"] == []
    seat.reply(turn("CHEAP_TALK", start + "\n".join(lines)))
    (action,) = json.loads(seat.reply(turn("DECISION", "nothing new")))["actions"]
    assert (action["type"], action["slot"]) == ("schedule", 1)


def test_only_slots_of_the_calendar_are_answered() -> None:
    """A request for slots that do not exist, or that are no numbers, is answered for the others."""
    request = {"protocol": "imap", "type": "cost_request", "meeting_id": 1, "slots": [0, 99, True, "1", -1]}
    text = "=== ROUND 1 OF 1 ===\nMeeting M1, participants=[0, 1], duration=1\nSlot 0: [FREE]\nSlot 1: [FREE]\n"
    mail = f"[1] From agent 0 by dm (meeting 1): {json.dumps(request)}"
    (action,) = json.loads(Imap(Seat(1, 2, 2)).reply(turn("CHEAP_TALK", text + mail)))["actions"]
    assert json.loads(action["content"])["costs"] == {"0": 0}


def _task(
    costs: Sequence[Costs], speakers: tuple[int, ...] = (), meetings: int = 1, room: int = 0, duration: int = 1
) -> Scenario:
    """Everybody meets everybody; `room`: free slots at the end of each calendar."""
    slots = max(map(len, costs)) + room
    errands = tuple(
        tuple(
            Errand(slot=slot, id=agent * slots + slot + 1, cost=cost or 1, blocked=cost is None)
            for slot, cost in enumerate(mine)
            if cost != 0
        )
        for agent, mine in enumerate(costs)
    )
    who = tuple(range(len(costs)))
    stream = [Meeting(id=n, participants=who, speakers=speakers, duration=duration) for n in range(1, meetings + 1)]
    return Scenario(slots=slots, errands=errands, meetings=tuple(stream))


def _messages(played: Played) -> list[dict[str, object]]:
    return [json.loads(note.data["content"]) for note in played.of("message")]


def _types(played: Played) -> Counter[object]:
    return Counter(message["type"] for message in _messages(played))
