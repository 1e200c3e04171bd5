"""`harness run --key`: a key drawn for one run, kept for who goes on with it, and told apart in reports."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.runs.seed_key import KEY_FILE, chosen_key, keep_key
from worlds.core.chance import PUBLISHED_KEY, key_digest

Command = Callable[..., subprocess.CompletedProcess[str]]
PLAY = ("run", "ferry-street-plate", "--agent", "pool", "--runtime", "inprocess")


def digests(run: Path) -> set[tuple[str, str]]:
    """Digests of the key and of the log, of every episode of a run."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(run.rglob("result.json"))]
    return {(one["key_digest"], one["trace_hash"]) for one in results}


@pytest.mark.property
def test_a_fresh_key_is_drawn_kept_and_used_again(harness: Command, tmp_path: Path) -> None:
    """Two fresh runs differ, a run on the key of another is equal to it, one that is gone on with keeps its key."""
    first, other, same = (tmp_path / name for name in ("first", "other", "same"))
    for folder, key in ((first, "fresh"), (other, "fresh"), (same, str(first))):
        done = harness(*PLAY, "--seeds", "0-1", "--key", key, "--out", folder)
        assert done.returncode == 0, done.stderr
    kept = (first / KEY_FILE).read_text(encoding="ascii").strip()

    assert digests(first) == digests(same)
    assert not digests(first) & digests(other)
    assert {digest for digest, _ in digests(first)} == {key_digest(kept)}
    assert stat.S_IMODE((first / KEY_FILE).stat().st_mode) == 0o600
    assert all(
        kept not in path.read_text("utf-8", "replace") for path in first.rglob("*") if path.is_file() and path.name != KEY_FILE
    )

    before = digests(first)
    next(first.rglob("result.json")).unlink()
    assert harness("run", "--resume", first).returncode == 0
    assert digests(first) == before


@pytest.mark.property
def test_reports_mark_what_may_be_known_by_heart(harness: Command, tmp_path: Path) -> None:
    """Rows on the published key are memorisable, and say what that earns; others are not and name their edition."""
    for name in ("fresh", "published"):
        assert harness(*PLAY, "--key", name, "--out", tmp_path / name).returncode == 0
    report = harness("report", tmp_path / "fresh", tmp_path / "published", "--table", "accuracy", "--json")
    tables = json.loads(report.stdout)["tables"]
    rows = [row for table in tables for row in table["rows"] if row["source"] == "ours"]

    said = {("edition" in (row["setup"] or ""), row["memorisable"], row.get("by_key") is not None) for row in rows}

    assert said == {(True, "no", False), (False, "yes", True)}


def test_whose_key_it_is(tmp_path: Path) -> None:
    """What is typed comes first, then an earlier run, then the environment, then the published key."""
    drawn, mine = chosen_key("fresh", environ={}), {"PARLEY_KEY": "mine"}
    for folder in (tmp_path / "run", tmp_path / "sweep" / "part"):
        folder.mkdir(parents=True)
        keep_key(drawn, folder)

    assert chosen_key(None, environ={}) == PUBLISHED_KEY
    assert chosen_key("published", tmp_path / "run", mine) == PUBLISHED_KEY
    assert chosen_key(None, tmp_path / "elsewhere", mine) == "mine"
    assert {chosen_key(None, tmp_path / "run", mine), chosen_key(str(tmp_path / "sweep"), environ={})} == {drawn}
    assert chosen_key("fresh", tmp_path / "run", mine) not in {drawn, "mine", PUBLISHED_KEY}


def test_own_keys_are_kept_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the environment is the operator's to keep, even one that looks like a drawn one."""
    monkeypatch.setenv("PARLEY_KEY", "ab" * 16)
    for key in ("mine", PUBLISHED_KEY, "ab" * 16):
        keep_key(key, tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [None, "../../etc", "ab"])
def test_folders_without_a_key(kept: str | None, tmp_path: Path) -> None:
    """A folder that keeps no key, or something else in its place, is refused by name."""
    if kept is not None:
        (tmp_path / KEY_FILE).write_text(kept, encoding="ascii")
    with pytest.raises(UsageError) as refused:
        chosen_key(str(tmp_path))

    assert str(tmp_path) in str(refused.value)
