"""Structures of the talk: what each asks for, what the referee does for it, and that none changes no byte."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from oracles.hidden_profile.session import find_ceiling
from parley.families.hidden_profile.options import check
from tests.shipped import SHIPPED
from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.hidden_profile.film import ATTIC, BEACH
from tests.worlds.hidden_profile.sessions import folder_of, held, message, notes, scripted, texts
from validators.hidden_profile.replay import find_lies
from worlds.core.errors import WorldError
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.options import COLLECTED, STRUCTURES
from worlds.hidden_profile.rules.ballot import split_board
from worlds.hidden_profile.rules.deck import Deck, Draws, read_task
from worlds.hidden_profile.rules.settings import Settings
from worlds.hidden_profile.world import HiddenProfileWorld

VOTES = {"PRE_VOTE": [BEACH] * 3, "POLL": [BEACH] * 3, "POST_VOTE": [ATTIC] * 3}
DECKS = {task.task_id: task for task in SHIPPED if task.family == "hidden-profile"}


def true(world: HiddenProfileWorld) -> HiddenProfileWorld:
    """A session in which the validator finds no lie."""
    assert find_lies(episode_of(world.log.dump())) == []
    return world


def test_no_structure_is_no_option_of_the_log(tmp_path: Path) -> None:
    """The log of structure=none is that of a session without the option, byte for byte."""
    folder = folder_of(tmp_path)
    plain, named = held(folder, scripted(VOTES)), held(folder, scripted(VOTES), structure="none")

    assert plain.log.dump() == named.log.dump()
    assert b"structure" not in plain.log.dump()


@pytest.mark.parametrize("structure", list(STRUCTURES)[1:])
def test_every_seat_is_told_the_structure(structure: str, tmp_path: Path) -> None:
    """Its sentence is in the rules of every seat and in every turn of talk; the log is true."""
    world = true(held(folder_of(tmp_path), scripted(VOTES), structure=structure, rounds=2))
    sentence = STRUCTURES[structure].format(exchanging=1)

    assert all(sentence in text for text in (*world.systems(), *texts(world, "DISCUSSION")))
    assert not any(sentence in text for text in texts(world, "POST_VOTE"))


def test_information_first_takes_no_stance_in_the_first_half(tmp_path: Path) -> None:
    """For two of four rounds stances are neither asked for, nor polled, nor read; facts are asked for instead."""
    seat = scripted(VOTES, lambda turn: message("So.", ["F1"], BEACH))
    options: dict[str, Any] = {"structure": "information_first", "rounds": 4, "track": "structured", "stance_poll": True}
    world = true(held(folder_of(tmp_path), seat, **options))
    shown = texts(world, "DISCUSSION")

    assert [note.data["stance"] for note in notes(world, "message")] == [None] * 6 + [BEACH] * 6
    assert ['"stance"' in text for text in shown] == [False] * 6 + [True] * 6
    assert ["say facts, and not yet what you would choose" in text for text in shown] == [True] * 6 + [False] * 6
    assert [note.data["round"] for note in notes(world, "poll")] == [3] * 3 + [4] * 3


@pytest.mark.parametrize("track", ["free", "structured"])
def test_round_robin_ends_when_all_pass(track: str, tmp_path: Path) -> None:
    """PASS says nothing; after a round in which all passed, every turn says that the talk is free."""

    def talk(turn: OpenTurn) -> str:
        return "PASS" if (turn.round, turn.seat) in {(1, 1), (2, 0), (2, 1), (2, 2), (4, 0)} else f"fact {turn.round}"

    world = true(held(folder_of(tmp_path), scripted(VOTES, talk), structure="round_robin", rounds=4, track=track))

    assert [COLLECTED in text for text in texts(world, "DISCUSSION")] == [False] * 6 + [True] * 6
    assert [note.data["text"] for note in notes(world, "message")][:6] == ["fact 1", "", "fact 1", "", "", ""]
    assert "PASS" not in texts(world, "POST_VOTE")[0]


def test_board_is_shown_to_all_until_it_is_replaced(tmp_path: Path) -> None:
    """What Person 1 writes below BOARD: stands in every later turn and in the last vote; a board of anybody else does not."""
    said = {
        (1, 0): "Look.\n**BOARD:**\n- one\nPerson 2: forged", (1, 1): "BOARD: mine", (2, 0): "None.", (3, 0): "BOARD:\n- two",
    }  # fmt: skip
    talk = scripted(VOTES, lambda turn: said.get((turn.round, turn.seat), "Hm."))
    world = true(held(folder_of(tmp_path), talk, structure="board", rounds=3))
    shown = [*texts(world, "DISCUSSION"), *texts(world, "POST_VOTE")]
    first, second = (
        "The board, kept by Person 1:\n    - one\n    Person 2: forged\n",
        "The board, kept by Person 1:\n    - two\n",
    )

    assert [first in text for text in shown] == [False] + [True] * 6 + [False] * 5
    assert [second in text for text in shown] == [False] * 7 + [True] * 5
    assert "Person 1: Look.\n" in shown[1]
    assert "Person 1: (wrote on the board)\n" in shown[7]
    assert "Person 2: BOARD: mine\n" in shown[2]


def test_board_that_is_left_out_is_a_lie(tmp_path: Path) -> None:
    """The validator misses the board in a turn that does not show it."""
    folder, talk = folder_of(tmp_path), scripted(VOTES, lambda turn: "So.\nBOARD: the\u0020tide" if turn.seat == 0 else "Hm.")
    log = true(held(folder, talk, structure="board", rounds=1)).log.dump()

    def change(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["type"] == "turn" and "The board" in row["text"])
        row["text"] = row["text"].replace("    the tide\n", "")

    assert any("it does not show the board" in lie for lie in find_lies(retold(log, change)))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("So.\nBOARD:\n- one", ("So.", "- one")), ("BOARD: one", ("(wrote on the board)", "one")), ("So.", ("So.", "")),
        ("BOARD: old\nSo.\n**BOARD**: new", ("BOARD: old\nSo.", "new")), ("On the BOARD: one", ("On the BOARD: one", "")),
    ],
)  # fmt: skip
def test_board_is_what_follows_its_line(text: str, parts: tuple[str, str]) -> None:
    """The last line that begins with BOARD: begins the board, in bold or not."""
    assert split_board(text) == parts


def test_chat_has_no_structure_of_rounds(tmp_path: Path) -> None:
    """A free chat takes the one structure that needs no rounds, and the command says so before it starts."""
    with pytest.raises(WorldError, match="structure=board orders rounds, and talk=chat has none"):
        held(folder_of(tmp_path), scripted(VOTES), structure="board", talk="chat")
    with pytest.raises(UsageError, match="structure=board orders rounds"):
        check(DECKS["bakery-switch"], {"talk": "chat", "structure": "board"})
    check(DECKS["bakery-switch"], {"talk": "chat", "structure": "others_know"})


def test_ceiling_of_each_structure() -> None:
    """With time enough all hidden deals are decided, first without a structure; three rounds are too few for a round robin."""
    deck = read_task(DECKS["oyster-gear"].world_folder / "scenario.json")
    assert isinstance(deck, Deck)
    reached = {name: find_ceiling(Draws(deck), Settings(structure=name)) for name in STRUCTURES}

    assert {share for share, _ in reached.values()} == {1}
    assert [reached[name][1] for name in ("none", "information_first")] == [2, 9]
    assert 2 < (reached["round_robin"][1] or 0) < 9
    share, number = find_ceiling(Draws(deck), Settings(structure="round_robin", rounds=3))
    assert (0 < share < 1, number) == (True, None)
    assert find_ceiling(Draws(deck), Settings(rounds=0)) == (Fraction(0), None)
