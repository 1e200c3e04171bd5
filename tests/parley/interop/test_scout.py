"""What `harness export scout` writes; that Scout reads it is tested in tests/readers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from parley.interop import scout
from parley.interop.scout import ScoutDatabase
from tests.parley.interop.recorded import recorded

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def rows(columns: str, *files: Path) -> list[tuple[Any, ...]]:
    """These columns of Parquet files, by transcript."""
    names = [str(file) for file in files]
    relation = duckdb.connect().execute(f"SELECT {columns} FROM read_parquet(?) ORDER BY transcript_id", [names])
    return relation.fetchall()


def test_scouts_columns_are_filled(tmp_path: Path) -> None:
    """Score, success, task, repeat and label of each episode; nothing of them where one was lost."""
    game, alone, lost = recorded(tmp_path / "run", "imap")
    database = ScoutDatabase(tmp_path / "out")
    for episode in (game, alone, lost):
        database.add(episode, "a-run", BEGAN)
    database.close(BEGAN)
    (file,) = (tmp_path / "out").glob("*.parquet")
    (index,) = (tmp_path / "out" / "_index").glob("*.idx")
    told = rows("task_set, task_id, task_repeat, agent, score, success, label, error", file)
    messages, events = map(json.loads, rows("messages, events", file)[0])

    assert told == [
        ("parley-calendar", game.result.task_id, 1, "imap", "1.0", True, "SUCCESS", None),
        ("parley-contract", alone.result.task_id, 1, "nop", "0.0", False, "OTHER", None),
        ("parley-contract", lost.result.task_id, 1, "nop", None, None, None, "verifier: the verifier failed (no verdict)"),
    ]
    assert [event["name"] for event in events if event["event"] == "span_begin"] == [f"seat {seat}" for seat in range(5)]
    assert sum(message["role"] == "assistant" for message in messages) > 50
    assert rows("filename, task_id", index)[0] == (file.name, game.result.task_id)


@pytest.mark.property
def test_a_file_is_written_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file with its index; together they hold every episode once."""
    monkeypatch.setattr(scout, "_ROWS", 2)
    episodes = list(recorded(tmp_path / "run"))
    database = ScoutDatabase(tmp_path / "out")
    for episode in episodes:
        database.add(episode, "a-run", BEGAN)
    database.close(BEGAN)
    files, indexes = sorted((tmp_path / "out").glob("*.parquet")), sorted((tmp_path / "out" / "_index").glob("*.idx"))

    assert (len(files), len(indexes)) == (2, 2)
    assert rows("transcript_id", *files) == rows("transcript_id", *indexes)
    assert len(rows("transcript_id", *files)) == len(episodes)
