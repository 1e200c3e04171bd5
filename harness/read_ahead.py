"""Files of a folder one after the other, while those after them are being read: a disk answers several at once sooner.

Only so many bytes are held, however many files there are; a file that is longer than that by itself is read alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from harness.contents import read_files

_THREADS, _FILES = 4, 64
_HELD = 16 << 20
"""Bytes that are read and not yet taken, at most; a thread is given a quarter of it, or `_FILES` files."""


def read_ahead(folder: Path, files: Iterable[tuple[str, int]]) -> Iterator[bytes]:
    """The bytes of each of these files, given with their lengths; raises as `harness.contents.read_files` does."""
    with ThreadPoolExecutor(_THREADS, "read-ahead") as pool:
        held, under_way = 0, deque[tuple[int, Future[list[bytes]]]]()
        try:
            for size, names in _batches(files):
                while under_way and held + size > _HELD:
                    done, batch = under_way.popleft()
                    held -= done
                    yield from batch.result()
                under_way.append((size, pool.submit(_read, folder, names)))
                held += size
            while under_way:
                yield from under_way.popleft()[1].result()
        finally:
            pool.shutdown(cancel_futures=True)


def _read(folder: Path, names: list[str]) -> list[bytes]:
    return list(read_files(folder, names))


def _batches(files: Iterable[tuple[str, int]]) -> Iterator[tuple[int, list[str]]]:
    """Files that one thread reads, with their bytes in all."""
    total, names = 0, list[str]()
    for name, size in files:
        if names and (len(names) == _FILES or total + size > _HELD // _THREADS):
            yield total, names
            total, names = 0, []
        total += size
        names.append(name)
    if names:
        yield total, names
