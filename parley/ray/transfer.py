"""Transfer of an episode's files from a node to the driver: one archive, in pieces so small that none is stored on the node.

Ray sends a result of less than 100 kB together with the message that a task is done. A larger one is stored on the node where
it was made, and is lost with it. So the archive is cut into pieces below that size, each a separate result, which have arrived
once the task is done. The rest of an archive above 1 MB (about 10 MB of logs) is stored on the node until it is fetched.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import HarnessError, RuntimeFailure
from harness.records import Result

PIECE = 64 << 10
PIECES = 16

RESULTS = 1 + PIECES + 1
"""Number of return values of a Ray task: the manifest, the pieces, and the rest."""

MOST = 1 << 30
"""Maximum bytes of an episode's unpacked files."""


@dataclass(frozen=True)
class EpisodeManifest:
    """Manifest that a Ray task returns for its episode."""

    node: str
    """Node that played it."""

    result: Result | None = None
    digests: Mapping[str, str] | None = None
    """SHA-256 of each file."""

    failure: HarnessError | None = None
    """Error that ends the run, if there is no result."""


def packed(files: Mapping[str, bytes]) -> list[bytes]:
    """Pack files into the fixed number of pieces that a Ray task returns besides its manifest."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    data = whole.getvalue()
    return [*(data[place * PIECE : (place + 1) * PIECE] for place in range(PIECES)), data[PIECES * PIECE :]]


def unpacked(pieces: Sequence[bytes], digests: Mapping[str, str]) -> dict[str, bytes]:
    """Unpack the files in these pieces; raises RuntimeFailure if they do not match the manifest."""
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
            if sum(one.file_size for one in archive.infolist()) > MOST:
                raise RuntimeFailure(f"the files of an episode have more than {MOST} bytes")
            for name in archive.namelist():
                files[name] = archive.read(name)
    except (zipfile.BadZipFile, EOFError) as error:
        raise RuntimeFailure(f"the files of an episode did not arrive: {error}") from None
    if {name: digest(data) for name, data in files.items()} != digests or any("/" in name for name in files):
        raise RuntimeFailure("the files of an episode did not arrive as they were sent")
    return files


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()
