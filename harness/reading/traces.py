"""Traces: one recorded episode in one file that can be played again from there, in the layout of its family's paper.

A family that has them has a part `trace` (`FamilyTrace`). `harness export trace` and `harness replay` ask for it by name; which
family a file is of, each family says of itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from harness.contents import read_file
from harness.errors import UsageError, quoted
from harness.reading.model import RecordedEpisode
from worlds.core.models import Strict

LONGEST_TRACE = 256 << 20
"""Bytes of a trace that are read."""


class Replayed(Strict):
    """What came of playing a trace again."""

    title: str
    """Which episode it is."""

    agreed: tuple[str, ...]
    """What was compared and is equal, in a few words each."""

    differences: tuple[str, ...]
    """`path: what the file says, what the rules say`, in the order of the file."""

    unchecked: tuple[str, ...] = ()
    """What no rule can say anything of."""


class FamilyTrace(Protocol):
    """The part `trace` of a family."""

    def exported_text(self, episode: RecordedEpisode, digest: str) -> str:
        """The trace of an episode as a file holds it; raises UsageError for one that has no game."""
        ...

    def is_trace(self, document: Any) -> bool:
        """Whether a JSON document is a trace of this family."""
        ...

    def replayed(self, document: Any) -> Replayed:
        """Play a trace again; raises UsageError for one that cannot be read."""
        ...


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """These files, and of each folder every .json below it, by name; raises UsageError for a folder without any."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} holds no .json file", hint=f"harness export trace RUN --out {quoted(path)}")
        files += inside
    return list(dict.fromkeys(files))


def read_document(path: Path) -> Any:
    """The JSON in a file; raises UsageError naming it."""
    try:
        # a user may name it through a link
        whole = path.resolve()
        return json.loads(read_file(whole.parent, whole.name, LONGEST_TRACE).data)
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RecursionError) as error:
        why = f"no JSON: {error}"
    raise UsageError(f"{path} cannot be read: {why}", hint="harness export trace RUN --out DIR")
