"""Benchmark of typed calendar games by part: rules and messages, policies, turns over in-process HTTP, the verdict.

    python benchmarks/calendar_games.py [TASKS]

Each figure is the median over the first TASKS tasks (default 20) of the canonical 90, in milliseconds of processor time.
Compare only ratios within one run, since machines differ and are noisy. `rules` replays the replies of a finished game without
policies; `policies` is the additional cost of the protocol; `http` is the additional cost of the log and of in-process
requests; `verdict` is the validator. The last lines are the whole table, 4 protocols in both profiles on all 90 tasks, by the
real command with its report, and the benchmark of certificates for comparison. The first line is the machine's current speed:
the processor time of 10 million additions in a loop.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from harness.registry import Task, discover
from parley.families.calendar.seats import PLAYERS
from validators.calendar import assess
from validators.episode import Episode
from worlds.calendar.game import CalendarGame
from worlds.calendar.rules.scenario import read_scenario
from worlds.calendar.rules.settings import PROFILES, Settings
from worlds.core.events import read_log
from worlds.core.testing import InProcess, world_in_process
from worlds.core.texts import load_texts
from worlds.core.turns import Answer, OpenTurn, TurnTable
from worlds.core.wire import request

ROOT = Path(__file__).parents[1]
CANONICAL = ("uniform-[0-9][0-9]", "varied-[0-9][0-9]")
NAMES = ("imap", "dsm-private", "dsm-welfare", "sd-map")
Reply = Callable[[OpenTurn], str]


def main() -> None:
    """Time each protocol, then the whole table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"ten million additions: {_clocked(_add) / 1000:.2f} s\n")
    tasks = [task for task in discover(ROOT / "tasks") if any(fnmatch(task.task_id, name) for name in CANONICAL)]
    print(
        f"{'protocol':12} {'turns':>6} {'rules':>7} {'policies':>9} {'http':>7} {'verdict':>8}   ms of processor time, median"
    )
    for name in NAMES:
        rows = [_timed(task, name) for task in tasks[:count]]
        print(
            f"{name:12} "
            + " ".join(
                f"{statistics.median(column):{width}.2f}"
                for column, width in zip(zip(*rows, strict=True), (6, 7, 9, 7, 8), strict=True)
            )
        )
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        options = ["--agent", ",".join(NAMES), "--set", "profile=paper,text", "--runtime", "inprocess", "--yes", "--report"]
        command = [sys.executable, "-m", "harness", "run", *CANONICAL, *options, "--out", f"{folder}/run"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    print(f"\nthe table, {8 * len(tasks)} games by the command: {time.perf_counter() - started:.1f} s")
    subprocess.run([sys.executable, ROOT / "benchmarks" / "certificates.py"], cwd=ROOT, check=True)


def _timed(task: Task, name: str) -> tuple[float, ...]:
    scenario, settings = read_scenario(task.world_folder / "scenario.json"), Settings(profile="paper", **PROFILES["paper"])
    make = PLAYERS[name]
    public = {"agents": len(scenario.agents), "slots": scenario.slots, "profile": "paper", "sd_model": ""}
    replies: dict[str, str] = {}
    whole = _clocked(lambda: _game(scenario, settings, _policies(make, public), replies))
    rules = _clocked(lambda: _game(scenario, settings, lambda turn: replies[turn.id], {}))
    world = world_in_process(task.world_folder, overrides={"profile": "paper"})
    served = _clocked(lambda: _over_http(world, replies))
    episode = Episode(tuple(read_log(world.log.dump())))
    verdict = _clocked(lambda: assess(episode, None))
    return len(replies), rules, whole - rules, served - rules, verdict


def _policies(make: Any, public: Mapping[str, Any]) -> Reply:
    players = {seat: make(None, seat, {"public": public}) for seat in range(public["agents"])}
    return lambda turn: players[turn.seat].reply(turn)


def _game(scenario: Any, settings: Settings, reply: Reply, kept: dict[str, str]) -> None:
    game = CalendarGame(scenario, settings, lambda what, seat=None, **data: None, lambda cost: None, load_texts("calendar", {}))
    table = TurnTable(game.play(), lambda event: None)
    while not table.over:
        turn = table.open[0]
        kept[turn.id] = reply(turn)
        table.answer(turn.id, Answer(kept[turn.id]))


def _over_http(world: InProcess, replies: Mapping[str, str]) -> None:
    for turn, reply in replies.items():
        world(request("POST", f"/turns/{turn}", body=reply))


def _add() -> None:
    total = 0
    for number in range(10_000_000):
        total += number


def _clocked(act: Callable[[], object]) -> float:
    """Return the milliseconds of processor time that a call takes."""
    started = time.process_time()
    act()
    return (time.process_time() - started) * 1000


if __name__ == "__main__":
    main()
