"""Packing of a run's folder into one file (`parley.reports.archive`), and unpacking it byte for byte.

1. Files are read slightly ahead while DuckDB writes group by group, so memory use is that of a few groups, whatever the length
of the run. Links and other special files are refused, and so is a file that changes meanwhile.
2. The key of an edition is excluded by default, because packed runs are made to be shared.
3. A packed run is untrusted: unpacking refuses a path that leads out of the folder.
4. Packs and folders are created under a temporary name and renamed, so a killed process leaves nothing that looks complete.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from harness.atomic_write import append_to_file, make_folder, write_file, writing
from harness.errors import UsageError, quoted
from harness.records import RunFolder
from harness.run_files import is_abandoned, remove
from harness.safe_read import read_file, read_files
from parley.libraries import report_library
from parley.reports.archive import GROUP, KIND, PIECE, VERSION, PackedFiles, is_result
from parley.sharing.publishing import refuse_secrets

_THREADS, _FILES = 4, 64
_HELD = 16 << 20
"""Maximum bytes that are read but not yet consumed; each thread reads a quarter of that, or `_FILES` files, at a time."""


def read_ahead(folder: Path, files: Iterable[tuple[str, int]]) -> Iterator[bytes]:
    """Yield the bytes of each file, given with its size; raises as `harness.safe_read.read_files` does."""
    with ThreadPoolExecutor(_THREADS, "read-ahead") as pool:
        held, under_way = 0, deque[tuple[int, Future[list[bytes]]]]()
        try:
            for size, names in _batches(files):
                while under_way and held + size > _HELD:
                    done, batch = under_way.popleft()
                    held -= done
                    yield from batch.result()
                under_way.append((size, pool.submit(lambda names: list(read_files(folder, names)), names)))
                held += size
            while under_way:
                yield from under_way.popleft()[1].result()
        finally:
            pool.shutdown(cancel_futures=True)


def _batches(files: Iterable[tuple[str, int]]) -> Iterator[tuple[int, list[str]]]:
    """Yield batches of files for one thread to read, with their total bytes."""
    total, names = 0, list[str]()
    for name, size in files:
        if names and (len(names) == _FILES or total + size > _HELD // _THREADS):
            yield total, names
            total, names = 0, []
        total += size
        names.append(name)
    if names:
        yield total, names


KEY_FILE = "edition.key"
_PIECE = PIECE // 8
"""Bytes of a file in one row. Small, because DuckDB buffers several copies of a whole group before it writes the group."""

_STEP = 2048 // GROUP
"""Rows passed to DuckDB for each row that is kept. DuckDB writes a group every 2,048 rows, so groups have `GROUP` kept rows."""

_PART = re.compile(r"(?!\.{1,2}$)[^/\x00-\x1f\x7f]{1,255}")
_ROW = "STRUCT(path VARCHAR, part INTEGER, result BLOB, data BLOB)"
_COPY = (
    "COPY (SELECT unnest(r) FROM (SELECT parley_row(n) AS r FROM range({numbers}) s(n) WHERE n % {step} = 0)) TO '{path}' "
    "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group}, KV_METADATA {{{kind}: '{version}'}})"
)


class RunContents(NamedTuple):
    """Files of a run with their sizes, in the order of a pack."""

    names: list[str]
    sizes: list[int]

    @property
    def rows(self) -> int:
        """Number of rows in the pack."""
        return sum(map(_pieces, self.sizes))


def pack(run: Path, out: Path, *, with_key: bool = False) -> int:
    """Write the run in a folder to the file `out`, and return the number of files. Raises UsageError if it cannot be packed."""
    folder = RunFolder(run)
    if not folder.is_planned or not run.is_dir():
        raise UsageError(f"{run} holds no run.json", hint="harness pack RUN, the folder that harness run printed")
    if out.exists():
        raise UsageError(f"{out} already exists, and no file is overwritten", hint=f"harness pack {quoted(run)} --out FILE")
    with folder.held(), _beside(out) as partial:
        left = {leftover.name for leftover in folder.leftovers()}
        contents = _contents(run, left, with_key=with_key)
        _write(run.resolve(), contents, partial)
        partial.chmod(0o600 if with_key else 0o644)
        partial.rename(out)
    return len(contents.names)


def unpack(packed: Path, out: Path) -> int:
    """Write the folder of a packed run, and return the number of files. Raises UsageError for a path that leads outside."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"{out} already exists, and no file is overwritten", hint=f"harness unpack {quoted(packed)} --out NEW_FOLDER"
        )
    files = PackedFiles(packed)
    with _beside(out) as partial:
        make_folder(partial)
        count, made = 0, set[str]()
        for name, part, data in files.everything():
            if not all(map(_PART.fullmatch, name.split("/"))):
                raise UsageError(f"{packed} holds {name!r}, which is not a path below the folder")
            if part:
                append_to_file(partial / name, data)
                continue
            place = name.rpartition("/")[0]
            if place not in made:
                make_folder(partial / place)
                made.add(place)
            write_file(partial / name, data)
            count += 1
        if (partial / KEY_FILE).exists():
            (partial / KEY_FILE).chmod(0o600)
        partial.rename(out)
    return count


def differs(run: Path, packed: Path) -> str | None:
    """Return the first file of a run's folder that is not in its pack byte for byte; None if all are."""
    root, files = run.resolve(), PackedFiles(packed)
    left = set(_contents(run, {one.name for one in RunFolder(run).leftovers()}, with_key=True).names)
    name: str
    for name, pieces in groupby(files.everything(), key=attrgetter("path")):
        if name not in left or read_file(root, name).data != b"".join(piece.data for piece in pieces):
            return name
        left.remove(name)
    return min(left, default=None)


def _contents(run: Path, without: set[str], *, with_key: bool) -> RunContents:
    """Return the files in a run's folder, without incomplete files of dead processes."""
    names, sizes = list[str](), list[int]()
    for name, size in _below(str(run), "", without):
        if with_key or name != KEY_FILE:
            names.append(name)
            sizes.append(size)
    return RunContents(names, sizes)


def _below(folder: str, place: str, without: set[str]) -> Iterator[tuple[str, int]]:
    """Yield each file below a folder with its size, in the order of a pack.

    Links are included, and refused when they are read.
    """
    try:
        with os.scandir(folder) as inside:
            entries = sorted(inside, key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: {error.strerror}") from None
    for entry in entries:
        if entry.path in without:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, f"{place}{entry.name}/", without)
        else:
            yield f"{place}{entry.name}", entry.stat(follow_symlinks=False).st_size


def _pieces(size: int) -> int:
    return max(1, -(-size // _PIECE))


def _write(root: Path, contents: RunContents, out: Path) -> None:
    duckdb = report_library("duckdb")

    rows, failed = _rows(root, contents), list[BaseException]()

    def row(number: int) -> dict[str, Any]:
        del number  # DuckDB requests the rows one after the other
        try:
            return next(rows)
        except BaseException as error:
            # DuckDB converts the exception to one of its own
            failed.append(error)
            raise

    connection = duckdb.connect(config={"threads": 1, "memory_limit": "600MB"})
    try:
        connection.create_function("parley_row", row, ["BIGINT"], _ROW, side_effects=True)
        path = str(out).replace("'", "''")
        numbers = contents.rows * _STEP
        connection.execute(_COPY.format(numbers=numbers, step=_STEP, path=path, group=GROUP, kind=KIND, version=VERSION))
        connection.remove_function("parley_row")
    except duckdb.Error as error:
        if failed:
            raise failed[0] from None
        raise UsageError(f"{out} cannot be written: {str(error).splitlines()[0]}", hint="--out FILE on another disk") from None
    finally:
        connection.close()


def _rows(root: Path, contents: RunContents) -> Iterator[dict[str, Any]]:
    """Yield the rows of a pack.

    Raises UsageError for a file that is not plain, is too long, or has changed since the listing.
    """
    files = read_ahead(root, zip(*contents, strict=True))
    for name, size in zip(*contents, strict=True):
        try:
            data = next(files)
        except OSError as error:
            raise UsageError(f"{error.filename or root / name} {error.strerror}", hint="remove it, then harness pack") from None
        if len(data) != size:
            raise UsageError(f"{root / name} changed while it was packed", hint="run the same command again")
        refuse_secrets(str(root / name), data)
        column, other = ("result", "data") if is_result(name) else ("data", "result")
        for part in range(_pieces(size)):
            yield {"path": name, "part": part, column: data[part * _PIECE : (part + 1) * _PIECE], other: None}


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """Yield a temporary path beside `out`, to be renamed. Removes files of dead processes before, and our own after."""
    whole = out.absolute()
    with writing(out):
        for left in whole.parent.glob(f".{whole.name}.*.partial"):
            if is_abandoned(left.name.removesuffix(".partial").rpartition(".")[2]):
                remove(left)
        partial = whole.with_name(f".{whole.name}.{os.getpid()}.partial")
        try:
            make_folder(whole.parent)
            yield partial
        finally:
            remove(partial)
