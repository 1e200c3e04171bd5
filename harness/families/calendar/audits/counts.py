"""Counts of the message audit for each speaker, and the tests of whether players differ.

What is counted of each speaker: messages, labels, patterns, statements, as rows of plain values.

A speaker is a player under one prompt variant and one set of options, at one table of others. A row leaves out options where
all games have the same, and others where each player sat at one table only. Rates are of messages in prose. Intervals cluster
messages by game.

Whether players differ, with the game as the unit of chance: tests on recorded games, which are few and alike inside.

1. `against_the_rest` permutes who is who. In a game where a player and others sit together it permutes the seats; games that
   one side played alone it permutes whole, among those of a task that both sides played, else among all of them. The
   statistic is the difference of two pooled rates, two-sided. All permutations are counted where that is few enough;
   else it is 9,999 drawn with a fixed seed and the one observed.
2. Fisher's exact test treats messages as independent, which they are not; it is the paper's, and stands beside.
3. `paired` flips the signs of differences between two conditions on the same tasks.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from harness.families.calendar.audits.games import BASE, PATTERNS, AuditedGame, AuditedMessage, Occurrence, Pattern, Speaker
from harness.families.calendar.audits.words import Disclosure
from harness.report.statistics import Interval, false_discoveries, rate_interval, scipy_stats
from harness.report.table import Row

SEED, DRAWS = 13, 9_999
MOST_STATES = 20_000
"""Steps of counting a distribution exactly; beyond, it is drawn from."""

METHOD = (
    "p: permutation of seats within mixed games and of whole games within tasks, two-sided; q: Benjamini-Hochberg over all "
    "rows; Fisher's p treats messages as independent"
)


class Unit(NamedTuple):
    """What one seat sent in one game: messages, and how many of them have what is counted."""

    game: str
    task: str
    speaker: object
    hits: int
    of: int


class _Stratum(NamedTuple):
    """Units that may be exchanged; the first `mine` of them are the player's."""

    counts: tuple[tuple[int, int], ...]
    mine: int


def against_the_rest(units: Sequence[Unit], speaker: object) -> float | None:
    """The p of one speaker's rate against that of all others; None where nothing can be exchanged."""
    strata = _strata(units, speaker)
    if not any(0 < one.mine < len(one.counts) for one in strata):
        return None
    total = (sum(unit.hits for unit in units), sum(unit.of for unit in units))
    mine = [count for one in strata for count in one.counts[: one.mine]]
    observed = _difference(sum(hits for hits, _ in mine), sum(of for _, of in mine), total)
    exact = _distribution(strata)
    if exact is not None:
        extreme = sum(times for (hits, of), times in exact.items() if _reaches(_difference(hits, of, total), observed))
        return extreme / exact.total()
    drawn = _drawn(strata)
    return (1 + sum(_reaches(_difference(hits, of, total), observed) for hits, of in drawn)) / (1 + DRAWS)


def fisher(units: Sequence[Unit], speaker: object) -> float:
    """Fisher's exact p of the same two rates, messages taken as independent."""
    mine = [unit for unit in units if unit.speaker == speaker]
    rest = [unit for unit in units if unit.speaker != speaker]
    rows = [[sum(unit.hits for unit in side), sum(unit.of - unit.hits for unit in side)] for side in (mine, rest)]
    return float(scipy_stats().fisher_exact(rows).pvalue)


def paired(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p of the mean difference of pairs under flipped signs; None for fewer than two pairs."""
    if len(first) < 2:
        return None
    result = scipy_stats().permutation_test(
        (np.asarray(first), np.asarray(second)), _mean_difference, permutation_type="samples", vectorized=True,
        n_resamples=DRAWS, random_state=np.random.default_rng(SEED),
    )  # fmt: skip
    return min(1.0, float(result.pvalue))


def _mean_difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    difference: np.ndarray = np.mean(first - second, axis=axis)
    return difference


def _strata(units: Sequence[Unit], speaker: object) -> list[_Stratum]:
    games: defaultdict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        games[unit.game].append(unit)
    made: list[_Stratum] = []
    whole: defaultdict[str, list[tuple[bool, tuple[int, int]]]] = defaultdict(list)
    for game in games.values():
        sides = {unit.speaker == speaker for unit in game}
        if len(sides) == 2:
            made.append(_stratum([(unit.speaker == speaker, (unit.hits, unit.of)) for unit in game]))
        else:
            whole[game[0].task].append((sides.pop(), (sum(unit.hits for unit in game), sum(unit.of for unit in game))))
    shared = [rows for rows in whole.values() if len({mine for mine, _ in rows}) == 2]
    alone = [row for rows in whole.values() if len({mine for mine, _ in rows}) == 1 for row in rows]
    return [*made, *map(_stratum, shared), *([_stratum(alone)] if alone else [])]


def _stratum(rows: Sequence[tuple[bool, tuple[int, int]]]) -> _Stratum:
    mine = [count for is_mine, count in rows if is_mine]
    return _Stratum((*mine, *(count for is_mine, count in rows if not is_mine)), len(mine))


def _difference(hits: int, of: int, total: tuple[int, int]) -> float:
    """Return how far two rates are apart; 0 where one side sent nothing."""
    others = total[1] - of
    return abs(hits / of - (total[0] - hits) / others) if of and others else 0.0


def _reaches(difference: float, observed: float) -> bool:
    return difference >= observed - 1e-12


def _distribution(strata: Sequence[_Stratum]) -> Counter[tuple[int, int]] | None:
    """Return how many permutations give the player which counts; None where that takes too long."""
    states = Counter({(0, 0): 1})
    for one in strata:
        if math.comb(len(one.counts), one.mine) > MOST_STATES:
            return None
        chosen = Counter(_sum(some) for some in combinations(one.counts, one.mine))
        if len(states) * len(chosen) > MOST_STATES:
            return None
        merged: Counter[tuple[int, int]] = Counter()
        for (hits, of), times in states.items():
            for (more, further), ways in chosen.items():
                merged[hits + more, of + further] += times * ways
        states = merged
    return states


def _sum(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(hits for hits, _ in counts), sum(of for _, of in counts)


def _drawn(strata: Sequence[_Stratum]) -> list[tuple[int, int]]:
    rng = np.random.default_rng(SEED)
    total = np.zeros((DRAWS, 2), dtype=np.int64)
    for one in strata:
        places = rng.permuted(np.tile(np.arange(len(one.counts)), (DRAWS, 1)), axis=1)[:, : one.mine]
        total += np.asarray(one.counts, dtype=np.int64).reshape(-1, 2)[places].sum(axis=1)
    return [(int(hits), int(of)) for hits, of in total]


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
    """Return how often a pattern occurs with each speaker at one of its seats."""
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
