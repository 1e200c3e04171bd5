# /// script
# dependencies = []
# ///
"""The mean reward with a 95 % interval that counts tasks, not trials, since trials of one task say little about others.

As a Harbor metric (`-i rewards.jsonl -o metric.json`) it receives rewards without their tasks. It then assumes that all tasks
were played and that all attempts at a task had the same result, which gives the widest interval.
With `--job FOLDER`, the folder of a job, it reads the tasks and clusters by them. Use this if `-k` was above 1 on a part of the
tasks. A trial that ended in an error has no reward; it is counted, but not as zero.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

TASKS: int | None = None
"""Number of tasks in the dataset, filled in by `harness export harbor`."""

_Z = 1.959964


def main() -> None:
    """Read Harbor's rewards or a job's folder, and write one JSON object."""
    parser = argparse.ArgumentParser(description="The mean reward with a 95 % interval that counts tasks, not trials.")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("-i", "--input-path", type=Path, help="rewards, one JSON object a line, as Harbor writes them")
    given.add_argument("--job", type=Path, help="the folder of a Harbor job: the tasks are read from its trials")
    parser.add_argument("-o", "--output-path", type=Path, help="the file to write; stdout unless given")
    asked = parser.parse_args()
    if asked.job:
        told = clustered(dict(of_job(asked.job)))
    else:
        told = unnamed([reward_of(json.loads(line)) for line in asked.input_path.read_text(encoding="utf-8").splitlines()])
    text = json.dumps(told)
    if asked.output_path:
        asked.output_path.write_text(text, encoding="utf-8")
    else:
        print(text)


def reward_of(rewards: Mapping[str, float] | None) -> float | None:
    """Return the reward of a trial, or None for a trial without a verdict."""
    if rewards is None:
        return None
    if "reward" in rewards:
        return float(rewards["reward"])
    raise SystemExit(f"metric.py: a trial has no reward, but {', '.join(rewards) or 'nothing'}")


def of_job(folder: Path) -> Iterator[tuple[str, list[float | None]]]:
    """Yield each task of a job with the rewards of its trials, None for a trial without a verdict."""
    tasks: defaultdict[str, list[float | None]] = defaultdict(list)
    for path in sorted(folder.glob("*/result.json")):
        trial = json.loads(path.read_text(encoding="utf-8"))
        tasks[trial["task_name"]].append(reward_of((trial.get("verifier_result") or {}).get("rewards")))
    yield from tasks.items()


def unnamed(rewards: Sequence[float | None]) -> dict[str, float]:
    """Return the mean and interval of rewards whose tasks are unknown."""
    graded = [reward for reward in rewards if reward is not None]
    tasks = min(len(graded), TASKS or len(graded))
    mean = sum(graded) / len(graded) if graded else 0.0
    return _told(mean, tasks, graded=len(graded), of=len(rewards))


def clustered(tasks: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """Return the mean and interval of rewards clustered by task."""
    graded = {name: [reward for reward in given if reward is not None] for name, given in tasks.items()}
    graded = {name: given for name, given in graded.items() if given}
    every = [reward for given in graded.values() for reward in given]
    of = sum(map(len, tasks.values()))
    if not every:
        return _told(0.0, 0, graded=0, of=of)
    mean, count = sum(every) / len(every), len(graded)
    spread = sum(sum(reward - mean for reward in given) ** 2 for given in graded.values()) / len(every) ** 2
    variance = spread * count / (count - 1) if count > 1 else 0.0
    # the number of independent trials with the same uncertainty; if nothing varies, the number of tasks
    worth = min(len(every), mean * (1 - mean) / variance) if variance else count
    return {**_told(mean, worth, graded=len(every), of=of), "tasks": count}


def _told(mean: float, trials: float, *, graded: int, of: int) -> dict[str, float]:
    low, high = wilson(mean, trials)
    return {"mean": mean, "low": low, "high": high, "graded": graded, "ungraded": of - graded}


def wilson(rate: float, trials: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a rate over this number of independent trials."""
    if trials <= 0:
        return 0.0, 1.0
    share = _Z * _Z / trials
    middle = (rate + share / 2) / (1 + share)
    half = math.sqrt(share * (rate * (1 - rate) + share / 4)) / (1 + share)
    return max(0.0, middle - half), min(1.0, middle + half)


if __name__ == "__main__":
    main()
