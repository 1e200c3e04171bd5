"""Seconds and memory of commands over a hundred thousand recorded episodes, in a folder and packed into one file.

A real run of all families is grown by copying its episodes under other seeds, every file of them. Each command runs by itself;
its seconds, processor seconds and highest resident memory are printed. `export` also runs over a tenth, so that memory which
grows with the number of episodes shows.

    python benchmarks/scale.py [--episodes 100000] [--base FOLDER] [--keep]
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
from collections.abc import Sequence
from pathlib import Path

HARNESS = (sys.executable, "-m", "harness")
FAMILIES = ("contract", "calendar", "hidden-profile")
RECORDED = 7
"""Seeds that are really played; later ones repeat these."""


def recorded(out: Path) -> Path:
    """A real run of every task, under a few seeds."""
    command = [*HARNESS, "run", *FAMILIES, "--seeds", f"0-{RECORDED - 1}", "--agent", "oracle", "--runtime", "inprocess"]
    subprocess.run([*command, "--out", str(out), "--yes"], check=True, capture_output=True)
    return out


def grown(run: Path, out: Path, seeds: int, attempts: int, only: str = "*") -> Path:
    """The run with so many seeds and attempts; every file of an episode but its result is a link to the recorded one."""
    plan = json.loads((run / "run.json").read_bytes())
    folders = sorted(run.glob(f"episodes/*/{only}"))
    tasks = {folder.name for folder in folders}
    for part in ("identity", "request"):
        plan[part] |= {"seeds": list(range(seeds)), "attempts": attempts}
        plan[part]["tasks"] = {task: digest for task, digest in plan[part]["tasks"].items() if task in tasks}
    out.mkdir(parents=True)
    (out / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    for folder in folders:
        results = [json.loads((folder / f"s{seed}-a1" / "result.json").read_bytes()) for seed in range(RECORDED)]
        others = [sorted({path.name for path in (folder / f"s{seed}-a1").iterdir()} - {"result.json"}) for seed in range(RECORDED)]
        for seed, attempt in itertools.product(range(seeds), range(1, attempts + 1)):
            like = (seed + attempt - 1) % RECORDED
            place = out / folder.relative_to(run) / f"s{seed}-a{attempt}"
            place.mkdir(parents=True)
            for name in others[like]:
                os.link(folder / f"s{like}-a1" / name, place / name)
            told = {**results[like], "seed": seed, "attempt": attempt, "path": str(place)}
            (place / "result.json").write_text(json.dumps(told, indent=2), encoding="utf-8")
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
