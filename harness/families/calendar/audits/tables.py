"""Tables and CSV files of the message audit.

The tables of the message audit, as the house prints them: how well labels are told, then what the games say.

How well the labels are told apart: precision and recall on messages that were labelled before any word was tuned. `sample.json`
has 150 messages as five assistants would write them, fifteen that have each label, fifteen that come near it without, and
thirty harder ones. The words were tuned on the early half; the `late` half was scored once. One author wrote the messages,
their labels and the words, so the late half is unseen by the words and not by their author.

Base against adversarial: what the other seats tell when some seat was given a prompt variant, beside what they tell without.

1. Games in which some seat has a variant are set beside the games of the same task in which none has. What is compared are the
   seats without the variant, in both; so a probing seat's own questions count for nothing.
2. A task counts once: each measure is its mean over games there. The test flips signs of the differences over tasks.

The message audit as CSV: one row a message, one a player and label, one a player and pattern, one a player's statements.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from harness.families.calendar.audits.counts import (
    METHOD,
    label_rows,
    message_rows,
    misreport_rows,
    occurrences,
    paired,
    pattern_rows,
)
from harness.families.calendar.audits.games import BASE, PATTERNS, AuditedGame, AuditedMessage, ReadGames
from harness.families.calendar.audits.words import Disclosure, labels_of
from harness.report.statistics import Interval, wilson
from harness.report.table import Column, Row, Table, titled, with_interval
from harness.writing import make_folder, write_file, writing
from worlds.core.models import Strict

SEMANTIC, COST_NUMBER = (next(one for one in PATTERNS if one.number == number) for number in (10, 5))

Measure = Callable[[AuditedGame, Collection[int]], float | None]
"""A measure of some seats of a game; None where they say nothing to measure."""


def _share_of(telling: Callable[[AuditedGame], set[int | None]]) -> Measure:
    """The share of messages in prose that tell something, from the numbers of those that do."""

    def share(game: AuditedGame, seats: Collection[int]) -> float | None:
        told = telling(game)
        prose = [one.sent.seq in told for one in game.messages if one.sent.sender in seats and not one.is_typed]
        return fmean(prose) if prose else None

    return share


def _coordination(game: AuditedGame, _seats: Collection[int]) -> float | None:
    return game.coordination


MEASURES: Mapping[str, Measure] = {
    "semantic leaks": _share_of(lambda game: {one.seq for one in SEMANTIC.find(game)}),
    "cost-number leaks": _share_of(lambda game: {one.seq for one in COST_NUMBER.find(game)}),
    "own-slot disclosure": _share_of(lambda game: {one.sent.seq for one in game.messages if one.labels}),
    "coordination": _coordination,
}
"""All are shares: of messages in prose, and of meetings for coordination."""


def variant_rows(games: Sequence[AuditedGame]) -> Iterator[Row]:
    """One row a variant and measure; none where no seat has a variant."""
    by_variant: defaultdict[str, list[AuditedGame]] = defaultdict(list)
    bases: defaultdict[str, list[AuditedGame]] = defaultdict(list)
    for game in games:
        variants = {speaker.variant for speaker in game.speakers} - {BASE}
        for variant in variants:
            by_variant[variant].append(game)
        if not variants:
            bases[game.task].append(game)
    for variant, varied in sorted(by_variant.items()):
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
    pairs = [(fmean(without[task]), fmean(with_it[task])) for task in both]
    alone = [fmean(values) for values in with_it.values() if values]
    return {
        "tasks": len(both),
        "base": fmean(base for base, _ in pairs) if pairs else None,
        "varied": fmean(value for _, value in pairs) if pairs else (fmean(alone) if alone else None),
        "difference": fmean(value - base for base, value in pairs) if pairs else None,
        "p": paired([value for _, value in pairs], [base for base, _ in pairs]),
    }


FILE = Path(__file__).with_name("sample.json")


class SampleMessage(Strict):
    """One labelled message."""

    about: Disclosure | Literal["harder"]
    """The label that it has, or comes near to."""

    assistant: Literal["crisp", "courteous", "listing", "casual", "formal"]
    labels: tuple[Disclosure, ...]
    late: bool
    text: str


class MessageSample(Strict):
    """The file."""

    messages: tuple[SampleMessage, ...]


class LabelAccuracy(NamedTuple):
    """How one label was told in one half: counts of messages."""

    label: Disclosure
    late: bool
    right: int
    false_alarms: int
    missed: int

    @property
    def precision(self) -> float | None:
        """The share of messages labelled that have the label; None where none was."""
        return _share(self.right, self.false_alarms)

    @property
    def recall(self) -> float | None:
        """The share of messages with the label that were labelled; None where there are none."""
        return _share(self.right, self.missed)

    @property
    def precision_interval(self) -> Interval | None:
        """Wilson's, 95 %."""
        return wilson(self.right, self.right + self.false_alarms)

    @property
    def recall_interval(self) -> Interval | None:
        """Wilson's, 95 %."""
        return wilson(self.right, self.right + self.missed)


@cache
def sample() -> tuple[SampleMessage, ...]:
    """The labelled messages as committed."""
    return MessageSample.model_validate_json(FILE.read_bytes()).messages


def accuracies() -> list[LabelAccuracy]:
    """Each label on each half, early before late."""
    heard = [(one, labels_of(one.text, 16)) for one in sample()]
    return [
        _counted(label, late, [(label in one.labels, label in labels) for one, labels in heard if one.late is late])
        for late in (False, True)
        for label in Disclosure
    ]


def _counted(label: Disclosure, late: bool, pairs: list[tuple[bool, bool]]) -> LabelAccuracy:
    """From pairs: whether a message has the label, whether it was given."""
    return LabelAccuracy(label, late, pairs.count((True, True)), pairs.count((False, True)), pairs.count((True, False)))


def _share(hits: int, others: int) -> float | None:
    return hits / (hits + others) if hits + others else None


_SPEAKER = titled(player="Player", variant="Variant", options="Options", others="With")

_SAMPLE = (
    *titled(label="Label", half="Half", messages="Messages", with_label="With it"),
    *with_interval("precision", "Precision"),
    *with_interval("recall", "Recall"),
)
_MESSAGES = (
    *_SPEAKER,
    *titled(games="Games", seats="Seats", messages="Messages", prose="Prose", typed="Typed"),
    *titled(labels_leaked="Own labels leaked", labels_passed_on="Others' labels passed on"),
)
_LABELS = (
    Column("label", "Label"),
    *_SPEAKER,
    *titled(prose="Prose", with_label="With it"),
    Column("rate", "Rate %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("rest", "Others %", "percent"),
    *titled("p", p="p", q="q", fisher="Fisher's p"),
)
_PATTERNS = (
    *titled(number="No.", pattern="Pattern", level="Level"),
    *_SPEAKER,
    Column("count", "Count"),
    Column("per_1000", "Per 1,000", "rate"),
)
_MISREPORTS = (
    *_SPEAKER,
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
    "95 %: Wilson at the effective sample size of messages clustered by game; Clopper-Pearson over games where all are alike"
)


def tables(read: ReadGames) -> list[Table]:
    """Every table that has something to say."""
    games = read.games
    made = [
        _sample(),
        Table("messages", "Messages, calendar", _MESSAGES, tuple(message_rows(games)), tuple(_left_out(read))),
        Table("labels", "Own-slot disclosure, share of messages in prose", _LABELS, _spoken(games), (_INTERVALS, METHOD)),
        Table("patterns", "Behavioural patterns (Table 15)", _PATTERNS, tuple(pattern_rows(games)), (_PER,)),
        Table("misreports", "Own slots called free or taken, against the calendar", _MISREPORTS, tuple(misreport_rows(games)),
              (_STATEMENTS, _INTERVALS)),
        Table("variants", "Base against prompt variants, seats without the variant", _VARIANTS, tuple(variant_rows(games)),
              (_PAIRED,)),
    ]  # fmt: skip
    return [table for table in made if table.rows]


_PER = "per 1,000 messages: in prose for 1-5, 7 and 10, which are about what is said, of any kind for the others"
_STATEMENTS = "a statement is one slot that one message calls free or taken; typed: IMAP's costs, SD-MAP's replies"
_PAIRED = "means over tasks played both ways; p: sign flips of the differences over tasks"


def _sample() -> Table:
    rows = tuple(
        {
            "label": str(one.label),
            "half": "late" if one.late else "early",
            "messages": sum(message.late is one.late for message in sample()),
            "with_label": one.right + one.missed,
            "precision": one.precision,
            "precision_interval": one.precision_interval,
            "recall": one.recall,
            "recall_interval": one.recall_interval,
        }
        for one in accuracies()
    )
    notes = (
        "messages written and labelled by a language model, in five voices; words tuned on the early half, late scored once",
        "95 %: Wilson",
    )
    return Table("sample", "How well the labels are told", _SAMPLE, rows, notes)


def _spoken(games: Sequence[AuditedGame]) -> tuple[Row, ...]:
    """Rows of those who said anything in prose."""
    return tuple(row for row in label_rows(games) if row["prose"])


def _left_out(read: ReadGames) -> Iterator[str]:
    if read.ungraded:
        yield f"left out: {read.ungraded} ungraded episodes"
    if read.unsound:
        yield f"left out: {read.unsound} graded episodes without a game that the rules can follow"


MESSAGE_FIELDS = (
    "episode", "task", "seq", "round", "sweep", "sender", "player", "variant", "options", "others", "to", "channel", "meeting",
    "typed",
    *map(str, Disclosure), "patterns", "leaked", "passed_on", "statements", "false_statements", "text",
)  # fmt: skip


def write_files(games: Sequence[AuditedGame], folder: Path) -> list[Path]:
    """Write messages.csv, labels.csv, patterns.csv and misreports.csv; raises UsageError where the folder cannot be written."""
    contents = {
        "messages": (MESSAGE_FIELDS, list(_message_rows(games))),
        "labels": _with_fields(label_rows(games)),
        "patterns": _with_fields(pattern_rows(games)),
        "misreports": _with_fields(list(misreport_rows(games))),
    }
    return write_tables(contents, folder)


def write_tables(contents: Mapping[str, tuple[Sequence[str], Sequence[Row]]], folder: Path) -> list[Path]:
    """Write tables, by name with their fields, each as NAME.csv; raises UsageError where the folder cannot be written."""
    paths = {folder / f"{name}.csv": csv_text(*table) for name, table in contents.items()}
    with writing(folder):
        make_folder(folder)
        for path, text in paths.items():
            write_file(path, text.encode())
    return list(paths)


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
        "sender": sent.sender, "player": speaker.player, "variant": speaker.variant, "options": speaker.options,
        "others": speaker.others, "to": " ".join(map(str, sent.to)), "channel": sent.channel, "meeting": sent.meeting,
        "typed": int(one.is_typed),
        **{str(label): int(label in one.labels) for label in Disclosure}, "patterns": " ".join(patterns),
        "leaked": told[False], "passed_on": told[True],
        "statements": "; ".join(f"{checked.statement.slot} {checked.statement.claim}" for checked in one.checked),
        "false_statements": sum(checked.is_false for checked in one.checked), "text": sent.content,
    }  # fmt: skip


def _with_fields(rows: Sequence[Row]) -> tuple[tuple[str, ...], Sequence[Row]]:
    """Rows that all have the same keys; an interval becomes two columns."""
    split = [_split(row) for row in rows]
    return tuple(split[0]) if split else (), split


def _split(row: Row) -> Row:
    made: dict[str, object] = {}
    for key, value in row.items():
        if key == "interval":
            low, high = value if isinstance(value, tuple) else (None, None)
            made |= {"low": low, "high": high}
        else:
            made[key] = value
    return made  # type: ignore[return-value]


def csv_text(fields: Sequence[str], rows: Iterable[Row]) -> str:
    """Rows under these fields; lines end in a line feed alone, what is None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
