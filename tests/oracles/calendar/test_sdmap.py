"""SD-MAP: the walk over slots, and meetings that make room for harder ones and are moved as a whole or not at all."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from oracles.calendar.protocols.client import Seat
from oracles.calendar.protocols.repair import Walk, is_bumpable, moves_for_insertion, moves_for_relocation
from oracles.calendar.protocols.sdmap import SdMap
from tests.oracles.calendar.reference_cases import play, published
from tests.worlds.calendar.playing import Played
from worlds.calendar.rules.items import Item
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.calendar.rules.settings import Settings

TEXT = Settings()


def test_the_walk_ends_at_the_first_slot_that_all_accept() -> None:
    """Slots go up in order, and the first that is possible for all is the one that everybody writes."""
    played = play(_task([[0, 1, 3], [1, 2, 3], [0, 3]], [[0, 1, 2]], slots=4), TEXT, SdMap)
    assert played.resolutions[0]["slots"] == {"0": 3, "1": 3, "2": 3}
    assert _types(played) == {"propose": 6, "reply": 6, "confirm": 2}


def test_no_common_slot_is_told_and_nobody_writes() -> None:
    """After the last slot the initiator says so, and the round fails without a guess or a cost."""
    played = play(_task([[0, 1], [2, 3]], [[0, 1]], slots=4), TEXT, SdMap)
    assert played.resolutions[0]["label"] == "NO_SCHEDULE"
    assert _types(played)["fail"] == 1
    assert played.resolutions[0]["slots"] == {"0": None, "1": None}


def test_a_smaller_meeting_makes_room_and_an_outsider_moves_it_too() -> None:
    """A meeting of two is bumped by one of four; its outsider moves it in VOLUNTARY, and both meetings stand."""
    played = play(_task([[0, 2], [0], [0], [0], [0, 1, 2]], [[0, 4], [0, 1, 2, 3]], slots=4), TEXT, SdMap)
    assert [one["label"] for one in played.resolutions] == ["SUCCESS", "SUCCESS"]
    assert played.resolutions[1]["standing"] == {"1": 2, "2": 0}
    assert played.game.state.spent == [1, 0, 0, 0, 1]
    assert _types(played)["confirm_reschedule"] == 1


def test_the_initiator_of_a_bumped_meeting_may_be_an_outsider() -> None:
    """The seat that bumps writes to the old meeting's initiator, who conducts the repair without taking part in the new one."""
    played = play(_task([[0, 2], [0], [0], [0], [0, 2]], [[0, 4], [1, 2, 3, 4]], slots=4), TEXT, SdMap)
    assert played.resolutions[1]["standing"] == {"1": 2, "2": 0}
    assert _types(played)["reschedule_request"] == 1
    (proposal,) = _sent(played, "propose_reschedule")
    assert (proposal["initiator"], proposal["from_slot"], proposal["to_slot"]) == (0, 0, 2)


def test_a_repair_without_a_slot_leaves_the_meeting_where_it_was() -> None:
    """When the old meeting can go nowhere it stays, the new one finds no slot, and nobody pays."""
    played = play(_task([[0, 2], [0], [0], [0], [0, 1]], [[0, 4], [0, 1, 2, 3]], slots=4), TEXT, SdMap)
    assert [one["label"] for one in played.resolutions] == ["SUCCESS", "NO_SCHEDULE"]
    assert played.resolutions[1]["standing"] == {"1": 0}
    assert played.game.state.spent == [0] * 5
    assert _types(played)["fail_reschedule"] == 1


def test_after_a_repair_that_fails_the_walk_goes_on() -> None:
    """A responder whose bump cannot be repaired withdraws its consent, and the initiator tries its next slot."""
    played = play(_task([[0, 1], [0, 1], [0, 1], [0, 1], [0]], [[3, 4], [0, 1, 2, 3]], slots=4), TEXT, SdMap)
    assert played.resolutions[1]["standing"] == {"1": 0, "2": 1}
    withdrawn = [one for one in _sent(played, "reply") if one["attendee"] == 3 and one["reply_status"] == "IMPOSSIBLE"]
    assert [one["slot"] for one in withdrawn] == [0]


def test_a_repair_is_called_off_when_another_one_of_the_slot_fails() -> None:
    """Two meetings stand in the way; one finds a slot, the other none: both stay, and the new meeting goes elsewhere."""
    free = [[0, 2], [0, 1, 2], [0, 2], [0, 2], [], [0, 1], [0]]
    played = play(_task(free, [[1, 5], [2, 6], [0, 1, 2, 3]], slots=4), TEXT, SdMap)
    assert [one["label"] for one in played.resolutions] == ["SUCCESS"] * 3
    assert played.resolutions[2]["standing"] == {"1": 0, "2": 0, "3": 2}
    assert played.game.state.spent == [0] * 7
    assert _types(played)["confirm_reschedule"] == 1


def test_a_repair_that_is_called_off_is_called_off_for_outsiders_too() -> None:
    """An outsider that had promised to move an old meeting hears, through that meeting's initiator, that it is to stay."""
    free = [[0, 2], [0, 1], [0, 1], [0, 1], [0, 1, 2], [], [0]]
    played = play(_task(free, [[0, 4], [3, 6], [1, 2, 3, 4]], slots=4), TEXT, SdMap)
    assert played.resolutions[2]["standing"] == {"1": 0, "2": 0, "3": 1}
    assert [one["to_slot"] for one in _sent(played, "confirm_reschedule")] == [2]
    assert played.game.state.spent == [0] * 7


def test_weights_let_a_meeting_of_equal_size_be_bumped() -> None:
    """Of two meetings of two, the one with the lighter partner makes room; with unit weights neither does."""
    task = _task([[0, 1], [0], [], [], [0, 1]], [[0, 4], [0, 1]], slots=3)
    assert play(task, TEXT, SdMap, {1: 2.0}).resolutions[1]["standing"] == {"1": 1, "2": 0}
    assert play(task, TEXT, SdMap).resolutions[1]["standing"] == {"1": 0}


def test_a_relocation_keeps_what_is_promised() -> None:
    """Neither the meeting nor an errand in its way may go to a slot that something else was promised."""
    standing, errand = Item("meeting", 1, 1, participants=(0, 1)), Item("errand", 1, 3)
    cells = (standing, errand, None, None)
    assert moves_for_relocation(cells, 0, 2, keep={2}) is None
    moves = moves_for_relocation(cells, 0, 1, keep={0, 2})
    assert moves is not None
    assert [(move.item.name, move.target) for move in moves] == [("#1", 3), ("M1", 1)]
    assert moves_for_relocation(cells, 0, 1, keep={0, 2, 3}) is None


def test_a_confirmation_of_the_last_sweep_is_read_in_time_by_profile_text_alone() -> None:
    """The published client leaves it for the next talk and guesses, so the round fails."""
    task = _task([[0, 1, 2], [0, 1, 3]], [[0, 1]], slots=4, speakers=(1, 0))
    assert play(task, Settings(turn_cap=2), SdMap).resolutions[0]["label"] == "SUCCESS"
    assert play(task, published(2), SdMap).resolutions[0]["slots"] == {"0": 0, "1": 3}


def test_a_repair_may_send_an_errand_to_the_slot_that_it_vacates() -> None:
    """An outsider whose only other slot holds an errand swaps the two."""
    task = _task([[0, 2], [0], [0], [0], [0]], [[0, 4], [0, 1, 2, 3]], slots=4, movable={4: [2]})
    played = play(task, TEXT, SdMap)
    assert played.resolutions[1]["standing"] == {"1": 2, "2": 0}
    assert played.game.state.spent == [1, 0, 0, 0, 4]


def test_the_published_client_fails_the_round_of_a_bump_and_repairs_it_in_the_next() -> None:
    """In profile `paper` a bump breaks the old meeting, and the talk of the next round puts it in one slot again."""
    free = [[0, 2, 3], [0, 3], [0], [0], [0, 2]]
    played = play(_task(free, [[0, 4], [0, 1, 2, 3], [0, 1]], slots=4), published(15), SdMap)
    assert [one["label"] for one in played.resolutions] == ["SUCCESS", "PRIOR_MEETING_MOVED", "SUCCESS"]
    assert played.resolutions[2]["standing"] == {"1": 2, "2": 0, "3": 3}


def test_the_published_client_guesses_where_a_cut_off_left_it_without_a_slot() -> None:
    """With one sweep nobody hears a vote: profile `text` writes nothing, profile `paper` guesses, apart from what it holds."""
    task = _task([[0, 1, 2], [0, 1, 3]], [[0, 1]], slots=4)
    assert play(task, Settings(turn_cap=1), SdMap).resolutions[0]["slots"] == {"0": None, "1": None}
    # slot 0 is held as PENDING by both, so the first retry takes the second slot that is left
    assert play(task, published(1), SdMap).resolutions[0]["slots"] == {"0": 2, "1": 3}


@pytest.mark.property
def test_no_game_breaks_a_meeting_or_sends_a_batch_that_cannot_hold() -> None:
    """Over random tasks, weights and caps: repairs are whole or not at all, and only empty batches are refused."""
    types: Counter[str] = Counter()
    for seed in range(150):
        played = _random_game(seed)
        types += _types(played)
        assert not any(one["broken"] for one in played.resolutions), seed
        refused = {kind for note in played.of("batch_rejected") for kind, _ in note.data["conflicts"]}
        assert refused <= {"no_schedule"}, seed
        assert not played.of("invalid_tool_call"), seed
    assert types["confirm_reschedule"] > 10
    assert types["fail_reschedule"] > 10


@pytest.mark.property
def test_a_walk_that_ends_in_time_overlooks_no_slot() -> None:
    """Where a round fails with time to spare, no slot was possible for every participant by moving errands alone."""
    failed = 0
    for seed in range(1000, 1080):
        played = _random_game(seed, cap=60)
        for one in played.resolutions:
            if one["label"] != "SUCCESS" and one is played.resolutions[-1]:
                failed += 1
                assert not _possible(played, one["meeting"]), seed
    assert failed > 5


def test_a_longer_meeting_takes_a_whole_span_and_bumps_nothing() -> None:
    """Two slots in a row are sought; the errand in one of them moves outside the span."""
    task = _task([[0, 2, 4], [0, 1, 2, 3]], [[0, 1]], slots=5, movable={0: [1]}, duration=2)
    played = play(task, TEXT, SdMap)
    assert played.resolutions[0]["slots"] == {"0": 0, "1": 0}
    assert played.game.state.spent == [3, 0]
    assert not is_bumpable(Item("meeting", 1, 1, participants=(0, 1)), Seat(0, 5, 5), (0, 1, 2), duration=2)


def test_the_bump_rule_is_strict() -> None:
    """A meeting is bumped by one with more other participants, not by one with as many."""
    standing = Item("meeting", 1, 1, participants=(0, 1))
    assert is_bumpable(standing, Seat(0, 5, 5), (0, 2, 3), duration=1)
    assert not is_bumpable(standing, Seat(0, 5, 5), (0, 2), duration=1)
    assert not is_bumpable(Item("errand", 1, 1), Seat(0, 5, 5), (0, 2, 3), duration=1)


def test_a_walk_counts_only_votes_on_what_is_up() -> None:
    """A late vote, or a stranger's, changes nothing; an initiator's own refusal ends the slot."""
    walk = Walk([4, 7], [1, 2])
    assert walk.is_refused
    assert walk.advance() == 4
    for sender, slot in [(1, 4), (2, 7), (3, 4)]:
        walk.count_vote(sender, slot, "PENDING")
    assert not walk.is_agreed
    walk.count_vote(2, 4, "PENDING")
    assert walk.is_agreed
    walk.mark_impossible()
    assert walk.is_refused
    assert walk.advance() == 7
    assert not walk.is_refused


def _task(
    free: Sequence[Sequence[int]],
    meetings: Sequence[Sequence[int]],
    slots: int,
    movable: Mapping[int, Sequence[int]] | None = None,
    duration: int = 1,
    speakers: tuple[int, ...] = (),
) -> Scenario:
    """Agents with these free slots and errands of cost 3 that can move; everything else is blocked."""
    errands = []
    for agent, mine in enumerate(free):
        moving = (movable or {}).get(agent, ())
        taken = [slot for slot in range(slots) if slot not in mine]
        make = [Errand(slot=s, id=agent * slots + s + 1, cost=3, blocked=s not in moving) for s in taken]
        errands.append(tuple(make))
    stream = [Meeting(id=n, participants=who, duration=duration, speakers=speakers) for n, who in enumerate(meetings, start=1)]
    return Scenario(slots=slots, errands=tuple(errands), meetings=tuple(stream))


def _random_game(seed: int, cap: int | None = None) -> Played:
    rng = random.Random(seed)
    agents, slots = rng.randint(2, 6), rng.randint(4, 9)
    dense, free, movable = rng.choice([0.3, 0.6]), [], {}
    for agent in range(agents):
        busy = [slot for slot in range(slots) if rng.random() < dense]
        free.append([slot for slot in range(slots) if slot not in busy])
        movable[agent] = [slot for slot in busy if rng.random() < 0.65]
    meetings = [sorted(rng.sample(range(agents), rng.randint(2, agents))) for _ in range(rng.randint(2, 5))]
    task = _task(free, meetings, slots, movable)
    shuffled = [
        one.model_copy(update={"speakers": tuple(rng.sample(one.participants, len(one.participants)))}) for one in task.meetings
    ]
    weights = {agent: rng.choice([0.5, 1, 2]) for agent in range(agents)}
    settings = Settings(turn_cap=cap or rng.choice([3, 6, 15]))
    return play(task.model_copy(update={"meetings": tuple(shuffled)}), settings, SdMap, weights)


def _possible(played: Played, number: int) -> bool:
    """Whether a meeting fits on the calendars as they are."""
    calendars = played.game.state.calendars
    meeting = next(one for one in played.game._scenario.meetings if one.id == number)
    return any(
        all(moves_for_insertion(calendars[agent], slot, 1) is not None for agent in meeting.participants)
        for slot in range(len(calendars[0]))
    )


def _sent(played: Played, kind: str) -> list[dict[str, object]]:
    messages = [json.loads(note.data["content"]) for note in played.of("message")]
    return [message for message in messages if message["type"] == kind]


def _types(played: Played) -> Counter[str]:
    return Counter(json.loads(note.data["content"])["type"] for note in played.of("message"))
