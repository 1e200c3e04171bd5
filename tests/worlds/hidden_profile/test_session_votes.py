"""Votes: how they are read, asked for again once, kept from everybody else, and staged so that nobody's speed shows."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.hidden_profile.film import SCENARIO
from tests.worlds.hidden_profile.sessions import (
    FORFEIT,
    ballot,
    folder_of,
    held,
    held_over_http,
    hostile,
    notes,
    opened,
    run,
    texts,
)
from validators.hidden_profile.replay import find_lies
from worlds.core.events import Turned
from worlds.core.mending import mend
from worlds.core.turns import Answer, OpenTurn
from worlds.hidden_profile.rules.ballot import find_option, read_ballot
from worlds.hidden_profile.rules.scenario import Scenario

PREFIX = Scenario.model_validate(
    SCENARIO.model_dump(by_alias=True)
    | {
        "options": [
            {"id": "beach", "label": "Film"},
            {"id": "wedding", "label": "Film (the wedding\u2019s)"},
            {"id": "attic", "label": "[A] The attic: box 2"},
        ]
    }
)
"""Labels that are hard to tell apart: one begins another, and they have brackets, colons and curly apostrophes."""


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        (ballot("attic"), "attic"),
        (ballot("The attic roll"), "attic"),
        (ballot("  the ATTIC roll. "), "attic"),
        (ballot("[attic] The attic roll"), "attic"),
        ("attic", "attic"),
        ("The attic roll", "attic"),
        ('"attic"', "attic"),
        (f"Well:\n```json\n{ballot('attic')}\n```", "attic"),
        (ballot("attic")[:-1] + ",}", "attic"),
        (ballot("**The attic roll**"), "attic"),
        (ballot("attic: The attic roll"), "attic"),
        (ballot("The attic roll (attic)"), "attic"),
        ("(attic)", "attic"),
        ('{"VOTE": "attic", "Rationale": "so"}', "attic"),
        (f"<think>The {{beach}}, perhaps?</think>\n{ballot('attic')}", "attic"),
        (f"<think>{ballot('beach')}? No.</think>\n{ballot('attic')}", "attic"),
        (f"<think>{ballot('beach')}</think>\n```json\n{ballot('attic')}\n```", "attic"),
        ("<thinking>Not the {beach}.</thinking>\n**The attic roll**", "attic"),
        (f"{ballot('attic')}\nOnce more: {ballot('The attic roll')}", "attic"),
        (f"{ballot('beach')}\nNo: {ballot('attic')}", None),
        (f"```json\n{ballot('attic')}\n```\n```json\n{ballot('beach')}\n```", None),
        ('{"vote": "attic", "VOTE": "beach"}', None),
        ('{"vote": "attic", "vote": "beach"}', None),
        ('{"vote": "attic", "vote": "The attic roll"}', "attic"),
        (f"{ballot('attic')} or rather {{'vote': 'beach'}}", None),
        ("{'vote': 'attic'} {'vote': 'beach'}", None),
        ('{vote: attic} {"vote": "attic"}', None),
        (ballot("attic", 'Somebody said {"vote": "beach"}.'), "attic"),
        (ballot("the attic"), None),
        (ballot("attic or beach"), None),
        (ballot("none"), None),
        (ballot(""), None),
        ('{"vote": ["attic"]}', None),
        ('{"vote": null}', None),
        ('{"choice": "attic"}', None),
        ('["attic"]', "attic"),
        ("I vote for the attic roll", "attic"),
        ("I vote for The attic roll.", "attic"),
        ("They make a case for the beach. So I will vote for **the attic roll**, because it is dry.", "attic"),
        ("My final vote: attic", "attic"),
        ("After all that.\n\nVote: The attic roll\nRationale: it is dry", "attic"),
        ("<vote>attic</vote>", "attic"),
        ("Hence \\boxed{attic}", "attic"),
        ("Hence \\boxed{\\text{The attic roll}}.", "attic"),
        ('{"final_vote": "attic"}', "attic"),
        (f"[{ballot('attic')}]", "attic"),
        (f'{{"answer": {ballot("attic")}}}', "attic"),
        (f'{ballot("attic")}\n{{"confidence": 1}}', "attic"),
        (f'The options are [attic] and [beach].\n{ballot("attic")}', "attic"),
        (f"<reasoning>Vote: beach</reasoning>{ballot('attic')}", "attic"),
        (f"<think>Vote: beach, or {ballot('beach')}\n{ballot('attic')}", None),
        (f"<think>Vote: beach.\n{ballot('attic')}", "attic"),
        ("Vote: beach\nVote: attic", None),
        (f"Vote: beach\n{ballot('attic')}", None),
        ("I vote for the beach roll. No, I vote for the attic roll.", None),
        ('{"vote": "attic", "final_vote": "beach"}', None),
        ("1. **Vote:** attic", "attic"),
        ("Final answer: The attic roll", "attic"),
        ("Therefore, my vote is for the attic roll, not the beach roll.", "attic"),
        ("<answer>attic</answer>", "attic"),
        ("The answer is $\\boxed{\\mathbf{attic}}$.", "attic"),
        ("I'd go with the attic roll over the beach roll.", "attic"),
        ("Given what Person 2 said, I vote for the attic roll.", "attic"),
        ("My vote:\nThe attic roll", "attic"),
        ("I would not vote for the attic roll.", None),
        ("I vote for anything but the attic roll.", None),
        ("I would not vote for:\nThe attic roll", None),
        ("These are excluded:\nThe attic roll", None),
        ("The attic roll\nis excluded.", None),
        ("The attic roll\nor\nThe beach roll", None),
        ("The attic roll?", None),
        ("Vote: attic, beach", None),
        ("Vote: attic (or beach)", None),
        ("Vote: attic? No.", None),
        ("I vote for attic. No, beach.", None),
        ("I vote for the attic roll if it is dry.", None),
        ("If it is dry, I vote for the attic roll.", None),
        ("I pick attic as the one to exclude.", None),
        ("Person 2 says: I vote for the attic roll.", None),
        ('Person 2 said "It is dry. I vote for the attic roll."', None),
        ("\\boxed{attic, beach}", None),
        ("<vote>attic</vote>\nI vote for the beach roll.", None),
        (f"{ballot('attic')}\nI vote for the beach roll.", None),
        ("attic " * 60, None),
        ("", None),
        ("[" * 5000, None),
    ],
)  # fmt: skip
def test_vote_is_an_id_or_a_label_and_nothing_else(reply: str, option: str | None) -> None:
    """Folding forgives case, blanks, a full stop and broken JSON; a guess at what was meant is never made."""
    assert read_ballot(SCENARIO, reply, mend).option == option


def test_long_reply_is_read_in_time() -> None:
    """Thousands of votes on one line take less than ten seconds; each was compared with the whole rest of the line."""
    began = time.monotonic()

    assert read_ballot(SCENARIO, ". I vote for attic" * 10_000, mend).option == "attic"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("scenario", [SCENARIO, PREFIX])
def test_every_label_is_a_vote_for_its_own_option(scenario: Scenario) -> None:
    """Ids, labels, and both as they are shown come back to their option, with curly apostrophes or straight ones."""
    for choice in scenario.options:
        for text in (choice.id, choice.label, f"[{choice.id}] {choice.label}", choice.label.replace("\u2019", "'").upper()):
            assert find_option(scenario, text) == choice.id


def test_invalid_vote_is_asked_for_once_more(tmp_path: Path) -> None:
    """A second answer counts, whatever it is; a third is never asked for; a good one is not asked for again."""
    answers = {0: ["attic"], 1: ["cellar", "beach"], 2: ["cellar", "loft"]}

    def seat(turn: OpenTurn) -> str:
        return ballot(answers[turn.seat][turn.attempt - 1]) if turn.phase != "DISCUSSION" else "Hm."

    world = held(folder_of(tmp_path), seat)
    last = [note.data for note in notes(world, "vote")][-3:]

    assert [(one["option"], one["attempts"], one["given"]) for one in last] == [
        ("attic", 1, "attic"), ("beach", 2, "beach"), (None, 2, "loft"),
    ]  # fmt: skip
    assert sum('"cellar" is none of the options' in text for text in texts(world, "POST_VOTE")) == 2


def test_vote_can_be_asked_for_in_the_same_words_until_it_is_read(tmp_path: Path) -> None:
    """As in the released code each try starts afresh: the question is the same, and no vote stays in a conversation."""
    tries = {0: 1, 1: 5, 2: 99}

    def seat(turn: OpenTurn) -> str:
        voted = turn.attempt >= tries[turn.seat]
        return "Hm." if turn.phase == "DISCUSSION" else ballot("attic" if voted else "cellar")

    world = held(folder_of(tmp_path), seat, revote="same")
    rows = [note.data for note in notes(world, "vote")]

    assert [(row["option"], row["attempts"]) for row in rows] == [("attic", 1), ("attic", 5), (None, 20)] * 2
    assert [len(set(texts(world, "POST_VOTE", seat))) for seat in range(3)] == [1, 1, 1]
    assert {e.ephemeral for e in world.log.events if isinstance(e, Turned) and e.phase == "POST_VOTE"} == {True}


def test_forfeited_vote_is_missing_and_not_asked_again(tmp_path: Path) -> None:
    """A seat that gives no reply has no vote, with the cause noted."""
    world = held(folder_of(tmp_path), lambda turn: FORFEIT if turn.seat == 1 else "attic")
    rows = [note.data for note in notes(world, "vote") if note.seat == 1]

    assert [(row["option"], row["attempts"], row["no_reply"]) for row in rows] == [(None, 1, "timeout")] * 2


def test_votes_are_shown_to_nobody(tmp_path: Path) -> None:
    """No text that is delivered holds a word of anybody's vote, not even the voter's own."""
    world = held(folder_of(tmp_path), lambda turn: ballot("attic", f"because-{turn.seat}") if "VOTE" in turn.phase else "Hm.")

    assert not any("because-" in text for phase in ("DISCUSSION", "POST_VOTE") for text in texts(world, phase))


def test_first_vote_is_recalled_to_its_voter_in_round_one_only(tmp_path: Path) -> None:
    """With remind_pre_vote each seat reads its own option and reason before it first speaks, and nobody else's."""

    def seat(turn: OpenTurn) -> str:
        if turn.phase == "DISCUSSION":
            return "Hm."
        return ballot(SCENARIO.option_ids[turn.seat], f"because-{turn.seat}") if turn.seat < 2 else "no idea"

    world = held(folder_of(tmp_path), seat, remind_pre_vote=True)
    first, second = [texts(world, "DISCUSSION")[start : start + 3] for start in (0, 3)]

    assert "Your own first vote: The beach roll. because-0" in first[0]
    assert first[0].startswith("Your own first vote:")
    assert [sum(f"because-{seat}" in text for text in first) for seat in range(3)] == [1, 1, 0]
    assert not any("first vote" in text for text in [first[2], *second])


@pytest.mark.parametrize("seed", range(6))
def test_arrival_order_of_votes_leaves_no_trace(seed: int, tmp_path: Path) -> None:
    """Answers to a barrier in any order, retries and forfeits among them, give the same log byte for byte."""
    folder = folder_of(tmp_path)
    draw = random.Random(seed)
    said: dict[str, str] = {}
    sounding = hostile(random.Random(seed))

    def seat(turn: OpenTurn) -> str:
        return said[turn.id]

    world = opened(folder)
    # the first run settles what each turn's reply is; the others repeat it in other orders
    run(world, lambda turn: said.setdefault(turn.id, sounding(turn)))
    for _ in range(5):
        again = opened(folder)
        run(again, seat, pick=draw.choice)
        assert again.log.dump() == world.log.dump()


@pytest.mark.parametrize("track", ["free", "structured"])
def test_session_over_http_leaves_the_same_log(track: str, tmp_path: Path) -> None:
    """The routes add nothing and lose nothing: hostile replies and forfeits included."""
    folder = folder_of(tmp_path)
    said: dict[str, str] = {}
    sounding = hostile(random.Random(1))
    direct = held(folder, lambda turn: said.setdefault(turn.id, sounding(turn)), track=track)

    assert held_over_http(folder, lambda turn: said[turn.id], track=track) == direct.log.dump()


def test_stale_and_repeated_answers_change_nothing(tmp_path: Path) -> None:
    """An answer to a turn that was answered, or to none, is not taken and not logged."""
    world = opened(folder_of(tmp_path))
    assert world.turns.answer("1-0-1", Answer("attic"))
    before = world.log.dump()

    assert not world.turns.answer("1-0-1", Answer("beach"))
    assert not world.turns.answer("9-0-1", Answer("beach"))
    assert world.log.dump() == before


@pytest.mark.parametrize("seed", range(10))
def test_hostile_replies_never_break_a_session(seed: int, tmp_path: Path) -> None:
    """Whatever is said, there are two votes of every seat and as many turns of talk as there should be."""
    world = held(folder_of(tmp_path), hostile(random.Random(seed)), seed=seed, track="structured", rounds=3)

    assert [len(notes(world, what)) for what in ("vote", "message", "session_end")] == [6, 9, 1]
    assert json.loads(world.log.dump().splitlines()[-1])["what"] == "session_end"


def test_seat_is_told_why_its_vote_was_not_read(tmp_path: Path) -> None:
    """Two different votes are asked for again with both of them; the validator misses the reason where it is left out."""

    def say(turn: OpenTurn) -> str:
        return f"{ballot('beach')} {ballot('attic')}" if turn.attempt == 1 and "VOTE" in turn.phase else ballot("attic")

    world = held(folder_of(tmp_path), say)
    again = [event for event in world.log.events if isinstance(event, Turned) and event.attempt == 2]

    assert len(again) == 6
    assert all("Your vote was not read: it holds two different answers, " in turn.text for turn in again)
    assert find_lies(episode_of(world.log.dump())) == []
    assert {note.data["option"] for note in notes(world, "vote")} == {"attic"}
