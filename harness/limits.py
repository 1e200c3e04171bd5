"""Limits on untrusted data: one budget for every reader, and the allowed values of task.toml.

The budget applies to files of unknown origin: runs, packs, settings, templates, caches, traces. Files that exceed it are
refused in one line, with the limit's name and value.

In a task's folder, an unbounded number could disable a limit (nano_cpus 0 means no limit) or cause an overflow in other code.
An unchecked name could become a path outside the run, or an option of a program.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Self

from pydantic import AfterValidator, Field, FiniteFloat


class Limit(int):
    """Limit of the budget: an integer that is printed as `20000 files (limit files)`."""

    name: str
    unit: str
    is_parsed: bool

    def __new__(cls, most: int, name: str, unit: str = "bytes", *, is_parsed: bool = False) -> Self:
        """Make a limit of `most` units; `is_parsed` marks a limit on JSON files, whose values are limited too."""
        limit = super().__new__(cls, most)
        limit.name, limit.unit, limit.is_parsed = name, unit, is_parsed
        return limit

    def __str__(self) -> str:
        return f"{int(self)} {self.unit} (limit {self.name})"

    def exceeded(self, data: bytes | bytearray) -> str | None:
        """Return the way in which these data exceed the budget (`is longer than ...`), or None if they do not."""
        if len(data) > self:
            return f"is longer than {self}"
        if self.is_parsed:
            for limit, mark in _MARKS.items():
                # strings may contain these characters too; most files are too short to contain so many
                if len(data) > limit and data.count(mark) > limit:
                    return f"holds more than {limit}"
            if b"0" * DIGITS in data.translate(_AS_DIGITS):
                return f"holds a number of {DIGITS} or more"
        return None


FILES = Limit(20_000, "files", "files")
FOLDER_DEPTH = Limit(64, "folder_depth", "folders")
FOLDER_BYTES = Limit(1 << 30, "folder_bytes")
FILE_BYTES = Limit(256 << 20, "file_bytes")
"""Size of a file that is read as bytes."""

TEXT_BYTES = Limit(64 << 20, "text_bytes")
"""Size of a log that is shown."""

RECORD_BYTES = Limit(64 << 20, "record_bytes", is_parsed=True)
"""Size of a trajectory, an event log, a trace, a cassette, or an imported file."""

RESULT_BYTES = Limit(16 << 20, "result_bytes", is_parsed=True)
"""Size of a run's plan, an episode's result and verdict, or a cached reply."""

SETTINGS_BYTES = Limit(256 << 10, "settings_bytes", is_parsed=True)
"""Files written by people: settings, templates, prices, tables of seats."""

VALUES = Limit(1_000_000, "json_values", "values")
OBJECTS = Limit(200_000, "json_objects", "objects")
"""Objects and values in one file, counted by braces and commas.

An object takes about 100 times as much memory as file space.
"""

DIGITS = Limit(300, "digits", "digits")
"""Digits of one number; a float holds slightly more."""

_MARKS = {VALUES: b",", OBJECTS: b"{"}
_AS_DIGITS = bytes(ord("0" if chr(byte).isdecimal() and byte < 128 else " ") for byte in range(256))

USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?")
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"
UID_MAX = 2**31 - 1
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([GMK])")
_MB = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}


def container_path(text: str) -> str:
    """Return an absolute path inside a container, checked to be printable and without `..`; raises ValueError otherwise."""
    if not text.startswith("/") or not text.isprintable() or ".." in PurePosixPath(text).parts:
        raise ValueError(f"must be an absolute path without '..', not {text[:80]!r}")
    return text


def record_path(text: str) -> str:
    """Return a relative path below a folder of records, checked not to be its manifest.json; raises ValueError otherwise."""
    path = PurePosixPath(text)
    if not path.parts or path.is_absolute() or not text.isprintable() or "\\" in text or ".." in path.parts:
        raise ValueError(f"must be a relative path without '..' or backslash, not {text[:80]!r}")
    if str(path) == "manifest.json":
        raise ValueError("manifest.json is reserved for the manifest of artifacts")
    return text


def user(given: str | int) -> str | int:
    """Return a container user, checked to be a name or a number, each with or without a group; raises ValueError otherwise."""
    if isinstance(given, int):
        if not 0 <= given <= UID_MAX:
            raise ValueError(f"must be in 0..{UID_MAX}, not {given}")
    elif not USER.fullmatch(given):
        raise ValueError(f"must be a name or number, with or without :group, not {given[:80]!r}")
    return given


def megabytes(text: object) -> float:
    """Return the MB of a size in the notation of Harbor's old schema, e.g. 512M or 1G; raises ValueError."""
    size = _SIZE.fullmatch(text.strip().upper()) if isinstance(text, str) else None
    if size is None:
        raise ValueError(f"must be a size such as 512M or 1G, not {str(text)[:40]!r}")
    return float(int(float(size[1]) * _MB[size[2]]))


Seconds = Annotated[FiniteFloat, Field(ge=1e-3, le=86_400)]
Pause = Annotated[FiniteFloat, Field(ge=0, le=86_400)]
Cpus = Annotated[FiniteFloat, Field(ge=0.01, le=256)]
MemoryMb = Annotated[int, Field(ge=64, le=262_144)]
StorageMb = Annotated[int, Field(ge=1, le=16_777_216)]
Cost = Annotated[FiniteFloat, Field(ge=0, le=1e9)]
Text = Annotated[str, Field(max_length=10_000)]
Line = Annotated[str, Field(max_length=400)]
Command = Annotated[str, Field(min_length=1, max_length=32_768, pattern=r"^[^\x00]*$")]
FamilyName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
ServiceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
ImageName = Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$")]
User = Annotated[str | int, AfterValidator(user)]
ContainerPath = Annotated[str, Field(max_length=4096), AfterValidator(container_path)]
RecordPath = Annotated[str, Field(max_length=1024), AfterValidator(record_path)]
Environment = Annotated[
    dict[Annotated[str, Field(pattern=VARIABLE)], Annotated[str, Field(max_length=32_768, pattern=r"^[^\x00]*$")]],
    Field(max_length=256),
]
