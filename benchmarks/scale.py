"""Time and memory of commands over 100,000 recorded episodes, in a folder and packed into one file.

A real run of every task under a few seeds is extended to more seeds and attempts. Only results are written again; the other
files are links to the recorded ones, so the disk holds each once. With `--copies` they are separate files, which are removed
from the page cache before `pack`, so that it reads from a cold disk. Each command runs by itself; its seconds, processor
seconds and peak resident memory, including child processes, are printed as table rows. Slow exports run over a part of the run
and over a seventh of that part, to show growth of memory.

    python benchmarks/scale.py [--seeds 153] [--attempts 3] [--base FOLDER] [--copies] [--keep]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HARNESS = (sys.executable, "-m", "harness")
FAMILIES = ("contract", "calendar", "hidden-profile")
Put = Callable[[Path, Path], object]
RECORDED = 7
"""Number of seeds that are actually played; later ones repeat these."""


def recorded(out: Path) -> Path:
    """Record a real run of every task, under a few seeds."""
    command = [*HARNESS, "run", *FAMILIES, "--seeds", f"0-{RECORDED - 1}", "--agent", "oracle", "--runtime", "inprocess"]
    subprocess.run([*command, "--out", str(out), "--yes"], check=True, capture_output=True)
    return out


def grown(run: Path, out: Path, seeds: int, attempts: int, *, put: Put = os.link) -> Path:
    """Extend the run to this number of seeds and attempts. `put` creates every file of an episode except its result."""
    plan = json.loads((run / "run.json").read_bytes())
    folders = sorted(run.glob("episodes/*/*"))
    for part in ("identity", "request"):
        plan[part] |= {"seeds": list(range(seeds)), "attempts": attempts}
    out.mkdir(parents=True)
    (out / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    for folder in folders:
        results = [json.loads((folder / f"s{seed}-a1" / "result.json").read_bytes()) for seed in range(RECORDED)]
        others = [
            sorted({path.name for path in (folder / f"s{seed}-a1").iterdir()} - {"result.json"}) for seed in range(RECORDED)
        ]
        for seed, attempt in itertools.product(range(seeds), range(1, attempts + 1)):
            like = (seed + attempt - 1) % RECORDED
            place = out / folder.relative_to(run) / f"s{seed}-a{attempt}"
            place.mkdir(parents=True)
            for name in others[like]:
                put(folder / f"s{like}-a1" / name, place / name)
            told = {**results[like], "seed": seed, "attempt": attempt, "path": str(place)}
            (place / "result.json").write_text(json.dumps(told, indent=2), encoding="utf-8")
    return out


def evict(run: Path) -> None:
    """Remove a run's files from the page cache, as far as they are on the disk."""
    os.sync()
    for folder, _, names in os.walk(run):
        for name in names:
            file = os.open(f"{folder}/{name}", os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def measured(what: str, command: Sequence[str]) -> None:
    """Run a command and print its time and memory."""
    started = time.perf_counter()
    with subprocess.Popen([*HARNESS, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        told = process.stderr.read().decode() if process.stderr else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    failed = "" if process.returncode == 0 else f" exit {process.returncode}: {told[-300:]}"
    print(f"| {what} | {seconds:.1f} | {used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024:.0f} |{failed}", flush=True)


def table(base: Path, run: Path, parts: Sequence[tuple[int, Path]], *, cold: bool) -> None:
    """Measure every command over the run, and the long exports over its parts."""
    packed = base / "run.run.parquet"
    packed.unlink(missing_ok=True)
    print("| command | wall s | CPU s | peak MB |\n|---|--:|--:|--:|")
    if cold:
        evict(run)
    measured("pack", ["pack", str(run)])
    measured("report", ["report", str(run), "--table", "all"])
    measured("report --html", ["report", str(run), "--html", str(base / "report.html")])
    measured("run --resume", ["run", "--resume", str(run), "--runtime", "inprocess"])
    measured("report, packed", ["report", str(packed), "--table", "all"])
    measured("show, packed", ["show", str(packed), "uniform-01", "s7-a1"])
    measured("export episodes", ["export", "episodes", str(run), "--out", str(base / "episodes.jsonl")])
    for kind, (episodes, part) in itertools.product(("trace", "inspect"), parts):
        shutil.rmtree(base / "exported", ignore_errors=True)
        measured(f"export {kind}, {episodes:,} episodes", ["export", kind, str(part), "--out", str(base / "exported")])


def main() -> int:
    """Create the runs, time the commands, and remove everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=153)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--base", type=Path, help="Where the runs are made; a temporary folder unless given.")
    parser.add_argument("--copies", action="store_true", help="Write every file: some 17 GB.")
    parser.add_argument("--keep", action="store_true", help="Leave the runs there, and use those that are there.")
    given = parser.parse_args()
    base = given.base or Path(tempfile.mkdtemp(prefix="parley-scale-"))
    short, run, few = base / "short", base / "run", base / "few"
    try:
        if not (run / "run.json").exists():
            grown(recorded(short), run, given.seeds, given.attempts, put=shutil.copyfile if given.copies else os.link)
            grown(short, few, 1, 1)
        tasks = len(json.loads((short / "run.json").read_bytes())["identity"]["tasks"])
        print(f"{tasks * given.seeds * given.attempts:,} episodes of {tasks} tasks")
        table(base, run, ((tasks, few), (tasks * RECORDED, short)), cold=given.copies)
    finally:
        if not given.keep:
            shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
