"""Asks another program's own reader, in its own environment, what it makes of a folder."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any


def read_by(reader: str, export: Path, *flags: str, script: str = "read.py") -> dict[str, Any]:
    """The one JSON object that a reader's script prints."""
    readers = os.environ.get("PARLEY_READERS")
    assert readers, "set PARLEY_READERS to a folder with an environment for each reader, as make readers does"
    done = subprocess.run(
        [f"{readers}/{reader}/bin/python", Path(__file__).parent / reader / script, export, *flags],
        capture_output=True, text=True, timeout=600, check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "HARBOR_TELEMETRY": "0", "DO_NOT_TRACK": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    # either may say something of its own before
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
