"""Export of runs as an Inspect Scout transcript database: Parquet files with one row per episode and Scout's columns filled.

Scout can import ATIF too, but ignores its score, success, task, repeat and nested trajectories. Rows are buffered until they
fill a file (`_ROWS`, `_BYTES`), so memory is bounded by one file. Each file has an index in `_index/` with all columns except
the conversations, and Scout lists and filters by this index alone.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.atomic_write import make_folder
from parley.caveats import forfeits_told
from parley.interop.inspect_log import events_of, messages_of, talks_of
from parley.libraries import report_library
from parley.reports.reading import RecordedEpisode

_ROWS, _BYTES = 1_000, 16 << 20
"""Maximum number of rows, and approximate maximum of conversation characters, in one file."""

_TEXTS, _WHOLE, _REAL = "VARCHAR", "BIGINT", "DOUBLE"
_COLUMNS = {
    "transcript_id": _TEXTS, "source_type": _TEXTS, "source_id": _TEXTS, "source_uri": _TEXTS, "date": _TEXTS,
    "task_set": _TEXTS, "task_id": _TEXTS, "task_repeat": _WHOLE, "agent": _TEXTS, "agent_args": _TEXTS, "model": _TEXTS,
    "model_options": _TEXTS, "score": _TEXTS, "score_explanation": _TEXTS, "success": "BOOLEAN", "message_count": _WHOLE,
    "total_time": _REAL, "total_tokens": _WHOLE, "error": _TEXTS, "limit": _TEXTS, "trust_content": "BOOLEAN",
    "messages": _TEXTS, "events": _TEXTS,
    "family": _TEXTS, "seed": _WHOLE, "label": _TEXTS, "severity": _REAL, "cost_usd": _REAL, "steps": _WHOLE,
    "virtual_time": _REAL, "trace_hash": _TEXTS, "ended_by": _TEXTS, "forfeits": _TEXTS,
}  # fmt: skip
"""Scout's columns, then the extra ones."""

_INSERT = "INSERT INTO transcripts VALUES (?{marks})"
_COPY = "COPY (SELECT {columns} FROM transcripts ORDER BY number) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"


class ScoutDatabase:
    """Folder of transcripts, to which episodes are added one by one."""

    def __init__(self, folder: Path) -> None:
        duckdb = report_library("duckdb")

        self._folder, self._rows, self._bytes, self._files = folder, 0, 0, 0
        make_folder(folder / "_index")
        self._database = duckdb.connect(config={"threads": 1, "memory_limit": "400MB"})
        self._begin()
        self._insert = _INSERT.format(marks=", ?" * len(_COLUMNS))

    def add(self, episode: RecordedEpisode, run: str, began: datetime) -> None:
        """Add one episode; `run` is the name of its run in this database and `began` the start of that run."""
        row = _row(episode, run, began)
        self._database.execute(self._insert, [self._rows, *(row.get(name) for name in _COLUMNS)])
        self._rows += 1
        self._bytes += len(row["messages"]) + len(row["events"])
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            self._write(began)

    def close(self, began: datetime) -> None:
        """Write the remaining rows; `began` is the start of the last run."""
        if self._rows:
            self._write(began)
        self._database.close()

    def _write(self, began: datetime) -> None:
        """Write one file and its index, with Scout's file names."""
        name = f"{began:%Y%m%dT%H%M%S}_{self._files:06d}"
        every = ", ".join(f'"{column}"' for column in _COLUMNS)
        told = ", ".join(f'"{column}"' for column in _COLUMNS if column not in {"messages", "events"})
        file = f"transcripts_{name}.parquet"
        index = self._folder / "_index" / f"index_{name}.idx"
        self._copy(every, self._folder / file)
        self._copy(f"{told}, '{file}' AS filename", index)
        self._begin()
        self._rows, self._bytes, self._files = 0, 0, self._files + 1

    def _begin(self) -> None:
        """Create an empty table. It replaces the old one because deleting rows would not release their memory."""
        columns = ", ".join(f'"{name}" {kind}' for name, kind in _COLUMNS.items())
        self._database.execute(f"CREATE OR REPLACE TABLE transcripts (number BIGINT, {columns})")

    def _copy(self, columns: str, file: Path) -> None:
        quoted = str(file).replace("'", "''")
        self._database.execute(_COPY.format(columns=columns, file=quoted))


def _row(episode: RecordedEpisode, run: str, began: datetime) -> dict[str, Any]:
    """Return the columns of an episode, by name."""
    result, talks = episode.result, talks_of(episode)
    messages, graded = messages_of(talks), result.status == "graded"
    tokens = result.tokens.prompt + result.tokens.completion
    return {
        "transcript_id": f"{run}/{result.key.name}", "source_type": "parley", "source_id": run,
        "date": began.isoformat(), "task_set": f"parley-{result.family}", "task_id": result.task_id,
        "task_repeat": result.attempt, "agent": result.agent, "agent_args": json.dumps({"interface": result.interface}),
        "model": result.model, "model_options": json.dumps(result.parameters.get("effective")),
        "score": None if result.reward is None else str(result.reward),
        "score_explanation": episode.breach.sentence if episode.breach else result.failure_label,
        "success": result.success if graded else None, "message_count": len(messages), "total_time": result.timings.total,
        "total_tokens": tokens if result.tokens.calls else None, "limit": result.stopped_by, "trust_content": False,
        "error": None if graded else result.why_ungraded,
        "messages": json.dumps(messages), "events": json.dumps(events_of(talks, result, began.isoformat())),
        "family": result.family, "seed": result.seed, "label": result.failure_label, "severity": result.severity,
        "cost_usd": result.cost_usd, "steps": result.steps, "virtual_time": result.virtual_time_elapsed,
        "trace_hash": result.trace_hash, "ended_by": result.ended_by, "forfeits": "; ".join(forfeits_told(result.forfeits)),
    }  # fmt: skip
