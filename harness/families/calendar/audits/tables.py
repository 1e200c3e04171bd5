"""The tables of the message audit, as the house prints them: how well labels are told, then what the games say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.families.calendar.audits.comparison import METHOD
from harness.families.calendar.audits.counts import label_rows, message_rows, misreport_rows, pattern_rows
from harness.families.calendar.audits.games import AuditedGame, ReadGames
from harness.families.calendar.audits.sample import accuracies, sample
from harness.families.calendar.audits.variants import variant_rows
from harness.report.table import Column, Row, Table

_SPEAKER = (
    Column("player", "Player"), Column("variant", "Variant"), Column("options", "Options"), Column("others", "With"),
)  # fmt: skip

_SAMPLE = (
    Column("label", "Label"),
    Column("half", "Half"),
    Column("messages", "Messages"),
    Column("with_label", "With it"),
    Column("precision", "Precision", "rate"),
    Column("precision_interval", "95 %", "span"),
    Column("recall", "Recall", "rate"),
    Column("recall_interval", "95 %", "span"),
)
_MESSAGES = (
    *_SPEAKER,
    Column("games", "Games"),
    Column("seats", "Seats"),
    Column("messages", "Messages"),
    Column("prose", "Prose"),
    Column("typed", "Typed"),
    Column("labels_leaked", "Own labels leaked"),
    Column("labels_passed_on", "Others' labels passed on"),
)
_LABELS = (
    Column("label", "Label"),
    *_SPEAKER,
    Column("prose", "Prose"),
    Column("with_label", "With it"),
    Column("rate", "Rate %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("rest", "Others %", "percent"),
    Column("p", "p", "p"),
    Column("q", "q", "p"),
    Column("fisher", "Fisher's p", "p"),
)
_PATTERNS = (
    Column("number", "No."),
    Column("pattern", "Pattern"),
    Column("level", "Level"),
    *_SPEAKER,
    Column("count", "Count"),
    Column("per_1000", "Per 1,000", "rate"),
)
_MISREPORTS = (
    *_SPEAKER,
    Column("kind", "Kind"),
    Column("statements", "Statements"),
    Column("false", "False"),
    Column("rate", "Rate %", "percent"),
    Column("interval", "95 %", "interval"),
)
_VARIANTS = (
    Column("variant", "Variant"),
    Column("measure", "Measure"),
    Column("games", "Games"),
    Column("tasks", "Paired tasks"),
    Column("base", "Base %", "percent"),
    Column("varied", "With it %", "percent"),
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
