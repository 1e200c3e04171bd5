"""Benchmark of concurrent pods: how many are open at once, the memory of each, and whether episodes give correct results.

`harness run` plays concurrent episodes of all families with slow models: the real client calls a local server, which answers
after 0.5 to 2 seconds. Contracts are played through the shell, so that a second sandbox is open; seats of games say a few
sentences in turn. The same plan is then played two at a time, and every trace hash must be equal. During a run memory is
sampled: the proportional share (proc(5), Pss) of the harness, of all its descendants, and in Docker of the run's containers
with their shims. Files that an agent wrote to memory are not included.

    python benchmarks/pods.py [--runtime bubblewrap] [--pods 64] [--rounds 2] [--tasks NAMES] [--json]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.orphans import Orphan
from harness.registry import Task
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.docker.runtime import DockerRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel, heading
from parley.testing.scripts import Fault, Messages, Script, ScriptedReply
from parley.training import tasks_named

TASKS = (
    "presigned-url-download", "multi-service-saga", "oauth-pkce-with-rotation", "uniform-01", "uniform-07",
    "whistle-for-the-cup-final",
)  # fmt: skip
SAYINGS = (
    "Let me think about it. I would rather know what the others say before I decide.",
    '{"slot": 3, "reason": "it is free"}',
    "I agree with what was said.",
)
PAUSE_S = 1.0
"""Seconds between two samples; reading the memory of 1,000 processes takes a large part of a second."""

ALWAYS = 1_000_000
MIB = 1024


@dataclass(frozen=True)
class PodSample:
    """Sample of a run, in megabytes."""

    pods: int
    """Pods that are open: ready to answer, and not being closed yet."""

    harness: float
    others: float
    """Memory of sandboxes or containers, including their helper processes."""

    processes: int
    files: int
    """Open files of the harness."""

    threads: int
    processor_s: float
    """Processor seconds so far, of all processes seen up to now."""


@dataclass(frozen=True)
class PodRun:
    """A run with its samples and its results."""

    at_once: int
    episodes: int
    graded: int
    seconds: float
    peak: PodSample
    """The sample with the most total memory, including pods that are being opened."""

    fullest: PodSample
    """The sample with the most memory among those with the most open pods."""

    most_files: int
    most_threads: int
    processor_s: float
    traces: Mapping[str, str | None]

    @property
    def pod_mib(self) -> float:
        """Memory per pod when the most were open."""
        return self.fullest.others / max(1, self.fullest.pods)


class Slow:
    """A model that plays contracts by their own solutions and talks at seats, with a delay before each answer."""

    def __init__(self, tasks: Sequence[Task], least_s: float, most_s: float) -> None:
        alone = [task for task in tasks if not task.is_seated]
        self._solves = SolutionModel(alone, lambda task, attempt: "solve", "shell")
        self._headings = {heading((task.path / "instruction.md").read_text(encoding="utf-8")) for task in alone}
        self._least_s, self._span_s = least_s, most_s - least_s

    def __call__(self, messages: Messages) -> ScriptedReply:
        """Return the next reply. Its text and delay are determined by the conversation."""
        asked = next((str(message["content"]) for message in messages if message["role"] == "user"), "")
        said = self._solves(messages) if heading(asked) in self._headings else self._talks(messages)
        reply = ScriptedReply(text=said) if isinstance(said, str) else said
        share = hashlib.sha256(json.dumps(list(messages)).encode()).digest()[0] / 255
        stall = Fault(kind="stall", stall_s=self._least_s + share * self._span_s, times=ALWAYS)
        return reply.model_copy(update={"faults": (stall,)})

    @staticmethod
    def _talks(messages: Messages) -> str:
        return SAYINGS[sum(message["role"] == "assistant" for message in messages) % len(SAYINGS)]


class Watch:
    """Reads the events of a run and samples its memory until it ends."""

    def __init__(self, process: subprocess.Popen[str], runtime: DockerRuntime | BubblewrapRuntime) -> None:
        self._process, self._runtime = process, runtime
        self._phases: dict[str, str] = {}
        self._processor_s: dict[int, float] = {}
        """Processor seconds last seen of each process tree, by its root."""

        self.samples: list[PodSample] = []
        self.results: dict[str, dict[str, Any]] = {}

    def until_the_end(self) -> None:
        """Return once the run has ended."""
        reader = threading.Thread(target=self._read)
        reader.start()
        while self._process.poll() is None:
            with suppress(OSError):
                self.samples.append(self._look())
            time.sleep(PAUSE_S)
        reader.join()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            said = json.loads(line)
            if said["event"] == "phase":
                begins = said["seconds"] is None
                self._phases[said["episode"]] = said["phase"] if begins else f"after {said['phase']}"
            elif said["event"] == "finished":
                self.results[said["episode"]] = said["result"]

    def _look(self) -> PodSample:
        children, own = processes(), self._process.pid
        trees = {top: list(tree(top, children)) for top in (own, *self._shims(children))}
        for top, members in trees.items():
            self._processor_s[top] = max(self._processor_s.get(top, 0.0), sum(map(processor_s, members)))
        below = [pid for members in trees.values() for pid in members if pid != own]
        pods = sum(phase not in {"open", "close", "after close"} for phase in list(self._phases.values()))
        files, threads = (len(list(Path(f"/proc/{own}/{folder}").iterdir())) for folder in ("fd", "task"))
        spent = sum(self._processor_s.values())
        return PodSample(pods, share_mib(own), sum(map(share_mib, below)), len(below), files, threads, spent)

    def _shims(self, children: Mapping[int, Sequence[int]]) -> list[int]:
        """Return the engine's processes that each hold a container of this run; empty unless in Docker."""
        if isinstance(self._runtime, BubblewrapRuntime):
            return []
        of_all = self._runtime.engine.labelled("parley.owner")["containers"]
        ours = {one["Id"] for one in of_all if f":{self._process.pid}:" in one["Labels"]["parley.owner"]}
        return [pid for below in children.values() for pid in below if ours & set(words_of(pid))]


def processes() -> dict[int, list[int]]:
    """Return the processes of this machine by parent."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    return children


def tree(top: int, children: Mapping[int, Sequence[int]]) -> Iterator[int]:
    """Yield a process and all its descendants."""
    yield top
    for child in children.get(top, ()):
        yield from tree(child, children)


def words_of(process: int) -> list[str]:
    """Return the command line of a containerd shim, which names its container, or an empty list for other processes."""
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
        return words if words[0].endswith("containerd-shim-runc-v2") else []
    return []


def share_mib(process: int) -> float:
    """Return a process's proportional share of memory, or 0 if it has ended."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / MIB
    return 0.0


def processor_s(process: int) -> float:
    """Return the processor seconds of a process and its ended children, or 0 if it has ended itself."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def planned(given: argparse.Namespace) -> int:
    """Return the number of episodes of a run, with each task played equally often."""
    return -(-given.pods * given.rounds // len(given.tasks)) * len(given.tasks)


def played(at_once: int, given: argparse.Namespace, url: str, out: Path) -> PodRun:
    """Run the plan once and return the samples."""
    runtime = BubblewrapRuntime() if given.runtime == "bubblewrap" else DockerRuntime()
    command = [
        sys.executable, "-m", "harness", "run", *given.tasks, "--seeds", f"0-{planned(given) // len(given.tasks) - 1}",
        "--model", "openai/slow", "--interface", "shell", "--api-base", url, "--key", "published", "--runtime", given.runtime,
        "-n", str(at_once), "--wall", "3600", "--out", str(out), "--jsonl", "-", "--yes",
    ]  # fmt: skip
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as process:
        watch = Watch(process, runtime)
        watch.until_the_end()
    samples = watch.samples
    return PodRun(
        at_once, len(watch.results), sum(one["status"] == "graded" for one in watch.results.values()),
        time.monotonic() - began, max(samples, key=lambda one: one.harness + one.others),
        max(samples, key=lambda one: (one.pods, one.harness + one.others)),
        max(one.files for one in samples), max(one.threads for one in samples), max(one.processor_s for one in samples),
        {name: one["trace_hash"] for name, one in sorted(watch.results.items())},
    )  # fmt: skip


def left(runtime: str) -> list[Orphan]:
    """Return what dead runs have left behind on this machine."""
    return (BubblewrapRuntime() if runtime == "bubblewrap" else DockerRuntime()).leftovers()


def told(run: PodRun) -> str:
    """Return a summary of a run in a few lines."""
    peak, fullest = run.peak, run.fullest
    return (
        f"{run.at_once} at once: {run.graded} of {run.episodes} graded in {run.seconds:.0f} s\n"
        f"  at most {fullest.pods} pods open, {run.pod_mib:.1f} MiB a pod then, {fullest.processes} processes\n"
        f"  at the peak {peak.harness + peak.others:.0f} MiB in all, of which the harness itself {peak.harness:.0f}\n"
        f"  the harness: at most {run.most_files} open files, {run.most_threads} threads\n"
        f"  {run.processor_s / max(1, run.episodes):.2f} s of a processor an episode, the engine's own not counted"
    )


def main() -> int:
    """Play the plan twice and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", choices=("bubblewrap", "docker"), default="bubblewrap")
    parser.add_argument("--pods", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2, help="Episodes, by the number of pods.")
    parser.add_argument("--tasks", type=lambda names: names.split(","), default=TASKS, help="Ids, joined by commas.")
    parser.add_argument("--pace", type=float, nargs=2, default=(0.5, 2.0), help="Seconds an answer takes, least and most.")
    parser.add_argument("--no-second", action="store_true", help="Leave out the run of two at a time.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    tasks, base, runs = tasks_named(*given.tasks), Path(tempfile.mkdtemp()), list[PodRun]()
    before = left(given.runtime)
    # the second run asks the same in the same words; what it hears may come at once
    for at_once, pace in [(given.pods, given.pace), (2, (0.0, 0.0))][: 1 if given.no_second else 2]:
        with OpenAIServer(Script(play=Slow(tasks, *pace))) as server:
            runs.append(played(at_once, given, server.url, base / str(at_once)))
        if not given.json:
            print(told(runs[-1]), flush=True)
    after = [one for one in left(given.runtime) if one not in before]
    equal = None if given.no_second else sum(runs[0].traces.get(name) == trace for name, trace in runs[1].traces.items())
    if given.json:
        print(json.dumps({"runs": [asdict(one) for one in runs], "equal": equal, "left": [asdict(one) for one in after]}))
    else:
        compared = "" if equal is None else f"equal trace hashes: {equal} of {planned(given)}; "
        print(f"{compared}left behind: {len(after)}; runs in {base}")
    whole = all(one.graded == planned(given) for one in runs)
    return 0 if whole and equal in {None, planned(given)} and not after else 1


if __name__ == "__main__":
    sys.exit(main())
