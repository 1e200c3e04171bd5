"""Personalities at the seats of a small calendar game and of a hidden-profile session: what a reply says is what is played.

The voices were written without sight of the parser; tests/harness/agents/personalities/DIGEST was committed before it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from harness.agents.turns import is_too_long
from tests.harness.agents.personalities.forms import THOUGHT
from tests.harness.agents.personalities.table import (
    TABLES,
    VOICES,
    Played,
    Said,
    Voices,
    done_by,
    meant_by,
    outcome,
    play,
    play_voices,
    reference,
)
from tests.harness.agents.personalities.voices import ORATORS, PERSONALITIES, Meaning, Personality
from tests.worlds.calendar.hostile_games import episode_of
from validators.calendar.replay import find_lies as find_game_lies
from validators.hidden_profile.replay import find_lies as find_session_lies
from worlds.calendar.rules.replies import read_actions
from worlds.core.mending import mend

pytestmark = pytest.mark.property

SEATS = [(name, seat) for name, table in TABLES.items() for seat in range(table.seats)]
PLAIN = "plain"
"""The voice whose game stands for a seat that is understood."""

NOTICE = re.compile(r"Nothing was read in your last reply: \w")
REASON = {
    True: re.compile(r"^- \w.*\w", re.MULTILINE),
    False: re.compile(r"is none of the options|That named no option|Your vote was not read: \w"),
}
"""Whether a decision is asked for again, or a vote -> how the reason is told."""


def test_the_voices_are_those_of_the_digest() -> None:
    """The files are as they were when their digest was committed, before anybody saw them beside the parser."""
    folder = Path(__file__).parent / "personalities"
    lines = (folder / "DIGEST").read_text(encoding="utf-8").splitlines()
    # but for the folder that they import each other from, which has moved
    now, then = b"tests.harness.agents.", b"tests.agents."

    assert [
        f"{hashlib.sha256((folder / name).read_bytes().replace(now, then)).hexdigest()}  {name}"
        for name in ("forms.py", "voices.py")
    ] == lines


@pytest.mark.parametrize("name", sorted(TABLES))
def test_all_seats_speak_in_voices_and_are_understood(name: str) -> None:
    """A game in which each reply of each seat is said in another voice is the game in which all speak plainly."""
    voices = [voice for voice in PERSONALITIES if meaning(name, voice) is Meaning.READ]
    turns = min(Counter(one.turn.phase == "CHEAP_TALK" for one in _medley(name, [VOICES[PLAIN]]).said).values())
    medleys = [voices[start : start + turns] for start in range(0, len(voices), turns)]
    lost = [medley for medley in medleys if outcome(_medley(name, medley)) != outcome(_medley(name, [VOICES[PLAIN]]))]

    assert [line for medley in lost for line in faults(name, 1, medley)] == []
    assert lost == []


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_cannot_be_read_is_refused_at_one_seat(name: str) -> None:
    """Each voice that need not be understood sits at one seat; at all seats they sit among the property tests."""
    voices = [voice for voice in PERSONALITIES if meaning(name, voice) is not Meaning.READ]
    shares = [voices[seat :: TABLES[name].seats] for seat in range(TABLES[name].seats)]

    assert [line for seat, share in enumerate(shares) for line in faults(name, seat, share)] == []


@pytest.mark.parametrize(("name", "seat"), SEATS)
def test_each_personality_at_each_seat(name: str, seat: int) -> None:
    """Wherever a personality sits: what it says is played, or refused with a reason, and nothing else; logs are true."""
    assert list(faults(name, seat, PERSONALITIES)) == []


@pytest.mark.parametrize("seat", range(TABLES["session"].seats))
def test_what_is_said_in_prose_is_heard_and_thoughts_are_not(seat: int) -> None:
    """Whatever stands around a message, the others read it; what a person thinks is read by nobody."""
    for voice in ORATORS:
        game = play(TABLES["session"], seat, voice)
        ((_, heard),) = [deed for deed in done_by(seat, game) if deed[0] == "message"]
        message = next(one.answer for one in game.said if one.turn.phase == "DISCUSSION")

        assert (message in heard) is voice.heard, voice.name
        assert voice.heard or not heard.strip(), voice.name
        assert THOUGHT not in heard, voice.name


def faults(name: str, seat: int, voices: Sequence[Personality]) -> Iterator[str]:
    """Yield what is wrong with the games of these voices at this seat."""
    for voice in voices:
        game = play(TABLES[name], seat, voice)
        yield from (f"{name}, seat {seat}, {voice.name}: {fault}" for fault in _faults(name, seat, voice, game))


def meaning(name: str, voice: Personality) -> Meaning:
    """Return what a voice's texts mean at a table."""
    return voice.vote if name == "session" and voice.vote else voice.means


def _medley(name: str, voices: Sequence[Personality]) -> Played:
    return play_voices(TABLES[name], range(TABLES[name].seats), Voices(*voices))


def _faults(name: str, seat: int, voice: Personality, game: Played) -> Iterator[str]:
    means = meaning(name, voice)
    done, meant = Counter(map(repr, done_by(seat, game))), Counter(repr(deed) for said in game.said for deed in meant_by(said))
    unread = Counter({repr(("vote", None)): 2, repr(("message", None)): 9})
    if name == "session":
        unread += Counter(repr(deed) for deed in done_by(seat, game) if deed[0] == "message")
    if other := done - meant - unread:
        yield f"played what was not said: {[*other]}"
    if means is Meaning.READ and outcome(game) != outcome(reference(name, seat, PLAIN)):
        yield "was not read"
    if means in {Meaning.REFUSED, Meaning.SILENT} and done & (meant - unread):
        yield f"was read: {[*(done & meant)]}"
    if means in {Meaning.REFUSED, Meaning.SILENT} and (why := _unexplained(game.said)):
        yield f"was not told why: {why}"
    lies = (find_game_lies if name == "calendar" else find_session_lies)(episode_of(game.log))
    yield from (f"the validator says: {lie}" for lie in lies)


def _unexplained(said: Sequence[Said]) -> str:
    """Return a turn after a reply that was refused which gives no reason; empty where each does."""
    for before, after in pairwise(said):
        is_decision = after.turn.phase in {"DECISION", "VOLUNTARY"}
        if after.turn.attempt > 1 and not REASON[is_decision].search(after.turn.text):
            return after.turn.text[:200]
        is_talk = before.turn.phase == "CHEAP_TALK" and not is_too_long(before.text)
        if is_talk and read_actions(before.text, mend).problem and not NOTICE.match(after.turn.text):
            return after.turn.text[:200]
    return ""
