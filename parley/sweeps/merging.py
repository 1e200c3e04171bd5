"""Merging of shards of one plan into the run that one machine would have played: `harness merge`.

1. All checks come before any file is written: one plan, every shard once, and in each shard exactly its own episodes. Problems
are reported with the folder and the number of the shard.
2. Episodes are copied unchanged, except that `run` and `path` of a result become those of the merged run, so that tables do not
show the shards. run.json records where each was played: `merged`, and the sessions of all shards.
3. The run is made under a temporary name and renamed, so a killed merge leaves nothing that looks like a run.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from pydantic import ValidationError

from harness.agents.llm.meter import RunLimits
from harness.atomic_write import append_to_file, make_folder, write_file, writing
from harness.errors import UsageError, quoted
from harness.limits import FILE_BYTES
from harness.records import Key, Result, RunFolder, first_problem
from harness.run_files import RunFiles, files_of, is_abandoned
from harness.runs.ledger import FILE as SPENDING
from harness.runs.request import MergedShard, RunRecord, RunRequest, read_record
from harness.runs.resume_rules import changed_fields, differing
from harness.runs.seed_key import KEY_FILE
from harness.runs.shards import Shard
from parley.places import runs_in

_EPISODES = "episodes"
_KEPT = re.compile(r"s\d+-a\d+\.\d+/")
"""Prefix of the paths of files that are kept from an earlier attempt."""


@dataclass(frozen=True)
class ShardRun:
    """Shard as it was played: the folder of a run or of a sweep."""

    path: Path
    shard: Shard
    request: RunRequest
    parts: Mapping[str, tuple[Path, RunRecord]]
    """Folder and run.json of each part, by the part's name."""

    def __str__(self) -> str:
        """Return the name of the shard in messages."""
        return f"{self.path} (shard {self.shard})"


@dataclass(frozen=True)
class Merged:
    """Outcome of a merge."""

    shards: tuple[ShardRun, ...]
    episodes: int
    ungraded: int

    @property
    def versions(self) -> list[str]:
        """Versions that played it, with the commits of checkouts."""
        stints = [stint for one in self.shards for _, record in one.parts.values() for stint in record.stints]
        return sorted({f"{stint.version} {stint.commit[:12]}".strip() for stint in stints})


def merge(out: Path, folders: Sequence[Path]) -> Merged:
    """Write the merged run of these shards to `out`; raises UsageError naming the mismatch."""
    with writing(out):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out} already exists, and no file is overwritten", hint="harness merge NEW_FOLDER SHARD...")
    shards = _fitting([_read(folder) for folder in folders])
    for name in shards[0].parts:
        _check_episodes(shards, name)
    beside = out.absolute().with_name(f".{out.name}.{os.getpid()}.partial")
    with writing(out):
        for left in out.absolute().parent.glob(f".{out.name}.*.partial"):
            if is_abandoned(left.name.removesuffix(".partial").rpartition(".")[2]):
                shutil.rmtree(left, ignore_errors=True)
        try:
            merged = _written(beside, out, shards)
            beside.rename(out)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return merged


def _read(folder: Path) -> ShardRun:
    """Read the shard in a folder; raises UsageError if there is none."""
    alone = read_record(RunFolder(folder))
    inside = [(path, record) for path in runs_in(folder) if (record := read_record(RunFolder(path)))]
    records = {record.part: (path, record) for path, record in inside}
    if not records:
        raise UsageError(f"{folder} holds no run.json", hint="harness merge OUT SHARD..., the folders that harness run printed")
    request = next(iter(records.values()))[1].request
    if request is None or request.shard is None:
        raise UsageError(f"{folder} is a whole run, not a shard", hint="harness run ... --shard 1/4 --out FOLDER")
    if alone and alone.part:
        why = f"{folder} is one part of a sweep, and only whole sweeps can be merged"
        raise UsageError(why, hint=f"harness merge OUT {quoted(folder.parent)} ...")
    one = ShardRun(folder, request.shard, request, records)
    if missing := [part.name for part in request.parts if part.name not in records]:
        raise UsageError(f"{one} has not started its part {missing[0]}", hint=f"harness run --resume {quoted(folder)}")
    if any(RunFolder(path).is_played for path, _ in records.values()):
        raise UsageError(f"{one} is being played by another process", hint="run the same command once it has ended")
    return one


def _fitting(shards: Sequence[ShardRun]) -> list[ShardRun]:
    """Return all shards of one plan, by number; raises UsageError for a missing, a duplicate and an unrelated shard."""
    first, *others = shards
    for one in others:
        if one.shard.of != first.shard.of:
            raise UsageError(
                f"{one} and {first} differ in their number of shards", hint="harness merge OUT SHARD... of one run"
            )
        if fields := _differing(first, one):
            raise UsageError(f"{one} was planned with other {', '.join(fields)} than {first}")
    by_number: dict[int, ShardRun] = {}
    for one in shards:
        if (twin := by_number.get(one.shard.number)) is not None:
            raise UsageError(f"{twin} and {one} are the same shard", hint="harness merge OUT with one of them")
        by_number[one.shard.number] = one
    of = first.shard.of
    missing = [str(Shard(number=number, of=of)) for number in range(1, of + 1) if number not in by_number]
    if missing:
        here = ", ".join(str(by_number[number]) for number in sorted(by_number))
        raise UsageError(f"shard {', '.join(missing)} is missing; given: {here}", hint=f"harness run ... --shard {missing[0]}")
    return [by_number[number] for number in sorted(by_number)]


def _differing(first: ShardRun, other: ShardRun) -> list[str]:
    """Return the fields in which two shards belong to different plans."""
    asked = other.request.model_copy(update={"shard": first.shard})
    fields = {*changed_fields(first.request, asked)}
    for name, (_, record) in first.parts.items():
        if name in other.parts:
            fields.update(differing(record.identity, other.parts[name][1].identity))
    return sorted(fields)


def _check_episodes(shards: Sequence[ShardRun], part: str) -> None:
    """Raise UsageError for a shard that lacks an episode of its own, or contains an episode of another shard."""
    keys = _planned(shards[0].request)
    owner = {key.name: one for one in shards for key in one.shard.chosen(keys)}
    for one in shards:
        path, _ = one.parts[part]
        held = {_named(name) for name in files_of(path).finished()}
        if foreign := sorted(name for name in held if owner.get(name) is not one):
            whose = f"belongs to {owner[foreign[0]]}" if foreign[0] in owner else "is in none of their plans"
            raise UsageError(f"{one} holds {foreign[0]}, which {whose}", hint=f"remove {path}/{_EPISODES}/{foreign[0]}")
        mine = [name for name, holder in owner.items() if holder is one]
        if lacking := [name for name in mine if name not in held]:
            why = f"{one} lacks {len(lacking)} of its {len(mine)} episodes, for example {lacking[0]}"
            raise UsageError(why, hint=f"harness run --resume {quoted(one.path)}")


def _planned(request: RunRequest) -> list[Key]:
    if request.retry is not None:
        return [key for key in request.retry.hints if key.task_id in request.tasks]
    each = product(request.tasks.items(), request.seeds, range(1, request.attempts + 1))
    return [Key(task_id=task, family=ref.family, seed=seed, attempt=attempt) for (task, ref), seed, attempt in each]


def _named(result: str) -> str:
    return result.removeprefix(f"{_EPISODES}/").removesuffix("/result.json")


def _written(folder: Path, out: Path, shards: Sequence[ShardRun]) -> Merged:
    """Write the merged run to `folder`, which will be renamed to `out`."""
    make_folder(folder)
    episodes = ungraded = 0
    for name in shards[0].parts:
        run, called = folder / name if name else folder, out / name if name else out
        make_folder(run)
        results = [result for one in shards for result in _taken(one, name, run, called)]
        RunFolder(run).write_rewards(results)
        if key := _file(shards[0], shards[0].parts[name][0], KEY_FILE):
            write_file(run / KEY_FILE, key)
            (run / KEY_FILE).chmod(0o600)
        RunFolder(run).write_plan(_record(shards, name, called.name).model_dump(mode="json"))
        episodes += len(results)
        ungraded += sum(result.status == "ungraded" for result in results)
    for one in shards:
        if lines := _file(one, one.path, SPENDING).splitlines():
            append_to_file(folder / SPENDING, b"".join(line + b"\n" for line in lines))
    return Merged(tuple(shards), episodes, ungraded)


def _taken(one: ShardRun, part: str, run: Path, called: Path) -> Iterator[Result]:
    """Copy the episodes of a shard, and files of earlier attempts, and return their results as written."""
    shard, record = one.parts[part]
    files = files_of(shard)
    for name in map(_named, files.finished()):
        inside = _files(one, files, name)
        result = _result(one, name, inside["result.json"])
        if result.key_digest != record.identity.key_digest:
            raise UsageError(f"{one} holds {name} of another edition than its plan")
        result = result.model_copy(update={"run": part or called.name, "path": str(called / _EPISODES / name)})
        _write(run / _EPISODES / name, inside | {"result.json": result.model_dump_json(indent=2).encode() + b"\n"})
        yield result
    for task, ref in one.request.tasks.items():
        earlier = f"{ref.family}/{task}/attempts"
        kept = {name: data for name, data in _files(one, files, earlier).items() if _KEPT.match(name)}
        _write(run / _EPISODES / earlier, kept)


def _result(one: ShardRun, name: str, data: bytes) -> Result:
    try:
        result = Result.model_validate_json(data)
    except ValidationError as error:
        why = f"{one} holds {name}, whose result.json is not valid in this version: {first_problem(error)}"
        raise UsageError(why, hint=f"harness run --resume {quoted(one.path)}") from None
    if result.key.name != name:
        raise UsageError(f"{one} holds {result.key.name} in the place of {name}")
    return result


def _files(one: ShardRun, files: RunFiles, name: str) -> dict[str, bytes]:
    """Return the files of an episode's folder, empty if it does not exist; raises UsageError for links and unreadable files."""
    place = f"{_EPISODES}/{name}"
    try:
        return {inner: files.read(f"{place}/{inner}", FILE_BYTES) for inner in files.names(place)}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{one}: {error.filename or name} {error.strerror}") from None


def _file(one: ShardRun, run: Path, name: str) -> bytes:
    """Return a file in the run's own folder, empty if it does not exist."""
    try:
        return files_of(run).read(name, FILE_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"{one}: {error.filename or name} {error.strerror}") from None


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        make_folder((folder / name).parent)
        write_file(folder / name, data)


def _record(shards: Sequence[ShardRun], part: str, called: str) -> RunRecord:
    """Return the run.json of the whole run: the common fields of the shards, and where each was played."""
    records = [(one.shard, one.parts[part][1]) for one in shards]
    first = records[0][1]
    costs, tokens = ([getattr(one.request.limits, name) for one in shards] for name in ("cost_usd", "tokens"))
    # the limits of the whole run are the sums of those of the shards
    limits = RunLimits(cost_usd=None if None in costs else sum(costs), tokens=None if None in tokens else sum(tokens))
    merged = tuple(MergedShard(shard=shard, run=record.run, environment=record.environment) for shard, record in records)
    return first.model_copy(
        update={
            "run": part or called,
            "request": shards[0].request.model_copy(update={"shard": None, "limits": limits}),
            "amendments": tuple(sorted((a for _, one in records for a in one.amendments), key=lambda a: a.at)),
            "stints": tuple(sorted((stint for _, one in records for stint in one.stints), key=lambda stint: stint.begun)),
            "merged": merged,
        }
    )
