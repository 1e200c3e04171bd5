"""What a session's log claims is held against the replies: sound logs have no lies, and tampered ones have."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.hidden_profile.film import ATTIC, BEACH, SCENARIO
from tests.worlds.hidden_profile.sessions import (
    CHOICES,
    FORFEIT,
    ballot,
    episode,
    folder_of,
    held,
    hostile,
    message,
    notes,
    opened,
)
from validators.hidden_profile import assess
from validators.hidden_profile.claims import test_log_is_true as claim
from validators.hidden_profile.replay import find_lies
from worlds.core.errors import LogError
from worlds.core.turns import OpenTurn

Rows = list[dict[str, Any]]
ODD: tuple[Any, ...] = (None, True, -1, 7, 1.5, "", "x", [], [[1, 2], 3], {}, {"a": {"b": 1}}, 10**18)


def seat(turn: OpenTurn) -> str:
    """A session with everything in it: a retry, an invalid vote, a forfeit, mended replies, cites, bad handles, early stop."""
    if "VOTE" in turn.phase:
        if turn.seat == 0:
            return ballot("cellar" if turn.attempt == 1 or turn.phase == "PRE_VOTE" else ATTIC, "why not")
        return FORFEIT if (turn.seat, turn.phase) == (1, "POST_VOTE") else ballot(BEACH, "the pictures\nof all")[:-1] + ",}"
    if turn.seat == 2:
        return message("I can only say\nwhat I know.", ["F1", "F77", "G1"] if turn.round == 1 else [], BEACH)[:-1] + ",}"
    return message(f"From {turn.seat}.", ["F1", "F88"] if turn.round == 1 else [], BEACH)


OPTIONS: dict[str, Any] = {"track": "structured", "rounds": 4, "early_stop": True, "remind_pre_vote": True}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of that session."""
    return held(folder_of(tmp_path_factory.mktemp("task")), seat, **OPTIONS).log.dump()


def rows_of(log: bytes) -> Rows:
    """The events of a log as they stand in the file."""
    return [json.loads(line) for line in log.splitlines()]


def lies(log: bytes, change: Callable[[Rows], object]) -> list[str]:
    """What is found in a log after a change."""
    return find_lies(retold(log, change))


def test_the_session_has_every_kind_of_note(log: bytes) -> None:
    """The log that is tampered with below has no lie, and every kind of note that a session can have."""
    rows = rows_of(log)

    assert find_lies(episode_of(log)) == []
    assert {row["what"] for row in rows if row["type"] == "game"} == {
        "session_start", "vote", "message", "bad_handle", "early_stop", "session_end",
    }  # fmt: skip
    assert [row["data"]["round"] for row in rows if row.get("what") == "early_stop"] == [2]


def is_mended(rows: Rows, row: dict[str, Any]) -> bool:
    """Whether a note is about a reply that the world had to mend, so that its words are the world's to tell."""
    turns = [one for one in rows if one["type"] == "turn" and one["seq"] < row["seq"] and one["seat"] == row["seat"]]
    return bool(turns) and turns[-1]["reply"].endswith(",}")


WORDS = ("text", "rationale", "given", "handle", "stance", "cites")
"""What only the world can tell of a reply that it mended."""


def altered(seq: int, change: dict[str, Any] | str) -> Callable[[Rows], object]:
    """Give an event's data other values, or take one away."""
    if isinstance(change, str):
        return lambda rows: rows[seq]["data"].pop(change)
    return lambda rows: rows[seq]["data"].update(change)


@pytest.mark.property
def test_every_value_of_every_session_note_is_checked(log: bytes) -> None:
    """Another value in a note is found, and so is one that is missing or made up; of mended replies all but the words."""
    rows = rows_of(log)
    missed: list[tuple[int, object]] = []
    for row in rows:
        if row["type"] != "game" or row["what"] == "session_start":
            continue
        told = is_mended(rows, row)
        keys = [key for key in row["data"] if not told or key not in WORDS]
        changes: list[dict[str, Any] | str] = [{key: value} for key in keys for value in ("another", 99)]
        missed += [(row["seq"], one) for one in (*changes, *keys, {"more": 1}) if not lies(log, altered(row["seq"], one))]

    assert missed == []


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("vote", {"option": ATTIC}),
        ("vote", {"given": "cellar"}),
        ("vote", {"rationale": 7}),
        ("message", {"cites": ["unheld"]}),
        ("message", {"cites": ["n1", "n1"]}),
        ("message", {"stance": "cellar"}),
        ("message", {"text": " blanks "}),
        ("bad_handle", {"handle": "F1"}),
        ("bad_handle", {"handle": "x" * 41}),
    ],
)
def test_notes_of_mended_replies_cannot_break_the_rules(what: str, change: dict[str, Any], log: bytes) -> None:
    """What only the world can tell of a reply must still be possible: known facts, real options, an option that was named."""
    rows = rows_of(log)
    row = next(r for r in rows if r.get("what") == what and is_mended(rows, r) and r["seat"] == 2)
    if change.get("cites") == ["unheld"]:
        hand = next(r for r in rows if r.get("what") == "session_start")["data"]["hands"][2]
        change = {"cites": [next(fact.id for fact in SCENARIO.facts if fact.scope == "private" and fact.id not in hand)]}

    found = lies(log, lambda rows: rows[row["seq"]]["data"].update(change))

    assert [lie for lie in found if lie.startswith(f"seq {row['seq']}: ")], found


def test_a_fence_hides_no_vote(tmp_path: Path) -> None:
    """A ballot in a code fence is read by the validator too: a note that makes another vote of it is a lie."""
    fenced = held(
        folder_of(tmp_path), lambda turn: f"Sure!\n```json\n{ballot(BEACH)}\n```" if "VOTE" in turn.phase else "So."
    ).log.dump()

    def turned(rows: Rows) -> None:
        for row in rows:
            if row.get("what") == "vote":
                row["data"]["option"], row["data"]["given"] = ATTIC, ATTIC

    assert find_lies(episode_of(fenced)) == []
    assert len(lies(fenced, turned)) == 12


def test_every_session_event_is_needed_in_its_place(log: bytes) -> None:
    """An event that is left out, told twice or moved is found; of dropped handles in a mended reply only the notes tell."""
    rows = rows_of(log)
    told = [row["seq"] for row in rows if row["type"] in ("turn", "game", "session")]
    free = {row["seq"] for row in rows if row.get("what") == "bad_handle" and is_mended(rows, row)}

    assert [seq for seq in told if seq not in free and not lies(log, lambda rows, seq=seq: rows.pop(seq))] == []
    assert [seq for seq in told if seq not in free and not lies(log, lambda rows, seq=seq: rows.insert(seq, rows[seq]))] == []
    assert [seq for seq in told[2:] if not lies(log, lambda rows, seq=seq: rows.insert(2, rows.pop(seq)))] == []


def test_every_field_of_a_turn_is_checked(log: bytes) -> None:
    """Another seat, phase, round, attempt or name of a turn is found, and so are a reply to a forfeit and a measuring turn."""
    changes: list[dict[str, Any]] = [
        {"seat": 5}, {"phase": "TALK"}, {"round": 7}, {"attempt": 3}, {"turn": "1-1-9"},
        {"no_reply": "timeout", "reply": "{}"},
    ]  # fmt: skip
    turns = [row["seq"] for row in rows_of(log) if row["type"] == "turn"]

    for seq in turns:
        for change in changes:
            assert lies(log, lambda rows, seq=seq, change=change: rows[seq].update(change)), (seq, change)
        assert lies(log, lambda rows, seq=seq: rows[seq].update(ephemeral=not rows[seq].get("ephemeral", False))), seq


PRIVATE = {fact.id: fact.text for fact in SCENARIO.facts if fact.scope == "private"}


def leak(rows: Rows, row: dict[str, Any]) -> str:
    """The text of a private fact that the seat of a turn neither holds nor saw cited so far."""
    start = next(r for r in rows if r.get("what") == "session_start")
    cited = {fact for r in rows[: row.get("seq", 0)] if r.get("what") == "message" for fact in r["data"]["cites"]}
    return next(text for fact, text in PRIVATE.items() if fact not in cited and fact not in start["data"]["hands"][row["seat"]])


def test_leaks_into_delivered_texts_are_found(log: bytes) -> None:
    """A fact that the seat does not hold and nobody said is found in any turn's text, also when blanks are set differently."""
    rows = rows_of(log)
    for row in (row for row in rows if row["type"] == "turn"):
        for words in (leak(rows, row), leak(rows, row).replace(" ", "\n ")):

            def change(rows: Rows, row: dict[str, Any] = row, words: str = words) -> None:
                rows[row["seq"]]["text"] += words

            assert any("which the seat does not hold" in lie for lie in lies(log, change)), row["turn"]


def test_speakers_in_delivered_texts_are_checked(log: bytes) -> None:
    """A line of somebody who did not speak, another speaker's name, changed words and lost words are found."""
    turns = [row for row in rows_of(log) if row["type"] == "turn" and row["attempt"] == 1]
    spoken = [row for row in turns if "\nPerson " in row["text"]]

    for row in turns:
        assert lies(log, lambda rows, row=row: rows[row["seq"]].update(text=row["text"] + "\nPerson 2: Take the beach roll."))
    for row in spoken:
        for old, new in (("\nPerson 1: ", "\nPerson 3: "), ("From 1.", "From one."), ("From 0.", "")):
            if old in row["text"]:
                assert lies(
                    log, lambda rows, row=row, old=old, new=new: rows[row["seq"]].update(text=row["text"].replace(old, new))
                )
    assert len(spoken) > 5


def test_options_and_reminders_in_texts_are_checked(log: bytes) -> None:
    """Options in another order than dealt, and a reminder of another vote, are found."""
    rows = rows_of(log)
    votes = [row for row in rows if row["type"] == "turn" and "VOTE" in row["phase"]]
    reminded = [row for row in rows if row["type"] == "turn" and "Your own first vote" in row["text"]]

    for row in votes:
        assert lies(log, lambda rows, row=row: rows[row["seq"]].update(text=row["text"].replace(f"[{BEACH}]", f"[{ATTIC}]")))
    for row in reminded:
        assert lies(log, lambda rows, row=row: rows[row["seq"]].update(text=row["text"].replace("The beach", "The attic")))
    assert len(reminded) == 2


def test_prompts_are_checked(log: bytes) -> None:
    """A prompt with a fact too many, one too few, or another seat's is found, and so is another public part."""
    session = next(row for row in rows_of(log) if row["type"] == "session")

    def prompts(rows: Rows, change: Callable[[list[str]], object]) -> None:
        change(rows[session["seq"]]["seats"])

    def more(seats: list[str]) -> None:
        seats[0] = seats[0].replace("# The options", f"{leak(rows_of(log), {'seat': 0})}\n# The options")

    def fewer(seats: list[str]) -> None:
        seats[1] = seats[1].replace("\nF2. ", "\n")

    for change in (more, fewer, list[str].reverse, list[str].pop):
        assert lies(log, lambda rows, change=change: prompts(rows, change))
    assert lies(log, lambda rows: rows[session["seq"]]["public"].update(rounds=True))


@pytest.mark.parametrize(
    "change",
    [
        {"people": [1, 2, 2]}, {"people": [True, 2, 3]}, {"people": None}, {"hands": []}, {"hands": [[], [], []]},
        {"hands": [7, 8, 9]}, {"options": ["beach"]}, {"options": [["beach"]]}, {"scenario": {}}, {"scenario": 7}, {"more": 1},
    ],
)  # fmt: skip
def test_deal_that_cannot_be_is_no_session(change: dict[str, Any], log: bytes) -> None:
    """Where the first note cannot be true there is no session: one lie, and the label OTHER."""
    start = next(row["seq"] for row in rows_of(log) if row.get("what") == "session_start")
    tampered = retold(log, lambda rows: rows[start]["data"].update(change))

    assert len(find_lies(tampered)) == 1
    assert (assess(tampered).failure_label, assess(tampered).reward) == ("OTHER", 0.0)


@pytest.mark.parametrize(
    "change", [{"condition": "full"}, {"rounds": True}, {"track": "free"}, {"vote_view": "none"}, {"early_stop": False}]
)
def test_other_options_are_found(change: dict[str, Any], log: bytes) -> None:
    """A log that was played under other options than it says does not add up."""
    assert lies(log, lambda rows: rows[0]["options"].update(change))


def test_frame_of_a_session_is_checked(log: bytes) -> None:
    """A fault of the world, anything after the end, and a log cut short without a stop are found."""

    def ended(rows: Rows, place: int, kind: str, cause: str) -> None:
        rows.insert(place, {key: rows[-1][key] for key in ("seq", "vt", "prev", "hash")} | {"type": kind, "cause": cause})

    assert any("the world failed" in lie for lie in lies(log, lambda rows: ended(rows, len(rows), "closed", "fault")))
    assert any("follows the end" in lie for lie in lies(log, lambda rows: ended(rows, 9, "stop", "wall")))
    assert lies(log, lambda rows: ended(rows, len(rows), "stop", "wall")) == []
    with pytest.raises(AssertionError, match="session_end"):
        claim(retold(log, lambda rows: rows.pop()))


def test_no_tampering_makes_the_validator_raise(log: bytes) -> None:
    """Random values anywhere in the log are judged in any event, or refused when it is read."""
    draw = random.Random(0)
    judged = 0
    for _ in range(150):

        def change(rows: Rows) -> None:
            place: Any = rows[draw.randrange(1, len(rows))]
            while isinstance(place, dict | list) and place:
                keys = [key for key in place if key != "vt"] if isinstance(place, dict) else range(len(place))
                key = draw.choice(keys)
                if not isinstance(place[key], dict | list) or draw.random() < 0.3:
                    place[key] = draw.choice(ODD)
                    return
                place = place[key]

        try:
            tampered = retold(log, change)
        except LogError:
            continue
        judged += 1
        json.dumps(assess(tampered, {"certified": True, "scenario": SCENARIO.id}).model_dump(), allow_nan=False)
        find_lies(tampered)

    assert judged > 50


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.property
def test_hostile_sessions_have_no_lies(seed: int, tmp_path: Path) -> None:
    """Whatever seats say, under any options, stopped anywhere or not, the world's own log is true."""
    draw = random.Random(seed)
    options: dict[str, Any] = {name: draw.choice(values) for name, values in CHOICES.items()}
    options |= {"rounds": draw.randint(0, 4), "early_stop": draw.random() < 0.5, "remind_pre_vote": draw.random() < 0.5}
    stopped = draw.choice([None, None, draw.randint(0, 15)])

    assert find_lies(episode(folder_of(tmp_path), hostile(draw), stopped, seed, **options)) == []


@pytest.mark.parametrize("cites", [0, 1, 2, 3])
@pytest.mark.parametrize("stances", ["bbbbb", "baabb", "babab", "bbabb"])
def test_early_stops_are_worked_out_alike(stances: str, cites: int, tmp_path: Path) -> None:
    """World and validator agree on when nothing moves any more, whatever changes in between."""
    options = {"a": ATTIC, "b": BEACH}

    def talk(turn: OpenTurn) -> str:
        fact = [f"F{turn.round}"] if turn.seat == 1 and turn.round <= cites else []
        return message("So.", fact, options[stances[turn.round - 1]]) if turn.phase == "DISCUSSION" else ATTIC

    assert find_lies(episode(folder_of(tmp_path), talk, track="structured", rounds=5, early_stop=True)) == []


def test_session_nobody_played_is_true_and_worth_nothing(tmp_path: Path) -> None:
    """A log that ends before the first turn has no lie, and the label OTHER."""
    unplayed = episode_of(opened(folder_of(tmp_path)).log.dump())

    assert find_lies(unplayed) == []
    assert assess(unplayed).failure_detail == {"reason": "no_turns"}


def test_told_fact_may_stand_in_later_texts(tmp_path: Path) -> None:
    """Once somebody has said a fact word for word, the texts that repeat it are no leak."""
    world = opened(folder_of(tmp_path))
    start = notes(world, "session_start")[0].data
    words = {seat: next(PRIVATE[fact] for fact in hand if fact in PRIVATE) for seat, hand in enumerate(start["hands"])}

    assert find_lies(episode(folder_of(tmp_path), lambda turn: words[turn.seat] if "DISC" in turn.phase else ATTIC)) == []
