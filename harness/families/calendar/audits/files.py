"""The message audit as CSV: one row a message, one a player and label, one a player and pattern, one a player's statements."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.families.calendar.audits.counts import label_rows, misreport_rows, occurrences, pattern_rows
from harness.families.calendar.audits.disclosure import Disclosure
from harness.families.calendar.audits.games import AuditedGame, AuditedMessage
from harness.report.table import Row
from harness.writing import make_folder, write_file, writing

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
