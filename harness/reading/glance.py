"""The request that broke the rule, read off an episode's folder at a glance: two files, and one line of the log.

Lists show it for each failed episode, so the log is not parsed: an event's number is that of its line. A folder that cannot be
read so has no request here; the episode's own page names the file at fault.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from harness.packs import files_of
from validators.verdict import Verdict
from worlds.core.events import Requested

_LONGEST = 4 << 20
"""Bytes of a file that is read for a list."""


def breaking_request(run: Path, episode: str) -> str:
    """`POST /api/submit at 8 s` of an episode of a run, packed or not; empty where no request broke a rule that can be read."""
    try:
        files = files_of(run)
        verdict = Verdict.model_validate_json(files.read(f"{episode}/verdict.json", _LONGEST))
        broken = next((one for one in verdict.violations if one.label == verdict.failure_label), None)
        if broken is None:
            return ""
        line = files.read(f"{episode}/events.jsonl", _LONGEST).split(b"\n")[broken.seq]
        request = Requested.model_validate_json(line)
    except (OSError, ValidationError, IndexError):
        return ""
    return f"{request.method} {request.path} at {request.vt / 1000:g} s"
