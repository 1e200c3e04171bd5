"""A packed run is one file that every command reads like the folder, and the folder comes out of it byte for byte."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest

from harness.agent import AgentSpec
from harness.errors import UsageError
from harness.limits import FILE_BYTES, RESULT_BYTES, TEXT_BYTES, Limit
from harness.records import Result, RunFolder
from harness.run_files import FolderFiles, files_of
from harness.runs.plan import Plan
from harness.runs.resume_rules import read_resumed
from harness.runs.run import run_plan
from harness.runs.shards import Shard
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.calendar import ratings
from parley.places import runs_in
from parley.replayed import ReplayAgent
from parley.reports.archive import GROUP, PIECE, PackedFiles
from parley.reports.evidence import read_runs
from parley.reports.packing import differs, pack, unpack
from parley.reports.reading import breaking_request, is_recorded, read_episode, recorded_episodes
from parley.reports.viewing import Library, Site
from parley.sweeps.merging import merge
from tests.conftest import Command
from tests.measured import measured
from tests.shipped import SHIPPED

TEN = Limit(10, "ten")
TASKS = [task for task in SHIPPED if task.task_id in {"uniform-01", "presigned-url-download"}]


def played(folder: Path, shard: Shard | None = None) -> Path:
    """A real run of two families."""
    plan = Plan(folder.name, TASKS, [0, 1, 10], 1, AgentSpec(), shard=shard)
    run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=2, images={}, progress=lambda event: None)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all that may lie in one: an earlier try, an empty file, odd names, files of several pieces and many files."""
    folder = played(tmp_path_factory.mktemp("runs") / "run [1] 'x' a=b")
    (episode, *_) = folder.glob("episodes/*/*/s0-a1")
    shutil.copytree(episode, episode.parent / "attempts" / "s0-a1.0")
    (episode / "empty").touch()
    (episode.parent / "s0-a1-notes.txt").write_bytes(b"beside")
    (episode / "long").write_bytes(os.urandom(PIECE * 2 + 5))
    (episode / "just").write_bytes(b"x" * PIECE)
    for number in range(GROUP + 40):
        (episode / f"many-{number}").write_bytes(str(number).encode())
    return folder


@pytest.fixture(scope="module")
def packed(run: Path) -> Path:
    """That run in one file."""
    out = run.with_name("packed.run.parquet")
    pack(run, out)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def moved(results: tuple[Result, ...]) -> list[Result]:
    """Results without the place where they lie."""
    return [result.model_copy(update={"path": ""}) for result in results]


def test_the_folder_comes_out_byte_for_byte(run: Path, packed: Path, tmp_path: Path) -> None:
    """Every file and no other, in as many files as were counted."""
    assert unpack(packed, tmp_path / "out") == len(contents(run))
    assert contents(tmp_path / "out") == contents(run)
    assert differs(run, packed) is None


def test_every_file_is_read_as_from_the_folder(run: Path, packed: Path) -> None:
    """One by one from anywhere in the file, and the lists and the stream of results in the same order."""
    folder, file = FolderFiles(run), files_of(packed)

    assert {name: file.read(name, FILE_BYTES) for name in contents(run)} == contents(run)
    assert file.finished() == folder.finished()
    assert list(file.results(RESULT_BYTES)) == list(folder.results(RESULT_BYTES))
    for place in ("episodes", "episodes/calendar/uniform-01/attempts", "episodes/contract/presigned-url-download/s0-a1"):
        assert file.names(place) == (folder.names(place) if (run / place).exists() else [])
    assert [file.has("run.json"), file.has("run.jso"), file.has("zzz"), file.has("episodes")] == [True, False, False, False]


def test_what_is_not_there_and_what_is_too_long(packed: Path) -> None:
    """As a folder says it: no such file, and a bound."""
    with pytest.raises(FileNotFoundError):
        files_of(packed).read("episodes/none", TEN)
    with pytest.raises(OSError, match=r"is longer than 10 bytes \(limit ten\)"):
        files_of(packed).read("run.json", TEN)
    assert all(isinstance(data, OSError) for _, data in files_of(packed).results(TEN))


def test_readers_see_the_run(run: Path, packed: Path) -> None:
    """Reports, lists of episodes, an episode with all it says, and pages."""
    (one,), (other,) = read_runs([run]), read_runs([packed])
    (folder,), (file,) = (recorded_episodes([str(path), "uniform-01", "s10-a1"]) for path in (run, packed))

    assert moved(other.results) == moved(one.results)
    assert other.planned == one.planned
    assert is_recorded(str(file))
    assert is_recorded(str(packed))
    assert read_episode(file).acts == read_episode(folder).acts
    page, same = (Site(Library([path])).answer(f"{where}.json") for path, where in (
        (packed, "episodes/packed/calendar/uniform-01/s10-a1"),
        (run, f"episodes/{Library([run]).runs()[0].name}/calendar/uniform-01/s10-a1"),
    ))  # fmt: skip
    assert page is not None
    assert same is not None
    assert json.loads(page.body)["acts"] == json.loads(same.body)["acts"]


def test_a_report_is_that_of_the_folder(run: Path, packed: Path) -> None:
    """The scenario that a table needs is read out of the log in the pack too."""
    (one,), (other,) = read_runs([run]), read_runs([packed])
    games = [result for result in one.results if result.family == "calendar"]
    again = [result for result in other.results if result.family == "calendar"]

    assert [ratings._scenario(result, None) for result in again] == [ratings._scenario(result, None) for result in games]
    assert None not in [ratings._scenario(result, None) for result in again]


def test_the_request_that_broke_a_rule_is_told_of_both(tmp_path: Path) -> None:
    """Lists of a packed run say it as those of a folder do."""
    task = next(task for task in TASKS if task.family == "contract")
    plan = Plan("late", [task], [0], 1, AgentSpec(kind="violation", name="listed_order"))
    run_plan(plan, InProcessRuntime(), RunFolder(tmp_path / "late"), workers=1, images={}, progress=lambda event: None)
    pack(tmp_path / "late", tmp_path / "late.run.parquet")
    folder, file = (
        breaking_request(tmp_path / name, f"episodes/contract/{task.task_id}/s0-a1") for name in ("late", "late.run.parquet")
    )

    assert folder.startswith("GET ")
    assert file == folder


def test_a_packed_run_is_replayed(packed: Path) -> None:
    """Its seats say again what they said."""
    agent = ReplayAgent(str(packed))

    agent.check()
    assert not agent.needs_main(next(task for task in TASKS if task.task_id == "uniform-01"), "inprocess")


@pytest.mark.property
def test_packed_shards_are_merged(tmp_path: Path) -> None:
    """One of them packed, one a folder."""
    whole = played(tmp_path / "whole")
    shards = [played(tmp_path / f"s{number}", Shard(number=number, of=2)) for number in (1, 2)]
    pack(shards[0], tmp_path / "p.run.parquet")
    merge(tmp_path / "all", [tmp_path / "p.run.parquet", shards[1]])

    assert (tmp_path / "all" / "rewards.jsonl").read_bytes() == (whole / "rewards.jsonl").read_bytes()


def test_nothing_is_played_into_a_packed_run(packed: Path) -> None:
    """It is refused with the command that makes a folder of it."""
    with pytest.raises(UsageError, match="is packed") as refusal:
        read_resumed(packed)
    assert refusal.value.hint == f"harness unpack {packed}"
    with pytest.raises(UsageError, match="is packed"), RunFolder(packed).held():
        pass


def test_a_folder_counts_before_its_pack(run: Path, packed: Path) -> None:
    """What is there both ways is one run."""
    twin = run.with_name(f"{run.name}.run.parquet")
    shutil.copy(packed, twin)

    assert runs_in(run.parent) == [packed, run]
    twin.unlink()


@pytest.mark.property
def test_the_key_of_an_edition_stays_at_home(run: Path, tmp_path: Path) -> None:
    """Unless it is asked for, and then others cannot read the file."""
    secret = Path(shutil.copytree(run, tmp_path / "secret"))
    (secret / "edition.key").write_text("0" * 32)
    pack(secret, tmp_path / "open.run.parquet")
    pack(secret, tmp_path / "own.run.parquet", with_key=True)

    assert not PackedFiles(tmp_path / "open.run.parquet").has("edition.key")
    assert differs(secret, tmp_path / "open.run.parquet") == "edition.key"
    assert PackedFiles(tmp_path / "own.run.parquet").read("edition.key", TEXT_BYTES) == b"0" * 32
    assert (tmp_path / "own.run.parquet").stat().st_mode & 0o077 == 0


def test_a_link_is_not_packed(run: Path, tmp_path: Path) -> None:
    """Nothing outside of the run gets into a file that is given away, and no half file stays."""
    spoiled = Path(shutil.copytree(run, tmp_path / "spoiled"))
    (spoiled / "notes").symlink_to("/etc/hostname")

    with pytest.raises(UsageError, match="is a link"):
        pack(spoiled, tmp_path / "p.run.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["spoiled"]


@pytest.mark.parametrize("path", ["../evil", "/etc/evil", "episodes/../../evil", "a//b", "a/./b", "x\ny"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    """A packed run may come from anybody."""
    file = tmp_path / "evil.run.parquet"
    with duckdb.connect() as made:
        made.execute("create table t (path varchar, part integer, result blob, data blob)")
        made.execute("insert into t values (?, 0, null, 'x'::blob)", [path])
        made.execute(f"copy t to '{file}' (format parquet, kv_metadata {{parley_run: '1'}})")

    with pytest.raises(UsageError, match="is not a path below the folder"):
        unpack(file, tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"{}"])
def test_a_file_that_is_no_pack_is_named(tmp_path: Path, data: bytes) -> None:
    """Whatever it holds."""
    (tmp_path / "x.run.parquet").write_bytes(data)

    with pytest.raises(UsageError, match=r"x\.run\.parquet is not a packed run"):
        read_runs([tmp_path / "x.run.parquet"])


@pytest.mark.property
def test_the_commands_pack_remove_and_unpack(harness: Command, run: Path, tmp_path: Path) -> None:
    """As a user types them; the folder goes only once all of it is in the file."""
    one = Path(shutil.copytree(run, tmp_path / "one"))
    before = contents(one)

    packed = harness("pack", one, "--remove")
    assert not one.exists()
    assert (packed.returncode, f"{tmp_path}/one.run.parquet: {len(before)} files" in packed.stderr) == (0, True)
    assert harness("unpack", tmp_path / "one.run.parquet").returncode == 0
    assert contents(one) == before


def stranger(file: Path, rows: str, kind: str = "parley_run") -> Path:
    """A pack that our own command did not write: the rows of a query."""
    with duckdb.connect() as made:
        made.execute(f"copy ({rows}) to '{file}' (format parquet, compression zstd, kv_metadata {{{kind}: '1'}})")
    return file


RESULT = "'episodes/contract/t/s' || i || '-a1/result.json'"
PIECES = "repeat('x', 1 << 20)::blob"
REPEATED = f"{RESULT} as path, 0 as part, {PIECES} as result, null::blob as data"
BOMBS = {
    "repeated": (f"{REPEATED} from range(256) s(i)", "pack_ratio"),
    "one-file": (f"'x' as path, i::integer as part, null::blob as result, {PIECES} as data from range(256) s(i)", "pack_ratio"),
    "long-piece": ("'x' as path, 0 as part, null::blob as result, repeat('x', 1 << 21)::blob as data", "pack_piece_bytes"),
    "long-path": ("repeat('x', 5000) as path, 0 as part, null::blob as result, null::blob as data", "pack_path_bytes"),
    "rows": ("'x' as path, 0 as part, null::blob as result, null::blob as data from range(200_000)", "pack_rows"),
    "column": ("'x' as path, 0 as part, null::blob as result, 'x' as data", "columns"),
    "no-path": ("null::varchar as path, 0 as part, null::blob as result, null::blob as data", "1 rows have no path"),
    "order": (
        "'x' as path, i::integer as part, null::blob as result, null::blob as data from range(1, 3) s(i)",
        "piece 1 of 'x'",
    ),
}


@pytest.mark.property
@pytest.mark.parametrize("name", BOMBS)
def test_pack_over_the_budget_is_refused(tmp_path: Path, name: str) -> None:
    """A stranger's file is refused by the name of a limit, before its bytes are fetched."""
    query, limit = BOMBS[name]
    bomb = stranger(tmp_path / "bomb.run.parquet", f"select {query}")

    with pytest.raises(UsageError, match=limit) as refusal:
        unpack(bomb, tmp_path / "out")
    assert len(str(refusal.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.property
@pytest.mark.parametrize("name", ["repeated", "one-file"])
def test_pack_of_4_gb_is_refused(tmp_path: Path, name: str) -> None:
    """The bombs above at sixteen times their size."""
    bomb = stranger(tmp_path / "bomb.run.parquet", f"select {BOMBS[name][0].replace('range(256)', 'range(4096)')}")

    with pytest.raises(UsageError, match="pack_ratio"):
        unpack(bomb, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.property
@pytest.mark.parametrize("words", [["report"], ["runs"], ["show"], ["unpack", "--out", "out"]], ids=lambda words: words[0])
def test_bomb_takes_no_memory(tmp_path: Path, words: list[str]) -> None:
    """4 GB in a file of a few kB: every command refuses it in one line, in less than 300 MB."""
    bomb = stranger(tmp_path / "bomb.run.parquet", f"select {REPEATED} from range(4096) s(i)")

    done = measured([words[0], str(bomb), *words[1:]], tmp_path)
    assert "(limit pack_ratio)" in done.said
    assert done.megabytes < 300


@pytest.mark.property
def test_heavy_groups_are_read_row_by_row(tmp_path: Path) -> None:
    """Pieces of 17 MB in all come out as those of light groups do, one by one and streamed."""
    run = tmp_path / "run"
    (run / "a").mkdir(parents=True)
    (run / "run.json").write_text("{}", encoding="utf-8")
    for name in ("big", "small"):
        (run / "a" / name).write_bytes(os.urandom(17 * PIECE + 3 if name == "big" else 3))
    pack(run, tmp_path / "run.run.parquet")
    files = PackedFiles(tmp_path / "run.run.parquet")

    assert {name: files.read(name, FILE_BYTES) for name in contents(run)} == contents(run)
    assert files.names("a") == ["big", "small"]
    assert differs(run, tmp_path / "run.run.parquet") is None
    assert unpack(tmp_path / "run.run.parquet", tmp_path / "out") == 3
    assert contents(tmp_path / "out") == contents(run)
