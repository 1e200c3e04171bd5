"""Benchmark of `harness report` over 10,000 episodes: a recorded run is extended by copying it to more seeds.

Processor seconds are shown beside wall-clock seconds, since only the former are stable on a shared machine. With --limit the
script fails if the best round took more processor seconds.

    python benchmarks/reports.py [--family contract] [--episodes 10000] [--rounds 3] [--limit 5] [--html]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HARNESS = (sys.executable, "-m", "harness")
AGENTS = {"contract": "oracle", "calendar": "imap", "hidden-profile": "pool"}


def recorded(family: str, out: Path) -> Path:
    """Record one short real run of a family."""
    command = [*HARNESS, "run", family, "--agent", AGENTS[family], "--runtime", "inprocess", "--out", str(out), "--yes"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def grown(run: Path, out: Path, episodes: int) -> int:
    """Extend the run with more seeds to at least `episodes` episodes. Return their number."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(run.glob("episodes/*/*/*/result.json"))]
    seeds = -(-episodes // len(results))
    plan = json.loads((run / "run.json").read_text(encoding="utf-8"))
    plan["identity"]["seeds"] = list(range(seeds))
    out.mkdir()
    (out / "run.json").write_text(json.dumps(plan), encoding="utf-8")
    for result in results:
        for seed in range(seeds):
            folder = out / "episodes" / result["family"] / result["task_id"] / f"s{seed}-a1"
            folder.mkdir(parents=True)
            (folder / "result.json").write_text(json.dumps({**result, "seed": seed}), encoding="utf-8")
    return len(results) * seeds


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Return the wall-clock and processor seconds that a command takes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Extend a run, report on it in rounds, and print the best of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=sorted(AGENTS), default="contract")
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--html", action="store_true", help="Write the page instead of tables.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        count = grown(recorded(given.family, Path(base, "short")), Path(base, "long"), given.episodes)
        asked = ["--html", str(Path(base, "r.html"))] if given.html else ["--table", "all"]
        command = [*HARNESS, "report", str(Path(base, "long")), *asked]
        rounds = [timed(command) for _ in range(given.rounds)]
    clock, processor = (min(seconds) for seconds in zip(*rounds, strict=True))
    print(f"{given.family}: {count} episodes, best of {given.rounds}: {clock:.2f} s, {processor:.2f} s of a processor")
    return int(given.limit is not None and processor > given.limit)


if __name__ == "__main__":
    sys.exit(main())
