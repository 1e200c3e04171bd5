"""Assistants that talk in sentences: what they say and understand, what they agree on, and that no option confuses them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat
from parley.families.calendar.baselines import (
    AWKWARD,
    COULD,
    EASY,
    FREE,
    HARD,
    Company,
    GreedySeat,
    Movable,
    MoveQuestion,
    MoveRequest,
    PlannerSeat,
    ProseSeat,
    Sentence,
    Settled,
    SilentSeat,
    Suits,
    availability,
    choice,
    degree,
    movable,
    question,
    read,
)
from parley.families.calendar.seats import BASELINES
from tests.shipped import SHIPPED
from tests.worlds.calendar.playing import Played, Reply
from worlds.calendar.game import View
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario, read_scenario
from worlds.calendar.rules.settings import PROFILES, Settings
from worlds.core.texts import load_texts
from worlds.core.turns import OpenTurn

TEXT = Settings()
Make = Callable[[Seat, str], ProseSeat]
Costs = Sequence[int | None]
"""A calendar: 0 free, a number for an errand of that cost, None for a blocked one."""


def sat(scenario: Scenario, settings: Settings, number: int, make: Make) -> ProseSeat:
    """A seat with the rules that its world would send it."""
    rules = View(scenario, settings, load_texts("calendar", {})).system(number)
    return make(Seat(number, len(scenario.agents), scenario.slots, settings.profile), rules)


def played(scenario: Scenario, make: Make, settings: Settings = TEXT) -> Played:
    """A game with one kind of assistant at all seats."""
    return Played(scenario, settings, {number: sat(scenario, settings, number, make).reply for number in scenario.agents})


def board(costs: Sequence[Costs], meetings: Sequence[tuple[int, ...]] = (), duration: int = 1) -> Scenario:
    """Calendars as rows of costs; everybody meets everybody once unless `meetings` says who meets."""
    slots = len(costs[0])
    errands = tuple(
        tuple(
            Errand(slot=slot, id=agent * slots + slot + 1, cost=cost or 1, blocked=cost is None)
            for slot, cost in enumerate(mine)
            if cost != 0
        )
        for agent, mine in enumerate(costs)
    )
    who = meetings or (tuple(range(len(costs))),)
    stream = tuple(Meeting(id=number, participants=one, duration=duration) for number, one in enumerate(who, start=1))
    return Scenario(slots=slots, errands=errands, meetings=stream)


def said(game: Played) -> list[str]:
    """Every message, in order."""
    return [str(note.data["content"]) for note in game.of("message")]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I am free at 3, 5 and 9; 7 would be hard for me.", [Suits((3, 5, 9), FREE), Suits((7,), HARD)]),
        ("I'm also free at slots 2 or 4-6!", [Suits((2, 4, 5, 6), FREE)]),
        ("Well, I could make 1. Slot 2 would be easy", [Suits((1,), COULD), Suits((2,), EASY)]),
        ("Let's go with slot 12, shall we?", [Settled(12)]),
        ("I am not free at 3. 7 would not be hard. Let us take none", []),
        ("Where could you move meeting M2 from slot 4?", [MoveQuestion(2, 4)]),
        ("Moving M2 away from 4 to 9, 11, and 12 would be awkward for me", [Movable(2, 4, (9, 11, 12), AWKWARD)]),
        ("Please move M2 from 4 to 9\n    M2 is with agents 1 and 4", [MoveRequest(2, 4, 9), Company(2, (1, 4))]),
        ('{"protocol": "imap", "type": "decision", "slot": 7}', []),
        ("\u0663 would be hard \ud800; let us take 1234", []),
    ],
)
def test_what_a_sentence_says(text: str, sentences: list[Sentence]) -> None:
    """The table of the grammar, in words that a person might choose; all else says nothing."""
    assert list(read(text)) == sentences


def test_what_is_said_is_understood() -> None:
    """Every sentence that a seat can write is read as what it was written from."""
    suits = [Suits((1, 2), FREE), Suits((), EASY), Suits((3,), COULD), Suits((4, 5, 6), AWKWARD), Suits((7,), HARD)]
    offer = [Movable(2, 4, (9, 11), EASY), Movable(2, 4, (12,), HARD)]

    assert list(read(availability(3, suits))) == [one for one in suits if one.slots]
    assert list(read(availability(3, []))) == []
    assert list(read(movable(offer, Company(2, (1, 4))))) == [Company(2, (1, 4)), *offer]
    assert list(read(choice(4, MoveRequest(2, 4, 9)))) == [Settled(4), MoveRequest(2, 4, 9)]
    assert list(read(question(MoveQuestion(2, 4)))) == [MoveQuestion(2, 4)]


def test_no_price_is_told() -> None:
    """Below 5 is easy, below 50 awkward, and the number itself is never said."""
    assert [degree(price) for price in (1, 4, 5, 49, 50, 300)] == [EASY, EASY, AWKWARD, AWKWARD, HARD, HARD]

    game = played(board([[77, 33, 0], [0, 22, 66]]), PlannerSeat)

    assert said(game)[0] == "For M1 I am free at 2; 1 would be awkward for me; 0 would be hard for me."
    assert not any(number in text for text in said(game) for number in ("77", "33", "22", "66"))


def test_silence_takes_its_lowest_free_slot() -> None:
    """Slot 1 for the first and 2 for the second, who do not meet; with nothing free, the lowest that can be made free."""
    game = played(board([[5, 0, 0], [5, 5, 0]]), SilentSeat)

    assert (game.resolutions[0]["slots"], said(game)) == ({"0": 1, "1": 2}, [])
    assert played(board([[1, 0], [1, 0]]), SilentSeat).resolutions[0]["label"] == "SUCCESS"
    full = played(board([[None, 7, 0], [None, 7, 0]], [(0, 1), (0, 1)]), SilentSeat)
    # after round 1 slot 2 is taken by M1: no free slot is left that the errand of slot 1 could go to
    assert [one["slots"] for one in full.resolutions] == [{"0": 2, "1": 2}, {"0": None, "1": None}]


def test_greedy_takes_the_lowest_slot_that_is_free_for_all() -> None:
    """Slot 2 is free for all, and 1 is not; four messages tell, two say the choice: (2 + 2 + 2) + 2."""
    game = played(board([[0, 5, 0, 0], [5, 0, 0, 0], [0, 0, 0, 5]]), GreedySeat)

    assert game.resolutions[0]["slots"] == {"0": 2, "1": 2, "2": 2}
    assert said(game)[0] == "For M1 I am free at 0, 2 and 3; I could make 1."
    assert (said(game)[-1], len(said(game)), game.game.state.spent) == ("Let us take 2.", 8, [0, 0, 0])


def test_greedy_takes_any_slot_rather_than_none() -> None:
    """No slot is free for both, so the lowest that both can use: 0, at the price of 100 where 1 would cost 1."""
    game = played(board([[0, 0, None, 0], [100, 1, 0, None]]), GreedySeat)

    assert (game.resolutions[0]["slots"], game.game.state.spent) == ({"0": 0, "1": 0}, [0, 100])


def test_the_planner_takes_the_least_inconvenience() -> None:
    """On the same board it takes slot 1, which is easy; of equal sums the lower slot wins."""
    game = played(board([[0, 0, None, 0], [100, 1, 0, None]]), PlannerSeat)
    assert (game.resolutions[0]["slots"], game.game.state.spent) == ({"0": 1, "1": 1}, [0, 1])

    even = played(board([[1, 0, 0], [10, 100, 0], [0, 0, None]]), PlannerSeat)
    # slot 0: 1 + 2 + 0 = 3, slot 1: 0 + 3 + 0 = 3, slot 2 is blocked: equal sums, so the lower slot
    assert even.resolutions[0]["slots"] == {"0": 0, "1": 0, "2": 0}


@pytest.mark.parametrize("make", [GreedySeat, PlannerSeat])
@pytest.mark.parametrize("speakers", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
@pytest.mark.parametrize("cap", [1, 2, 15])
def test_all_come_to_one_slot_whoever_speaks_first(make: Make, speakers: tuple[int, ...], cap: int) -> None:
    """Also where a single turn each is all the talk there is: everybody has told everybody."""
    scenario = board([[0, 5, 1, 0, None], [5, 0, 1, 0, None], [1, 1, 5, None, 0]])
    meeting = scenario.meetings[0].model_copy(update={"speakers": speakers})
    game = played(scenario.model_copy(update={"meetings": (meeting,)}), make, Settings(turn_cap=cap))

    assert game.resolutions[0]["label"] == "SUCCESS"


def move_pays() -> Scenario:
    """M1 of 0 and 2 goes to slot 0; then 0 and 1 can meet at slot 0 alone, unless a 100 is paid twice at slot 1.

    Agent 0: slot 0 free at first, 1 hard, 2 free; agent 1: slot 0 free, 1 hard, the rest blocked but 3; agent 2: 0 and 2 free.
    """
    rows: list[Costs] = [[0, 100, 0, None], [0, 100, None, 0], [0, None, 0, None]]
    return board(rows, [(0, 2), (0, 1)])


def test_an_earlier_meeting_moves_where_that_pays() -> None:
    """0 asks 2, who takes no part, and M1 goes from 0 to 2 at 1 + 1, where slot 1 would be hard twice (3 + 3)."""
    game = played(move_pays(), PlannerSeat)

    assert [one["label"] for one in game.resolutions] == ["SUCCESS", "SUCCESS"]
    assert game.resolutions[1]["standing"] == {"1": 2, "2": 0}
    assert game.game.state.spent == [1, 0, 1]
    assert "Where could you move M1 from 0?" in said(game)
    assert "M1 is with 0. Moving M1 from 0 to 2 would be easy for me." in said(game)
    assert said(game)[-1] == "Let us take 0. Please move M1 from 0 to 2."


def test_a_meeting_stays_where_nobody_answers_for_it() -> None:
    """With only the meeting's own chat nobody outside can be asked, so the dear slot is taken: 100 each."""
    game = played(move_pays(), PlannerSeat, Settings(channels=frozenset({"participants"})))

    assert game.resolutions[1]["standing"] == {"1": 0, "2": 1}
    assert game.game.state.spent == [100, 100, 0]


def test_nobody_moves_what_it_had_not_offered() -> None:
    """A stranger's bare request moves nothing, in whatever words."""
    scenario = move_pays()
    asker = {"type": "dm", "to": 2, "content": "Please move M1 from 0 to 2."}
    seats: dict[int, Reply] = {number: sat(scenario, TEXT, number, PlannerSeat).reply for number in scenario.agents}
    honest = seats[0]

    def pushy(turn: OpenTurn) -> str:
        reply = honest(turn)
        return json.dumps({"actions": [asker]}) if turn.round > 1 and turn.phase == "CHEAP_TALK" else reply

    game = Played(scenario, TEXT, {**seats, 0: pushy})

    assert game.of("message")[-1].data["content"] == asker["content"]
    assert all(note.data["moves"] == [] for note in game.of("committed") if note.seat == 2)


@pytest.mark.parametrize("make", [SilentSeat, GreedySeat, PlannerSeat])
def test_a_longer_meeting(make: Make) -> None:
    """Two slots in a row are one choice, named by the first."""
    game = played(board([[0, 5, 0, 0, 0], [0, 5, 0, 0, 5]], duration=2), make)

    assert game.resolutions[0]["slots"] == {"0": 2, "1": 2}


def test_a_cap_that_leaves_no_message_is_kept() -> None:
    """One message each reaches one of two others, so nobody is told anything, and no guess costs anything."""
    game = played(board([[0, 9, 9], [9, 0, 9], [9, 9, 0]]), GreedySeat, Settings(message_cap=1))

    assert (said(game), game.of("invalid_tool_call"), game.game.state.spent) == ([], [], [0, 0, 0])


def liar(number: int, chance: random.Random) -> Reply:
    """Says sentences of the grammar with numbers at random, to everybody, and takes any slot."""

    def some(most: int) -> tuple[int, ...]:
        return tuple(chance.randrange(most) for _ in range(chance.randint(1, 4)))

    def sentence() -> str:
        meeting, source, target = chance.randint(1, 6), chance.randrange(20), chance.randrange(20)
        word = chance.choice((FREE, EASY, COULD, AWKWARD, HARD))
        move = Movable(meeting, source, some(20), chance.choice((EASY, HARD)))
        return chance.choice(
            (
                availability(meeting, [Suits(some(20), word)]),
                movable([move], Company(meeting, some(9))),
                choice(target, MoveRequest(meeting, source, target)),
                question(MoveQuestion(meeting, source)),
            )
        )

    def reply(turn: OpenTurn) -> str:
        if turn.phase != "CHEAP_TALK":
            meeting = int(turn.text.partition("Meeting M")[2].partition(",")[0] or 1)
            return json.dumps({"actions": [{"type": "schedule", "meeting_id": meeting, "slot": chance.randrange(16)}]})
        text = " ".join(sentence() for _ in range(4))
        return json.dumps({"actions": [{"type": "dm", "to": to, "content": text} for to in range(5) if to != number]})

    return reply


@pytest.mark.parametrize("seed", range(6))
def test_lies_confuse_nobody(seed: int) -> None:
    """Beside two seats that say anything, the others play on to the end, and do nothing that the rules forbid."""
    scenario = read_scenario(next(t for t in SHIPPED if t.task_id == "varied-07").world_folder / "scenario.json")
    chance = random.Random(seed)
    seats: dict[int, Reply] = {number: sat(scenario, TEXT, number, PlannerSeat).reply for number in scenario.agents}
    liars = {number: liar(number, chance) for number in chance.sample(range(5), 2)}
    game = Played(scenario, Settings(turn_cap=4), {**seats, **liars})

    assert len(game.resolutions) == 5
    assert {note.seat for note in game.of("invalid_tool_call")} <= set(liars)
    refused = [why for note in game.of("batch_rejected") if note.seat not in liars for why, _ in note.data["conflicts"]]
    assert set(refused) <= {"no_schedule"}


@pytest.mark.property
@pytest.mark.parametrize("name", sorted(BASELINES))
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_playable_on_every_calendar(name: str, profile: str) -> None:
    """All are played to their end without an action that the rules forbid; of the 90, those who talk schedule all."""
    outcomes: Counter[str] = Counter()
    for task in SHIPPED:
        if task.family == "calendar":
            scenario = read_scenario(task.world_folder / "scenario.json")
            game = played(scenario, BASELINES[name], Settings.from_options(resolved(profile)))
            assert game.of("invalid_tool_call") == []
            outcomes.update(str(one["label"]) for one in game.resolutions if not scenario.prior)

    assert outcomes["SUCCESS"] == outcomes.total() if name != "silent" else outcomes["SUCCESS"] < outcomes.total() / 10


def resolved(profile: str, **chosen: Any) -> dict[str, Any]:
    """The options of a world, all as the profile has them but those chosen."""
    usual = dict.fromkeys(PROFILES[profile], "profile")
    plain = {"channels": "dm", "message_cap": 0, "decision_retries": 3, "strict_replies": False}
    return {"profile": profile, **usual, **plain, **chosen}


@pytest.mark.parametrize("channels", ["dm", "participants", "all", "dm+participants+all"])
@pytest.mark.parametrize("cap", [0, 3])
@pytest.mark.parametrize("name", sorted(BASELINES))
def test_channels_and_caps_are_kept(channels: str, cap: int, name: str) -> None:
    """Nothing is sent on a closed channel, and nothing beyond the cap: the world drops no action."""
    scenario = read_scenario(next(t for t in SHIPPED if t.task_id == "varied-07").world_folder / "scenario.json")
    game = played(scenario, BASELINES[name], Settings.from_options(resolved("text", channels=channels, message_cap=cap)))

    assert game.of("invalid_tool_call") == []
    assert len(game.resolutions) == len(scenario.meetings)


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_beside_protocols_nobody_stumbles(protocol: str) -> None:
    """Sentences are no messages of a protocol and JSON is no sentence: the game ends, in the same way each time."""
    scenario = read_scenario(next(t for t in SHIPPED if t.task_id == "varied-07").world_folder / "scenario.json")

    def mixed() -> Played:
        seats: dict[int, Reply] = {
            number: sat(scenario, TEXT, number, make).reply
            for number, make in enumerate((PlannerSeat, GreedySeat, PlannerSeat, SilentSeat))
        }
        seats[4] = PROTOCOLS[protocol](Seat(4, 5, scenario.slots)).reply
        return Played(scenario, TEXT, seats)

    first, again = mixed(), mixed()
    assert len(first.resolutions) == 5
    assert [note.data for note in first.notes] == [note.data for note in again.notes]
