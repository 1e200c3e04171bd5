"""Seconds that `harness report` takes over ten thousand episodes: a run is grown from one recorded here, by seeds.

Processor seconds are told beside those of the clock, since a shared machine only keeps the former still. With --limit the
script fails where the best round took more processor seconds than that.

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
    """One short real run of a family."""
    command = [*HARNESS, "run", family, "--agent", AGENTS[family], "--runtime", "inprocess", "--out", str(out), "--yes"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def grown(run: Path, out: Path, episodes: int) -> int:
    """The same run with as many seeds as make so many episodes; how many it has."""
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
    """Seconds of the clock and of the processor that a command takes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Grow a run, report on it in rounds, and print the best of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=sorted(AGENTS), default="contract")
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--html", action="store_true", help="Write the page instead of tables.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        count = grown(recorded(given.family, Path(base, "short")), Path(base, "long"), given.episodes)
        command = [*HARNESS, "report", str(Path(base, "long")), *(["--html", str(Path(base, "r.html"))] if given.html else [])]
        rounds = [timed(command) for _ in range(given.rounds)]
    clock, processor = (min(seconds) for seconds in zip(*rounds, strict=True))
    print(f"{given.family}: {count} episodes, best of {given.rounds}: {clock:.2f} s, {processor:.2f} s of a processor")
    return int(given.limit is not None and processor > given.limit)


if __name__ == "__main__":
    sys.exit(main())
