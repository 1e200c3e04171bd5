"""Benchmark of oracle episodes per minute in isolation, compared with a floor: the same three containers without the harness.

Contenders alternate in short rounds within one run, because timings on a shared machine are meaningful only as ratios: `floor`
(the bare Docker SDK), `docker`, `bubblewrap`, and `harbor` if its command is on PATH or in HARBOR_BIN, with a few trials per
round and images built before.
The floor starts world, main and verifier from the same images, plays the same solution, and judges with the same tests.

    python benchmarks/episodes.py [--rounds 3] [--episodes 12] [--workers 2] [--json]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker

from harness.agent import Budget
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.pod import EpisodeSpec, Runtime
from harness.records import Key
from harness.registry import Task, files_of, read_task
from harness.runs.executors.sites import Ahead
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.docker.runtime import DockerRuntime
from worlds.core.loading import open_world

ROOT = Path(__file__).parents[1]
TASK = ROOT / "tasks" / "contract" / "presigned-url-download"
Episode = Callable[[int], None]
Round = Callable[[int, int], None]
"""Function that plays this number of episodes with this number of workers."""

USERS = {"agent": "agent", "world": "world", "verifier": "verifier"}

READY = """
import socket, time
for _ in range(400):
    try:
        socket.create_connection(("127.0.0.1", 8080), 1)
        break
    except OSError:
        time.sleep(0.01)
"""
"""Script that waits inside `main` until the world listens."""


def archive(files: dict[str, bytes]) -> bytes:
    """Return a tar archive of files by relative path."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def fetched(api: docker.APIClient, container: str, path: str) -> bytes:
    """Return one file from a container."""
    with tarfile.open(fileobj=io.BytesIO(b"".join(api.get_archive(container, path)[0]))) as tar:
        content = tar.extractfile(tar.next() or tarfile.TarInfo())
        return content.read() if content else b""


def ours(runtime: Runtime, task: Task) -> Round:
    """Return a function that plays episodes as `harness run` does, without recording them."""

    def play(episodes: int, workers: int) -> None:
        specs = [EpisodeSpec("bench", f"bench-{runtime.name}-{n}", task, 0, needs_main=True) for n in range(episodes)]

        def one(number: int) -> None:
            key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=number)
            result = run_episode(specs[number], key, runtime, SolutionAgent(), Budget(), opening=ahead.open).result
            if result.reward != 1.0:
                raise RuntimeError(f"{runtime.name}: {result.error or result.failure_label}")

        with Ahead(runtime, specs, workers) as ahead:
            in_turn(one)(episodes, workers)

    return play


def in_turn(play: Episode) -> Round:
    """Return a function whose workers each play one episode after the other."""

    def plays(episodes: int, workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(play, range(episodes)))

    return plays


def floor(task: Task, images: dict[str, str]) -> Episode:
    """Return a function that plays an episode in the same three containers through the bare SDK."""
    api = docker.APIClient(timeout=60)
    solution = {f"solution/{p.name}": p.read_bytes() for p in files_of(task.path / "solution")}
    solution["solution/instruction.md"] = open_world(task.world_folder).instruction.encode()

    def create(room: str, **host: Any) -> str:
        command = {"agent": ["sleep", "infinity"], "verifier": ["bash", "/tests/test.sh"]}.get(room)
        config = api.create_host_config(init=True, cap_drop=["ALL"], security_opt=["no-new-privileges"], **host)
        name = "api" if room == "world" else None
        return str(api.create_container(images[room], command, hostname=name, user=USERS[room], host_config=config)["Id"])

    def run(container: str, command: list[str]) -> tuple[int, bytes]:
        made = api.exec_create(container, command)["Id"]
        output = api.exec_start(made)
        return api.exec_inspect(made)["ExitCode"], output

    def play(_: int) -> None:
        world = create("world", network_mode="none", extra_hosts={"api": "127.0.0.1"})
        api.start(world)
        main = create("agent", network_mode=f"container:{world}")
        verifier = create("verifier", network_mode="none")
        try:
            api.start(main)
            api.put_archive(main, "/tmp", archive(solution))
            run(main, ["python3", "-c", READY])
            code, output = run(main, ["bash", "/tmp/solution/solve.sh"])
            if code:
                raise RuntimeError(output.decode())
            api.kill(main)
            api.put_archive(verifier, "/state", archive({"events.jsonl": fetched(api, world, "/state/events.jsonl")}))
            api.start(verifier)
            api.wait(verifier)
            if fetched(api, verifier, "/logs/verifier/reward.json") != b'{"reward": 1.0}\n':
                raise RuntimeError("floor: the oracle failed")
        finally:
            for container in (main, world, verifier):
                api.remove_container(container, force=True, v=True)

    return play


def harbor_round(binary: str, task: Task, episodes: int, workers: int) -> float:
    """Return the seconds that Harbor takes for this number of oracle trials."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            binary,
            "run",
            "-p",
            str(task.path),
            "-a",
            "oracle",
            "-k",
            str(episodes),
            "-n",
            str(workers),
            "-o",
            folder,
            "-y",
            "-q",
        ]
        quiet = {**os.environ, "HARBOR_TELEMETRY": "0", "DO_NOT_TRACK": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=quiet)
        return time.perf_counter() - started


def round_of(play: Round, episodes: int, workers: int) -> float:
    """Return the seconds that a contender takes for this number of episodes."""
    started = time.perf_counter()
    play(episodes, workers)
    return time.perf_counter() - started


def contenders(task: Task, workers: int) -> dict[str, Round]:
    """Return everything that can run here, warmed up by an episode for each worker."""
    runtimes: list[Runtime] = [DockerRuntime(), BubblewrapRuntime()]
    found: dict[str, Round] = {}
    for runtime in runtimes:
        runtime.prepare([task])
        found[runtime.name] = ours(runtime, task)
    engine = runtimes[0]
    assert isinstance(engine, DockerRuntime)
    found = {"floor": in_turn(floor(task, engine.images.task_images(task))), **found}
    for play in found.values():
        play(workers, workers)
    return found


def measure(rounds: int, episodes: int, workers: int) -> dict[str, list[float]]:
    """Return the episodes per minute of each contender, one figure per round."""
    task = read_task(TASK)
    harbor = os.environ.get("HARBOR_BIN") or shutil.which("harbor")
    plays = contenders(task, workers)
    if harbor:
        harbor_round(harbor, task, 1, 1)  # builds its images
    rates: dict[str, list[float]] = {name: [] for name in [*plays, *(["harbor"] if harbor else [])]}
    for number in range(rounds):
        for name, play in plays.items():
            rates[name].append(60 * episodes / round_of(play, episodes, workers))
        if harbor:
            rates["harbor"].append(60 * 2 * workers / harbor_round(harbor, task, 2 * workers, workers))
        print(f"round {number + 1}: " + ", ".join(f"{n} {r[-1]:.1f}" for n, r in rates.items() if r), file=sys.stderr)
    return rates


def against(rates: list[float], others: list[float]) -> tuple[float, float, float]:
    """Return the least, median and greatest ratio of two rates over the rounds."""
    ratios = sorted(one / other for one, other in zip(rates, others, strict=True))
    return ratios[0], statistics.median(ratios), ratios[-1]


def main() -> None:
    """Measure and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rates = measure(given.rounds, given.episodes, given.workers)
    medians = {name: statistics.median(values) for name, values in rates.items() if values}
    ratios = {f"{name} / floor": against(rates[name], rates["floor"]) for name in ("docker", "bubblewrap")}
    if rates.get("harbor"):
        ratios["docker / harbor"] = against(rates["docker"], rates["harbor"])
    if given.json:
        print(json.dumps({"per_minute": medians, "rounds": rates, "ratios": ratios}, indent=2))
        return
    for name, value in medians.items():
        print(f"{name:12} {value:7.1f} episodes a minute")
    for name, (low, middle, high) in ratios.items():
        print(f"{name:20} {middle:5.2f} ({low:.2f} to {high:.2f})")
    print(f"medians over {given.rounds} rounds, {given.workers} workers")


if __name__ == "__main__":
    main()
