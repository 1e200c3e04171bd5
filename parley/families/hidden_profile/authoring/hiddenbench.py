"""Import of tasks in the published HiddenBench file format, one JSON array of objects, as scenarios (specification 1.1).

Nothing is certified, because prose has no formal rules. `rationale` states the answer. It is written only to one sealed file
beside the task folders, which no container and no prompt reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from harness.errors import UsageError
from harness.limits import RECORD_BYTES
from harness.safe_read import read_given
from oracles.hidden_profile.guessers import score_guessers
from parley.families.hidden_profile.authoring.drafts import Fields, as_scenario, first_problem
from parley.proof.sync import LONGEST_NAME
from worlds.hidden_profile.rules.scenario import Scenario

SOURCE = "hiddenbench"
DOMAIN = "imported"

SEALED = "rationales.json"
"""Name of the file with rationales, in the folder of the task folders."""

PRESETS = {"as the paper says": "hidden-paper", "as its released code does": "hidden-published-code"}
"""Two presets of `harness run` for sessions of imported tasks; the prompts are ours, or those of --templates."""


class _Row(Fields):
    id: int = Field(ge=1)


@dataclass(frozen=True)
class HiddenBenchTask:
    """An entry as a task."""

    name: str
    """Name of its folder."""

    published_id: int
    published_name: str
    scenario: Scenario
    rationale: str

    @property
    def guesses(self) -> dict[str, float]:
        """The accuracy of each text-only guesser on this task, with options in the file's order."""
        return score_guessers(self.scenario)


def read_tasks(path: Path) -> list[HiddenBenchTask]:
    """Return the tasks of a file in its order. Raises UsageError naming file, entry and field."""
    try:
        rows = json.loads(read_given(path, RECORD_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="harness import hiddenbench FILE.json") from None
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{path} must be a JSON array of tasks", hint="harness import hiddenbench FILE.json")
    return list(_imported(path, rows))


def _imported(path: Path, rows: list[Any]) -> Iterator[HiddenBenchTask]:
    seen: dict[int, int] = {}
    for place, entry in enumerate(rows, start=1):
        try:
            row = _Row.model_validate(entry)
            if row.id in seen:
                raise ValueError(f"id {row.id} is also the id of entry {seen[row.id]}")
            task = imported(row, place)
        except ValueError as error:
            raise UsageError(f"{path}, entry {place}: {first_problem(error)}") from None
        seen[row.id] = place
        yield task


def imported(row: _Row, place: int) -> HiddenBenchTask:
    """Return the `place`-th entry of a file as a task. Raises ValueError for an entry that no session can use."""
    origin = {"kind": "imported", "source": SOURCE, "task_id": row.id, "name": row.name, "place": place}
    name = folder_name(row.id, row.name)
    scenario = as_scenario(row, name.replace("-", "_"), DOMAIN, origin)
    return HiddenBenchTask(name, row.id, row.name, scenario, row.rationale)


def folder_name(number: int, name: str) -> str:
    """Return the folder name of a published task, starting with its id: `Safe Lab Choice` is hb-45-safe-lab-choice."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"hb-{number:02d}-{name.lower()}")
    return slug[:LONGEST_NAME].strip("-")


def seal(out: Path, tasks: Iterable[HiddenBenchTask]) -> Path | None:
    """Write the rationales beside the task folders, readable by the owner only; return None if there are none.

    Raises UsageError if the file cannot be read or written.
    """
    path = out / SEALED
    mine = {
        task.name: {"sha256": hashlib.sha256(task.rationale.encode()).hexdigest(), "rationale": task.rationale}
        for task in tasks
        if task.rationale
    }
    if not mine:
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(json.dumps({**kept, **mine}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path} cannot be written: {error}") from None
    return path
