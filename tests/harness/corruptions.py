"""A table of mutators: each makes a run that nobody's program would have written out of a good one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from parley.reports.packing import pack
from worlds.core.events import GENESIS, canonical_json

FILES = ("run.json", "result.json", "verdict.json", "events.jsonl", "trajectory.json")
HUGE = 10**400

Mutator = Callable[[Path], None]
"""Changes a file in its place."""


def cut(file: Path) -> None:
    """Ends in the middle."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def hole(file: Path) -> None:
    """A terabyte of nothing."""
    os.truncate(file, 1 << 40)


def fifo(file: Path) -> None:
    """Nobody writes to it."""
    file.unlink()
    os.mkfifo(file)


def link(file: Path) -> None:
    """Of somebody else."""
    file.unlink()
    file.symlink_to("/etc/passwd")


def folder(file: Path) -> None:
    """In the place of a file."""
    file.unlink()
    file.mkdir()


def noise(file: Path) -> None:
    """Bytes changed here and there."""
    data = bytearray(file.read_bytes())
    draw = random.Random(file.name)
    for place in draw.sample(range(len(data)), min(20, len(data))):
        data[place] = draw.randrange(256)
    file.write_bytes(data)


def written(data: bytes) -> Mutator:
    """These bytes in the place of a file."""
    return lambda file: void(file.write_bytes(data))


def void(value: object) -> None:
    """Return nothing."""
    del value


BYTES: dict[str, Mutator] = {
    "cut": cut,
    "hole": hole,
    "fifo": fifo,
    "link": link,
    "folder": folder,
    "noise": noise,
    "missing": Path.unlink,
    "empty": written(b""),
    "null": written(b"null\n"),
    "zeros": written(bytes(1 << 20)),
    "deep": written(b"[" * 100_000 + b"]" * 100_000),
    "lists": written(b"[" + b"[]," * (20 << 20) + b"[]]"),
    "objects": written(b'{"steps":[' + b'{"source":"agent"},' * (3 << 20) + b"{}]}"),
    "digits": written(b'{"a":' + b"9" * (4 << 20) + b"}"),
    "bom": lambda file: void(file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())),
}
"""What becomes of a file's bytes."""


def changed(value: Any, kinds: type | tuple[type, ...], new: Any) -> Any:
    """A document with every value of some kinds replaced; `new` is the value or makes it, and discriminators stay."""
    if isinstance(value, dict):
        done = {key: one if key in KEPT else changed(one, kinds, new) for key, one in value.items()}
    elif isinstance(value, list):
        done = [changed(one, kinds, new) for one in value]
    else:
        done = value
    hit = isinstance(value, kinds) and not (
        isinstance(value, bool) and bool not in (kinds if isinstance(kinds, tuple) else (kinds,))
    )
    return (new(done) if callable(new) else new) if hit else done


KEPT = {"type", "seq", "prev", "hash", "schema_version", "source", "status", "family", "task_id", "kind"}
"""Without these nothing else of a document would be read."""

VALUES: dict[str, tuple[type | tuple[type, ...], Any]] = {
    "huge": ((int, float), HUGE),
    "large": ((int, float), 2**63),
    "max-float": ((int, float), 1.7e308),
    "infinite": ((int, float), float("inf")),
    "not-a-number": ((int, float), float("nan")),
    "negative": ((int, float), -5),
    "fraction": (int, 0.5),
    "long-text": (str, "x" * 100_000),
    "control": (str, "\x1b]0;owned\x07\x1b[2J\u202e\r\x00</script><script>alert(1)</script>"),
    "surrogate": (str, "\ud800"),
    "no-text": (str, ""),
    "path": (str, "../../../../etc/passwd"),
    "no-list": (list, lambda value: []),
    "many": (list, lambda value: value * 50 if len(json.dumps(value)) < 20_000 else value),
    "no-object": (dict, lambda value: value if KEPT & value.keys() else {}),
    "wrong-kind": ((int, float), "seven"),
}
"""What becomes of the values of a document."""


def on_values(name: str) -> Mutator:
    """The mutator of a row of `VALUES`; an event log is chained again, so that it is read."""

    def mutate(file: Path) -> None:
        kinds, new = VALUES[name]
        if file.suffix == ".jsonl":
            events = [changed(json.loads(line), kinds, new) for line in file.read_bytes().splitlines()]
            file.write_bytes(b"".join(chained(events)))
        else:
            file.write_text(json.dumps(changed(json.loads(file.read_bytes()), kinds, new)), encoding="utf-8")

    return mutate


def on_measures(name: str) -> Mutator:
    """The mutator of a row of `VALUES` for measures alone: the rest of a result is as a reader expects it."""

    def mutate(file: Path) -> None:
        document = json.loads(file.read_bytes())
        document["metrics"] = {key: changed(one, *VALUES[name]) for key, one in document["metrics"].items()}
        file.write_text(json.dumps(document), encoding="utf-8")

    return mutate


def chained(events: list[dict[str, Any]]) -> Iterator[bytes]:
    """The lines of a log whose hashes are right; what has no canonical form stands as json.dumps has it."""
    previous = GENESIS
    for read in events:
        event = {**read, "prev": previous}
        try:
            body = canonical_json({key: one for key, one in event.items() if key != "hash"})
            previous = event["hash"] = hashlib.sha256(body).hexdigest()
            yield canonical_json(event) + b"\n"
        except (ValueError, OverflowError, TypeError):
            yield json.dumps(event).encode() + b"\n"


Corruption = Callable[[Path, Path], Path]
"""Makes a corrupted run of the good run in a folder, at or below a new path; returns the run."""


def in_folder(file: str, mutator: Mutator) -> Corruption:
    """A copy of a folder whose every file of a name is changed."""

    def make(run: Path, out: Path) -> Path:
        shutil.copytree(run, out / run.name)
        for one in [out / run.name / file] if file == "run.json" else sorted((out / run.name).glob(f"episodes/*/*/*/{file}")):
            mutator(one)
        return out / run.name

    return make


def in_pack(change: Callable[[bytes], bytes]) -> Corruption:
    """A packed run whose bytes are changed."""

    def make(run: Path, out: Path) -> Path:
        out.mkdir()
        file = out / f"{run.name}.run.parquet"
        pack(run, file)
        file.write_bytes(change(file.read_bytes()))
        return file

    return make


def queried(rows: str) -> Corruption:
    """A packed run of other rows; `{pack}` is the good one."""

    def make(run: Path, out: Path) -> Path:
        out.mkdir()
        good, file = out / "good.parquet", out / f"{run.name}.run.parquet"
        pack(run, good)
        with duckdb.connect() as made:
            query = rows.format(pack=f"read_parquet('{good}', hive_partitioning = false)", piece=_PIECE)
            made.execute(f"copy ({query}) to '{file}' (format parquet, compression zstd, kv_metadata {{parley_run: '1'}})")
        good.unlink()
        return file

    return make


def flipped(seed: int) -> Corruption:
    """A packed run with a few bytes of it changed."""

    def change(data: bytes) -> bytes:
        draw, changed_data = random.Random(seed), bytearray(data)
        for _ in range(3):
            changed_data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        return bytes(changed_data)

    return in_pack(change)


_PIECE = "repeat('x', 1 << 20)::blob"
CORRUPTIONS: dict[str, Corruption] = {
    **{f"{file}-{name}": in_folder(file, mutator) for file in FILES for name, mutator in BYTES.items()},
    **{f"{file}-{name}": in_folder(file, on_values(name)) for file in FILES for name in VALUES},
    **{f"measures-{name}": in_folder("result.json", on_measures(name)) for name in VALUES},
    **{f"pack-flipped-{seed}": flipped(seed) for seed in range(8)},
    "pack-cut": in_pack(lambda data: data[: len(data) // 2]),
    "pack-tail": in_pack(lambda data: data[:-1]),
    "pack-empty": in_pack(lambda data: b""),
    "pack-bomb": queried("from {pack} union all select 'z/' || i, 0, null, {piece} from range(4096) s(i)"),
    "pack-bomb-results": queried(
        "select path || i as path, part, case when result is null then null else {piece} end as result, data "
        "from {pack}, range(1000) s(i)"
    ),
    "pack-one-file": queried("from {pack} union all select 'z', i::integer, null, {piece} from range(4096) s(i)"),
    "pack-rows": queried("from {pack} union all select 'z', 0, null, null from range(3_000_000)"),
    "pack-paths": queried("select path || repeat('x', 10_000), part, result, data from {pack}"),
    "pack-no-paths": queried("select null::varchar as path, part, result, data from {pack}"),
    "pack-outside": queried("select '../../' || path as path, part, result, data from {pack}"),
    "pack-unsorted": queried("from {pack} order by hash(path)"),
    "pack-twice": queried("from {pack} union all from {pack}"),
    "pack-text": queried("select path, part, result::varchar as result, data::varchar as data from {pack}"),
    "pack-parts": queried("select path, part + 1 as part, result, data from {pack}"),
}
