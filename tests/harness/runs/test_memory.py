"""The memory of a run's process does not grow with the episodes that it has played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.registry import Task
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Script

SHARE = 1.2
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@pytest.mark.parametrize(
    ("episodes", "warm_up", "workers"),
    [
        pytest.param(60, 20, 16, marks=pytest.mark.property),
        pytest.param(2000, 200, 64, marks=pytest.mark.proof),
    ],
)
def test_memory_stays_flat(root: Path, presigned: Task, tmp_path: Path, episodes: int, warm_up: int, workers: int) -> None:
    """Episodes of a model over a socket: after a warm-up resident memory stays within a fifth of what it was then."""
    with OpenAIServer(Script(play=SolutionModel([presigned], lambda task, attempt: "solve", "tool"))) as server:
        environ = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-mine"}
        who = ["--model", "openai/any", "--interface", "tool", "--runtime", "inprocess", "--set", "payload_bytes=16"]
        size = ["--seeds", f"0-{episodes - 1}", "--workers", str(workers), "--jsonl", "-", "--out", str(tmp_path / "run")]
        command = [sys.executable, "-m", "harness", "run", presigned.task_id, *who, *size]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, cwd=root, env=environ, text=True, **pipes) as run:
            assert run.stdout is not None
            resident = []
            for line in run.stdout:
                if json.loads(line)["event"] == "finished":
                    resident.append(megabytes(run.pid))
                    # what the server remembers is this process's own
                    server.requests.clear()
    print(
        "resident megabytes by tenths of the run:", [round(resident[i * len(resident) // 10]) for i in range(10)], resident[-1]
    )

    assert (run.returncode, len(resident)) == (0, episodes)
    assert max(resident[warm_up:]) <= SHARE * resident[warm_up]


def megabytes(pid: int) -> float:
    """What a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE_MB
