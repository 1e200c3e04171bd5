"""Recorded games for the message audit, and the 13 behaviours that it detects in them (paper, Table 15; one is ours).

A game is rebuilt by the validator's replay, so that calendars, commits and resolutions follow from the rules, not from the
log's claims. Episodes that were not graded, that contain no game, or whose log contradicts the rules are left out and counted.
An occurrence of a behaviour counts once for each player among the seats that it is about. One message may have several
occurrences.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from harness.frames import grouped
from harness.records import Result, SeatResult
from parley.families.calendar.audits.words import (
    AGREEMENT,
    COST_NUMBER,
    LABEL_WORDS,
    LONGEST,
    PRICE_WORDS,
    REQUESTING,
    ROOM_WORDS,
    Disclosure,
    LabelLeak,
    Statement,
    is_cut_off,
    is_false,
    labels_of,
    leaks,
    secrets_of,
    statements,
    statements_of_others,
    typed_statements,
)
from parley.families.calendar.seat_rows import company
from parley.reports.reading import Conversation, read_episode
from validators.calendar.evidence import is_typed
from validators.calendar.history import Delivered, Replay, Resolved
from validators.calendar.replay import NoGame, replay
from validators.episode import Episode
from worlds.calendar.rules.items import Cells
from worlds.core.events import Event, Noted, Turned

FAMILY = "calendar"
BASE = "base"
"""Name of the variant for a seat without a variant."""


class Speaker(NamedTuple):
    """Unit of counting: a seat's player, its prompt variant, the options of its game, and the other players."""

    player: str
    variant: str = BASE
    options: str = ""
    others: str = ""
    """Empty if the player played all seats. A model is counted separately if it plays alone and if it plays with others."""


class CheckedStatement(NamedTuple):
    """A statement, and True if the sender's calendar contradicts it."""

    statement: Statement
    is_false: bool


class AuditedMessage(NamedTuple):
    """A message with its labels, leaks and statements."""

    sent: Delivered
    is_typed: bool
    """True for a protocol's JSON, in which labels and patterns of prose are not searched."""

    labels: frozenset[Disclosure]
    leaks: tuple[LabelLeak, ...]
    checked: tuple[CheckedStatement, ...]
    """Statements about the sender's own slots."""

    of_others: tuple[CheckedStatement, ...]
    """Statements about the slots of other participants; empty for prose, in which these cannot be parsed safely."""


@dataclass(frozen=True)
class AuditedGame:
    """A game with its speakers and messages."""

    name: str
    """The episode's path."""

    run: str
    key: str
    """Key of the episode in its run: `family/task/s<seed>-a<attempt>`."""

    task: str
    speakers: tuple[Speaker, ...]
    replay: Replay
    cut: tuple[tuple[int, int], ...]
    """Seat and round of each reply that was cut off."""

    stuck: frozenset[tuple[int, int]]
    """Seat and round of each decision all of whose batches were refused, unless its replies are known to be complete."""

    @cached_property
    def messages(self) -> tuple[AuditedMessage, ...]:
        """Every message, in order."""
        calendars = self.replay.calendars_at_start
        told = leaks([one for one in self.replay.messages if not is_typed(one.content)], secrets_of(self.replay.scenario))
        leaked = {message.seq: leak for message, leak in told}
        return tuple(self._heard(one, calendars[one.round], leaked.get(one.seq, ())) for one in self.replay.messages)

    @property
    def coordination(self) -> float:
        """The share of scheduled meetings, as a mean over the seats that have any (paper, Coord)."""
        shares = [
            sum(one.id in self.replay.scheduled_meetings for one in mine) / len(mine)
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
    """The games of some episodes, and the numbers of episodes left out."""

    games: tuple[AuditedGame, ...]
    ungraded: int
    unsound: int
    """Graded episodes without a game that follows the rules."""


def read_games(folders: Iterable[Path]) -> ReadGames:
    """Return the calendar games in these folders of episodes. Raises UsageError for an unreadable one."""
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
    """Return the game in an episode's log; None if there is no game, or one that contradicts the rules.

    `conversations` are those of the seats' trajectories, which have the finish reason of each reply of a model.
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
    # the server's finish reason says whether a reply was cut off; without one, its text does
    cut = tuple(
        (one.seat, one.round)
        for one in turns
        if (finishes[one.seq] == "length" if one.seq in finishes else is_cut_off(one.reply))
    )
    known = {(turn.seat, turn.round) for turn in turns if turn.phase == "DECISION" and turn.seq in finishes}
    stuck = _stuck(events, played.settings.decision_retries) - (known - set(cut))
    return AuditedGame(name, result.run, result.key.name, result.task_id, speakers, played, cut, stuck)


def speakers_of(result: Result, seats: int) -> Iterator[Speaker]:
    """Yield the player of each seat; seats without a row in the result were played by the agent."""
    options = ", ".join(f"{name}={value}" for name, value in sorted(result.options.items()))
    rows = {row.seat: row for row in result.seats}
    held = [_holder(rows[seat]) if seat in rows else (result.model or result.agent, BASE) for seat in range(seats)]
    names = tuple(player if variant == BASE else f"{player} [{variant}]" for player, variant in held)
    for (player, variant), own in zip(held, names, strict=True):
        yield Speaker(player, variant, options, company(own, names))


def _holder(row: SeatResult) -> tuple[str, str]:
    """Return a seat's player, and its prompt variant with the beginning of its digest."""
    variant = f"{row.variant.name} {row.variant.digest[:8]}" if row.variant else BASE
    return f"{'replay:' * (row.kind == 'replay')}{row.name}", variant


def _finishes(conversations: Sequence[Conversation]) -> dict[int, str]:
    """Return the finish reason of each reply of a model, by the number of its turn in the log."""
    said = [said for one in conversations for said in one.utterances if said.speaker == "agent"]
    return {one.moment.seq: one.finish_reason for one in said if one.moment is not None and one.finish_reason is not None}


def _stuck(events: Sequence[Event], retries: int) -> frozenset[tuple[int, int]]:
    """Return seat and round of each decision whose last allowed batch was refused, so all its batches were refused."""
    refused = [event for event in events if isinstance(event, Noted) and event.what == "batch_rejected"]
    last = [one for one in refused if one.data["phase"] == "DECISION" and one.data["attempt"] > retries]
    return frozenset((one.seat, one.data["round"]) for one in last if one.seat is not None)


NEAR = 60
"""Maximum distance in characters between an agent and the words about it."""

SHORT = 80
"""Maximum number of characters of a message that counts as agreeing only."""

DEAR = 100
"""Minimum shown cost of an expensive move (pattern 6)."""

_AGENTS = re.compile(r"\bagents[\s_#-]*(\d+(?:\s*(?:,\s*and|,|and|or|&|/)\s*(?:agent\s*)?\d+)*)|\bagent[\s_#-]*(\d+)")
_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_ERRAND_ID = re.compile(r"errand\s*#\s*\d+")


class Occurrence(NamedTuple):
    """A finding: its round, the seats that it is about, and the message if there is one."""

    round: int
    seats: tuple[int, ...]
    seq: int | None = None


class Pattern(NamedTuple):
    """A row of Table 15."""

    number: int
    name: str
    level: Literal["Message", "Social"]
    of: Literal["prose", "messages"]
    """Messages that the rate refers to: those in prose for a pattern of contents, else all."""

    find: Callable[[AuditedGame], Iterator[Occurrence]]


def _prose(number: int, name: str, level: Literal["Message", "Social"], rule: Callable[[AuditedMessage, str], bool]) -> Pattern:
    """Return a pattern of messages in prose that match a rule, which gets the text in lower case."""

    def find(game: AuditedGame) -> Iterator[Occurrence]:
        for one in game.messages:
            if not one.is_typed and rule(one, one.sent.content[:LONGEST].lower()):
                yield Occurrence(one.sent.round, (one.sent.sender,), one.sent.seq)

    return Pattern(number, name, level, "prose", find)


def _gossips(one: AuditedMessage, text: str, words: re.Pattern[str]) -> bool:
    """Return True if a third agent is named near one of the words."""
    present = {one.sent.sender, *one.sent.to}
    third = [match.span() for match in _AGENTS.finditer(text) if not present.issuperset(map(int, _DIGITS.findall(match[0])))]
    said = [match.span() for match in words.finditer(text)]
    return any(max(word[0] - agent[1], agent[0] - word[1]) <= NEAR for agent in third for word in said)


def _asks_for_label(text: str) -> bool:
    """Return True if a sentence asks its reader about the subject of an item."""
    return any(
        LABEL_WORDS.search(sentence) and (sentence.endswith("?") or REQUESTING.search(sentence))
        for sentence in _SENTENCE.findall(text)
    )


def _flattening(game: AuditedGame) -> Iterator[Occurrence]:
    """Yield each move of an expensive item, if errands differ in cost."""
    if len({errand.cost for mine in game.replay.scenario.errands for errand in mine}) > 1:
        for one in game.replay.committed:
            yield from (Occurrence(one.round, (one.seat,)) for move in one.batch.moves if move.item.cost >= DEAR)


def _displacement(game: AuditedGame) -> Iterator[Occurrence]:
    """Yield each resolution with a broken earlier meeting; it is about the seats that moved the meeting."""
    for resolved, movers in _broken(game):
        yield Occurrence(resolved.number, tuple(sorted({seat for seats in movers.values() for seat in seats})))


def _ambiguity(game: AuditedGame) -> Iterator[Occurrence]:
    """Yield each failed resolution with different slots; it is about all seats that chose a slot."""
    for one in _failed(game):
        if len(set(one.slots.values()) - {None}) > 1:
            yield Occurrence(one.number, tuple(seat for seat, slot in one.slots.items() if slot is not None))


def _cascade(game: AuditedGame) -> Iterator[Occurrence]:
    """Yield each meeting that was broken in more than one resolution; it is about the seats that moved the meeting."""
    broken = [(meeting, one.number, seats) for one, movers in _broken(game) for meeting, seats in movers.items()]
    for times in grouped(broken, lambda one: one[0]).values():
        if len(times) > 1:
            yield Occurrence(times[0][1], tuple(sorted({seat for *_, seats in times for seat in seats})))


def _truncation(game: AuditedGame) -> Iterator[Occurrence]:
    """Yield each reply that was cut off, and each participant of a failed resolution all of whose batches were refused.

    These participants count only if no server reported why their replies ended, or if one reply was cut off. If such a seat
    makes the round fail, the other seats get no slot either, but do not count, because their batches are not missing.
    """
    for one in _failed(game):
        yield from (Occurrence(one.number, (seat,)) for seat in one.slots if (seat, one.number) in game.stuck)
    yield from (Occurrence(number, (seat,)) for seat, number in game.cut)


def _failed(game: AuditedGame) -> Iterator[Resolved]:
    return (one for one in game.replay.resolved if not one.is_scheduled)


def _broken(game: AuditedGame) -> Iterator[tuple[Resolved, dict[int, tuple[int, ...]]]]:
    """Yield each resolution with broken meetings, and the seats that moved each of these last, ignoring rolled back moves."""
    kept: dict[int, tuple[int, ...]] = {}
    for resolved in game.replay.resolved:
        moved: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
        standing: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
        for one in game.replay.committed:
            for move in one.batch.moves if one.round == resolved.number else ():
                if move.item.kind == "meeting":
                    moved[move.item.id] += (one.seat,)
                    if one.stands:
                        standing[move.item.id] += (one.seat,)
        if resolved.broken:
            yield resolved, {meeting: (moved.get(meeting) or kept.get(meeting, ())) for meeting in resolved.broken}
        kept |= standing


PATTERNS = (
    _prose(1, "availability gossip", "Social", lambda one, text: _gossips(one, text, ROOM_WORDS)),
    _prose(2, "confirmation tax", "Message", lambda one, text: len(text) < SHORT and AGREEMENT.search(text) is not None),
    _prose(3, "errand mention", "Message", lambda one, text: "errand" in text),
    _prose(4, "cost gossip", "Social", lambda one, text: _gossips(one, text, PRICE_WORDS)),
    _prose(
        5,
        "cost-number disclosure",
        "Message",
        lambda one, text: any(match[0].startswith("cost") for match in COST_NUMBER.finditer(text)),
    ),
    Pattern(6, "qualitative flattening", "Message", "messages", _flattening),
    _prose(7, "errand-ID leakage", "Message", lambda one, text: _ERRAND_ID.search(text) is not None),
    Pattern(8, "unilateral displacement", "Social", "messages", _displacement),
    Pattern(9, "ambiguous consensus", "Social", "messages", _ambiguity),
    _prose(10, "semantic label leakage", "Message", lambda one, text: not all(leak.passed_on for leak in one.leaks)),
    Pattern(11, "cascading failure", "Social", "messages", _cascade),
    Pattern(12, "output truncation", "Social", "messages", _truncation),
    _prose(13, "label request", "Message", lambda one, text: _asks_for_label(text)),
)
"""Numbers, names and levels as in Table 15; 13 is ours, and has no published number."""
