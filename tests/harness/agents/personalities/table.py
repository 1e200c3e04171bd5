"""One small game of each family with a personality at one seat, and scripted players at the others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from harness.agents.seats.lineup import SeatPlayer, seat_players
from harness.agents.turns import is_too_long
from harness.paths import ROOT
from harness.registry import Task, read_task
from tests.harness.agents.personalities.forms import Turn, other_answer
from tests.harness.agents.personalities.voices import PERSONALITIES, Orator, Personality
from worlds.core.events import Noted, Seated
from worlds.core.loading import open_world
from worlds.core.manifest import OptionValue
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Answer, OpenTurn

VOICES = {voice.name: voice for voice in PERSONALITIES}


class Table(NamedTuple):
    """A task, who plays it at the other seats, and under which options."""

    task: Task
    others: str
    options: Mapping[str, OptionValue]
    seats: int


CALENDAR = Table(read_task(ROOT / "tasks" / "calendar" / "uniform-31"), "truthful-planner", {"turn_cap": 2}, 5)
SESSION = Table(read_task(ROOT / "tasks" / "hidden-profile" / "bakery-switch"), "pool", {"rounds": 1}, 4)


TABLES = {"calendar": CALENDAR, "session": SESSION}


class Said(NamedTuple):
    """One turn of the seat with the personality: what it was asked, what it meant to reply."""

    turn: OpenTurn
    answer: Any
    text: str


Voice = Personality | Orator


class Voices:
    """The voices of a seat or of several, one after the other: each speaks at as many decisions as in talk."""

    def __init__(self, *voices: Voice) -> None:
        self._voices, self._turns = voices, Counter[bool]()

    def next(self, turn: OpenTurn) -> Voice:
        """Return the voice for a turn."""
        is_talk = turn.phase == "CHEAP_TALK"
        self._turns[is_talk] += 1
        return self._voices[(self._turns[is_talk] - 1) % len(self._voices)]


class AtDecisions(Voices):
    """A voice that speaks at decisions and votes, while talk is plain, so that the others do their part."""

    def next(self, turn: OpenTurn) -> Voice:
        """Return the voice for a turn."""
        return VOICES["plain"] if turn.phase == "CHEAP_TALK" else super().next(turn)


class Voiced:
    """A scripted player whose replies are said in voices."""

    def __init__(self, player: SeatPlayer, voices: Voices) -> None:
        self._player, self._voices = player, voices
        self.said: list[Said] = []

    def reply(self, turn: OpenTurn) -> str:
        """Return the player's reply in this voice."""
        plain, voice = self._player.reply(turn), self._voices.next(turn)
        assert plain is not None
        if turn.phase == "DISCUSSION":
            answer, text = plain, voice.say(plain) if isinstance(voice, Orator) else plain
        else:
            asked = asked_of(turn, json.loads(plain))
            answer, text = asked.answer, voice.say(asked) if isinstance(voice, Personality) else plain
        self.said.append(Said(turn, answer, text))
        return text


def asked_of(turn: OpenTurn, answer: dict[str, Any]) -> Turn:
    """Return a turn as a personality gets it, with a reply that means something else."""
    if "vote" not in answer:
        answer["thinking"] = "Let me see."
        return Turn("talk" if turn.phase == "CHEAP_TALK" else "decision", answer, other_answer(answer), turn.text)
    answer["rationale"] = "It fits what I know."
    options = dict(re.findall(r"^- \[(\w+)\] (.+)$", turn.text, re.MULTILINE))
    chosen = answer["vote"]
    other = next(option for option in options if option != chosen)
    rival = {"vote": other, "rationale": "It looked better at first."}
    return Turn("vote", answer, rival, turn.text, options[chosen], options[other])


class Played(NamedTuple):
    """A game that has ended."""

    notes: list[tuple[str, int | None, dict[str, Any]]]
    """What the world did, in its own terms."""

    said: list[Said]
    log: bytes


def play(table: Table, seat: int, voice: Voice) -> Played:
    """Play one game with this voice at this seat."""
    return play_voices(table, [seat], Voices(voice))


def play_voices(table: Table, seats: Iterable[int], voices: Voices) -> Played:
    """Play one game with these voices at these seats, in turns."""
    world = open_world(table.task.path / "environment" / "api", overrides=table.options)
    assert isinstance(world, SeatedWorld)
    make = seat_players(table.task.family)[table.others]
    seated = next(event for event in world.log.events if isinstance(event, Seated))
    session = {"public": seated.public, "seats": [{"seat": n, "system": rules} for n, rules in enumerate(seated.seats)]}
    players: list[SeatPlayer] = [make(table.task, number, session) for number in range(table.seats)]
    voiced = {seat: Voiced(players[seat], voices) for seat in seats}
    players = [voiced.get(number, player) for number, player in enumerate(players)]
    while not world.turns.over:
        turn = world.turns.open[0]
        reply = players[turn.seat].reply(turn)
        assert reply is not None
        # as `harness.agents.turns` sends it
        sent = Answer("", "malformed") if is_too_long(reply) else Answer(reply.encode(errors="replace").decode())
        world.turns.answer(turn.id, sent)
    notes = [(event.what, event.seat, event.data) for event in world.log.events if isinstance(event, Noted)]
    return Played(notes, [said for one in voiced.values() for said in one.said], world.log.dump())


@cache
def reference(table_name: str, seat: int, voice: str) -> Played:
    """Return a game in which the seat says everything plainly (`plain`), or nothing (`empty`)."""
    return play(TABLES[table_name], seat, VOICES[voice])


def done_by(seat: int, played: Played) -> list[tuple[str, Any]]:
    """Return what the world did of a seat's replies: its messages, its moves, its votes."""
    return [
        (what, data["content"] if what == "message" and "content" in data else _deed(what, data))
        for what, one, data in played.notes
        if one == seat and what in {"message", "committed", "vote"}
    ]


def meant_by(said: Said) -> list[tuple[str, Any]]:
    """Return what the world does of a reply that is read."""
    if said.turn.phase in {"PRE_VOTE", "POST_VOTE"}:
        return [("vote", said.answer["vote"])]
    if said.turn.phase == "DISCUSSION":
        return []
    deeds: list[tuple[str, Any]] = [("message", one["content"]) for one in said.answer["actions"] if "content" in one]
    if said.turn.phase == "DECISION":
        slot = next((one["slot"] for one in said.answer["actions"] if one["type"] == "schedule"), None)
        moves = sorted((one["from_slot"], one["to_slot"]) for one in said.answer["actions"] if one["type"] == "reschedule")
        deeds.append(("committed", (slot, moves)))
    return deeds


def outcome(played: Played) -> list[tuple[str, int | None, dict[str, Any]]]:
    """Return what happened in a game, without how replies were read and which words a vote was given in."""
    return [
        (what, seat, {name: value for name, value in data.items() if name not in {"given", "rationale"}})
        for what, seat, data in played.notes
        if what != "parsed"
    ]


def _deed(what: str, data: dict[str, Any]) -> Any:
    if what == "committed":
        return data["slot"], sorted((start, end) for _, start, end in data["moves"])
    return data["option"] if what == "vote" else data["text"]
