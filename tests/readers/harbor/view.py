"""What `harbor view` says of a folder of jobs, by its own API, and whether Harbor's own models take every file."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from harbor.models.job.config import JobConfig
from harbor.models.job.result import JobResult
from harbor.models.trajectories import Trajectory
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult


def checked(job: Path) -> dict[str, Any]:
    """The statistics of a job, and of each trial whether its reward counts and who sat in its trajectory."""
    JobConfig.model_validate_json((job / "config.json").read_text())
    trials = {}
    for folder in sorted(path for path in job.iterdir() if path.is_dir()):
        TrialConfig.model_validate_json((folder / "config.json").read_text())
        result = TrialResult.model_validate_json((folder / "result.json").read_text())
        trajectory = Trajectory.model_validate_json((folder / "agent" / "trajectory.json").read_text())
        seats = [one.agent.name for one in trajectory.subagent_trajectories or ()]
        trials[folder.name] = {"valid": result.reward_valid, "seats": seats, "extra": trajectory.extra}
    stats = JobResult.model_validate_json((job / "result.json").read_text()).stats
    return {"stats": stats.model_dump(mode="json"), "trials": trials}


def asked(url: str) -> Any:
    """An answer of the API; waits until the server is there."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError:
            raise
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"harbor view did not answer at {url}")


def viewed(folder: Path, port: int) -> dict[str, Any]:
    """The jobs, their trials, and of each trial the steps that it shows and what its verifier said."""
    base = f"http://127.0.0.1:{port}/api/jobs"
    jobs = {job["name"]: job for job in asked(base)["items"]}
    for name, job in jobs.items():
        job["trials"] = {trial["name"]: trial for trial in asked(f"{base}/{name}/trials")["items"]}
        for trial, told in job["trials"].items():
            shown = asked(f"{base}/{name}/trials/{trial}/trajectory")
            told["steps"] = [step["message"] for step in shown["steps"]]
            told["verifier"] = asked(f"{base}/{name}/trials/{trial}/verifier-output")
    return jobs


def main() -> None:
    """Start the viewer, ask it, and end it."""
    folder = Path(sys.argv[1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "harbor"), "view", str(folder), "--port", str(port), "--no-build"]
    viewer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        jobs = viewed(folder, port)
    finally:
        viewer.terminate()
        viewer.wait(30)
    print(json.dumps({"jobs": jobs, "checked": {job.name: checked(job) for job in folder.iterdir()}}))


main()
