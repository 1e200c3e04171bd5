"""Packed run: one Parquet file with zstd, so that a run of 100,000 episodes is easy to copy, publish and query.

1. A row is one file of the run, or a piece of a longer one (at most `PIECE` bytes): `path`, `part` (from 0), and its bytes in
`data`. The bytes of a finished episode's result.json are in `result` instead, so that tables read only that column.
2. Rows are sorted folder by folder, in groups of `GROUP`. A file is looked up by the first path of each group, and the last few
groups are cached, so that reading the episodes in order unpacks each group once.
3. DuckDB opens the file by its descriptor, because it would treat `[` or `*` in a file name as a pattern.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import UsageError
from harness.limits import Limit
from harness.safe_read import NotPlain
from parley.libraries import report_library
from parley.places import in_order

PACK_PATH_BYTES = Limit(4096, "pack_path_bytes")
PACK_PIECE_BYTES = Limit(1 << 20, "pack_piece_bytes")
PACK_ROWS = Limit(100_000, "pack_rows", "rows, and a row for each 4 bytes of the file,")
PACK_BYTES = Limit(64 << 20, "pack_bytes")
"""Size up to which a pack is accepted whatever its compression ratio."""

PACK_RATIO = Limit(1000, "pack_ratio", "times its size")

PIECE, GROUP = PACK_PIECE_BYTES, 256
KIND, VERSION = "parley_run", "1"
"""Values in the metadata of a packed run's file."""

_GROUPS_KEPT, _BLOCK = 4, 64
"""Number of cached groups, and of groups whose sizes are queried at once."""

_AT_ONCE = 16 << 20
"""Bytes that are fetched at once; larger groups are fetched row by row."""

_RESULT = re.compile(r"episodes/[^/]+/[^/]+/s[^/]*-a[^/]*/result\.json")
_COLUMNS = [("path", "VARCHAR"), ("part", "INTEGER"), ("result", "BLOB"), ("data", "BLOB")]
_FROM = "from read_parquet(?, file_row_number = true, hive_partitioning = false)"
_SHAPE = "select sum(rows) from (select distinct row_group_id, row_group_num_rows as rows from parquet_metadata(?)) groups"
_LENGTHS_OF_PATHS = f"select count(*) - count(path), max(strlen(path)), sum(strlen(path)) {_FROM}"
_PATHS = f"select path {_FROM} where part = 0"
_FIRSTS = f"select path {_FROM} where file_row_number % {GROUP} = 0"
_PLACES = f"select path, file_row_number {_FROM} where file_row_number between ? and ?"
_LENGTHS = (
    f"select file_row_number // {GROUP} as number, coalesce(max({{size}}), 0), coalesce(sum({{size}}), 0) {_FROM} "
    "where file_row_number between ? and ? group by number order by number"
)
_ROWS = f"select path, part, {{columns}} {_FROM} where file_row_number between ? and ?{{only}}"
_DUCKDB: dict[str, Any] = {
    "threads": 1, "memory_limit": "256MB", "temp_directory": "",
    "autoinstall_known_extensions": False, "autoload_known_extensions": False,
}  # fmt: skip
"""Settings that prevent an untrusted file from filling memory or disk, and DuckDB from downloading extensions."""


class Piece(NamedTuple):
    """File of a run, or a piece of it, numbered from 0."""

    path: str
    part: int
    data: bytes


class _Row(NamedTuple):
    """Row of a cached group: its bytes, or the place in the file from which they are fetched."""

    path: str
    place: int
    data: bytes | None = None


class _Column(NamedTuple):
    """Byte columns to read, and the SQL expression for the length of a row in these columns."""

    names: str
    size: str
    only: str = ""


# fetch both columns, because an expression that joins them would copy 2,048 rows at a time
_BOTH = _Column("result, data", "coalesce(octet_length(result), 0) + coalesce(octet_length(data), 0)")
_RESULTS_ALONE = _Column("result", "coalesce(octet_length(result), 0)", " and result is not null")


class PackedFiles:
    """Files of a packed run; safe to read from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises UsageError if it is not a packed run of this version, or exceeds a limit."""
        duckdb = report_library("duckdb")

        self.path = path
        self._error = duckdb.Error
        self._turn = threading.Lock()
        self._groups: dict[int, list[_Row]] = {}
        self._heavy: dict[int, bool] = {}
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._source = f"/dev/fd/{self._file}"
        self._duckdb = duckdb.connect(config=_DUCKDB)
        # otherwise the list of groups is read again for every group
        self._duckdb.execute("set parquet_metadata_cache = true")
        try:
            self._check()
        except UsageError:
            self._duckdb.close()
            os.close(self._file)
            raise

    def finished(self) -> list[str]:
        """Return the paths of finished results, read from the column of paths alone."""
        return [path for (path,) in self._asked(_PATHS) if is_result(path)]

    def results(self, most: Limit) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield each result or its error, streamed from one column."""
        for name, pieces in groupby(self._pieces(_RESULTS_ALONE), key=attrgetter("path")):
            yield name, self._whole(name, pieces, most)

    def read(self, name: str, most: Limit) -> bytes:
        """Read a file from the row groups that contain it."""
        rows = [row for row in self._under(name) if row.path == name]
        if not rows:
            raise FileNotFoundError(errno.ENOENT, "is not there", f"{self.path}/{name}")
        whole = self._whole(name, self._filled(rows), most)
        if isinstance(whole, OSError):
            raise whole
        return whole

    def names(self, part: str) -> list[str]:
        """Return the sorted paths below a folder, read from the row groups that contain them."""
        return sorted({row.path.removeprefix(f"{part}/") for row in self._under(part) if row.path != part})

    def has(self, name: str) -> bool:
        """Return True if there is a row for this path."""
        return any(row.path == name for row in self._under(name))

    def everything(self) -> Iterator[Piece]:
        """Yield every file in pieces, in order; raises UsageError if the pieces of a file are not in order."""
        path, part = "", 0
        for piece in self._pieces(_BOTH):
            part = part + 1 if piece.path == path else 0
            if piece.part != part or (part == 0 and in_order(piece.path) < in_order(path)):
                raise self._refused(f"piece {piece.part} of {piece.path!r} is out of order")
            path = piece.path
            yield piece

    @property
    def size(self) -> int:
        """Size of the packed file in bytes."""
        return os.fstat(self._file).st_size

    def _check(self) -> None:
        facts = self._asked("select key, value from parquet_kv_metadata(?)")
        if dict(facts).get(KIND.encode()) != VERSION.encode():
            raise self._refused(f"its columns or its version differ from those of {VERSION}")
        columns = [(name, kind) for name, kind, *_ in self._asked("describe select * from read_parquet(?)")]
        ((rows,),) = self._asked(_SHAPE)
        if columns != _COLUMNS:
            raise self._refused(f"its columns or its version differ from those of {VERSION}")
        if (rows or 0) > self.size // 4 + PACK_ROWS:
            raise self._refused(f"it holds more than {PACK_ROWS}")
        ((unnamed, longest, total),) = self._asked(_LENGTHS_OF_PATHS)
        if unnamed:
            raise self._refused(f"{unnamed} rows have no path")
        if (longest or 0) > PACK_PATH_BYTES:
            raise self._refused(f"a path in it is longer than {PACK_PATH_BYTES}")
        self._check_total(total or 0)

    @cached_property
    def _firsts(self) -> list[list[str]]:
        """First path of each group."""
        return [in_order(path) for (path,) in self._asked(_FIRSTS)]

    def _under(self, place: str) -> Iterator[_Row]:
        """Yield the rows of a file, or of all files below a folder."""
        parts, below = in_order(place), f"{place}/"
        # the rows may begin in the previous group
        number = max(bisect_left(self._firsts, parts) - 1, 0)
        while number < len(self._firsts) and self._firsts[number][: len(parts)] <= parts:
            yield from (row for row in self._group(number) if row.path == place or row.path.startswith(below))
            number += 1

    def _group(self, number: int) -> list[_Row]:
        """Return the rows of a group, without their bytes if the group is heavy."""
        first, last = number * GROUP, (number + 1) * GROUP - 1
        with self._turn:
            if number not in self._groups:
                if self._is_heavy(number):
                    rows = [_Row(path, place) for path, place in self._asked(_PLACES, first, last)]
                else:
                    rows = [_Row(one.path, -1, one.data) for one in self._fetched(_BOTH, first, last, GROUP)]
                while len(self._groups) >= _GROUPS_KEPT:
                    del self._groups[next(iter(self._groups))]
                self._groups[number] = rows
            return self._groups[number]

    def _is_heavy(self, number: int) -> bool:
        """Return True if a group is heavy.

        Sizes are queried for many groups at once, which halves the time of reading all episodes.
        """
        if number not in self._heavy:
            block = number - number % _BLOCK
            for first, last, is_heavy in self._stretches(_BOTH, block * GROUP, (block + _BLOCK) * GROUP - 1):
                self._heavy.update(dict.fromkeys(range(first // GROUP, last // GROUP + 1), is_heavy))
        return self._heavy[number]

    def _filled(self, rows: Iterable[_Row]) -> Iterator[Piece]:
        for row in rows:
            yield from [Piece(row.path, 0, row.data)] if row.data is not None else self._fetched(_BOTH, row.place, row.place, 1)

    def _pieces(self, column: _Column) -> Iterator[Piece]:
        """Yield all rows, streamed; raises UsageError before the first if the pack exceeds a limit."""
        for first, last, is_heavy in list(self._stretches(column, 0, len(self._firsts) * GROUP)):
            yield from self._fetched(column, first, last, 1 if is_heavy else last - first + 1)

    def _stretches(self, column: _Column, first: int, last: int) -> Iterator[tuple[int, int, bool]]:
        """Split rows into runs of light groups, and heavy groups, by their sizes alone; raises UsageError above a limit."""
        total, begun = 0, first
        for number, longest, size in self._asked(_LENGTHS.format(size=column.size), first, last):
            total += size
            if longest > PIECE:
                raise self._refused(f"a piece in it is longer than {PIECE}")
            self._check_total(total)
            if size > _AT_ONCE:
                if begun < number * GROUP:
                    yield begun, number * GROUP - 1, False
                begun = (number + 1) * GROUP
                yield number * GROUP, begun - 1, True
        if begun <= last:
            yield begun, last, False

    def _fetched(self, column: _Column, first: int, last: int, step: int) -> Iterator[Piece]:
        """Yield the rows from `first` to `last`, queried `step` at a time."""
        query = _ROWS.format(columns=column.names, only=column.only)
        for begin in range(first, last + 1, step):
            for path, part, *data in self._asked(query, begin, min(begin + step - 1, last)):
                yield Piece(path, part, next((one for one in data if one is not None), b""))

    def _asked(self, query: str, *values: int) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, streamed; raises UsageError if DuckDB cannot read the file."""
        try:
            with self._duckdb.cursor() as cursor:
                cursor.execute(query, [self._source, *values])
                while rows := cursor.fetchmany(GROUP):
                    yield from rows
        except self._error as error:
            raise self._refused(str(error).splitlines()[0]) from None

    def _check_total(self, size: int) -> None:
        if size > max(PACK_BYTES, PACK_RATIO * self.size):
            raise self._refused(f"it holds more than {PACK_BYTES} and {PACK_RATIO}")

    def _refused(self, why: str) -> UsageError:
        return UsageError(f"{self.path} is not a packed run: {why}", hint="harness pack RUN")

    def _whole(self, name: str, pieces: Iterable[Piece], most: Limit) -> bytes | OSError:
        """Return a file joined from its pieces, or the error if it is too long.

        Uses little more memory than the limit.
        """
        data = bytearray()
        for piece in pieces:
            if len(data) <= most:
                data += piece.data
        why = most.exceeded(data)
        return NotPlain(errno.EFBIG, why, f"{self.path}/{name}") if why else bytes(data)


def is_result(path: str) -> bool:
    """Return True if a path is the result of a finished episode."""
    return _RESULT.fullmatch(path) is not None
