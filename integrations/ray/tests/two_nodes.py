"""Two nodes on this machine: real ones of Ray, with a key that drivers have not, and a mark on all that they start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
HARNESS = str(Path(sys.executable).with_name("harness"))
LIMIT_S = 120.0
SLOTS = 2
MARK = "PARLEY_RAY_TEST"
OURS = ("ray::NodeActor", "ray::SpendingActor", "ray::played")
"""How Ray calls the processes that are ours."""


class TwoNodes:
    """A cluster, and drivers on it."""

    __test__ = False

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - it reads the variable when it is imported

        self.mark = str(os.getpid())
        self._cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **self._settings()})
        self.address: str = self._cluster.address
        self.add()

    def _settings(self, slots: int = SLOTS, **environ: str) -> dict[str, Any]:
        variables = {MARK: self.mark, "OPENAI_API_KEY": "of-the-nodes", **environ}
        return {
            "num_cpus": slots, "resources": {"parley_sandbox": slots} if slots else {}, "object_store_memory": 80 << 20,
            "env_vars": variables, "memory": 4 << 30,
        }  # fmt: skip

    def add(self, slots: int = SLOTS, **environ: str) -> Any:
        """One more node."""
        return self._cluster.add_node(**self._settings(slots, **environ))

    def kill(self, node: Any) -> None:
        """The machine is gone from one moment to the next."""
        self._cluster.remove_node(node, allow_graceful=False)

    def command(self, *words: object) -> list[str]:
        """`harness run` on this cluster."""
        return [HARNESS, "run", *map(str, words), "--executor", "ray", "--address", self.address]

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """It, to its end."""
        return harness(*self.command(*words)[1:])

    def start(self, *words: object) -> subprocess.Popen[str]:
        """It, begun."""
        # a shell may have made this process deaf to INT, and all that it starts
        command = ["env", "--default-signal=INT", *self.command(*words)]
        return subprocess.Popen(
            command, cwd=ROOT, env=driver_environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def processes(self) -> dict[str, str]:
        """What the nodes have started for runs, and what that has started, sandboxes too: command lines by process."""
        table = {number: (parent, f"{number}:{began}") for number, parent, began in _table()}
        mark = f"{MARK}={self.mark}".encode()
        ours = {number for number in table if mark in _read(number, "environ") and _line(number).startswith(OURS)}
        while more := {number for number, (parent, _) in table.items() if parent in ours} - ours:
            ours |= more
        return {table[number][1]: _line(number) for number in ours}

    def close(self) -> None:
        """End all nodes."""
        self._cluster.shutdown()


def alive(processes: Iterable[str]) -> set[str]:
    """Those of some processes that have not ended, whoever is their parent now."""
    return {*processes} & {f"{number}:{began}" for number, _, began in _table()}


def _table() -> Iterator[tuple[str, str, str]]:
    """Each process of this machine with its parent and when it began."""
    for entry in Path("/proc").glob("[0-9]*"):
        fields = _read(entry.name, "stat").decode(errors="replace").rpartition(")")[2].split()
        if fields and fields[0] not in {"Z", "X"}:
            yield entry.name, fields[1], fields[19]


def _read(number: str, name: str) -> bytes:
    try:
        return Path("/proc", number, name).read_bytes()
    except OSError:
        return b""


def _line(number: str) -> str:
    return _read(number, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def driver_environ() -> dict[str, str]:
    """Without any key."""
    return {name: value for name, value in os.environ.items() if "API_KEY" not in name and not name.startswith("PARLEY_")}


def harness(*words: object) -> subprocess.CompletedProcess[str]:
    """A command, to its end."""
    command = [HARNESS, *map(str, words)]
    return subprocess.run(
        command, cwd=ROOT, env=driver_environ(), capture_output=True, text=True, timeout=2 * LIMIT_S, check=False
    )


def await_true(what: str, seen: Callable[[], Any]) -> None:
    """Return as soon as something is to be seen; fails when it never is."""
    until = time.monotonic() + LIMIT_S
    while not seen():
        assert time.monotonic() < until, f"never seen: {what}"
        time.sleep(0.05)


def finished(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The result.json of each episode that has one, by its name, with its time."""
    paths = folder.glob("episodes/*/*/s*/result.json")
    return {str(path.parent.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}
