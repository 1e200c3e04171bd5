"""Shards of a plan share its episodes evenly, and merged they are the run that one machine would have played."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.errors import UsageError
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.plan import Plan
from harness.runs.request import RunRequest, read_record
from harness.runs.resume_rules import grown
from harness.runs.run import run_plan
from harness.runs.shards import Shard, parse_shard
from harness.runtimes.inprocess import InProcessRuntime
from parley.reports.evidence import read_runs
from parley.sweeps.merging import Merged, merge
from tests.shipped import SHIPPED

TASKS = [task for task in SHIPPED if task.task_id in {"uniform-01", "presigned-url-download"}]
KEYS = [
    Key(task_id=f"task-{task}", family=family, seed=seed, attempt=attempt)
    for task, family, seed, attempt in product(range(7), ("b", "a"), range(3), (1, 2))
]


def played(folder: Path, shard: Shard | None, tasks: list[Task], seeds: int = 3) -> list[Result]:
    """One shard of a plan, or all of it."""
    plan = Plan(folder.name, tasks, list(range(seeds)), 1, AgentSpec(kind="nop"), shard=shard)
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=2, images={}, progress=lambda event: None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was played in one piece."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    played(folder, None, TASKS)
    return folder


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Its plan in four shards; of one of them the tasks were named the other way round."""
    base = tmp_path_factory.mktemp("shards")
    for number in range(1, 5):
        played(base / f"s{number}", Shard(number=number, of=4), TASKS[::-1] if number == 2 else TASKS)
    return [base / f"s{number}" for number in range(1, 5)]


@pytest.mark.parametrize("of", [1, 2, 3, 4, 5, 11])
def test_shards_share_a_plan_evenly(of: int) -> None:
    """Every episode is in one of them, and each has as many of a family and of a task as any other, give or take one."""
    shared = [Shard(number=number, of=of).chosen(KEYS) for number in range(1, of + 1)]

    assert sorted(key.name for keys in shared for key in keys) == sorted(key.name for key in KEYS)
    assert [len(keys) for keys in shared] == [Shard(number=number, of=of).size(len(KEYS)) for number in range(1, of + 1)]
    for group in (lambda key: key.family, lambda key: (key.family, key.task_id)):
        counts = [Counter(map(group, keys)) for keys in shared]
        for name in set(map(group, KEYS)):
            assert max(count[name] for count in counts) - min(count[name] for count in counts) <= 1


def test_the_order_of_tasks_changes_no_shard() -> None:
    """A resumed run reads its tasks in another order than they were typed in."""
    shard = Shard(number=2, of=5)

    assert {key.name for key in shard.chosen(KEYS)} == {key.name for key in shard.chosen(KEYS[::-1])}


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "1/2/3", "-1/4", "1/1000000"])
def test_what_is_no_shard(text: str) -> None:
    """Each is refused with what it would have to look like."""
    with pytest.raises(UsageError, match="--shard must look like 1/4"):
        parse_shard(text)


@pytest.mark.property
def test_merged_shards_are_the_run_that_one_machine_plays(whole: Path, shards: list[Path], tmp_path: Path) -> None:
    """Its rewards byte for byte, a plan without a shard, results that know no other run, and the shards named in run.json."""
    merged = merge(tmp_path / "all", [shards[2], shards[0], shards[3], shards[1]])
    (one,) = read_runs([tmp_path / "all"])
    record = read_record(RunFolder(tmp_path / "all"))

    assert (merged.episodes, merged.ungraded) == (6, 0)
    assert (tmp_path / "all" / "rewards.jsonl").read_bytes() == (whole / "rewards.jsonl").read_bytes()
    assert {result.run for result in one.results} == {"all"}
    assert all((Path(result.path) / "events.jsonl").is_file() for result in one.results)
    assert record is not None
    assert record.request is not None
    assert (record.request.shard, record.planned) == (None, 6)
    assert [(str(row.shard), row.run) for row in record.merged] == [(f"{number}/4", f"s{number}") for number in range(1, 5)]
    assert len(record.stints) == 4


@pytest.mark.property
def test_a_merged_run_can_be_gone_on_with(shards: list[Path], tmp_path: Path) -> None:
    """It is the run of its whole plan, so nothing is left to play, and more seeds are played into it."""
    merge(tmp_path / "all", shards)
    before = {path: path.read_bytes() for path in tmp_path.glob("all/episodes/*/*/*/*")}
    more = played(tmp_path / "all", None, TASKS, seeds=4)

    assert len(more) == 8
    assert before == {path: path.read_bytes() for path in before}


def test_earlier_tries_come_along(shards: list[Path], tmp_path: Path) -> None:
    """What was kept beside an episode that was played again is kept beside it in the merged run."""
    folders = copied(shards, tmp_path)
    (episode, *_) = folders[0].glob("episodes/*/*/*")
    shutil.copytree(episode, episode.parent / "attempts" / f"{episode.name}.0")
    merge(tmp_path / "all", folders)

    (kept,) = (tmp_path / "all").glob("episodes/*/*/attempts/*")
    assert kept.relative_to(tmp_path / "all") == (episode.parent / "attempts" / f"{episode.name}.0").relative_to(folders[0])
    assert (kept / "events.jsonl").read_bytes() == (episode / "events.jsonl").read_bytes()


def copied(shards: list[Path], base: Path) -> list[Path]:
    """Shards that a test may spoil."""
    return [Path(shutil.copytree(shard, base / shard.name)) for shard in shards]


def refused(folders: list[Path], out: Path) -> str:
    """Why these are not merged; nothing may be left of the attempt."""
    with pytest.raises(UsageError) as refusal:
        merge(out, folders)
    assert not list(out.parent.glob(f"*{out.name}*"))
    return str(refusal.value)


def test_a_shard_that_is_missing_is_named(shards: list[Path], tmp_path: Path) -> None:
    """With those that are here."""
    why = refused([shards[0], shards[1], shards[3]], tmp_path / "all")

    assert why.startswith(f"shard 3/4 is missing; given: {shards[0]} (shard 1/4), {shards[1]} (shard 2/4)")


def test_shards_that_overlap_are_named(shards: list[Path], tmp_path: Path) -> None:
    """Two folders of one shard, and a folder that holds an episode of another."""
    folders = copied(shards, tmp_path)
    twin = tmp_path / "twin"
    shutil.copytree(folders[1], twin)
    assert refused([*folders, twin], tmp_path / "all") == f"{folders[1]} (shard 2/4) and {twin} (shard 2/4) are the same shard"

    (stray, *_) = folders[1].glob("episodes/*/*/*")
    shutil.copytree(stray, folders[0] / stray.relative_to(folders[1]))
    name = stray.relative_to(folders[1] / "episodes")
    why = refused(folders, tmp_path / "all")
    assert why == f"{folders[0]} (shard 1/4) holds {name}, which belongs to {folders[1]} (shard 2/4)"


def test_a_shard_that_is_not_finished_is_named(shards: list[Path], tmp_path: Path) -> None:
    """With an episode that it lacks, and how to go on with it."""
    folders = copied(shards, tmp_path)
    (lost, *_) = folders[2].glob("episodes/*/*/*/result.json")
    lost.unlink()

    why = refused(folders, tmp_path / "all")
    assert why.startswith(f"{folders[2]} (shard 3/4) lacks 1 of its ")
    assert str(lost.parent.relative_to(folders[2] / "episodes")) in why


@pytest.mark.property
def test_runs_of_other_plans_are_named(whole: Path, shards: list[Path], tmp_path: Path) -> None:
    """One of other seeds, one of other shares, and one that is no shard at all."""
    played(tmp_path / "seeds", Shard(number=4, of=4), TASKS, seeds=4)
    played(tmp_path / "thirds", Shard(number=3, of=3), TASKS)

    assert refused([*shards[:3], tmp_path / "seeds"], tmp_path / "all").endswith(
        f"{tmp_path / 'seeds'} (shard 4/4) was planned with other seeds than {shards[0]} (shard 1/4)"
    )
    assert "differ in their number of shards" in refused([*shards[:3], tmp_path / "thirds"], tmp_path / "all")
    assert refused([*shards[:3], whole], tmp_path / "all") == f"{whole} is a whole run, not a shard"


@pytest.mark.parametrize("field", ["seed", "key_digest"])
def test_a_result_in_a_wrong_place_is_refused(shards: list[Path], tmp_path: Path, field: str) -> None:
    """One that says it is another episode, or one of another edition."""
    folders = copied(shards, tmp_path)
    (path, *_) = folders[3].glob("episodes/*/*/*/result.json")
    path.write_text(json.dumps({**json.loads(path.read_bytes()), field: 77 if field == "seed" else "0" * 64}))

    assert str(folders[3]) in refused(folders, tmp_path / "all")


def test_a_link_in_a_shard_leads_nowhere(shards: list[Path], tmp_path: Path) -> None:
    """Shards come from other machines, and a link in one of them is not followed."""
    folders = copied(shards, tmp_path)
    (path, *_) = folders[3].glob("episodes/*/*/*/events.jsonl")
    path.unlink()
    path.symlink_to("/etc/hostname")

    assert "is a link" in refused(folders, tmp_path / "all")


def test_nothing_is_written_over(shards: list[Path], tmp_path: Path) -> None:
    """A folder that holds something is refused before anything is read."""
    (tmp_path / "note").touch()

    with pytest.raises(UsageError, match="no file is overwritten"):
        merge(tmp_path, shards)


def test_a_shard_is_not_played_into_the_folder_of_another(shards: list[Path], tmp_path: Path) -> None:
    """It would hold episodes that belong elsewhere."""
    folders = copied(shards, tmp_path)

    with pytest.raises(UsageError, match="planned with other shard"):
        played(folders[0], Shard(number=2, of=4), TASKS)


def test_one_shard_alone_does_not_grow() -> None:
    """Its plan is that of the others too."""
    before = RunRequest(tasks={}, seeds=(0,), key_digest="", shard=Shard(number=1, of=4))

    with pytest.raises(UsageError, match="cannot grow in shard 1/4 alone"):
        grown(before, before.model_copy(update={"attempts": 2}), game=False, at="")


def test_versions_that_played_the_shards_are_told(shards: list[Path], tmp_path: Path) -> None:
    """Shards of two versions are merged, and both are named."""
    folders = copied(shards, tmp_path)
    plan = json.loads((folders[0] / "run.json").read_bytes())
    plan["stints"][0] |= {"version": "0.0.9", "commit": ""}
    (folders[0] / "run.json").write_text(json.dumps(plan))
    merged: Merged = merge(tmp_path / "all", folders)

    assert len(merged.versions) == 2
    assert merged.versions[0] == "0.0.9"
    assert replace(merged, shards=merged.shards[1:]).versions == merged.versions[1:]
