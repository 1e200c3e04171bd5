"""In-memory archives for transferring files. No bind mounts are used, so an engine may be on another machine."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Collection, Mapping
from types import MappingProxyType


def pack(
    files: Mapping[str, bytes], *, owner: int = 0, mode: int = 0o644, executable: Collection[str] = (),
    links: Mapping[str, str] = MappingProxyType({}),
) -> bytes:  # fmt: skip
    """Return a tar archive of files by path, all owned by one user; the same files give the same bytes.

    `executable` are the paths that every user may execute, whatever the `mode` of the others. `links` are targets by path.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.size, entry.mode = len(data), 0o755 if name in executable else mode
            entry.uid, entry.gid = owner, owner
            archive.addfile(entry, io.BytesIO(data))
        for name, target in sorted(links.items()):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.type, entry.linkname, entry.uid, entry.gid = tarfile.SYMTYPE, target, owner, owner
            archive.addfile(entry)
    return buffer.getvalue()
