"""Tables and CSV files of the message audit: accuracy of the labels, then the results of the games (docs/calendar.md).

Counts are by speaker, and intervals cluster messages by game. Tests of differences between speakers use the game as the unit,
because games are few and their messages are correlated: `against_the_rest` permutes seats within a mixed game, and whole games
within a task that both sides played (or among all other games). Fisher's exact test treats messages as independent, which they
are not; it is shown because the paper uses it. The comparison of prompt variants leaves out the seats that have a variant, so a
probing seat's own questions do not count.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from harness.atomic_write import make_folder, write_file, writing
from harness.frames import grouped
from parley.families.calendar.audits.games import (
    BASE,
    PATTERNS,
    AuditedGame,
    AuditedMessage,
    Occurrence,
    Pattern,
    ReadGames,
    Speaker,
)
from parley.families.calendar.audits.words import Disclosure, labels_of
from parley.reports.table import Column, Row, Table, Value, WithInterval, table_of, titled, with_interval
from parley.statistics import Interval, false_discoveries, rate_interval, scipy_stats, wilson
from worlds.core.models import Strict

SEED, DRAWS = 13, 9_999
MOST_STATES = 20_000
"""Limit on states of the exact distribution; beyond the limit, permutations are sampled."""

METHOD = (
    "p: permutation of seats within mixed games and of whole games within tasks, two-sided; q: Benjamini-Hochberg over all "
    "rows; Fisher's p treats messages as independent"
)


class Unit(NamedTuple):
    """Messages of one seat in one game, and the number of those with the counted property."""

    game: str
    task: str
    speaker: object
    hits: int
    of: int


Counts = tuple[int, int]
"""A number of messages with the counted property, and of all."""


class _Stratum(NamedTuple):
    """Counts that may be exchanged in a permutation; the first `mine` of them are the player's."""

    counts: tuple[Counts, ...]
    mine: int


def _pooled(units: Iterable[Unit]) -> Counts:
    return _sum((unit.hits, unit.of) for unit in units)


def _sum(counts: Iterable[Counts]) -> Counts:
    told = list(counts)
    return sum(hits for hits, _ in told), sum(of for _, of in told)


def _sides(units: Sequence[Unit], speaker: object) -> tuple[list[Unit], list[Unit]]:
    return [unit for unit in units if unit.speaker == speaker], [unit for unit in units if unit.speaker != speaker]


def against_the_rest(units: Sequence[Unit], speaker: object) -> float | None:
    """Return the p of the difference between one speaker's rate and that of all others; None if nothing can be exchanged.

    All permutations are counted if they are few. Otherwise random ones are drawn with a fixed seed, and the observed one added.
    """
    strata = _strata(units, speaker)
    if not any(0 < one.mine < len(one.counts) for one in strata):
        return None
    all_hits, all_of = _pooled(units)

    def difference(hits: int, of: int) -> float:
        others = all_of - of
        return abs(hits / of - (all_hits - hits) / others) if of and others else 0.0

    observed = difference(*_pooled(_sides(units, speaker)[0])) - 1e-12
    exact = _distribution(strata)
    if exact is not None:
        return sum(times for counts, times in exact.items() if difference(*counts) >= observed) / exact.total()
    return (1 + sum(difference(hits, of) >= observed for hits, of in _drawn(strata))) / (1 + DRAWS)


def fisher(units: Sequence[Unit], speaker: object) -> float:
    """Return Fisher's exact p of the same two rates, which treats messages as independent."""
    rows = [[hits, of - hits] for hits, of in map(_pooled, _sides(units, speaker))]
    return float(scipy_stats().fisher_exact(rows).pvalue)


def paired(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p of the sign-flip test on differences of pairs; None for fewer than two pairs."""
    if len(first) < 2:
        return None
    result = scipy_stats().permutation_test(
        (np.asarray(first), np.asarray(second)), lambda one, other, axis: np.mean(one - other, axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=DRAWS, random_state=np.random.default_rng(SEED),
    )  # fmt: skip
    return min(1.0, float(result.pvalue))


def _strata(units: Sequence[Unit], speaker: object) -> list[_Stratum]:
    def has_both(units: Iterable[Unit]) -> bool:
        return len({unit.speaker == speaker for unit in units}) == 2

    games = grouped(units, lambda unit: unit.game).values()
    mixed = [[[unit] for unit in game] for game in games if has_both(game)]
    by_task = grouped((game for game in games if not has_both(game)), lambda game: game[0].task).values()
    shared = [played for played in by_task if has_both(game[0] for game in played)]
    alone = [game for played in by_task if not has_both(game[0] for game in played) for game in played]
    return [_stratum(stratum, speaker) for stratum in (*mixed, *shared, alone) if stratum]


def _stratum(exchangeable: Sequence[Sequence[Unit]], speaker: object) -> _Stratum:
    mine, others = ([_pooled(units) for units in exchangeable if (units[0].speaker == speaker) is own] for own in (True, False))
    return _Stratum((*mine, *others), len(mine))


def _distribution(strata: Sequence[_Stratum]) -> Counter[Counts] | None:
    """Return the number of permutations for each count of the player; None if there are too many states."""
    states = Counter({(0, 0): 1})
    for one in strata:
        if math.comb(len(one.counts), one.mine) > MOST_STATES:
            return None
        chosen = Counter(map(_sum, combinations(one.counts, one.mine)))
        if len(states) * len(chosen) > MOST_STATES:
            return None
        merged: Counter[Counts] = Counter()
        for (hits, of), times in states.items():
            for (more, further), ways in chosen.items():
                merged[hits + more, of + further] += times * ways
        states = merged
    return states


def _drawn(strata: Sequence[_Stratum]) -> Iterator[Counts]:
    rng = np.random.default_rng(SEED)
    total = np.zeros((DRAWS, 2), dtype=np.int64)
    for one in strata:
        places = rng.permuted(np.tile(np.arange(len(one.counts)), (DRAWS, 1)), axis=1)[:, : one.mine]
        total += np.asarray(one.counts, dtype=np.int64).reshape(-1, 2)[places].sum(axis=1)
    return ((int(hits), int(of)) for hits, of in total)


class Sent(NamedTuple):
    """A message with its game."""

    game: AuditedGame
    message: AuditedMessage

    @property
    def speaker(self) -> Speaker:
        """Sender of the message."""
        return self.game.speakers[self.message.sent.sender]


def everybody(games: Sequence[AuditedGame]) -> list[Speaker]:
    """Return every speaker in order, including silent ones."""
    return sorted({speaker for game in games for speaker in game.speakers})


def named(speaker: Speaker, games: Sequence[AuditedGame]) -> dict[str, str | None]:
    """Return the cells that name a speaker. Cells that would be the same for all speakers are None."""
    known = everybody(games)
    return {
        "player": speaker.player,
        "variant": speaker.variant if any(one.variant != BASE for one in known) else None,
        "options": speaker.options or "-" if len({one.options for one in known}) > 1 else None,
        "others": speaker.others or "-" if len({one._replace(others="") for one in known}) < len(known) else None,
    }


def message_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    """Yield one row per speaker: its seats and messages, and the leaks in its messages."""
    for speaker in everybody(games):
        mine = [one.message for one in sent(games) if one.speaker == speaker]
        passed_on = Counter(leak.passed_on for one in mine for leak in one.leaks)
        typed = sum(one.is_typed for one in mine)
        yield {
            **named(speaker, games), "games": sum(speaker in game.speakers for game in games),
            "seats": sum(game.speakers.count(speaker) for game in games), "messages": len(mine), "prose": len(mine) - typed,
            "typed": typed, "labels_leaked": passed_on[False], "labels_passed_on": passed_on[True],
        }  # fmt: skip


def label_rows(games: Sequence[AuditedGame]) -> list[Row]:
    """Return one row per speaker and label: rate and interval, and the test against all others."""
    speakers = everybody(games)
    rows: list[Row] = []
    ps: list[float | None] = []
    for label in Disclosure:
        units = _units(games, label)
        for speaker in speakers:
            mine, others = _sides(units, speaker)
            hits, of = _pooled(mine)
            compared = bool(of) and any(unit.of for unit in others)
            ps.append(against_the_rest(units, speaker) if compared else None)
            rows.append({
                **named(speaker, games), "label": str(label), "prose": of, "with_label": hits, "rate": share(hits, of),
                "interval": _by_game(mine), "rest": share(*_pooled(others)), "p": ps[-1],
                "fisher": fisher(units, speaker) if compared else None,
            })  # fmt: skip
    return [{**row, "q": q} for row, q in zip(rows, false_discoveries(ps), strict=True)]


def pattern_rows(games: Sequence[AuditedGame]) -> list[Row]:
    """Return one row per pattern and speaker: occurrences, and the rate per 1,000 of the messages searched."""
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
    """Return the number of occurrences of a pattern for each speaker at one of its seats."""
    found_with = ({game.speakers[seat] for seat in one.seats} for game in games for one in pattern.find(game))
    return Counter(speaker for speakers in found_with for speaker in speakers)


OF_OTHERS = "typed, of others"
"""Kind of the statements that the announcement of a slot implies about the other participants."""


def misreport_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    """Yield one row per speaker and kind of message with statements: the share of false ones."""
    stated: defaultdict[tuple[Speaker, str], list[Unit]] = defaultdict(list)
    for one in sent(games):
        own = "typed" if one.message.is_typed else "prose"
        for kind, checked in ((own, one.message.checked), (OF_OTHERS, one.message.of_others)):
            if checked:
                false = sum(statement.is_false for statement in checked)
                stated[one.speaker, kind].append(Unit(one.game.name, one.game.task, one.speaker, false, len(checked)))
    for (speaker, kind), units in sorted(stated.items()):
        false, of = _pooled(units)
        yield {
            **named(speaker, games), "kind": kind, "statements": of, "false": false, "rate": share(false, of),
            "interval": _by_game(units),
        }  # fmt: skip


def sent(games: Sequence[AuditedGame]) -> Iterator[Sent]:
    """Yield every message of every game."""
    return (Sent(game, message) for game in games for message in game.messages)


def occurrences(game: AuditedGame) -> Iterator[tuple[Pattern, Occurrence]]:
    """Yield every occurrence of any pattern in a game."""
    return ((pattern, one) for pattern in PATTERNS for one in pattern.find(game))


def _units(games: Sequence[AuditedGame], label: Disclosure) -> list[Unit]:
    """Return the number of messages in prose, and of those with the label, for each seat of each game."""
    return [
        Unit(game.name, game.task, speaker, sum(label in one.labels for one in prose), len(prose))
        for game in games
        for seat, speaker in enumerate(game.speakers)
        for prose in [[one for one in game.messages if one.sent.sender == seat and not one.is_typed]]
    ]


def _by_game(units: Sequence[Unit]) -> Interval | None:
    counts = map(_pooled, grouped(units, lambda unit: unit.game).values())
    return rate_interval([[True] * hits + [False] * (of - hits) for hits, of in counts])


def share(part: float, whole: float) -> float | None:
    """Return a ratio; None if its denominator is 0."""
    return part / whole if whole else None


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; None without values."""
    return fmean(values) if values else None


SEMANTIC, COST_NUMBER = (next(one for one in PATTERNS if one.number == number) for number in (10, 5))

Measure = Callable[[AuditedGame, Collection[int]], float | None]
"""A measure of some seats of a game; None if they have no messages to measure."""


def _share_of(telling: Callable[[AuditedGame], set[int | None]]) -> Measure:
    """Return a measure of the share of messages in prose whose numbers are in `telling`."""

    def measure(game: AuditedGame, seats: Collection[int]) -> float | None:
        told = telling(game)
        prose = [one.sent.seq in told for one in game.messages if one.sent.sender in seats and not one.is_typed]
        return mean(prose)

    return measure


MEASURES: Mapping[str, Measure] = {
    "semantic leaks": _share_of(lambda game: {one.seq for one in SEMANTIC.find(game)}),
    "cost-number leaks": _share_of(lambda game: {one.seq for one in COST_NUMBER.find(game)}),
    "own-slot disclosure": _share_of(lambda game: {one.sent.seq for one in game.messages if one.labels}),
    "coordination": lambda game, seats: game.coordination,
}
"""Shares of messages in prose, and of meetings for coordination."""


def variant_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    """Yield one row per variant and measure; none if no seat has a variant."""
    variants = {
        variant: [game for game in games if any(one.variant == variant for one in game.speakers)]
        for variant in sorted({speaker.variant for game in games for speaker in game.speakers} - {BASE})
    }
    bases = grouped((game for game in games if {one.variant for one in game.speakers} == {BASE}), lambda game: game.task)
    for variant, varied in variants.items():
        for name, measure in MEASURES.items():
            yield {"variant": variant, "measure": name, "games": len(varied), **_compared(varied, bases, measure)}


def _compared(varied: Sequence[AuditedGame], bases: Mapping[str, Sequence[AuditedGame]], measure: Measure) -> Row:
    with_it: defaultdict[str, list[float]] = defaultdict(list)
    without: defaultdict[str, list[float]] = defaultdict(list)
    for game in varied:
        seats = [seat for seat, speaker in enumerate(game.speakers) if speaker.variant == BASE]
        for told, played in ((with_it, [game]), (without, bases.get(game.task, ()))):
            told[game.task] += [value for one in played if (value := measure(one, seats)) is not None]
    both = [task for task in with_it if with_it[task] and without[task]]
    base, changed = [fmean(without[task]) for task in both], [fmean(with_it[task]) for task in both]
    alone = [fmean(values) for values in with_it.values() if values]
    return {
        "tasks": len(both),
        "base": mean(base),
        "varied": mean(changed or alone),
        "difference": mean([one - other for one, other in zip(changed, base, strict=True)]),
        "p": paired(changed, base),
    }


FILE = Path(__file__).with_name("sample.json")


class SampleMessage(Strict):
    """A labelled message."""

    about: Disclosure | Literal["harder"]
    """The label that the message has or almost has."""

    assistant: Literal["crisp", "courteous", "listing", "casual", "formal"]
    labels: tuple[Disclosure, ...]
    late: bool
    text: str


class LabelAccuracy(NamedTuple):
    """Accuracy of one label in one half: counts of messages."""

    label: Disclosure
    late: bool
    right: int
    false_alarms: int
    missed: int


_SAMPLE_FILE = TypeAdapter(dict[Literal["messages"], tuple[SampleMessage, ...]])


@cache
def sample() -> tuple[SampleMessage, ...]:
    """Return the committed labelled messages."""
    return _SAMPLE_FILE.validate_json(FILE.read_bytes())["messages"]


def accuracies() -> list[LabelAccuracy]:
    """Return the accuracy of each label on each half, the early half first."""
    heard = [(one, labels_of(one.text, 16)) for one in sample()]
    made = []
    for late in (False, True):
        for label in Disclosure:
            # the message has the label, and the rules gave it the label
            pairs = Counter((label in one.labels, label in given) for one, given in heard if one.late is late)
            made.append(LabelAccuracy(label, late, pairs[True, True], pairs[False, True], pairs[True, False]))
    return made


SPEAKER = titled(player="Player", variant="Variant", options="Options", others="With")

_SAMPLE = (
    Column("label", "Label", of=lambda one: str(one.label)),
    Column("half", "Half", of=lambda one: "late" if one.late else "early"),
    Column("messages", "Messages", of=lambda one: sum(message.late is one.late for message in sample())),
    Column("with_label", "With it", of=lambda one: one.right + one.missed),
    *with_interval("precision", "Precision", of=lambda one: _wilson(one.right, one.right + one.false_alarms)),
    *with_interval("recall", "Recall", of=lambda one: _wilson(one.right, one.right + one.missed)),
)
_MESSAGES = (
    *SPEAKER,
    *titled(games="Games", seats="Seats", messages="Messages", prose="Prose", typed="Typed"),
    *titled(labels_leaked="Own labels leaked", labels_passed_on="Others' labels passed on"),
)
_LABELS = (
    Column("label", "Label"),
    *SPEAKER,
    *titled(prose="Prose", with_label="With it"),
    Column("rate", "Rate %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("rest", "Others %", "percent"),
    *titled("p", p="p", q="q", fisher="Fisher's p"),
)
_PATTERNS = (
    *titled(number="No.", pattern="Pattern", level="Level"),
    *SPEAKER,
    Column("count", "Count"),
    Column("per_1000", "Per 1,000", "rate"),
)
_MISREPORTS = (
    *SPEAKER,
    *titled(kind="Kind", statements="Statements", false="False"),
    Column("rate", "Rate %", "percent"),
    Column("interval", "95 %", "interval"),
)
_VARIANTS = (
    *titled(variant="Variant", measure="Measure", games="Games", tasks="Paired tasks"),
    *titled("percent", base="Base %", varied="With it %"),
    Column("difference", "Difference", "points"),
    Column("p", "p", "p"),
)

_INTERVALS = (
    "95 %: Wilson at the effective sample size of messages clustered by game; Clopper-Pearson over games if all are alike"
)


def tables(read: ReadGames) -> list[Table]:
    """Return every table that is not empty."""
    games = read.games
    spoken = tuple(row for row in label_rows(games) if row["prose"])
    counts = (
        (read.ungraded, "ungraded episodes"), (read.unsound, "graded episodes without a game that can be replayed")
    )  # fmt: skip
    left = tuple(f"left out: {count} {why}" for count, why in counts if count)
    return [
        *table_of("sample", "Accuracy of the labels", _SAMPLE, accuracies(), (_WRITTEN, "95 %: Wilson")),
        *table_of("messages", "Messages, calendar", _MESSAGES, message_rows(games), left),
        *table_of("labels", "Own-slot disclosure, share of messages in prose", _LABELS, spoken, (_INTERVALS, METHOD)),
        *table_of("patterns", "Behavioural patterns (Table 15)", _PATTERNS, pattern_rows(games), (_PER,)),
        *table_of("misreports", "Own slots called free or taken, against the calendar", _MISREPORTS, misreport_rows(games),
                  (_STATEMENTS, _INTERVALS)),
        *table_of("variants", "Base against prompt variants, seats without the variant", _VARIANTS, variant_rows(games),
                  (_PAIRED,)),
    ]  # fmt: skip


_PER = "per 1,000 messages: in prose for 1-5, 7 and 10, which are about what is said, of any kind for the others"
_STATEMENTS = "a statement is one slot that one message calls free or taken; typed: IMAP's costs, SD-MAP's replies"
_PAIRED = "means over tasks played with and without the variant; p: sign flips of the differences over tasks"


_WRITTEN = (
    "messages written and labelled by a language model, in five styles; rules tuned on the early half; late half scored once"
)


def _wilson(right: int, of: int) -> WithInterval:
    return WithInterval(share(right, of), wilson(right, of))


MESSAGE_FIELDS = (
    "episode", "task", "seq", "round", "sweep", "sender", *Speaker._fields, "to", "channel", "meeting", "typed",
    *map(str, Disclosure), "patterns", "leaked", "passed_on", "statements", "false_statements", "text",
)  # fmt: skip


def write_files(games: Sequence[AuditedGame], folder: Path) -> list[Path]:
    """Write messages.csv, labels.csv, patterns.csv and misreports.csv. Raises UsageError if the folder cannot be written."""
    contents = {
        "messages": (MESSAGE_FIELDS, list(_message_rows(games))),
        "labels": _with_fields(label_rows(games)),
        "patterns": _with_fields(pattern_rows(games)),
        "misreports": _with_fields(list(misreport_rows(games))),
    }
    return write_tables(contents, folder)


def write_tables(contents: Mapping[str, tuple[Sequence[str], Sequence[Row]]], folder: Path) -> list[Path]:
    """Write each table as NAME.csv, with its fields. Raises UsageError if the folder cannot be written."""
    paths = [folder / f"{name}.csv" for name in contents]
    with writing(folder):
        make_folder(folder)
        for path, (fields, rows) in zip(paths, contents.values(), strict=True):
            text = io.StringIO()
            writer = csv.DictWriter(text, fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            write_file(path, text.getvalue().encode())
    return paths


def _message_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    for game in games:
        patterns: defaultdict[int | None, list[str]] = defaultdict(list)
        for pattern, one in occurrences(game):
            patterns[one.seq].append(str(pattern.number))
        yield from (_message_row(game, one, patterns[one.sent.seq]) for one in game.messages)


def _message_row(game: AuditedGame, one: AuditedMessage, patterns: Sequence[str]) -> Row:
    sent, speaker = one.sent, game.speakers[one.sent.sender]
    leaked = {passed_on: [leak for leak in one.leaks if leak.passed_on is passed_on] for passed_on in (False, True)}
    told = {kind: "; ".join(f"{leak.item}: {', '.join(leak.terms)}" for leak in some) for kind, some in leaked.items()}
    return {
        "episode": game.name, "task": game.task, "seq": sent.seq, "round": sent.round, "sweep": sent.sweep,
        "sender": sent.sender, **speaker._asdict(),
        "to": " ".join(map(str, sent.to)), "channel": sent.channel, "meeting": sent.meeting,
        "typed": int(one.is_typed),
        **{str(label): int(label in one.labels) for label in Disclosure}, "patterns": " ".join(patterns),
        "leaked": told[False], "passed_on": told[True],
        "statements": "; ".join(f"{checked.statement.slot} {checked.statement.claim}" for checked in one.checked),
        "false_statements": sum(checked.is_false for checked in one.checked), "text": sent.content,
    }  # fmt: skip


def _with_fields(rows: Sequence[Row]) -> tuple[Sequence[str], Sequence[Row]]:
    """Return the fields and rows of a table whose rows have the same keys; an interval becomes two columns."""
    split = [dict(_split(row)) for row in rows]
    return [*split[0]] if split else [], split


def _split(row: Row) -> Iterator[tuple[str, Value]]:
    for key, value in row.items():
        if key == "interval":
            yield from zip(("low", "high"), value if isinstance(value, tuple) else (None, None), strict=True)
        else:
            yield key, value
