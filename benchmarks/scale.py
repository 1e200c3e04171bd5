"""Seconds and memory of commands over a hundred thousand recorded episodes, in a folder and packed into one file.

A real run of all families is grown by copying its episodes under other seeds, every file of them. Each command runs by itself;
its seconds, processor seconds and highest resident memory are printed. `export` also runs over a tenth, so that memory which
grows with the number of episodes shows.

    python benchmarks/scale.py [--episodes 100000] [--base FOLDER] [--keep]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HARNESS = (sys.executable, "-m", "harness")
TASKS = ("presigned-url-download", "uniform-01", "whistle-for-the-cup-final")


def recorded(out: Path) -> Path:
    """One short real run of all families."""
    command = [*HARNESS, "run", *TASKS, "--agent", "oracle", "--runtime", "inprocess", "--out", str(out), "--yes"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def grown(run: Path, out: Path, episodes: int, tasks: Sequence[str] = TASKS) -> Path:
    """A run with as many seeds as make so many episodes, every file of each of them written."""
    plan = json.loads((run / "run.json").read_bytes())
    seeds = -(-episodes // len(tasks))
    for part in ("identity", "request"):
        plan[part]["seeds"] = list(range(seeds))
        plan[part]["tasks"] = {task: plan[part]["tasks"][task] for task in tasks}
    out.mkdir(parents=True)
    (out / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    for folder in sorted(run.glob("episodes/*/*/s0-a1")):
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        result = json.loads(files["result.json"])
        for seed in range(seeds) if result["task_id"] in tasks else ():
            place = out / folder.relative_to(run).with_name(f"s{seed}-a1")
            place.mkdir(parents=True)
            for name, data in {**files, "result.json": json.dumps({**result, "seed": seed}, indent=2).encode()}.items():
                (place / name).write_bytes(data)
    return out


def measured(what: str, command: Sequence[str]) -> None:
    """Run a command and print what it took."""
    started = time.perf_counter()
    with subprocess.Popen([*HARNESS, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        told = process.stderr.read().decode() if process.stderr else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    print(
        f"{what:24} {seconds:7.1f} s  {used.ru_utime + used.ru_stime:7.1f} s of a processor  {used.ru_maxrss / 1024:7.0f} MiB"
        f"{'' if process.returncode == 0 else f'  exit {process.returncode}: {told[-300:]}'}",
        flush=True,
    )


def main() -> int:
    """Grow the runs, time the commands, and remove it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--base", type=Path, help="Where the runs are made; a temporary folder unless given.")
    parser.add_argument("--keep", action="store_true", help="Leave the runs there, and use those that are there.")
    given = parser.parse_args()
    base = given.base or Path(tempfile.mkdtemp(prefix="parley-scale-"))
    run, packed = base / "run", base / "run.run.parquet"
    try:
        if not (run / "run.json").exists():
            short = recorded(base / "short")
            grown(short, run, given.episodes)
            for name, share in (("few", 500), ("more", 50)):
                grown(short, base / name, given.episodes // share, ["uniform-01"])
        measured("report", ["report", str(run)])
        measured("run --resume", ["run", "--resume", str(run), "--runtime", "inprocess"])
        packed.unlink(missing_ok=True)
        measured("pack", ["pack", str(run)])
        measured("report, packed", ["report", str(packed)])
        measured("show, packed", ["show", str(packed), "uniform-01", "s7-a1"])
        measured("export episodes", ["export", "episodes", str(run), "--out", str(base / "episodes.jsonl")])
        for name in ("few", "more"):
            shutil.rmtree(base / "traces", ignore_errors=True)
            measured(f"export trace, {name}", ["export", "trace", str(base / name), "--out", str(base / "traces")])
    finally:
        if not given.keep:
            shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
