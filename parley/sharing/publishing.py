"""Refusal to publish a file or a run that contains a secret of this machine, or what looks like an API key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from harness.errors import UsageError
from harness.limits import FILE_BYTES
from harness.plugins import optional
from harness.run_files import files_of, is_packed
from harness.secrets import ALLOWED, SHAPES, UNDECODED, forms, of_environment

_SHAPED = {begin.encode(): re.compile(rf"(?<![A-Za-z0-9]){shape}".encode()) for begin, shape in SHAPES.items()}


def refuse_secrets(name: str, data: bytes) -> None:
    """Raise UsageError if a file to be published contains a secret; the message names the file, not the secret."""
    if os.environ.get(ALLOWED) == "1":
        return
    for variable, value in of_environment().items():
        if any(form.encode(errors=UNDECODED) in data for form in forms({value})):
            raise _refusal(name, f"the value of {variable}")
    for begin, shape in _SHAPED.items():
        if begin in data and shape.search(data):
            raise _refusal(name, f"what looks like an API key ({begin.decode()}...)")


def refuse_secrets_in(run: Path) -> None:
    """Raise UsageError if a file of a run, in a folder or packed, contains a secret."""
    for name, data in _files(run):
        refuse_secrets(f"{run}/{name}", data)


def _files(run: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its bytes, or each piece for a packed run.

    Unreadable files are skipped, as they are not published.
    """
    if is_packed(run):
        yield from ((piece.path, piece.data) for piece in optional("packed run")(run).everything())
        return
    files = files_of(run)
    for folder, _, names in os.walk(run):
        for name in (os.path.relpath(f"{folder}/{name}", run) for name in sorted(names)):
            with suppress(OSError):
                yield name, files.read(name, FILE_BYTES)


def _refusal(name: str, what: str) -> UsageError:
    return UsageError(
        f"{name} contains {what}, so it is not published",
        hint=f"remove it from the file, or set {ALLOWED}=1 if it is not a secret",
    )
