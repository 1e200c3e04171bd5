"""What a generation has done so far: one line a candidate in one file, so that a run killed at any moment loses one at most.

The first line is the plan; a run goes on only under the same one. A line is on disk before the next candidate begins, and a
last line that was cut short is dropped. Rejected candidates stay, with the reply and the reason. The file lies beside the task
folders and holds everything that a model wrote, rationales too: no container gets it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import ValidationError

from harness.agent import Usage
from harness.agents.llm.completion import add_usage
from harness.errors import UsageError
from worlds.core.models import Strict

FILE = "candidates.jsonl"
Stage = Literal["malformed", "certify", "execute", "passed"]
"""Where a candidate ended."""


class Cost(Strict):
    """Calls, tokens and dollars; None where a call had no known price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    @classmethod
    def of(cls, *usages: Usage) -> Cost:
        """The sum of some calls."""
        total = Usage()
        for usage in usages:
            add_usage(total, usage)
        return cls(**{name: getattr(total, name) for name in cls.model_fields})


class CandidateRecord(Strict):
    """One candidate and what became of it."""

    number: int
    stage: Stage
    reasons: dict[str, str] = {}
    """Check or bound that it failed -> how; what was malformed under `malformed`."""

    name: str = ""
    """Of its folder, where it could be read."""

    drawn: dict[str, Any] = {}
    """What was drawn for it: setting, example, outline or number of people."""

    scenario: dict[str, Any] | None = None
    execution: dict[str, Any] | None = None
    cost: Cost
    reply: str


class Ledger:
    """An open file of records; `records` are those of earlier runs and of this one."""

    def __init__(self, file: IO[bytes], records: dict[int, CandidateRecord]) -> None:
        self._file, self.records = file, records

    def add(self, record: CandidateRecord) -> None:
        """Write a record; when this returns it is on disk."""
        _append(self._file, record.model_dump_json())
        self.records[record.number] = record


def made(out: Path) -> frozenset[int]:
    """The candidates on record in a folder, for whoever asks what is left; `ledger` says what is wrong with a file."""
    try:
        lines = (out / FILE).read_bytes().splitlines()[1:]
        return frozenset(CandidateRecord.model_validate_json(line).number for line in lines)
    except (OSError, ValueError):
        return frozenset()


@contextmanager
def ledger(out: Path, plan: Mapping[str, Any]) -> Iterator[Ledger]:
    """The ledger in a folder, its own while the context lasts.

    Raises UsageError for a file of another plan, one that cannot be read or written, or one that another process writes.
    """
    path = out / FILE
    try:
        out.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint="the same command with another --out") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{path} is being written by another run", hint="the same command with another --out") from None
        yield Ledger(file, _read(path, file, plan))


def _read(path: Path, file: IO[bytes], plan: Mapping[str, Any]) -> dict[int, CandidateRecord]:
    file.seek(0)
    whole = file.read()
    kept = whole[: whole.rfind(b"\n") + 1]
    file.truncate(len(kept))
    lines = kept.splitlines()
    if not lines:
        _append(file, json.dumps({"plan": dict(plan)}, ensure_ascii=False))
        return {}
    try:
        earlier = json.loads(lines[0])["plan"]
        records = [CandidateRecord.model_validate_json(line) for line in lines[1:]]
    except (ValueError, KeyError, TypeError, ValidationError):
        raise UsageError(f"{path} is no ledger of candidates", hint="the same command with another --out") from None
    if differ := sorted(name for name in {*earlier, *plan} if earlier.get(name) != plan.get(name)):
        named = ", ".join(f"{name} {earlier.get(name)} (now {plan.get(name)})" for name in differ)
        raise UsageError(f"{path} was begun with other settings: {named}", hint="the same command with another --out")
    return {record.number: record for record in records}


def _append(file: IO[bytes], line: str) -> None:
    try:
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(f"{file.name} cannot be written: {error.strerror}", hint="the same command, to go on") from None
