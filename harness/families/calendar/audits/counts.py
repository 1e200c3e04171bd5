"""What is counted of each speaker: messages, labels, patterns, statements, as rows of plain values.

A speaker is a player under one prompt variant and one set of options, at one table of others. A row leaves out options where
all games have the same, and others where each player sat at one table only. Rates are of messages in prose. Intervals cluster
messages by game.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.families.calendar.audits.comparison import Unit, against_the_rest, fisher
from harness.families.calendar.audits.disclosure import Disclosure
from harness.families.calendar.audits.games import BASE, AuditedGame, AuditedMessage, Speaker
from harness.families.calendar.audits.patterns import PATTERNS, Occurrence, Pattern
from harness.report.statistics import Interval, false_discoveries, rate_interval
from harness.report.table import Row


class Sent(NamedTuple):
    """A message with the game that it was sent in."""

    game: AuditedGame
    message: AuditedMessage

    @property
    def speaker(self) -> Speaker:
        """Who sent it."""
        return self.game.speakers[self.message.sent.sender]


def everybody(games: Sequence[AuditedGame]) -> list[Speaker]:
    """Every speaker, silent ones too, in order."""
    return sorted({speaker for game in games for speaker in game.speakers})


def named(speaker: Speaker, games: Sequence[AuditedGame]) -> dict[str, str | None]:
    """The cells that name a speaker; what does not tell anybody apart is None."""
    known = everybody(games)
    return {
        "player": speaker.player,
        "variant": speaker.variant if any(one.variant != BASE for one in known) else None,
        "options": speaker.options or "-" if len({one.options for one in known}) > 1 else None,
        "others": speaker.others or "-" if len({one._replace(others="") for one in known}) < len(known) else None,
    }


def message_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    """One row a speaker: its seats and messages, and what its messages leak."""
    for speaker in everybody(games):
        mine = [one for one in sent(games) if one.speaker == speaker]
        leaked = [leak for one in mine for leak in one.message.leaks]
        prose = sum(not one.message.is_typed for one in mine)
        yield {
            **named(speaker, games),
            "games": sum(speaker in game.speakers for game in games),
            "seats": sum(game.speakers.count(speaker) for game in games),
            "messages": len(mine),
            "prose": prose,
            "typed": len(mine) - prose,
            "labels_leaked": sum(not leak.passed_on for leak in leaked),
            "labels_passed_on": sum(leak.passed_on for leak in leaked),
        }


def label_rows(games: Sequence[AuditedGame]) -> list[Row]:
    """One row a speaker and label: rate and interval, and whether it differs from everybody else's."""
    speakers = everybody(games)
    rows: list[Row] = []
    ps: list[float | None] = []
    for label in Disclosure:
        units = _units(games, label)
        for speaker in speakers:
            mine = [unit for unit in units if unit.speaker == speaker]
            hits, of = sum(unit.hits for unit in mine), sum(unit.of for unit in mine)
            others = [unit for unit in units if unit.speaker != speaker]
            compared = bool(of) and any(unit.of for unit in others)
            ps.append(against_the_rest(units, speaker) if compared else None)
            rows.append(
                {
                    **named(speaker, games),
                    "label": str(label),
                    "prose": of,
                    "with_label": hits,
                    "rate": hits / of if of else None,
                    "interval": _by_game(mine),
                    "rest": _rate(others),
                    "p": ps[-1],
                    "fisher": fisher(units, speaker) if compared else None,
                }
            )
    return [{**row, "q": q} for row, q in zip(rows, false_discoveries(ps), strict=True)]


def pattern_rows(games: Sequence[AuditedGame]) -> list[Row]:
    """One row a pattern and speaker: occurrences, and how many that is per 1,000 of the messages that it is looked for in."""
    speakers = everybody(games)
    prose = Counter(one.speaker for one in sent(games) if not one.message.is_typed)
    of = {"prose": prose, "messages": Counter(one.speaker for one in sent(games))}
    times = {pattern.number: counted(games, pattern) for pattern in PATTERNS}
    return [
        {
            "number": pattern.number, "pattern": pattern.name, "level": pattern.level, **named(speaker, games),
            "count": (count := times[pattern.number][speaker]),
            "per_1000": 1000 * count / base if (base := of[pattern.of][speaker]) else None,
        }
        for pattern in PATTERNS
        for speaker in speakers
    ]  # fmt: skip


def counted(games: Sequence[AuditedGame], pattern: Pattern) -> Counter[Speaker]:
    """How often a pattern occurs with each speaker at one of its seats."""
    found_with = ({game.speakers[seat] for seat in one.seats} for game in games for one in pattern.find(game))
    return Counter(speaker for speakers in found_with for speaker in speakers)


OF_OTHERS = "typed, of others"
"""The kind of statements that a decided slot makes of the other participants."""


def misreport_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    """One row a speaker and kind of message, of those that state anything: how much of it is false."""
    stated: defaultdict[tuple[Speaker, str], list[Unit]] = defaultdict(list)
    for one in sent(games):
        own = "typed" if one.message.is_typed else "prose"
        for kind, checked in ((own, one.message.checked), (OF_OTHERS, one.message.of_others)):
            if checked:
                false = sum(statement.is_false for statement in checked)
                stated[one.speaker, kind].append(Unit(one.game.name, one.game.task, one.speaker, false, len(checked)))
    for (speaker, kind), units in sorted(stated.items()):
        rate, of = _rate(units), sum(unit.of for unit in units)
        yield {
            **named(speaker, games), "kind": kind, "statements": of, "false": sum(unit.hits for unit in units), "rate": rate,
            "interval": _by_game(units),
        }  # fmt: skip


def sent(games: Sequence[AuditedGame]) -> Iterator[Sent]:
    """Every message of every game."""
    return (Sent(game, message) for game in games for message in game.messages)


def occurrences(game: AuditedGame) -> Iterator[tuple[Pattern, Occurrence]]:
    """Everything that any pattern finds in a game."""
    return ((pattern, one) for pattern in PATTERNS for one in pattern.find(game))


def _units(games: Sequence[AuditedGame], label: Disclosure) -> list[Unit]:
    """Each seat of each game: its messages in prose, and those with the label."""
    return [
        Unit(game.name, game.task, speaker, sum(label in one.labels for one in prose), len(prose))
        for game in games
        for seat, speaker in enumerate(game.speakers)
        for prose in [[one for one in game.messages if one.sent.sender == seat and not one.is_typed]]
    ]


def _by_game(units: Sequence[Unit]) -> Interval | None:
    games: defaultdict[str, list[bool]] = defaultdict(list)
    for unit in units:
        games[unit.game] += [True] * unit.hits + [False] * (unit.of - unit.hits)
    return rate_interval(list(games.values()))


def _rate(units: Sequence[Unit]) -> float | None:
    of = sum(unit.of for unit in units)
    return sum(unit.hits for unit in units) / of if of else None
