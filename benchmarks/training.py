"""Benchmark of the in-process environment: open episodes per process, throughput, and whether memory stays flat.

    python benchmarks/training.py [--episodes 2000] [--rounds 5] [--processes 2] [--json]

The episodes are split among the processes, one per core to be used. In each process, a round opens all episodes of a mix of
families (contracts by tool calls, calendars, hidden profiles), answers one turn of each in turn until all are over, like a
training loop that samples a batch, and judges them together. No model is called: a contract is played by its own solution, call
by call, and seats of games say the same few sentences. The table has the megabytes of all processes after each round and at the
peak. The digest covers all trace hashes, so it must not change.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import itertools
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.registry import Task
from parley.testing.players import SolutionModel
from parley.training import Episode, SeatTurn, judged, tasks_named

Answer = Callable[[SeatTurn], tuple[str, Sequence[Mapping[str, Any]]]]

GAMES = (
    "Let me think about it. I would rather know what the others say before I decide.",
    '{"slot": 3, "reason": "it is free"}',
    "I agree with what was said.",
)
"""Replies of seats, in rotation, with which a game goes through all of its turns."""


@dataclass(frozen=True)
class TrainingRound:
    """Figures of a round of all episodes."""

    judged: int
    turns: int
    open_s: float
    play_s: float
    judge_s: float
    mib: float
    """Resident memory after the round's episodes are freed."""

    peak_mib: float
    """Peak resident memory so far."""

    mean_reward: float
    digest: str


def _together(shares: Sequence[TrainingRound]) -> TrainingRound:
    """Combine one round of several processes that ran in parallel."""
    count = sum(one.judged for one in shares)
    return TrainingRound(
        count,
        sum(one.turns for one in shares),
        *(max(seconds) for seconds in zip(*((one.open_s, one.play_s, one.judge_s) for one in shares), strict=True)),
        sum(one.mib for one in shares),
        sum(one.peak_mib for one in shares),
        sum(one.mean_reward * one.judged for one in shares) / count,
        " ".join(one.digest for one in shares),
    )


def main() -> None:
    """Play the rounds and print time and memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    mix = _mix(asked.episodes)
    shares = [mix[number :: asked.processes] for number in range(asked.processes)]
    with ProcessPoolExecutor(asked.processes, multiprocessing.get_context("spawn")) as pool:
        rounds = [_together(list(pool.map(_round, shares))) for _ in range(asked.rounds)]
    if asked.json:
        json.dump({"rounds": [asdict(one) for one in rounds]}, sys.stdout)
        return
    for number, one in enumerate(rounds, start=1):
        print(_line(number, one))
    print(
        f"{asked.episodes} episodes open at once in {asked.processes} processes; at most {rounds[-1].peak_mib:.0f} MiB in all"
    )


def _mix(count: int) -> list[tuple[Task, int]]:
    """Return tasks of all families in turn, with the next seed once all tasks of the family were used."""
    families = [tasks_named(name) for name in ("contract", "calendar", "hidden-profile")]
    places = [(families[number % 3], number // 3) for number in range(count)]
    return [(tasks[place % len(tasks)], place // len(tasks)) for tasks, place in places]


def _round(mix: Sequence[tuple[Task, int]]) -> TrainingRound:
    began = time.perf_counter()
    episodes = [Episode(turns=1000) for _ in mix]
    for episode, (task, seed) in zip(episodes, mix, strict=True):
        episode.reset(task, seed)
    opened = time.perf_counter()
    turns = _play(episodes)
    played = time.perf_counter()
    verdicts = judged(episodes)
    over = time.perf_counter()
    digest = hashlib.sha256("".join(one.trace_hash or "" for one in verdicts).encode()).hexdigest()[:16]
    reward = sum(one.reward for one in verdicts) / len(verdicts)
    count = len(verdicts)
    del episodes, verdicts
    gc.collect()
    return TrainingRound(count, turns, opened - began, played - opened, over - played, _resident(), _peak(), reward, digest)


def _play(episodes: Sequence[Episode]) -> int:
    """Play one turn of each episode in turn until all are over. Return the number of turns."""
    answers, turns, left = {id(one): _player(one.task) for one in episodes}, 0, list(episodes)
    while left:
        for episode in left:
            turn = episode.turns[0]
            episode.submit(turn.id, *answers[id(episode)](turn))
        turns += len(left)
        left = [one for one in left if not one.done]
    return turns


def _player(task: Task) -> Answer:
    if task.is_seated:
        said = itertools.cycle(GAMES)
        return lambda turn: (next(said), ())
    model = _model(task)

    def calls(turn: SeatTurn) -> tuple[str, Sequence[Mapping[str, Any]]]:
        reply = model(turn.messages)
        return (reply, ()) if isinstance(reply, str) else (reply.text or "", [one.model_dump() for one in reply.tool_calls])

    return calls


def _model(task: Task) -> SolutionModel:
    return SolutionModel([task], lambda task, attempt: "solve", "tool")


def _resident() -> float:
    """Return the resident memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 2**20


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _line(number: int, one: TrainingRound) -> str:
    rate = one.judged / (one.open_s + one.play_s + one.judge_s)
    return (
        f"round {number}: {one.judged} judged, {one.turns} turns; open {one.open_s:.1f} s, play {one.play_s:.1f} s, judge "
        f"{one.judge_s:.1f} s, {rate:.0f} episodes a second; {one.mib:.0f} MiB; mean reward {one.mean_reward:.3f}; {one.digest}"
    )


if __name__ == "__main__":
    main()
