"""What a value of task.toml may be: numbers have bounds, and a string that becomes a path or an argument has a shape.

A folder may come from anybody. A number without a bound turns a limit off (nano_cpus 0 is none) or overflows far from where it
was written; a name without a shape becomes a path outside the run, or an option of a program.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field, FiniteFloat

USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?")
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"
UID_MAX = 2**31 - 1
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([GMK])")
_MB = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}


def container_path(text: str) -> str:
    """An absolute path inside a container, printable and without `..`; raises ValueError."""
    if not text.startswith("/") or not text.isprintable() or ".." in PurePosixPath(text).parts:
        raise ValueError(f"must be an absolute path without '..', not {text[:80]!r}")
    return text


def record_path(text: str) -> str:
    """A relative path below a folder of records, other than its manifest.json; raises ValueError."""
    path = PurePosixPath(text)
    if not path.parts or path.is_absolute() or not text.isprintable() or "\\" in text or ".." in path.parts:
        raise ValueError(f"must be a relative path without '..' or backslash, not {text[:80]!r}")
    if str(path) == "manifest.json":
        raise ValueError("manifest.json is reserved for the manifest of artifacts")
    return text


def user(given: str | int) -> str | int:
    """A user of a container, as name, number, or either with a group; raises ValueError."""
    if isinstance(given, int):
        if not 0 <= given <= UID_MAX:
            raise ValueError(f"must be in 0..{UID_MAX}, not {given}")
    elif not USER.fullmatch(given):
        raise ValueError(f"must be a name or number, with or without :group, not {given[:80]!r}")
    return given


def megabytes(text: object) -> float:
    """The MB of a size as Harbor's old schema wrote it, e.g. 512M or 1G; raises ValueError."""
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
