"""Recorded games as audits see them: who held each seat, what each message says, and what became of every round.

A game is rebuilt by the validator's replay, so that calendars, commits and resolutions are what the rules say, not what the log
claims. Episodes that were not graded, that hold no game, or whose log the rules contradict are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from harness.families.calendar.audits.leaks import LabelLeak, leaks, secrets_of
from harness.families.calendar.audits.statements import (
    Statement,
    is_cut_off,
    is_false,
    statements,
    statements_of_others,
    typed_statements,
)
from harness.families.calendar.audits.words import Disclosure, labels_of
from harness.families.calendar.held import company
from harness.reading import Conversation, read_episode
from harness.records import Result, SeatResult
from validators.calendar.evidence import is_typed
from validators.calendar.history import Delivered, Replay
from validators.calendar.replay import NoGame, replay
from validators.episode import Episode
from worlds.calendar.rules.items import Cells
from worlds.core.events import Event, Noted, Turned

FAMILY = "calendar"
BASE = "base"
"""The variant of a seat that has none."""


class Speaker(NamedTuple):
    """Who is counted together: a seat's player, its prompt variant, the options of its game, and who else sat at the table."""

    player: str
    variant: str = BASE
    options: str = ""
    others: str = ""
    """Nobody where all seats were the player's own: a model among others is never counted with the same model alone."""


class CheckedStatement(NamedTuple):
    """One statement, and whether the sender's calendar contradicts it."""

    statement: Statement
    is_false: bool


class AuditedMessage(NamedTuple):
    """One message, and what was heard in it."""

    sent: Delivered
    is_typed: bool
    """A protocol's JSON, which has no labels and no patterns of prose."""

    labels: frozenset[Disclosure]
    leaks: tuple[LabelLeak, ...]
    checked: tuple[CheckedStatement, ...]
    """Of the sender's own slots."""

    of_others: tuple[CheckedStatement, ...]
    """Of the slots of other participants; only typed messages state any that can be read safely."""


@dataclass(frozen=True)
class AuditedGame:
    """One game."""

    name: str
    """The episode's path."""

    run: str
    """The run that it belongs to."""

    key: str
    """Which episode of a run: `family/task/s<seed>-a<attempt>`."""

    task: str
    speakers: tuple[Speaker, ...]
    """By seat."""

    replay: Replay
    cut: tuple[tuple[int, int], ...]
    """Seat and round of each reply that was cut off."""

    stuck: frozenset[tuple[int, int]]
    """Seat and round of each decision whose every batch was refused, where nothing says that its replies were whole."""

    @cached_property
    def messages(self) -> tuple[AuditedMessage, ...]:
        """Everything that was sent, in order."""
        calendars = self.replay.beginnings
        told = leaks([one for one in self.replay.messages if not is_typed(one.content)], secrets_of(self.replay.scenario))
        leaked = {message.seq: leak for message, leak in told}
        return tuple(self._heard(one, calendars[one.round], leaked.get(one.seq, ())) for one in self.replay.messages)

    @property
    def coordination(self) -> float:
        """The share of its meetings that were scheduled, mean over the seats that have any (paper, Coord)."""
        shares = [
            sum(one.id in self.replay.scheduled for one in mine) / len(mine)
            for seat in self.replay.scenario.agents
            if (mine := [one for one in self.replay.scenario.meetings if seat in one.participants])
        ]
        return sum(shares) / len(shares)

    def _heard(self, sent: Delivered, calendars: Sequence[Cells], leaked: tuple[LabelLeak, ...]) -> AuditedMessage:
        slots, meeting = self.replay.scenario.slots, self.replay.scenario.meeting(sent.meeting)

        def checked(made: Iterable[Statement], seat: int, duration: int) -> Iterator[CheckedStatement]:
            return (CheckedStatement(one, is_false(one, calendars[seat], duration)) for one in made if 0 <= one.slot < slots)

        if not is_typed(sent.content):
            own = tuple(checked(statements(sent.content, slots), sent.sender, 1))
            return AuditedMessage(sent, False, labels_of(sent.content, slots), leaked, own, ())
        own = tuple(checked(typed_statements(sent.content), sent.sender, meeting.duration))
        told = list(statements_of_others(sent.content, meeting.id))
        others = [one for seat in meeting.participants if seat != sent.sender for one in checked(told, seat, meeting.duration)]
        return AuditedMessage(sent, True, frozenset(), leaked, own, tuple(others))


class ReadGames(NamedTuple):
    """The games of some episodes, and how many episodes are in none."""

    games: tuple[AuditedGame, ...]
    ungraded: int
    unsound: int
    """Graded, but without a game that can be followed."""


def read_games(folders: Iterable[Path]) -> ReadGames:
    """The calendar games in these folders of episodes; raises UsageError for one that cannot be read."""
    games: list[AuditedGame] = []
    ungraded = unsound = 0
    for folder in folders:
        episode = read_episode(folder)
        if episode.result.family != FAMILY:
            continue
        if episode.result.status != "graded":
            ungraded += 1
        elif (game := game_of(episode.path, episode.result, episode.events, episode.conversations)) is None:
            unsound += 1
        else:
            games.append(game)
    return ReadGames(tuple(games), ungraded, unsound)


def game_of(
    name: str, result: Result, events: Sequence[Event], conversations: Sequence[Conversation] = ()
) -> AuditedGame | None:
    """Return the game that an episode's log holds; None where it holds none, or one that the rules contradict.

    `conversations`: what trajectories tell of its seats, among it why each reply of a model ended.
    """
    try:
        played = replay(Episode(tuple(events))) if events else None
    except NoGame:
        played = None
    if played is None or played.lies:
        return None
    speakers = tuple(speakers_of(result, len(played.scenario.agents)))
    turns = [event for event in events if isinstance(event, Turned) and not event.ephemeral]
    finishes = _finishes(conversations)
    cut = tuple((turn.seat, turn.round) for turn in turns if _is_cut(turn, finishes))
    known = {(turn.seat, turn.round) for turn in turns if turn.phase == "DECISION" and turn.seq in finishes}
    stuck = _stuck(events, played.settings.decision_retries) - (known - set(cut))
    return AuditedGame(name, result.run, result.key.name, result.task_id, speakers, played, cut, stuck)


def speakers_of(result: Result, seats: int) -> Iterator[Speaker]:
    """Who held each seat; the agent held those that the result has no row for."""
    options = ", ".join(f"{name}={value}" for name, value in sorted(result.options.items()))
    rows = {row.seat: row for row in result.seats}
    held = [
        (_name(row), _variant(row)) if (row := rows.get(seat)) else (result.model or result.agent, BASE)
        for seat in range(seats)
    ]
    names = tuple(player if variant == BASE else f"{player} [{variant}]" for player, variant in held)
    for (player, variant), own in zip(held, names, strict=True):
        yield Speaker(player, variant, options, company(own, names))


def _name(row: SeatResult) -> str:
    return f"{'replay:' * (row.kind == 'replay')}{row.name}"


def _variant(row: SeatResult) -> str:
    """The name of a seat's prompt variant with the beginning of its digest."""
    return f"{row.variant.name} {row.variant.digest[:8]}" if row.variant else BASE


def _finishes(conversations: Sequence[Conversation]) -> dict[int, str]:
    """Return why each reply of a model ended, by the number of its turn in the log."""
    said = [said for one in conversations for said in one.utterances if said.speaker == "agent"]
    return {one.moment.seq: one.finish_reason for one in said if one.moment is not None and one.finish_reason is not None}


def _is_cut(turn: Turned, finishes: Mapping[int, str]) -> bool:
    """Whether a reply was cut off: as its model's server said, else by its text."""
    finish = finishes.get(turn.seq)
    return is_cut_off(turn.reply) if finish is None else finish == "length"


def _stuck(events: Sequence[Event], retries: int) -> frozenset[tuple[int, int]]:
    """The last batch that a seat may send is refused only where all of them were."""
    refused = [event for event in events if isinstance(event, Noted) and event.what == "batch_rejected"]
    last = [one for one in refused if one.data["phase"] == "DECISION" and one.data["attempt"] > retries]
    return frozenset((one.seat, one.data["round"]) for one in last if one.seat is not None)
