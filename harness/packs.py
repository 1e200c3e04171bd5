"""A run in one file: Parquet with zstd, so that a hundred thousand episodes are one file to copy, to publish and to query.

1. A row is one file of the run, or a piece of `PIECE` bytes of a longer one: `path`, `part` (from 0), and its bytes in `data`;
   those of a finished episode's result.json stand in `result` instead, so that tables read only that column.
2. Rows are sorted folder by folder, in groups of `GROUP`. A file is looked up by the first path of each group, and the last few
   groups are kept: whoever reads episode after episode unpacks each group once, and holds never more than those.
3. DuckDB gets the file by its descriptor, since it would take `[` or `*` in a name for a pattern.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from harness.contents import NotPlain
from harness.errors import UsageError
from harness.run_files import FolderFiles, RunFiles, in_order, is_packed, run_and_place

PIECE, GROUP = 1 << 20, 256
KIND, VERSION = "parley_run", "1"
"""What stands in the metadata of such a file."""

_GROUPS_KEPT = 4
_RESULT = re.compile(r"episodes/[^/]+/[^/]+/s[^/]*-a[^/]*/result\.json")
_PATHS = "select path from read_parquet(?, hive_partitioning = false) where part = 0"
_FIRSTS = "select path from read_parquet(?, file_row_number = true, hive_partitioning = false) where file_row_number % ? = 0"
_RESULTS = "select path, result from read_parquet(?, hive_partitioning = false) where result is not null"
_EVERYTHING = "select path, coalesce(result, data) from read_parquet(?, hive_partitioning = false)"
_SOME = (
    "select path, coalesce(result, data) from read_parquet(?, file_row_number = true, hive_partitioning = false) "
    "where file_row_number between ? and ?"
)


class PackedFiles:
    """The files of a packed run; may be read by several threads."""

    def __init__(self, path: Path) -> None:
        """Open it; raises UsageError for a file that is no packed run of this version."""
        import duckdb  # noqa: PLC0415 - only where a run is packed

        self.path = path
        self._turn = threading.Lock()
        self._groups: dict[int, list[tuple[str, bytes]]] = {}
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._source = f"/dev/fd/{self._file}"
        self._duckdb = duckdb.connect(config={"threads": 1, "memory_limit": "400MB"})
        try:
            facts = self._duckdb.execute("select key, value from parquet_kv_metadata(?)", [self._source]).fetchall()
        except duckdb.Error as error:
            raise UsageError(f"{path} is no packed run: {str(error).splitlines()[0]}", hint="harness pack RUN") from None
        if dict(facts).get(KIND.encode()) != VERSION.encode():
            raise UsageError(f"{path} is no packed run of this version", hint="harness pack RUN")

    def finished(self) -> list[str]:
        """By the column of paths alone."""
        with self._turn:
            rows = self._duckdb.execute(_PATHS, [self._source]).fetchall()
        return [path for (path,) in rows if is_result(path)]

    def results(self, most: int) -> Iterator[tuple[str, bytes | OSError]]:
        """Streamed, from the one column."""
        for name, data in self._joined(_RESULTS):
            yield name, self._bounded(name, data, most)

    def read(self, name: str, most: int) -> bytes:
        """Out of the groups that it lies in."""
        pieces = [piece for path, piece in self._under(name) if path == name]
        if not pieces:
            raise FileNotFoundError(errno.ENOENT, "is not there", f"{self.path}/{name}")
        whole = self._bounded(name, b"".join(pieces), most)
        if isinstance(whole, OSError):
            raise whole
        return whole

    def names(self, part: str) -> list[str]:
        """Out of the groups that they lie in."""
        return sorted({path.removeprefix(f"{part}/") for path, _ in self._under(part) if path != part})

    def has(self, name: str) -> bool:
        """Whether there is a row of it."""
        return any(path == name for path, _ in self._under(name))

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Every file with its bytes, in order."""
        yield from self._joined(_EVERYTHING)

    @property
    def size(self) -> int:
        """Of the one file."""
        return os.fstat(self._file).st_size

    @cached_property
    def _firsts(self) -> list[list[str]]:
        """The first path of each group."""
        return [in_order(path) for (path,) in self._duckdb.execute(_FIRSTS, [self._source, GROUP]).fetchall()]

    def _under(self, place: str) -> Iterator[tuple[str, bytes]]:
        """The rows of a file, or of all files below a folder."""
        parts, below = in_order(place), f"{place}/"
        # they may begin in the group before the first that begins with them
        number = max(bisect_left(self._firsts, parts) - 1, 0)
        while number < len(self._firsts) and self._firsts[number][: len(parts)] <= parts:
            yield from (row for row in self._group(number) if row[0] == place or row[0].startswith(below))
            number += 1

    def _group(self, number: int) -> list[tuple[str, bytes]]:
        with self._turn:
            if number not in self._groups:
                bounds = number * GROUP, (number + 1) * GROUP - 1
                rows: list[Any] = self._duckdb.execute(_SOME, [self._source, *bounds]).fetchall()
                while len(self._groups) >= _GROUPS_KEPT:
                    del self._groups[next(iter(self._groups))]
                self._groups[number] = rows
            return self._groups[number]

    def _joined(self, query: str) -> Iterator[tuple[str, bytes]]:
        """Files with their pieces put together, streamed."""
        cursor = self._duckdb.cursor()
        cursor.execute(query, [self._source])
        path, pieces = "", list[bytes]()
        while rows := cursor.fetchmany(GROUP):
            for name, piece in rows:
                if name != path and pieces:
                    yield path, b"".join(pieces)
                    pieces = []
                path = name
                pieces.append(piece)
        if pieces:
            yield path, b"".join(pieces)

    def _bounded(self, name: str, data: bytes, most: int) -> bytes | OSError:
        if len(data) > most:
            return NotPlain(errno.EFBIG, f"is longer than {most} bytes", f"{self.path}/{name}")
        return data


def is_result(path: str) -> bool:
    """Whether a file is the result of a finished episode."""
    return _RESULT.fullmatch(path) is not None


def files_of(run: Path) -> RunFiles:
    """The files of a run, in its folder or packed; raises UsageError for a file that is no packed run."""
    if not is_packed(run):
        return FolderFiles(run)
    info = run.stat()
    return _opened(run.resolve(), info.st_mtime_ns, info.st_ino)


def read_recorded(folder: Path, name: str, most: int) -> bytes:
    """A file of an episode's folder, which may lie in a packed run; raises OSError as `RunFiles.read` does."""
    run, below = run_and_place(folder)
    return files_of(run).read(f"{below}{name}", most)


@lru_cache(maxsize=16)
def _opened(path: Path, changed: int, number: int) -> PackedFiles:
    """A packed run, opened once as long as it is that file."""
    del changed, number
    return PackedFiles(path)
