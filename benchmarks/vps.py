"""Benchmark of judging a calendar game by step: parsing its log, replaying the game, privacy losses, the whole verdict.

One canonical task (5 agents, 16 slots, 5 meetings of 3) is played by each typed protocol. The steps then alternate in short
rounds within one run, because timings on a shared machine are meaningful only as ratios. The goal for `vps` is 0.5 ms.

    python benchmarks/vps.py [--rounds 15] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path

from oracles.calendar.certificate import certify
from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat
from validators.calendar import assess
from validators.calendar.evidence import measure_privacy, privacy_tables
from validators.calendar.replay import replay
from validators.episode import Episode
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.core.events import read_log
from worlds.core.loading import open_world
from worlds.core.manifest import Budgets, Manifest, Option
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Answer

AIM_MS = 0.5
CHOICES = ("failed_rounds", "outsiders", "blocked_attempts", "exhausted", "voluntary", "justification")
OTHERS = {"channels": "dm", "turn_cap": 0, "message_cap": 0, "decision_retries": 3, "strict_replies": False, "sd_model": ""}


def scenario() -> Scenario:
    """Return a canonical task: nine errands per agent, two of them blocked, every agent in three meetings."""
    draw = random.Random(1)
    errands = []
    for agent in range(5):
        slots = sorted(draw.sample(range(12), 9))
        errands.append(
            tuple(Errand(slot=slot, id=agent * 16 + place + 1, cost=1, blocked=place < 2) for place, slot in enumerate(slots))
        )
    groups = ((0, 1, 2), (0, 3, 4), (1, 2, 3), (0, 2, 4), (1, 3, 4))
    return Scenario(
        slots=16, errands=tuple(errands), meetings=tuple(Meeting(id=n, participants=g) for n, g in enumerate(groups, start=1))
    )


def log_of(folder: Path, task: Scenario, protocol: str) -> bytes:
    """Return the log of a game in which every seat plays one protocol."""
    options = {name: Option(default="profile", doc=name) for name in CHOICES} | {"profile": Option(default="text", doc="both")}
    for name, value in OTHERS.items():
        options[name] = Option(type=type(value).__name__, default=value, doc=name)  # type: ignore[arg-type]
    costs = {"request": 1.0, "sweep": 60.0, "decision": 60.0}
    manifest = Manifest(
        task_id="t", family="calendar", budgets=Budgets(steps=100, virtual_seconds=1e6), costs=costs, options=options
    )
    (folder / "world.json").write_text(manifest.to_json(), encoding="utf-8")
    (folder / "scenario.json").write_text(task.to_json(), encoding="utf-8")
    world = open_world(folder)
    assert isinstance(world, SeatedWorld)
    seats = [PROTOCOLS[protocol](Seat(agent, 5, 16)) for agent in task.agents]
    while not world.turns.over:
        turn = world.turns.open[0]
        world.turns.answer(turn.id, Answer(seats[turn.seat].reply(turn)))
    return world.log.dump()


def timed(step: Callable[[], object], times: int = 20) -> float:
    """Return the milliseconds of one call."""
    start = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - start) / times * 1000


def measured(log: bytes, certificate: dict[str, object], rounds: int) -> dict[str, float]:
    """Return the median of each step over the rounds, in ms."""
    episode = Episode(tuple(read_log(log)))
    rebuilt = replay(episode)
    steps: dict[str, Callable[[], object]] = {
        "read": lambda: read_log(log),
        # what is remembered of a log would make the second time free
        "replay": lambda: unwrap(replay)(episode),
        "vps": lambda: measure_privacy(rebuilt),
        "tables": lambda: privacy_tables(rebuilt),
        "verdict": lambda: assess(episode, certificate),
    }
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            found[name].append(timed(step))
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    """Play, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    task = scenario()
    certificate = json.loads(json.dumps(certify(task).document()))
    with tempfile.TemporaryDirectory() as folder:
        found = {name: measured(log_of(Path(folder), task, name), certificate, given.rounds) for name in PROTOCOLS}
    if given.json:
        print(json.dumps(found))
        return
    print(f"ms a game (aim for vps: {AIM_MS}); in brackets, as a share of reading its log")
    for name, steps in found.items():
        shown = "  ".join(f"{step} {ms:.2f} ({ms / steps['read']:.2f})" for step, ms in steps.items())
        print(f"{name:24} {shown}")


if __name__ == "__main__":
    main()
