"""An artifact crosses from the agent's container to the verifier's as plain files: no link that leaves it, no special file.

The archive is read and written anew. Regular files keep their bytes and their mode without setuid, setgid and sticky bits;
folders are kept; a symbolic link is kept where it is relative and stays inside the artifact; a hard link becomes what it is,
a name for a file of the archive, or nothing. Devices, FIFOs, sockets and links that leave are left out and named.
"""

from __future__ import annotations

import copy
import io
import posixpath
import tarfile
from dataclasses import dataclass

LIMIT = 256 << 20
"""Bytes of one artifact; a larger one counts as not there, because nobody but the agent made it so."""


@dataclass(frozen=True)
class Clean:
    """An archive that is safe to unpack, and what was left out of it."""

    archive: bytes | None
    left_out: tuple[str, ...]


def cleaned(archive: bytes) -> Clean:
    """What of an agent's archive may reach a verifier; nothing where it is no archive or its top is left out."""
    buffer, left_out = io.BytesIO(), []
    kept: set[str] = set()
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as source, tarfile.open(fileobj=buffer, mode="w") as target:
            for entry in source:
                if not _is_kept(entry, kept):
                    left_out.append(entry.name)
                    continue
                kept.add(posixpath.normpath(entry.name))
                target.addfile(_plain(entry), source.extractfile(entry) if entry.isreg() else None)
    except (tarfile.TarError, OSError, ValueError):
        return Clean(None, ("what is no archive",))
    return Clean(buffer.getvalue() if kept else None, tuple(left_out))


def _is_kept(entry: tarfile.TarInfo, kept: set[str]) -> bool:
    name = posixpath.normpath(entry.name)
    if name.startswith(("/", "..")):
        return False
    if entry.issym():
        # the first part of every name is the artifact itself
        top, meant = name.split("/")[0], posixpath.normpath(posixpath.join(posixpath.dirname(name), entry.linkname))
        return not entry.linkname.startswith("/") and "/" in name and meant.split("/")[0] == top
    if entry.islnk():
        return posixpath.normpath(entry.linkname) in kept
    return entry.isreg() or entry.isdir()


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    plain = copy.copy(entry)
    plain.mode, plain.pax_headers = entry.mode & 0o777, {}
    return plain
