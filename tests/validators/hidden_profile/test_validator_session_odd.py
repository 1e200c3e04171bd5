"""Sessions in which seats do what nobody expects are sound as the world wrote them, and lies where told otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.parley.families.hidden_profile.test_decks import MECHANISMS, TASKS
from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.hidden_profile.film import ATTIC, BEACH, DOCUMENT, WEDDING
from tests.worlds.hidden_profile.sessions import ballot, episode, folder_of, held, message, notes, opened, run, scripted
from validators.episode import Episode
from validators.hidden_profile import assess
from validators.hidden_profile.replay import find_lies
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.scenario import Scenario

Rows = list[dict[str, Any]]

VOTES = {"PRE_VOTE": [BEACH] * 3, "POST_VOTE": [BEACH] * 3}
LABEL = "The attic " + "very " * 45 + "far up"
SHORT = Scenario.model_validate(
    DOCUMENT
    | {
        "options": [one | {"label": LABEL} if one["id"] == ATTIC else one for one in DOCUMENT["options"]],
        "facts": [
            one | {"text": {"u1": "Attic is wet", "u4": "Beach is ok"}.get(one["id"], one["text"])} for one in DOCUMENT["facts"]
        ],
    }
)
"""Two facts of 12 and of 11 characters, both of one hand, and an option with a label longer than what a note keeps."""


def mended(reply: str) -> str:
    """The reply with a comma too many."""
    return reply[:-1] + ",}"


def without(folder: Path, fact: str) -> int:
    """A seat that does not hold a fact in sessions of seed 0."""
    hands = notes(opened(folder), "session_start")[0].data["hands"]
    return next(seat for seat, hand in enumerate(hands) if fact not in hand)


def test_a_seats_own_guess_may_stand_in_its_texts(tmp_path: Path) -> None:
    """Who is asked again is quoted, and who is reminded of a vote too: a guess that hits a fact is then no leak."""
    folder = folder_of(tmp_path, SHORT)
    guesser = without(folder, "u1")

    def seat(turn: OpenTurn) -> str:
        if turn.phase != "PRE_VOTE" or turn.seat != guesser:
            return "So." if turn.phase == "DISCUSSION" else ballot(BEACH)
        return ballot("Attic\nis wet") if turn.attempt == 1 else mended(ballot(BEACH, "Attic\tis wet"))

    told = episode(folder, seat, remind_pre_vote=True)

    assert find_lies(told) == []
    assert any("Attic" in event.text for event in told.events if event.type == "turn" and event.phase == "DISCUSSION")


def test_only_words_too_short_to_tell_may_stand_anywhere(tmp_path: Path) -> None:
    """A fact of twelve characters is a leak, one of eleven may stand in any text by chance."""
    folder = folder_of(tmp_path, SHORT)
    reader = without(folder, "u1")

    def show(rows: Rows) -> None:
        next(row for row in rows if row["type"] == "turn" and row["seat"] == reader)["text"] += "Attic is wet. Beach is ok."

    found = find_lies(retold(held(folder, scripted(VOTES)).log.dump(), show))

    assert [("u1" in lie, "u4" in lie) for lie in found] == [(True, False)]


@pytest.mark.parametrize(
    "reply", ["x" * 200, "x" * 201, ballot("y" * 250), mended(ballot("z" * 250)), LABEL, mended(ballot(LABEL))]
)
def test_long_votes_are_sound(reply: str, tmp_path: Path) -> None:
    """What a note keeps of a vote, in prose, whole or mended, is two hundred characters, and an option named in full counts."""
    assert find_lies(episode(folder_of(tmp_path, SHORT), lambda turn: "So." if turn.phase == "DISCUSSION" else reply)) == []


@pytest.mark.parametrize(
    "options",
    [
        {"vote_view": "last_round"},
        {"reveal_all": True, "vote_view": "last_round", "rounds": 0},
        {"reveal_all": True, "heard": "all"},
        {"reveal_all": True, "condition": "shared_only"},
    ],
)
def test_every_protocol_is_sound(options: dict[str, Any], tmp_path: Path) -> None:
    """What the last vote repeats and what is read out is the world's to say by its options, and the validator's to know."""
    assert find_lies(episode(folder_of(tmp_path), scripted(VOTES, lambda turn: f"{turn.round} {turn.seat}"), **options)) == []


def test_long_handles_are_cut(tmp_path: Path) -> None:
    """A note keeps forty characters of a handle that a seat does not know, and each is counted, mended or not."""

    def talk(turn: OpenTurn) -> str:
        said = message("So.", ["F1", "?" * 60, "F99"])
        return mended(said) if turn.seat == 1 else said

    told = episode(folder_of(tmp_path), scripted(VOTES, talk), track="structured", rounds=1)

    assert find_lies(told) == []
    assert assess(told).metrics["bad_handles"] == 6


def test_a_vote_may_be_stopped_while_one_is_mended(tmp_path: Path) -> None:
    """Where all have answered and one of them was asked again, what the world made of it is not known, and nothing is a lie."""
    world = opened(folder_of(tmp_path))
    run(
        world, lambda turn: mended(ballot("cellar")) if turn.seat == 0 else ballot(BEACH), 3,
        pick=lambda turns: min(turns, key=lambda turn: turn.attempt),
    )  # fmt: skip

    assert find_lies(episode_of(world.log.dump())) == []


def turns_of(rows: Rows, seat: int) -> Rows:
    """A seat's turns of the first vote."""
    return [row for row in rows if row["type"] == "turn" and (row["phase"], row["seat"]) == ("PRE_VOTE", seat)]


def vote_of(rows: Rows, seat: int) -> dict[str, Any]:
    """The note of a seat's first vote."""
    found: dict[str, Any] = next(row for row in rows if row.get("what") == "vote" and row["seat"] == seat)["data"]
    return found


def one_more(seat: int) -> Callable[[Rows], None]:
    """A seat was asked once more than it was, and the note of its vote knows."""

    def change(rows: Rows) -> None:
        last = turns_of(rows, seat)[-1]
        attempt = last["attempt"] + 1
        rows.insert(rows.index(last) + 1, {**last, "attempt": attempt, "turn": f"1-{seat}-{attempt}"})
        vote_of(rows, seat)["attempts"] = attempt

    return change


def one_less(rows: Rows) -> None:
    """Seat 1 was never asked again, and the note of its vote knows."""
    rows.remove(turns_of(rows, 1)[1])
    vote_of(rows, 1)["attempts"] = 1


def cut(rows: Rows) -> None:
    """The log ends with the second try of seat 0."""
    del rows[rows.index(turns_of(rows, 0)[1]) + 1 :]


def other_vote(seat: int) -> Callable[[Rows], None]:
    """The note of a vote tells of another one."""
    return lambda rows: vote_of(rows, seat).update(option=WEDDING, given=WEDDING)


def twice(rows: Rows) -> None:
    """What was said stands two times in a text of the last vote."""
    said = "Person 1: I see.\nPerson 2: I see.\nPerson 3: I see.\n"
    row = next(row for row in rows if row["type"] == "turn" and said in row["text"])
    row["text"] = row["text"].replace(said, said + said)


def start(**data: Any) -> Callable[[Rows], None]:
    """Other data in the first note; a value of None takes it away."""

    def change(rows: Rows) -> None:
        first = next(row for row in rows if row.get("what") == "session_start")
        first["data"] = {name: value for name, value in {**first["data"], **data}.items() if value is not None}

    return change


def short_hand(rows: Rows) -> None:
    """Seat 0 was dealt a fact less."""
    next(row for row in rows if row.get("what") == "session_start")["data"]["hands"][0].pop()


def seated(rows: Rows) -> None:
    """The first note is one seat's."""
    next(row for row in rows if row.get("what") == "session_start")["seat"] = 1


def other_options(rows: Rows) -> None:
    """A prompt lists the options by other names."""
    session = next(row for row in rows if row["type"] == "session")
    session["seats"][0] = session["seats"][0].replace(f"[{BEACH}]", f"[{ATTIC}]")


def option(**options: Any) -> Callable[[Rows], None]:
    """Other options of the world."""
    return lambda rows: rows[0]["options"].update(options)


def seat(turn: OpenTurn) -> str:
    """Seat 0 votes for nothing that there is, seat 1 too and needs mending, seat 2 votes in prose."""
    if turn.phase == "DISCUSSION":
        return "I see."
    return (ballot("cellar"), mended(ballot("cellar")), BEACH)[turn.seat]


@pytest.mark.parametrize(
    ("change", "lie"),
    [
        (one_more(0), "PRE_VOTE is not over, and attempt 3 of seat 0"),
        (one_more(2), "seat 2 was asked again after a vote that stands"),
        (one_less, "the vote of seat 1 names no option, and it was not asked again"),
        (other_vote(2), "vote.given is 'wedding'"),
        (cut, "ends in PRE_VOTE, and nobody stopped"),
        (twice, "somebody is named who did not say this"),
        (seated, "the first note must be session_start"),
        (short_hand, "no deal of the condition hidden"),
        (start(options=[BEACH, WEDDING, ATTIC, ATTIC]), "options the scenario's"),
        (start(options=[[BEACH], WEDDING, ATTIC]), "options the scenario's"),
        (start(deal={"kind": "hidden", "versions": "x"}), "is no mixed deal"),
        (other_options, "the options are not listed as they were dealt"),
        (option(stakes=False), "no settings: stakes"),
        (option(horizon="else"), "no settings: horizon"),
    ],
)  # fmt: skip
def test_what_no_odd_session_has_is_a_lie(change: Callable[[Rows], None], lie: str, tmp_path: Path) -> None:
    """The first lie names what is wrong: tries, votes, texts, deals and options that the world could not have had."""
    log = held(folder_of(tmp_path), seat, rounds=1).log.dump()
    found = find_lies(retold(log, change))

    assert find_lies(episode_of(log)) == []
    assert lie in found[0], found


def other_words(rows: Rows) -> None:
    """The third try of seat 1 is told why the second was not read."""
    turns_of(rows, 1)[2]["text"] += "Once more."


@pytest.mark.parametrize(
    ("change", "lie"),
    [
        (lambda rows: None, None),
        (one_more(0), "attempt 21 of seat 0"),
        (one_more(2), "seat 2 was asked again after a vote that stands"),
        (other_words, "seat 1 was asked again in other words"),
        (lambda rows: [rows.remove(turn) for turn in turns_of(rows, 0)[5:]], "seat 0"),
        (option(revote="once"), "must not only measure"),
    ],
)
def test_votes_repeated_in_the_same_words(change: Callable[[Rows], None], lie: str | None, tmp_path: Path) -> None:
    """Twenty tries of a seat that never votes are sound; more, fewer, other ones, or one after a sound vote are lies."""
    tries = {0: 99, 1: 4, 2: 1}

    def seat(turn: OpenTurn) -> str:
        return "I see." if turn.phase == "DISCUSSION" else ballot(BEACH if turn.attempt >= tries[turn.seat] else "cellar")

    found = find_lies(retold(held(folder_of(tmp_path), seat, rounds=1, revote="same").log.dump(), change))

    assert any(lie in one for one in found) if lie else not found, found


def test_a_log_without_notes_is_no_session(tmp_path: Path) -> None:
    """The shortest log there is, one first event, does not say what was held."""
    first = Episode(opened(folder_of(tmp_path)).log.events[:1])

    assert find_lies(first) == ["the first note must be session_start"]


def test_a_label_too_long_for_a_note_is_an_option_all_the_same(tmp_path: Path) -> None:
    """Of a mended vote for it the note must still name an option that there is."""
    log = held(
        folder_of(tmp_path, SHORT), lambda turn: "So." if turn.phase == "DISCUSSION" else mended(ballot(LABEL))
    ).log.dump()

    assert [json.loads(line)["data"]["option"] for line in log.splitlines() if b'"vote"' in line][:3] == [ATTIC] * 3
    assert "vote.option" in find_lies(retold(log, lambda rows: vote_of(rows, 0).update(option="cellar")))[0]


@pytest.mark.parametrize(
    "change",
    [
        start(deal=None),
        start(deal=7),
        start(deal={"kind": "manifest", "versions": "x"}),
        start(deal={"kind": "hidden", "versions": 7}),
        start(deal={"kind": "hidden", "versions": "x", "more": 1}),
        option(deal="manifest"),
    ],
)
def test_a_deal_of_a_deck_is_told_as_it_is(change: Callable[[Rows], None]) -> None:
    """Seed 0 has a hidden deal, with a word for its versions; anything else is no session."""
    log = opened(TASKS / next(iter(MECHANISMS)) / "environment/api").log.dump()

    assert find_lies(episode_of(log)) == []
    assert [("deal" in lie, "decoy" in lie) for lie in find_lies(retold(log, change))] == [(True, True)]


def test_a_verdict_of_a_session_tells_the_virtual_time(tmp_path: Path) -> None:
    """In seconds, from the start to the last event."""
    told = episode(folder_of(tmp_path), scripted(VOTES))

    assert told.events[-1].vt > 0
    assert assess(told).virtual_time_elapsed == told.events[-1].vt / 1000
