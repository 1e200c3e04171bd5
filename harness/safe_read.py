"""Safe reading of untrusted folders, without ever leaving the folder.

1. A folder may contain only plain files and folders. A link, a FIFO, a socket and a device are refused by their path before
anything is opened. A hard link cannot be distinguished from a plain file. If a caller allows links below a path (`links`), a
link that leads to a path inside the folder is returned as data: its target is read as text, and the link is never followed.
2. Every file is opened one path component at a time, each relative to the descriptor of its parent and without following links
(openat(2) with O_NOFOLLOW). A file that is replaced after it was checked causes an error and cannot lead outside.
3. The number of files, their depth, their size and their total size are limited (`harness.limits`), so reading always ends.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from harness.limits import FILE_BYTES, FILES, FOLDER_BYTES, FOLDER_DEPTH, Limit

IGNORED = frozenset({"__pycache__", ".DS_Store", ".pytest_cache"})
_EDITOR_LOCK = ".#"
"""Prefix of the links that Emacs makes while a file is edited."""

_UNSAYABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""Characters forbidden in names: control characters, and bytes that are not UTF-8 (which Python shows as surrogates)."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


class NotPlain(OSError):
    """Path that is not read because it is not a plain file: `filename` is the path, `strerror` the reason."""


class Content(NamedTuple):
    """Content of a file, and whether its owner may execute it."""

    data: bytes
    executable: bool


class _Entry(NamedTuple):
    name: str
    """Path below the folder, with slashes."""

    size: int
    target: str | None = None
    """Target of a link; None for a file."""


def names_in(folder: Path, part: str = "", links: str | None = None) -> list[str]:
    """Return the sorted paths of the files below `folder/part`, without caches.

    The paths are relative to `folder/part`. No component between `folder` and `folder/part` may be a link. Links below the path
    `links` are skipped if they lead to a path inside `folder`; all other links are refused. Raises NotPlain for a refused path,
    and OSError if something cannot be read.
    """
    return sorted(entry.name for entry in _entries(folder, part, links) if entry.target is None)


def links_in(folder: Path, part: str = "") -> dict[str, str]:
    """Return the links below `folder/part` by sorted path, with their targets; raises NotPlain if one leads outside."""
    entries = _entries(folder, part, "")
    return {entry.name: entry.target for entry in sorted(entries) if entry.target is not None}


def _entries(folder: Path, part: str, links: str | None) -> list[_Entry]:
    entries: list[_Entry] = []
    total = 0
    root = None if links is None else folder / part / links
    with _opened(folder, part, os.O_DIRECTORY) as door:
        for entry in _below(door, folder / part, "", root):
            entries.append(entry)
            total += entry.size
            if len(entries) > FILES:
                raise NotPlain(errno.EFBIG, f"holds more than {FILES}", str(folder / part))
            if total > FOLDER_BYTES:
                raise NotPlain(errno.EFBIG, f"holds more than {FOLDER_BYTES}", str(folder / part))
    return entries


def read_folder(folder: Path, part: str = "", links: str | None = None) -> dict[str, Content]:
    """Return every file below `folder/part` by its sorted path there; raises as `names_in` and `read_file` do."""
    prefix = f"{part}/" if part else ""
    return {name: read_file(folder, prefix + name) for name in names_in(folder, part, links)}


def read_file(folder: Path, name: str, most: Limit = FILE_BYTES) -> Content:
    """Read the file at path `name` below `folder`; raises NotPlain if it is not a plain file, OSError if it cannot be read."""
    with _opened(folder, name) as file:
        return _content(file, folder, name, most)


def read_given(path: Path, most: Limit) -> bytes:
    """Read a file named by the user, possibly through a link; raises as `read_file` does (FIFOs and devices included)."""
    whole = path.resolve()
    return read_file(whole.parent, whole.name, most).data


def read_files(folder: Path, names: Iterable[str], most: Limit = FILE_BYTES) -> Iterator[bytes]:
    """Yield the bytes of each file; raises as `read_file` does. A folder is opened once for consecutive files in it."""
    place: str | None = None
    door = -1
    with ExitStack() as opened:
        for name in names:
            above, _, last = name.rpartition("/")
            if above != place:
                opened.close()
                place, door = above, opened.enter_context(_opened(folder, above, os.O_DIRECTORY))
            file = _open(last, door, folder, 0, name.split("/"))
            try:
                data = _content(file, folder, name, most).data
            finally:
                os.close(file)
            yield data


def _content(file: int, folder: Path, name: str, most: Limit) -> Content:
    info = os.fstat(file)
    if not stat.S_ISREG(info.st_mode):
        raise NotPlain(errno.EINVAL, f"is {_kind(info.st_mode)}, not a file", str(folder / name))
    with os.fdopen(file, "rb", closefd=False) as opened:
        data = opened.read(min(info.st_size, most) + 1)
        if len(data) <= most and len(data) > info.st_size:
            data += opened.read(most + 1 - len(data))
    if why := most.exceeded(data):
        raise NotPlain(errno.EFBIG, why, str(folder / name))
    return Content(data, bool(info.st_mode & 0o100))


@contextmanager
def _opened(folder: Path, name: str, last: int = 0) -> Iterator[int]:
    """Yield a descriptor of `name` below `folder`, opened with the flags `last`. The folder itself may not be a link."""
    parts = name.split("/") if name else []
    file = _open(folder, None, folder, os.O_DIRECTORY if parts else last)
    try:
        for number, part in enumerate(parts, start=1):
            inner = _open(part, file, folder, os.O_DIRECTORY if number < len(parts) else last, parts[:number])
            os.close(file)
            file = inner
        yield file
    finally:
        os.close(file)


def _open(name: Path | str, door: int | None, folder: Path, flags: int, inside: Sequence[str] = ()) -> int:
    """Open `name`, relative to the folder descriptor `door` if given. Error messages show it as `inside` below `folder`."""
    try:
        return os.open(name, _OPEN | flags, dir_fd=door)
    except OSError as error:
        # built only for errors: creating paths for 10,000 files takes longer than opening the files
        place = folder.joinpath(*inside)
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and (target := _target(name, door)) is not None:
            raise _link(target, place) from None
        # a socket cannot be opened (ENXIO), but no errno identifies it as a socket
        if error.errno == errno.ENXIO:
            raise NotPlain(errno.EINVAL, "is a socket or a device, not a file", str(place)) from None
        error.filename = str(place)
        raise


def _below(door: int, place: Path, prefix: str, root: Path | None) -> Iterator[_Entry]:
    """Yield every file below an open folder with path `place`; `prefix` is its path relative to the start of the walk.

    Links are yielded as entries if they stay inside `root`, and refused otherwise.
    """
    if prefix.count("/") > FOLDER_DEPTH:
        raise NotPlain(errno.ELOOP, f"is nested deeper than {FOLDER_DEPTH}", str(place))
    with os.scandir(door) as entries:
        seen = [entry for entry in entries if entry.name not in IGNORED and not entry.name.startswith(_EDITOR_LOCK)]
        inside = [(entry.name, entry.stat(follow_symlinks=False)) for entry in seen]
    for name, info in inside:
        if _UNSAYABLE.search(name):
            raise NotPlain(
                errno.EILSEQ, f"holds {name!r}, a name with control characters or bytes that are not UTF-8", str(place)
            )
        if stat.S_ISDIR(info.st_mode):
            inner = _open(name, door, place / name, os.O_DIRECTORY)
            try:
                yield from _below(inner, place / name, f"{prefix}{name}/", root)
            finally:
                os.close(inner)
        elif stat.S_ISREG(info.st_mode):
            yield _Entry(prefix + name, info.st_size)
        elif stat.S_ISLNK(info.st_mode):
            target = _target(name, door) or "something"
            if root is None or not _stays(target, place / name, root):
                raise _link(target, place / name)
            yield _Entry(prefix + name, 0, target)
        else:
            raise NotPlain(errno.EINVAL, f"is {_kind(info.st_mode)}, not a file", str(place / name))


def _target(name: Path | str, door: int | None) -> str | None:
    try:
        return os.readlink(name, dir_fd=door)
    except OSError:
        return None


def _stays(target: str, place: Path, root: Path) -> bool:
    """Return True if a link at `place` stays inside `root`, both as spelled and after resolving the other links on its way."""
    if target.startswith("/") or _UNSAYABLE.search(target) or not place.is_relative_to(root):
        return False
    spelled = os.path.normpath(os.path.join(place.parent.relative_to(root), target))  # noqa: PTH118 - Path drops no ".."
    real, top = os.path.realpath(place), os.path.realpath(root)
    return spelled.split("/")[0] != ".." and os.path.commonpath([real, top]) == top


def _link(target: str, place: Path) -> NotPlain:
    return NotPlain(errno.ELOOP, f"is a link to {target!r}, and links are not followed", str(place))


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")
